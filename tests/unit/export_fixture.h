/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks for the tests of the exports, as the judge, the symbolizer and blame would make them.
 * `fixture__block(name)` makes one; the table at the end lists the names.
 */
#ifndef JANK_EXPORT_FIXTURE_H
#define JANK_EXPORT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "model/block.h"

#define FIXTURE_MS	  1000000ull
#define FIXTURE_START	  5000000000123ull /* CLOCK_MONOTONIC */
#define FIXTURE_OFFSET	  (1767323045678000000ll - 5000000000123ll)
#define FIXTURE_REDIS	  "/usr/bin/redis-server"
#define FIXTURE_LIBC	  "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define FRAMES(...)	  ((const struct frame[]){ __VA_ARGS__ })
#define FRAME_CNT(...)	  (sizeof((const struct frame[]){ __VA_ARGS__ }) / sizeof(struct frame))
#define SAMPLE(b, s, ...) fixture__sample(b, s, FRAMES(__VA_ARGS__), FRAME_CNT(__VA_ARGS__))
#define FUNCTION(name, off, mod)                                                                   \
	{                                                                                          \
		.address = 0x7f0000001000, .function = name, .offset = off, .module = mod          \
	}
#define APP(name, off, mod)                                                                        \
	{                                                                                          \
		.address = 0x555500001000, .function = name, .offset = off, .module = mod,         \
		.app = true, .build_id = "0123456789abcdef0123456789abcdef01234567"                \
	}
#define REDIS(name, off) APP(name, off, FIXTURE_REDIS)
#define KERNEL(name, off)                                                                          \
	{                                                                                          \
		.address = 0xffffffff81000000, .function = name, .offset = off,                    \
		.module = "vmlinux", .kernel = true                                                \
	}

static inline struct sample *fixture__sample(struct block *b, struct sample sample,
					     const struct frame *frames, size_t cnt)
{
	struct sample *to;

	b->samples = realloc(b->samples, (b->sample_cnt + 1) * sizeof(*b->samples));
	to = &b->samples[b->sample_cnt++];
	*to = sample;
	to->stack.frames = malloc(cnt * sizeof(*frames));
	to->stack.frame_cnt = cnt;
	memcpy(to->stack.frames, frames, cnt * sizeof(*frames));
	to->stack.addresses = calloc(cnt, sizeof(uint64_t));
	for (size_t i = 0; i < cnt; i++) {
		to->stack.addresses[i] = frames[i].address;
		to->stack.kernel_cnt += frames[i].kernel;
	}
	to->stack.user_cnt = cnt - to->stack.kernel_cnt;
	return to;
}

static inline void fixture__preemptor(struct block *b, uint32_t pid, uint64_t ns, const char *comm)
{
	struct other_task *task;

	b->preemptors = realloc(b->preemptors, (b->preemptor_cnt + 1) * sizeof(*b->preemptors));
	task = &b->preemptors[b->preemptor_cnt++];
	*task = (struct other_task){ .pid = pid, .tid = pid, .ns = ns };
	snprintf(task->comm, sizeof(task->comm), "%s", comm);
}

static inline void fixture__set_load(Jankbpf__Cpu *cpu)
{
	cpu->has_busy = cpu->has_total_pct = cpu->has_process_pct = cpu->has_user_pct = true;
	cpu->has_system_pct = cpu->has_iowait_pct = true;
	cpu->total_pct = 31.4;
	cpu->process_pct = 24.8;
	cpu->user_pct = 26.6;
	cpu->system_pct = 4.2;
	cpu->iowait_pct = 0.1;
}

static inline struct block *fixture__new(uint64_t duration_ns, const char *process, uint32_t pid,
					 uint32_t tid)
{
	struct block *b = block__new();

	b->id = strdup("c0ffee00-1111-2222-3333-444444444444-4242-5000000000123");
	b->start_ns = FIXTURE_START;
	b->real_offset_ns = FIXTURE_OFFSET;
	b->duration_ns = duration_ns;
	b->threshold_ns = 100 * FIXTURE_MS;
	b->host = (struct host_info){
		.name = strdup("build-7"),
		.kernel = strdup("6.18.5-cloud-amd64"),
		.arch = strdup("x86_64"),
		.boot_id = strdup("c0ffee00-1111-2222-3333-444444444444"),
		.cpus = 4,
		.mem_total_kb = 16337400,
		.mem_free_kb = 812332,
		.mem_available_kb = 9001232,
	};
	b->pid = pid;
	b->tid = tid;
	b->process->has_uid = true;
	b->process->uid = 1000;
	b->process->name = strdup(process);
	b->thread = strdup(process);
	b->loop = JANK_LOOP_EPOLL;
	b->fd = 5;
	b->dropped_frames = duration_ns * 60 / 1000000000ull;
	fixture__set_load(b->live->cpu);
	return b;
}

#include "tests/unit/export_fixture_chain.h"
#include "tests/unit/message_fixture.h"

/* A tick in Lua's table look-up, with an inlined frame and recursion. */
static inline void fixture__lua_tick(struct block *b, struct sample tick, uint64_t offset)
{
	SAMPLE(b, tick, REDIS("luaH_getnum", offset),
	       { .address = 0x5555,
		 .function = "luaV_gettable",
		 .offset = 3,
		 .module = FIXTURE_REDIS,
		 .app = true,
		 .inlined = true,
		 .file = "/build/redis/deps/lua/src/lvm.c",
		 .line = 113,
		 .language = "lua" },
	       REDIS("luaV_execute", 0x4a2), REDIS("luaV_execute", 0x4a9), REDIS("luaD_call", 0x71),
	       REDIS("evalGenericCommand", 0x3c0), REDIS("call", 0x90),
	       REDIS("processCommand", 0x6a0), REDIS("readQueryFromClient", 0x1d0),
	       REDIS("aeProcessEvents", 0x1f4), REDIS("aeMain", 0x1d), REDIS("main", 0x3aa),
	       FUNCTION("__libc_start_call_main", 0x7a, FIXTURE_LIBC));
}

/* A tick in the kernel, below malloc. */
static inline void fixture__malloc_tick(struct block *b, struct sample tick, uint64_t offset)
{
	SAMPLE(b, tick, KERNEL("clear_page_erms", 7), KERNEL("__alloc_pages", 0x130),
	       KERNEL("handle_mm_fault", 0x99), KERNEL("exc_page_fault", 0x41),
	       FUNCTION("malloc", offset, FIXTURE_LIBC), REDIS("zmalloc", 0x1c),
	       REDIS("luaM_realloc_", 0x33), REDIS("luaV_execute", 0x812), REDIS("main", 0x80));
}

/* The wait for a CPU at its end, and the thread that had the CPU. */
static inline void fixture__preemption(struct block *b)
{
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + 305 * FIXTURE_MS,
				 .ns = 8 * FIXTURE_MS,
				 .runnable_ns = 8 * FIXTURE_MS,
				 .state = JANK_STATE_RUNNABLE,
				 .syscall = -1 }),
	       KERNEL("__schedule", 0x3c3), REDIS("luaV_execute", 0x4a2), REDIS("main", 0x3aa));
	fixture__preemptor(b, 8123, 8 * FIXTURE_MS, "cc1plus");
	fixture__preemptor(b, 17, 2 * FIXTURE_MS, "ksoftirqd/1");
	fixture__preemptor(b, 8001, FIXTURE_MS, "make");
	fixture__preemptor(b, 1, 400000, "systemd");
}

static inline void fixture__set_process(Jankbpf__Identity *process)
{
	process->exe = strdup(FIXTURE_REDIS);
	process->cgroup = strdup("/system.slice/redis-server.service");
	process->unit = strdup("redis-server.service");
	process->container =
		strdup("3f8a2c1b9d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a");
	process->pod = strdup("7f3b1d2e-0a9c-4b8d-9e6f-112233445566");
	process->service_name = strdup("cart");
	process->service_version = strdup("2.7.1");
	process->service_namespace = strdup("shop");
	process->deployment_environment = strdup("production");
	process->build_id = strdup("0123456789abcdef");
	process->has_names_uid = process->has_ns_pid = true;
	process->names_uid = 1000;
	process->ns_pid = 17;
}

/* Redis, computing: two stacks of ticks, recursion, an inlined frame, a preemption. */
static inline struct block *fixture__cpu(void)
{
	struct block *b = fixture__new(312 * FIXTURE_MS, "redis-server", 4242, 4242);
	struct sample tick = { .state = JANK_STATE_RUNNING, .syscall = -1 };

	fixture__set_process(b->process);
	b->reduced = "marks";
	b->state_ns[JANK_STATE_RUNNING] = 300 * FIXTURE_MS;
	b->state_ns[JANK_STATE_RUNNABLE] = 11 * FIXTURE_MS + 500000;
	b->state_ns[JANK_STATE_PAGE_FAULT] = 500000;
	b->cpu_ns = 300 * FIXTURE_MS;
	for (int i = 0; i < 30; i++) {
		tick.t_ns = FIXTURE_START + i * 10 * FIXTURE_MS;
		if (i % 10 == 3)
			fixture__malloc_tick(b, tick, 0x40 + i);
		else
			fixture__lua_tick(b, tick, 0x10 + i);
	}
	fixture__preemption(b);
	b->cause = (struct cause){ .kind = "cpu",
				   .share = 0.9615,
				   .frame = &b->samples[0].stack.frames[2],
				   .signature = "9f1c02d4a7be5566" };
	b->stack_quality = 0;
	return b;
}

/* A second of waiting for a mutex, below C++ names of all lengths and unnamed frames. */
static inline void fixture__mutex_span(struct block *b, const char *self)
{
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + FIXTURE_MS,
				 .ns = 1003 * FIXTURE_MS,
				 .runnable_ns = 3 * FIXTURE_MS,
				 .state = JANK_STATE_FUTEX,
				 .syscall = 202,
				 .syscall_name = "futex",
				 .has_waker = true,
				 .waker = { .pid = 900, .tid = 921, .comm = "io-pool-7" } }),
	       KERNEL("__schedule", 0x3c3), KERNEL("schedule", 0x5e),
	       KERNEL("futex_wait_queue", 0x60), KERNEL("futex_wait", 0x180),
	       KERNEL("do_futex", 0x12b), KERNEL("__x64_sys_futex", 0x8f),
	       KERNEL("do_syscall_64", 0x5d), KERNEL("entry_SYSCALL_64_after_hwframe", 0x76),
	       FUNCTION("__lll_lock_wait", 0x30, FIXTURE_LIBC),
	       FUNCTION("pthread_mutex_lock", 0x112, FIXTURE_LIBC),
	       APP("std::lock_guard<std::mutex>::lock_guard(std::mutex&)", 0x22, self),
	       APP("img::cache::Cache<std::__cxx11::basic_string<char, std::char_traits<char>, "
		   "std::allocator<char> >, std::shared_ptr<img::Bitmap> "
		   ">::lookup(std::__cxx11::basic_string<char, std::char_traits<char>, "
		   "std::allocator<char> > const&)",
		   0x40, self),
	       APP("boost::asio::detail::scheduler::do_run_one(boost::asio::detail::conditionally_"
		   "enabled_mutex::scoped_lock&, boost::system::error_code const&)",
		   0x99, self),
	       { .address = 0x7f12, .module = self, .offset = 0x81230, .app = true },
	       { .address = 0x7ffff7fc1234 });
}

static inline void fixture__fsync_span(struct block *b, const char *self)
{
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + 1010 * FIXTURE_MS,
				 .ns = 199 * FIXTURE_MS,
				 .state = JANK_STATE_DISK,
				 .syscall = 74,
				 .syscall_name = "fsync",
				 .has_waker = true,
				 .waker_softirq = true,
				 .waker = { .pid = 12, .tid = 12, .comm = "redis-cli" } }),
	       KERNEL("io_schedule", 0x46), KERNEL("folio_wait_bit", 0x13),
	       FUNCTION("fsync", 0x4d, FIXTURE_LIBC), APP("img::Store::flush()", 0x12, self));
}

/* A pool thread of a C++ program: a lock held by a sibling, disk, a lost record, a waker. */
static inline struct block *fixture__lock(void)
{
	struct block *b = fixture__new(1250 * FIXTURE_MS + 7, "thumbnailer", 900, 917);
	const char *self = "/opt/thumb/bin/thumbnailer";

	free(b->thread);
	b->thread = strdup("io-pool-3");
	b->state_ns[JANK_STATE_RUNNING] = 46 * FIXTURE_MS;
	b->state_ns[JANK_STATE_RUNNABLE] = 4 * FIXTURE_MS;
	b->state_ns[JANK_STATE_FUTEX] = 1000 * FIXTURE_MS;
	b->state_ns[JANK_STATE_DISK] = 200 * FIXTURE_MS + 7;
	b->cpu_ns = 46 * FIXTURE_MS;
	fixture__mutex_span(b, self);
	fixture__fsync_span(b, self);
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + 1220 * FIXTURE_MS,
				 .state = JANK_STATE_RUNNING,
				 .syscall = -1 }),
	       APP("(anonymous namespace)::decode(img::Bitmap&)", 0x310, self),
	       APP("img::Store::flush()", 0x80, self));
	b->cause = (struct cause){ .kind = "futex",
				   .share = 0.8,
				   .frame = &b->samples[0].stack.frames[11],
				   .signature = "00000000000000aa" };
	b->stack_quality = QUALITY_CUT | QUALITY_FP;
	b->live->cpu->busy = true;
	b->live->cpu->total_pct = 99.6;
	b->live->cpu->iowait_pct = 12.2;
	b->lost_cnt = 2;
	b->lost = calloc(2, sizeof(*b->lost));
	b->lost[0] = (struct block_loss){ "samples_shed", 3 };
	b->lost[1] = (struct block_loss){ "wakeup_missed", 1 };
	b->loop_name = "libuv";
	return b;
}

/* A Looper's dispatch that is still open. */
static inline struct block *fixture__hang(void)
{
	struct block *b = fixture__new(5000 * FIXTURE_MS, "simjank-looper", 77, 77);

	b->type = BLOCK_HANG;
	b->loop = JANK_LOOP_ANDROID_LOOPER;
	b->end = JANK_END_OPEN;
	b->state_ns[JANK_STATE_SLEEP] = 4999 * FIXTURE_MS;
	b->state_ns[JANK_STATE_RUNNING] = FIXTURE_MS;
	b->cpu_ns = FIXTURE_MS;
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + FIXTURE_MS,
				 .ns = 4999 * FIXTURE_MS,
				 .state = JANK_STATE_SLEEP,
				 .syscall = 230,
				 .syscall_name = "clock_nanosleep",
				 .open = true }),
	       KERNEL("do_nanosleep", 0x63), FUNCTION("clock_nanosleep", 0x60, "/lib/libc.so.6"),
	       APP("handle_sleep", 0x20, "/work/simjank-looper"),
	       FUNCTION("android::Looper::pollInner(int)", 0x2a0,
			"/usr/lib/x86_64-linux-gnu/android/libutils.so.0"));
	b->cause = (struct cause){ .kind = "sleep",
				   .share = 0.9998,
				   .frame = &b->samples[0].stack.frames[2],
				   .signature = "12ab" };
	return b;
}

/* The same dispatch after its end: hang records have an end too. */
static inline struct block *fixture__hang_end(void)
{
	struct block *b = fixture__hang();

	b->type = BLOCK_JANK;
	b->hang_reported = true;
	b->end = JANK_END_EXIT;
	b->ended_by_exit = true;
	b->live->frames = proto__new(&jankbpf__display__descriptor);
	b->live->frames->missed = 317;
	b->live->frames->crtc = 1;
	b->live->frames->refresh_hz = 59.94;
	b->live->frames->has_missed = b->live->frames->has_crtc = true;
	b->live->frames->has_refresh_hz = true;
	b->samples[0].open = false;
	return b;
}

/* Only the time is known: no samples, no load, no executable. */
static inline struct block *fixture__bare(void)
{
	struct block *b = fixture__new(101 * FIXTURE_MS, "", 3, 3);

	free(b->host.name);
	free(b->host.kernel);
	free(b->host.arch);
	b->host.name = b->host.kernel = b->host.arch = NULL;
	b->host.mem_available_kb = 0;
	free(b->thread);
	b->thread = strdup("");
	b->state_ns[JANK_STATE_OTHER] = 101 * FIXTURE_MS;
	jankbpf__psi__free_unpacked(b->live->cpu->psi, NULL);
	jankbpf__cpu__init(b->live->cpu);
	b->live->cpu->psi = proto__new(&jankbpf__psi__descriptor);
	b->live->cpu->has_busy = true;
	b->stack_quality = QUALITY_NO_SAMPLES;
	b->process->has_uid = false;
	return b;
}

/* The frames of a message, too. */
static inline void fixture__add_hostile_message(struct block *b)
{
	const struct jank_rec_message raw = { .mark = 1 };
	const struct message m = {
		.what = "\x1b[2J = \r\n-12",
		.handler = { "", "", UINT64_MAX >> 11 },
		.callback = { "f<a&b>(\r\nc)", "/\n/lib\x7f.so", 0 },
		.source = { "\xff\xfe\u202e", NULL, 0 },
		.fd = { INT32_MAX, UINT32_MAX, "unix @\n\nstack = \x80", NULL },
		.also = { { 0, 0, NULL, NULL } },
		.also_cnt = 1,
		.ready_cnt = UINT32_MAX,
		.was_queued = true,
		.queued_ns = UINT64_MAX >> 11,
	};

	message_fixture__set(b, &raw, &m);
}

/* Names as an attacker would choose them. */
static inline struct block *fixture__hostile(void)
{
	struct block *b = fixture__new(150 * FIXTURE_MS, "a\"b\\c\r\nd\x1b[31m", 666, 667);

	free(b->thread);
	b->thread = strdup("\xff\xfe\xc3( = \xe2\x80\xae"
			   "evil");
	b->process->exe = strdup("/tmp/\x01\x7f\nstack = x");
	b->process->cgroup = strdup("\n");
	fixture__add_hostile_message(b);
	b->state_ns[JANK_STATE_POLL] = 150 * FIXTURE_MS;
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START,
				 .ns = 20 * FIXTURE_MS,
				 .state = JANK_STATE_POLL,
				 .syscall = 7,
				 .syscall_name = NULL,
				 .has_waker = true,
				 .waker = { .pid = 1, .tid = 2, .comm = "\r\n\"\x80" } }),
	       KERNEL("org.chromium.kernel", 1),
	       APP("org.chromium.base.Run(int)", 2, "/tmp/org.chromium\n.so"),
	       APP("\n\norg.chromium", 2, ""), APP("", 0, "(x)(y).so"), APP("   ", 0, NULL),
	       APP("f<a&b>(\r\nc)", 1, "lib<x>.so"), APP("qua = x", 0, "time = 1.so"),
	       APP("\xf0\x9f\x92\xa9::f\xed\xa0\x80", 0, "\xc0\xaf.so"), APP("(((((", 0, "d/"),
	       APP("a\u2028b\u202ec", 0, "/"), { .address = UINT64_MAX },
	       { .address = 1, .module = "", .offset = UINT64_MAX >> 11 });
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + 21 * FIXTURE_MS,
				 .ns = 5 * FIXTURE_MS,
				 .state = 99,
				 .syscall = 1 << 30 }),
	       APP("only", 0, "/x"));
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START + 30 * FIXTURE_MS,
				 .ns = 6 * FIXTURE_MS,
				 .state = JANK_STATE_POLL,
				 .syscall = -1 }),
	       { .address = 0xdead });
	b->samples[2].stack.frame_cnt = 0; /* nothing at all in the stack */
	fixture__preemptor(b, 0, 3 * FIXTURE_MS, "swapper\n/0");
	b->cause = (struct cause){ .kind = "poll",
				   .share = 7.5,
				   .frame = &b->samples[0].stack.frames[5],
				   .signature = "ff" };
	b->stack_quality = QUALITY_NO_USER;
	fixture__add_hostile_chain(b);
	return b;
}

/* A little of every state with raw addresses only: not symbolized. */
static inline struct block *fixture__states(void)
{
	struct block *b = fixture__new(0, "every-state", 50, 50);
	struct sample *s;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++) {
		b->state_ns[i] = (i + 1) * FIXTURE_MS;
		b->duration_ns += b->state_ns[i];
		s = SAMPLE(b,
			   ((struct sample){ .t_ns = FIXTURE_START + i,
					     .state = i,
					     .syscall = -1,
					     .ns = i ? (i + 1) * FIXTURE_MS : 0 }),
			   { .address = 0xffffffff81000000 + i, .kernel = true },
			   { .address = 0x400000 });
		free(s->stack.frames);
		s->stack.frames = NULL;
		s->stack.frame_cnt = 0;
	}
	b->threshold_ns = 0;
	b->cause = (struct cause){ .kind = "kernel", .share = 0 };
	return b;
}

/* A Qt message that waited; no frame is to blame. */
static inline struct block *fixture__qt(void)
{
	const struct jank_rec_message raw = { .mark = 1 };
	struct block *b = fixture__new(23 * FIXTURE_MS, "kcalc", 4300, 4300);
	const struct message m = {
		.what = "QTimerEvent",
		.handler = { "app::Window<int>", "/usr/bin/kcalc", 0 },
		.callback = { NULL, "/usr/lib/libx.so", 0x1234 },
		.source = { "frame clock", NULL, 0 },
		.fd.fd = -1,
		.was_queued = true,
		.queued_ns = 35 * FIXTURE_MS,
	};

	b->state_ns[JANK_STATE_SLEEP] = 23 * FIXTURE_MS;
	SAMPLE(b,
	       ((struct sample){ .t_ns = FIXTURE_START,
				 .ns = 20 * FIXTURE_MS,
				 .state = JANK_STATE_SLEEP,
				 .syscall = 230,
				 .syscall_name = "clock_nanosleep" }),
	       KERNEL("do_nanosleep", 0x63));
	message_fixture__set(b, &raw, &m);
	b->cause = (struct cause){ .kind = "sleep", .share = 0.998, .signature = "77" };
	return b;
}

/* Several ready descriptors, of which two could be identified. */
static inline struct block *fixture__ready(void)
{
	const struct jank_rec_message raw = { .ready_got = 3 };
	struct block *b = fixture__new(312 * FIXTURE_MS, "redis-server", 4242, 4242);
	const struct message m = {
		.fd = { 8, 0x2011, "tcp 127.0.0.1:6379->127.0.0.1:51234", NULL },
		.also = { { 9, 0x40000001, "eventfd 12", NULL } },
		.also_cnt = 1,
		.ready_cnt = 5,
	};

	b->state_ns[JANK_STATE_RUNNING] = 312 * FIXTURE_MS;
	b->ready_cnt = 5;
	message_fixture__set(b, &raw, &m);
	b->cause = (struct cause){ .kind = "cpu", .share = 1, .signature = "78" };
	return b;
}

/* One ready descriptor. */
static inline struct block *fixture__timer(void)
{
	const struct jank_rec_message raw = { .ready_got = 1 };
	const struct message m = { .fd = { 8, 1, "timerfd every 1.00 s", NULL }, .ready_cnt = 1 };
	struct block *b = fixture__new(101 * FIXTURE_MS, "redis-server", 4242, 4242);

	b->state_ns[JANK_STATE_RUNNING] = 101 * FIXTURE_MS;
	message_fixture__set(b, &raw, &m);
	return b;
}

static const struct {
	const char *name;
	struct block *(*make)(void);
} fixtures[] = {
	{ "cpu", fixture__cpu },       { "lock", fixture__lock },
	{ "hang", fixture__hang },     { "hang_end", fixture__hang_end },
	{ "bare", fixture__bare },     { "hostile", fixture__hostile },
	{ "states", fixture__states }, { "qt", fixture__qt },
	{ "ready", fixture__ready },   { "timer", fixture__timer },
	{ "chain", fixture__chain },
};
#define FIXTURE_CNT (sizeof(fixtures) / sizeof(*fixtures))

static inline void fixture__count(struct durations *durations, uint64_t ns, uint64_t cnt)
{
	durations->cnt[jank_hist__bucket(ns, jank_hist__log2(ns))] += cnt;
	durations->total += cnt;
}

static inline struct summary fixture__summary(void)
{
	struct summary s = { .elapsed_ns = 300000 * FIXTURE_MS,
			     .dispatch_cnt = 1234567,
			     .block_cnt = 42,
			     .hang_cnt = 1,
			     .bpf_known = true,
			     .bpf_ns = 176 * FIXTURE_MS,
			     .bpf_runs = 2469134,
			     .user_cpu_ns = 1200 * FIXTURE_MS,
			     .rss_kb = 31744 };

	s.loop_cnt = 2;
	s.loops = calloc(2, sizeof(*s.loops));
	s.loops[0] = (struct loop_hist){ .pid = 4242,
					 .process = identity__called("redis-server"),
					 .loop = JANK_LOOP_EPOLL,
					 .dispatch_cnt = 1234000,
					 .block_cnt = 40 };
	for (int i = 0; i < 10; i++)
		fixture__count(&s.loops[0].durations, 3ull << (10 + i),
			       (uint64_t[]){ 400, 20000, 600000, 580000, 30000, 3000, 400, 120, 40,
					     0 }[i]);
	fixture__count(&s.loops[0].durations, 300 * FIXTURE_MS, 40);
	s.loops[0].durations.max_ns = 301 * FIXTURE_MS;
	s.loops[0].durations.edge_ns = 299 * FIXTURE_MS;
	s.loops[0].durations.over_cnt = 40;
	s.loops[1] = (struct loop_hist){ .pid = 77,
					 .process = identity__called("simjank-looper\n"),
					 .loop = JANK_LOOP_ANDROID_LOOPER,
					 .dispatch_cnt = 567,
					 .block_cnt = 2 };
	fixture__count(&s.loops[1].durations, 1ull << 40, 2);
	fixture__count(&s.loops[1].durations, 200000, 565);
	return s;
}

static inline void fixture__add_losses(struct summary *s)
{
	s->lost_cnt = 2;
	s->lost = calloc(2, sizeof(*s->lost));
	s->lost[0] = (struct block_loss){ "ring_full", 12 };
	s->lost[1] = (struct block_loss){ "samples_shed", 12345 };
}

#endif
