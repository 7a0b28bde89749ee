/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the probes' decisions, one at a time. Programs that user space runs call the probes' own
 * functions on this thread (see logic.bpf.c); the test checks its storage, the ring and the
 * counters. main() is `logic__start(); …; return logic__done();`.
 */
#ifndef JANK_TEST_LOGIC_RUN_H
#define JANK_TEST_LOGIC_RUN_H

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/jank_abi.h"
#include "tests/bpf/logic.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "bpftest.skel.h"
#include "intake/records.h"
#include "tests/tap.h"

#define HOUR	   3600000000000ull
#define RECORD_MAX 64

/* The state of a thread that leaves the CPU (linux/sched.h) */
#define TASK_INTERRUPTIBLE   1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED	     4
#define TASK_TRACED	     8
#define TASK_FROZEN	     0x8000

static struct {
	struct bpftest *skel;
	struct ring_buffer *ring;
	union {
		struct jank_rec hdr;
		char bytes[JANK_COPY_MAX + 4096];
	} recs[RECORD_MAX];
	unsigned rec_cnt;
	const char *const *needs; /* names of programs, NULL at the end; NULL: all of them */
} logic;

static int one, two; /* epoll descriptors */

static inline int logic__on_record(void *ctx, void *data, size_t len)
{
	if (logic.rec_cnt < RECORD_MAX && len <= sizeof(logic.recs[0]))
		memcpy(&logic.recs[logic.rec_cnt++], data, len);
	return 0;
}

/* The session's configuration, unless a test sets another. */
static inline struct jank_conf logic__conf(void)
{
	return (struct jank_conf){
		.threshold_ns = HOUR,
		.span_min_ns = HOUR,
		.tgid = getpid(),
		.thread_sz = 16384,
		.user_ip_mask = 0xffffffffffff, /* 48 bits, as the calibration finds them */
		.switch_state = 1,
		.tick_ns = 10000000,
	};
}

static inline void logic__unload(void)
{
	ring_buffer__free(logic.ring);
	bpftest__destroy(logic.skel);
	logic.ring = NULL;
	logic.skel = NULL;
}

/*
 * Each load verifies the programs: seconds, in an emulated machine. A step by a program that is not
 * loaded fails.
 */
static inline void logic__choose(void)
{
	struct bpf_program *prog;

	bpf_object__for_each_program (prog, logic.skel->obj) {
		bool needed = !logic.needs;

		for (size_t i = 0; logic.needs && logic.needs[i]; i++)
			needed |= !strcmp(bpf_program__name(prog), logic.needs[i]);
		bpf_program__set_autoload(prog, needed);
	}
}

static inline bool logic__try_load(const struct jank_conf *conf)
{
	logic__unload();
	logic.rec_cnt = 0;
	logic.skel = bpftest__open();
	if (!logic.skel)
		return false;
	logic__choose();
	*(struct jank_conf *)&logic.skel->rodata->jank_conf = *conf;
	if (conf->history_cnt) {
		int cpus = libbpf_num_possible_cpus();

		bpf_map__set_max_entries(logic.skel->maps.jank_history, conf->history_cnt * cpus);
		bpf_map__set_max_entries(logic.skel->maps.jank_hist_heads, cpus);
	}
	/* These programs may sleep, so they cannot use such a map; none gets that far. */
	bpf_map__set_type(logic.skel->maps.jank_cgroups, BPF_MAP_TYPE_ARRAY);
	if (bpftest__load(logic.skel))
		return false;
	logic.ring = ring_buffer__new(bpf_map__fd(logic.skel->maps.jank_ring), logic__on_record,
				      NULL, NULL);
	return logic.ring;
}

/* Loads the programs again with this configuration; bails out if that fails. */
static inline void logic__load(const struct jank_conf *conf)
{
	if (!logic__try_load(conf)) {
		printf("Bail out! the programs cannot be loaded: %s\n", strerror(errno));
		exit(1);
	}
}

static inline void logic__call(struct bpf_program *prog, void *ctx, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = size);

	if (bpf_prog_test_run_opts(bpf_program__fd(prog), &opts))
		ok(false, "%s runs: %s", bpf_program__name(prog), strerror(errno));
}

/* Runs a step; returns the state of this thread after it. */
static inline struct logic_step logic__step(struct logic_step what)
{
	struct bpf_program *prog = logic.skel->progs.logic_sched;

	if (what.step <= LOGIC_LOOPER || what.step >= LOGIC_MARK)
		prog = logic.skel->progs.logic_wait;
	else if (what.step >= LOGIC_CLOSE)
		prog = logic.skel->progs.logic_count;
	else if (what.step >= LOGIC_WATCH)
		prog = logic.skel->progs.logic_watch;
	else if (what.step == LOGIC_POLL)
		prog = logic.skel->progs.logic_poll;
	else if (what.step >= LOGIC_WORKER && what.step <= LOGIC_UNPARK)
		prog = logic.skel->progs.logic_park;
	else if (what.step == LOGIC_HANDLE || what.step == LOGIC_TAKE)
		prog = logic.skel->progs.logic_message;
	logic__call(prog, &what, sizeof(what));
	return what;
}

#define STEP(name, ...)	 logic__step((struct logic_step){ .step = LOGIC_##name, __VA_ARGS__ })
#define BEGIN(f, stack)	 STEP(BEGIN, .fd = (f), .sp = (stack))
#define END(value)	 STEP(END, .ret = (value))
#define END_OF(f, value) STEP(END, .fd = (f), .ret = (value))

static inline uint64_t logic__lost(uint32_t reason)
{
	uint64_t values[256] = { 0 }, sum = 0;

	bpf_map_lookup_elem(bpf_map__fd(logic.skel->maps.jank_lost), &reason, values);
	for (int i = 0; i < libbpf_num_possible_cpus() && i < 256; i++)
		sum += values[i];
	return sum;
}

/*
 * Decodes the records since the last call; returns the number of one kind, and the last of it, or
 * zeroes.
 */
static inline unsigned logic__received(uint16_t kind, struct event *ret)
{
	unsigned cnt = 0;

	*ret = (struct event){ 0 };
	logic.rec_cnt = 0;
	ring_buffer__consume(logic.ring);
	for (unsigned i = 0; i < logic.rec_cnt; i++) {
		struct event event;

		if (decode__record(&logic.recs[i], logic.recs[i].hdr.size, &event)) {
			ok(false, "record %u of kind %u is valid", i, logic.recs[i].hdr.kind);
			continue;
		}
		if (event.kind != kind)
			continue;
		cnt++;
		*ret = event;
	}
	return cnt;
}

/*
 * From the records of the last call: the copy of our stack right before the first WAIT record, made
 * for it; NULL: there is none.
 */
static inline const struct jank_rec_copy *logic__wait_copy(void)
{
	for (unsigned i = 1; i < logic.rec_cnt; i++) {
		const struct jank_rec_copy *copy = (const void *)&logic.recs[i - 1];
		const struct jank_rec *wait = &logic.recs[i].hdr;

		if (wait->kind == JANK_REC_WAIT)
			return copy->hdr.kind == JANK_REC_COPY &&
					       copy->hdr.flags & JANK_COPY_WAIT &&
					       copy->hdr.tid == wait->tid &&
					       copy->t_ns == wait->ts_ns && !copy->dispatch_ns
				       ? copy
				       : NULL;
	}
	return NULL;
}

/* Loads the programs again; this thread is new to them. */
static inline void logic__begin_with(const struct jank_conf *conf)
{
	struct event event;

	logic__load(conf);
	STEP(RESET);
	logic__received(0, &event);
}

static inline void logic__begin(void)
{
	struct jank_conf conf = logic__conf();

	logic__begin_with(&conf);
}

static inline int logic__quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

/* Loads the programs of these names, or ends the test with the reason. */
static inline void logic__start(const char *const *needs)
{
	struct jank_conf conf = logic__conf();

	logic.needs = needs;
	if (geteuid())
		skip_all("needs root: BPF");
	one = epoll_create1(EPOLL_CLOEXEC);
	two = epoll_create1(EPOLL_CLOEXEC);
	libbpf_set_print(logic__quiet);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	if (libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) != 1)
		skip_all("this kernel has no programs that user space runs (5.14)");
	logic__load(&conf);
}

#define LOGIC_START(...) logic__start((const char *const[]){ __VA_ARGS__, NULL })

/* Returns main()'s value. */
static inline int logic__done(void)
{
	logic__unload();
	close(one);
	close(two);
	return tap__done();
}

#endif
