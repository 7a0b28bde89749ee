/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The plain probes with the types of each kernel that is built in: libbpf relocates them all, and
 * the verifier finds no missing field. They are loaded here with another kernel's offsets, but
 * never attached.
 */
#include <errno.h>
#include <unistd.h>

#include "bpf/jank_abi.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "jankbpf_plain.skel.h"
#include "probes/bpf_log.h"
#include "probes/btf.h"
#include "tests/tap.h"

int probe__tail_calls(const struct btf *btf); /* of features.c */

/* All options on, so that every field is read. */
static struct jank_conf conf(bool infer_begin)
{
	struct jank_conf ret = {
		.threshold_ns = 1000000,
		.hang_ns = 1000000,
		.span_min_ns = 1000000,
		.sample_age_ns = 100000,
		.tgid = getpid(),
		.self_tgid = getpid(),
		.infer_begin = infer_begin,
		.thread_sz = 16384,
		.user_ip_mask = ~0ull,
		.epoll_nr = { 232, 281, 441 },
		.restart_nr = { 219, 0 },
	};

	memset(ret.syscall_class, JANK_CLASS_FUTEX, sizeof(ret.syscall_class));
	return ret;
}

/*
 * Returns 0 or -errno. The iterator's program is left out, because its context has this kernel's
 * own types.
 */
static int load(const char *path, bool infer_begin)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	struct jankbpf_plain *skel = jankbpf_plain__open_opts(&opts);
	int res;

	if (!skel)
		return -errno;
	*(struct jank_conf *)&skel->rodata->jank_conf = conf(infer_begin);
	bpf_program__set_autoload(skel->progs.jank_on_task, false);
	if (probe__tail_calls(NULL)) { /* such a kernel loads jank_on_switch_whole */
		bpf_program__set_autoload(skel->progs.jank_on_switch, false);
		bpf_program__set_autoload(skel->progs.jank_at_leave, false);
	}
	/* 5.15: features.c leaves it out, too */
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) != 1)
		bpf_program__set_autoload(skel->progs.jank_on_mark, false);
	res = jankbpf_plain__load(skel);
	jankbpf_plain__destroy(skel);
	return res;
}

static void test_row(const struct btf_embedded *row)
{
	struct btf_source src;
	struct err err = { 0 };

	is_int(btf_source__open_for(NULL, false, row->release, &src, &err), 0, "%s: %s",
	       row->release, err.msg);
	for (int infer = 0; infer <= 1; infer++) {
		bpf_log__capture();
		if (!is_int(load(btf_source__path(&src), infer), 0, "… has all that is read%s",
			    infer ? ", with inferred begins" : ""))
			diag("%s", bpf_log__last());
	}
	btf_source__close(&src);
}

/* A kernel's types without any of the fields that the probes read. */
static void test_nothing(void)
{
	char path[] = "/tmp/test_btf_load.XXXXXX";
	const struct {
		struct btf_header hdr;
		struct btf_type type;
		__u32 encoding;
		char strs[5];
	} raw = {
		{ BTF_MAGIC, BTF_VERSION, 0, sizeof(raw.hdr), 0, 16, 16, sizeof(raw.strs) },
		{ 1, BTF_KIND_INT << 24, { 4 } },
		32,
		"\0int",
	};
	int fd = mkstemp(path);

	if (write(fd, &raw, sizeof(raw)) != sizeof(raw))
		diag("cannot write %s", path);
	ok(load(path, false) < 0, "types without a field that is read are noticed");
	close(fd);
	unlink(path);
}

int main(void)
{
	int res;

	if (geteuid())
		skip_all("needs root: BPF");
	bpf_log__capture();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	res = load(NULL, false);
	if (res == -ESRCH || res == -ENOENT)
		skip_all("this kernel has no types of its own to compare with");
	if (res == -EPERM || res == -EACCES)
		skip_all("this kernel does not allow loading BPF here");
	is_int(res, 0, "the plain probes load with this kernel's types");
	for (size_t i = 0; i < btf_embedded_row_cnt; i++)
		test_row(&btf_embedded_rows[i]);
	test_nothing();
	return tap__done();
}
