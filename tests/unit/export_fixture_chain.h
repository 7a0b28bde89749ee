/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fixture blocks waited for, and the threads that they waited for. Part of
 * export_fixture.h, which includes it.
 */
#ifndef JANK_EXPORT_FIXTURE_CHAIN_H
#define JANK_EXPORT_FIXTURE_CHAIN_H

#define INDEXD "/usr/bin/indexd"

/* A wait's facts, as the probe sends them; flags are JANK_WAITED_*. */
static inline struct wait_object *fixture__waited(uint16_t flags, int32_t fd, uint64_t timeout_ns,
						  uint64_t arg2)
{
	const struct jank_rec_waited raw = {
		.hdr = { .size = sizeof(raw), .kind = JANK_REC_WAITED, .flags = flags },
		.fd = fd,
		.timeout_ns = timeout_ns,
		.args = { (uint64_t)fd, 0x7f0000000000, arg2 },
	};

	return wait_object__new(&raw);
}

/* The link's stacks are copies of these frames. */
static inline struct stack fixture__stack(const struct frame *frames, size_t cnt)
{
	struct stack stack = { .frames = malloc(cnt * sizeof(*frames)), .frame_cnt = cnt };

	memcpy(stack.frames, frames, cnt * sizeof(*frames));
	return stack;
}
#define STACK(...) fixture__stack(FRAMES(__VA_ARGS__), FRAME_CNT(__VA_ARGS__))

static inline struct link *fixture__link(struct block *b, struct link link)
{
	b->chain = realloc(b->chain, (b->chain_cnt + 1) * sizeof(*b->chain));
	b->chain[b->chain_cnt] = link;
	return &b->chain[b->chain_cnt++];
}

/* It held the mutex and waited for the disk meanwhile; then it woke the main thread. */
static inline void fixture__indexer(struct block *b)
{
	struct link *link = fixture__link(
		b,
		(struct link){
			.role = LINK_WOKE,
			.task = { .pid = 4700, .tid = 4711, .comm = "indexer" },
			.t_ns = FIXTURE_START + FIXTURE_MS,
			.ns = 150 * FIXTURE_MS,
			.part_ns = { [JANK_STATE_RUNNING] = 2 * FIXTURE_MS,
				     [JANK_STATE_RUNNABLE] = 8 * FIXTURE_MS,
				     [JANK_STATE_DISK] = 139 * FIXTURE_MS },
			.state = JANK_STATE_DISK,
			.prio = JANK_PRIO_OFFSET + 130,
			.syscall = 74,
			.syscall_name = "fsync",
			.stack = STACK(KERNEL("io_schedule", 0x46), KERNEL("folio_wait_bit", 0x13),
				       FUNCTION("fsync", 0x4d, FIXTURE_LIBC),
				       APP("flush_index", 0x20, INDEXD), APP("merge", 0x11, INDEXD),
				       APP("indexer_main", 0x99, INDEXD)),
			.wake_stack = STACK(KERNEL("try_to_wake_up", 0x10),
					    FUNCTION("pthread_mutex_unlock", 0x30, FIXTURE_LIBC),
					    APP("index_unlock", 0x12, INDEXD),
					    APP("indexer_main", 0xaa, INDEXD)),
		});

	link->waited = fixture__waited(JANK_WAITED_ARGS | JANK_WAITED_FILE, 12, 0, 0);
	link->waited->path = strdup("/var/lib/index/segment.7");
	link->waited->device = strdup("vda1");
	link->preemptors = calloc(2, sizeof(*link->preemptors));
	link->preemptor_cnt = 2;
	link->preemptors[0] = (struct other_task){
		.pid = 8123, .tid = 8123, .ns = 6 * FIXTURE_MS, .comm = "cc1plus"
	};
	link->preemptors[0].cgroup = strdup("/user.slice/build.scope");
	link->preemptors[1] = (struct other_task){ .pid = 55,
						   .tid = 55,
						   .ns = FIXTURE_MS,
						   .prio = JANK_PRIO_OFFSET + 49,
						   .comm = "irq/9-acpi" };
}

/* The wait of that thread: the disk woke it, nothing else is known. */
static inline void fixture__journal_thread(struct block *b)
{
	struct link *link = fixture__link(
		b, (struct link){ .role = LINK_WOKE,
				  .task = { .pid = 310, .tid = 310, .comm = "jbd2/vda1-8" },
				  .t_ns = FIXTURE_START + 3 * FIXTURE_MS,
				  .ns = 139 * FIXTURE_MS,
				  .state = JANK_STATE_CNT,
				  .syscall = -1 });

	link->process = strdup("jbd2/vda1-8");
}

static inline void fixture__chain_samples(struct block *b)
{
	struct sample *s = SAMPLE(
		b,
		((struct sample){ .t_ns = FIXTURE_START + FIXTURE_MS,
				  .ns = 150 * FIXTURE_MS,
				  .state = JANK_STATE_FUTEX,
				  .syscall = 202,
				  .syscall_name = "futex",
				  .has_waker = true,
				  .cpu = 3,
				  .waker = { .pid = 4700, .tid = 4711, .comm = "indexer" } }),
		KERNEL("futex_wait_queue", 0x60), FUNCTION("__lll_lock_wait", 0x30, FIXTURE_LIBC),
		FUNCTION("pthread_mutex_lock", 0x112, FIXTURE_LIBC),
		APP("index_lock", 0x22, INDEXD), APP("on_query", 0x40, INDEXD),
		APP("main", 0x80, INDEXD));

	s->waited = fixture__waited(JANK_WAITED_ARGS | JANK_WAITED_FUTEX, -1, 0, 0);
	s->waited->owner = (struct other_task){ .pid = 4700, .tid = 4711, .comm = "indexer" };
	s = SAMPLE(b,
		   ((struct sample){ .t_ns = FIXTURE_START + 155 * FIXTURE_MS,
				     .ns = 40 * FIXTURE_MS,
				     .state = JANK_STATE_SOCKET,
				     .syscall = 45,
				     .syscall_name = "recvfrom" }),
		   KERNEL("unix_stream_read_generic", 0x60), FUNCTION("recv", 0x30, FIXTURE_LIBC),
		   APP("ask_speller", 0x22, INDEXD), APP("main", 0x90, INDEXD));
	s->waited = fixture__waited(JANK_WAITED_ARGS | JANK_WAITED_FILE | JANK_WAITED_SOCKET |
					    JANK_WAITED_TIMEOUT,
				    7, 250 * FIXTURE_MS, 4096);
	s->waited->target = strdup("unix stream");
	s->waited->peer = strdup("unix /run/speller.sock");
	s->waited->peer_task = (struct other_task){ .pid = 501, .tid = 501, .comm = "speller" };
}

static inline void fixture__chain_cause(struct block *b)
{
	static const char summary[] = "waited 150 ms for a mutex held by thread 'indexer' (tid "
				      "4711), which waited 139 ms "
				      "for the disk in fsync ← flush_index";
	struct cause *cause = &b->cause;

	*cause = (struct cause){ .kind = "futex",
				 .what = "mutex",
				 .share = 0.75,
				 .frame = &b->samples[0].stack.frames[3],
				 .signature = "a1b2c3d4e5f60718",
				 .summary = strdup(summary),
				 .confidence = 0.95,
				 .part_cnt = 2 };
	cause->parts[0] = (struct cause_part){ cause->kind, .what = cause->what,
					       .share = cause->share, .frame = cause->frame };
	cause->parts[1] = (struct cause_part){ .kind = "socket", .share = 0.2 };
}

static inline void fixture__set_live(Jankbpf__Block *live)
{
	Jankbpf__Scheduling *scheduling = live->scheduling;

	live->cpu->has_steal_pct = live->cpu->psi->has_cpu = true;
	live->cpu->psi->has_memory = live->cpu->psi->has_io = true;
	live->cpu->steal_pct = 2.5;
	live->cpu->psi->cpu = 12.25;
	live->cpu->psi->io = 71;
	scheduling->quota_cgroup = strdup("/limited");
	scheduling->has_quota_ns = scheduling->has_quota_period_ns = true;
	scheduling->quota_ns = 20 * FIXTURE_MS;
	scheduling->quota_period_ns = 100 * FIXTURE_MS;
	scheduling->has_cpu_capacity = scheduling->has_cpu_khz = true;
	scheduling->cpu_capacity = 512;
	scheduling->cpu_khz = 800000;
	scheduling->has_cpu_max_khz = true;
	scheduling->cpu_max_khz = 2400000;
	scheduling->has_numa_node = true; /* 0, which is a node */
	scheduling->has_thermal_throttled = scheduling->thermal_throttled = true;
}

/*
 * Waits for a mutex, then for a server. The holder of the mutex waited for the disk. Everything is
 * known.
 */
static inline struct block *fixture__chain(void)
{
	struct block *b = fixture__new(200 * FIXTURE_MS, "indexd", 4700, 4700);

	b->state_ns[JANK_STATE_RUNNING] = 10 * FIXTURE_MS;
	b->state_ns[JANK_STATE_FUTEX] = 150 * FIXTURE_MS;
	b->state_ns[JANK_STATE_SOCKET] = 40 * FIXTURE_MS;
	b->cpu_ns = 10 * FIXTURE_MS;
	b->facts = (struct facts){ .known = true,
				   .throttled_ns = 4 * FIXTURE_MS,
				   .maj_flt_cnt = 3,
				   .min_flt_cnt = 1200,
				   .prio = JANK_PRIO_OFFSET + 120,
				   .cpus_allowed = 2 };
	fixture__set_live(b->live);
	fixture__chain_samples(b);
	fixture__indexer(b);
	fixture__journal_thread(b);
	fixture__chain_cause(b);
	return b;
}

/* A link with only hostile names, and a wait for something unknown. */
static inline void fixture__add_hostile_chain(struct block *b)
{
	struct link *link =
		fixture__link(b, (struct link){ .role = LINK_HELD,
						.task = { .pid = 1, .tid = 2, .comm = "\xff\r\n" },
						.ns = UINT64_MAX >> 11,
						.prio = UINT16_MAX,
						.state = 99,
						.stack = STACK(APP("\n( = \x1b[31m", 0, "\xff")) });

	link->process = strdup("\x1b[2Jstack = ");
	link->waited = fixture__waited(UINT16_MAX, INT32_MAX, UINT64_MAX, UINT64_MAX >> 11);
	link->waited->path = strdup("/\n\r\xe2\x80\xae/x");
	link->waited->target = strdup("\n");
	link->waited->device = strdup("");
	link->waited->peer = strdup("unix @\x80");
	link->waited->owner = (struct other_task){ .tid = 3, .comm = "" };
	b->samples[0].waited = fixture__waited(0, 0, 0, 0);
	b->chain_sample = SIZE_MAX;
	b->cause.what = "mutex";
	b->cause.summary = strdup("waited for \x1b[31m\n'a\xff' = ( \xe2\x80\xae.");
	b->cause.confidence = -1;
}

#endif
