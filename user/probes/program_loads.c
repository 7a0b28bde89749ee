/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/program_loads.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "probes/bpf_log.h"

#define LOADS_MAX 16
#define LOG_SZ	  (1u << 20)

struct load {
	struct bpf_program *prog;
	struct bpf_insn *insns; /* owned */
	size_t insn_cnt;
	enum bpf_prog_type type;
	struct bpf_prog_load_opts opts; /* what it points to is the object's */
	pthread_t thread;
	bool ended;
	int fd; /* or -errno */
};

struct program_loads {
	struct load loads[LOADS_MAX];
	unsigned cnt, max; /* max: threads at once */
};

struct program_loads *program_loads__new(unsigned threads)
{
	struct program_loads *loads = threads ? calloc(1, sizeof(*loads)) : NULL;

	if (loads)
		loads->max = threads;
	return loads;
}

static int load(const struct load *load, struct bpf_prog_load_opts *opts)
{
	int fd = bpf_prog_load(load->type, bpf_program__name(load->prog), "GPL", load->insns,
			       load->insn_cnt, opts);

	return fd < 0 ? -errno : fd;
}

/* Loads it once more, for the verifier's log. */
static void explain(const struct load *failed)
{
	struct bpf_prog_load_opts opts = failed->opts;
	int fd;

	opts.log_level = 1;
	opts.log_size = LOG_SZ;
	opts.log_buf = calloc(1, LOG_SZ);
	if (!opts.log_buf)
		return;
	fd = load(failed, &opts);
	if (fd >= 0)
		close(fd);
	else if (*opts.log_buf)
		bpf_log__add_refusal(bpf_program__name(failed->prog), opts.log_buf);
	free(opts.log_buf);
}

static void *run(void *arg)
{
	struct load *own = arg;

	own->fd = load(own, &own->opts);
	if (own->fd < 0)
		explain(own);
	__atomic_store_n(&own->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool has_cpu(const struct program_loads *loads)
{
	unsigned running = 0;

	for (unsigned i = 0; i < loads->cnt; i++)
		running += !__atomic_load_n(&loads->loads[i].ended, __ATOMIC_ACQUIRE);
	return running < loads->max;
}

/* r0 = 0; exit */
static int make_empty(struct bpf_program *prog, struct bpf_prog_load_opts *opts)
{
	struct bpf_insn empty[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	opts->func_info_cnt = opts->line_info_cnt = 0;
	return bpf_program__set_insns(prog, empty, 2);
}

int program_loads__take(struct program_loads *loads, struct bpf_program *prog,
			struct bpf_prog_load_opts *opts)
{
	size_t sz = bpf_program__insn_cnt(prog) * sizeof(struct bpf_insn);
	struct load *next;

	if (!loads || loads->cnt == LOADS_MAX || !has_cpu(loads))
		return 0;
	next = &loads->loads[loads->cnt];
	*next = (struct load){ .prog = prog,
			       .insns = malloc(sz),
			       .insn_cnt = bpf_program__insn_cnt(prog),
			       .type = bpf_program__type(prog),
			       .opts = *opts };
	if (!next->insns)
		return 0;
	memcpy(next->insns, bpf_program__insns(prog), sz);
	if (thread__start(&next->thread, "jank-load", run, next)) {
		free(next->insns);
		return 0;
	}
	loads->cnt++;
	return make_empty(prog, opts);
}

/* A program that libbpf did not load, because an earlier one failed, has no descriptor. */
static int put(const struct load *load)
{
	int to = bpf_program__fd(load->prog), ret = 0;

	if (load->fd < 0)
		return load->fd;
	if (to >= 0 && dup3(load->fd, to, O_CLOEXEC) < 0)
		ret = -errno;
	close(load->fd);
	return ret;
}

int program_loads__finish(struct program_loads *loads)
{
	int ret = 0, res;

	for (unsigned i = 0; loads && i < loads->cnt; i++) {
		pthread_join(loads->loads[i].thread, NULL);
		res = put(&loads->loads[i]);
		ret = ret ?: res;
		free(loads->loads[i].insns);
	}
	free(loads);
	return ret;
}
