/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that threads load while libbpf loads the others: each is the whole program behind its
 * own descriptor, and a refusal has its reason.
 */
#include "probes/program_loads.h"

#include <errno.h>
#include <unistd.h>

#include "bpf/jank_abi.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "jankbpf_plain.skel.h"
#include "probes/bpf_log.h"
#include "tests/tap.h"

#define WANTED 2

static struct program_loads *loads;
static bool broken;

static int take(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	static struct bpf_insn no_result[] = { { .code = BPF_JMP | BPF_EXIT } };

	(void)cookie;
	if (broken) {
		bpf_program__set_insns(prog, no_result, 1);
		opts->func_info_cnt = opts->line_info_cnt = 0;
	}
	return program_loads__take(loads, prog, opts);
}

static struct jankbpf_plain *open_two(struct bpf_program *wanted[WANTED])
{
	struct jankbpf_plain *skel = jankbpf_plain__open();
	struct bpf_program *prog;

	if (!skel)
		return NULL;
	wanted[0] = skel->progs.jank_on_exit;
	wanted[1] = skel->progs.jank_on_waking;
	bpf_object__for_each_program (prog, skel->obj)
		bpf_program__set_autoload(prog, prog == wanted[0] || prog == wanted[1]);
	return skel;
}

/* Instructions after verification. 0: none is loaded. */
static unsigned length(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	__u32 sz = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &sz)
		       ? 0
		       : info.xlated_prog_len / sizeof(struct bpf_insn);
}

/* 0 or -errno; ret: the lengths of the programs */
static int load_all(unsigned threads, unsigned ret[WANTED])
{
	struct bpf_program *wanted[WANTED];
	struct jankbpf_plain *skel = open_two(wanted);
	int res, joined;

	if (!skel)
		return -errno;
	loads = program_loads__new(threads);
	res = jankbpf_plain__load(skel);
	joined = program_loads__finish(loads);
	loads = NULL;
	for (int i = 0; i < WANTED; i++)
		ret[i] = res || joined ? 0 : length(wanted[i]);
	jankbpf_plain__destroy(skel);
	return res ?: joined;
}

int main(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = take);
	unsigned by_libbpf[WANTED], by_threads[WANTED];
	int res;

	if (geteuid())
		skip_all("needs root: BPF");
	bpf_log__capture();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	res = load_all(0, by_libbpf);
	if (res == -EPERM || res == -EACCES || res == -ESRCH || res == -ENOENT)
		skip_all("this kernel does not load the plain probes with its own types");
	is_int(res, 0, "libbpf loads the programs");
	ok(!program_loads__new(0), "without threads libbpf loads all");
	is_int(program_loads__finish(program_loads__new(1)), 0, "nothing to wait for");
	libbpf_register_prog_handler("raw_tp+", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, &opts);
	is_int(load_all(1, by_threads), 0, "threads load them");
	for (int i = 0; i < WANTED; i++)
		ok(by_libbpf[i] > 100 && by_threads[i] == by_libbpf[i],
		   "… whole: %u instructions, of %u", by_threads[i], by_libbpf[i]);
	bpf_log__capture();
	broken = true;
	is_int(load_all(1, by_threads), -EACCES, "a refusal is returned");
	ok(bpf_log__has_refusal() && strstr(bpf_log__last(), "R0 !read_ok"),
	   "… with its reason: %s", bpf_log__last());
	return tap__done();
}
