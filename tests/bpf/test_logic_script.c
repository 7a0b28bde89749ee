/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places of waits in an interpreter. The callers in C are the same (this thread's call of bpf());
 * Ruby's frames, here in this program's own memory, distinguish them. That memory may contain
 * anything.
 */
#include "tests/bpf/logic_run.h"

#define MS 1000000ull

#define LEAVE(ms)  STEP(LEAVE, .task_state = TASK_INTERRUPTIBLE, .now_ns = (ms)*MS)
#define ARRIVE(ms) STEP(ARRIVE, .now_ns = (ms)*MS)

#define PHASE_PARKED 4
#define FRAME_SZ     64

struct ruby_frame {
	uint64_t pc, sp, iseq, self, ep, others[3];
};
_Static_assert(sizeof(struct ruby_frame) == FRAME_SZ, "ruby_frame");

/* A thread's state, its fiber's execution context, and the frames, the innermost first. */
static struct {
	uint64_t native, ec;
	struct {
		uint64_t stack, word_cnt, frame;
	} context;
	struct ruby_frame frames[JANK_SCRIPT_MAX + 16];
	uint64_t flags; /* where the outermost frame's ep points to */
} ruby;

#define OUTERMOST_END (&ruby.frames[JANK_SCRIPT_MAX + 16])

/* The thread has this many frames; the innermost was called from there. */
static void stand(unsigned cnt, uint64_t pc)
{
	ruby.native = 0x4711;
	ruby.ec = (uint64_t)&ruby.context;
	ruby.context.stack = (uint64_t)ruby.frames;
	ruby.context.word_cnt = sizeof(ruby.frames) / (sizeof(uint64_t));
	ruby.context.frame = (uint64_t)(OUTERMOST_END - cnt);
	for (struct ruby_frame *frame = OUTERMOST_END - cnt; frame < OUTERMOST_END; frame++)
		*frame = (struct ruby_frame){ .pc = frame == OUTERMOST_END - cnt ? pc : 1,
					      .iseq = 2,
					      .ep = frame == OUTERMOST_END - 1
							    ? (uint64_t)&ruby.flags
							    : 0 };
}

static void say(const struct jank_parks *parks)
{
	const struct jank_script script = {
		.where = { .tstate = (uint64_t)&ruby,
			   .native_id = 0x4711,
			   .tgid = getpid(),
			   .frame_at = 8,
			   .frame_sz = FRAME_SZ,
			   .root = (uint64_t)&ruby.context },
	};
	static __u32 changes;
	__u32 zero = 0, one_more = 1, tgid = getpid(), tid = gettid();

	changes++;
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_scripts), &tid, &script, BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_script_any), &zero, &one_more,
			    BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_parkers), &tgid, parks, BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_park_gen), &zero, &changes, BPF_ANY);
}

static void begin_dispatch(const struct jank_parks *parks)
{
	struct jank_conf conf = logic__conf();

	conf.threshold_ns = 10 * MS;
	conf.syscall_class[__NR_bpf] = JANK_CLASS_FUTEX;
	logic__begin_with(&conf);
	BEGIN(one, 1ull << 60);
	END(1);
	STEP(OPEN, .now_ns = 1);
	say(parks);
}

/* The frames sent with a question, or NULL. */
static const struct jank_rec_script *sent(struct event *ret)
{
	if (!logic__received(JANK_REC_WAIT, ret))
		return NULL;
	for (unsigned i = 0; i < logic.rec_cnt; i++) {
		const struct jank_rec_script *rec = (const void *)&logic.recs[i];

		if (rec->hdr.kind == JANK_REC_SCRIPT && rec->hdr.flags == JANK_SCRIPT_WAIT &&
		    rec->hdr.tid == ret->hdr.tid && rec->t_ns == ret->hdr.ts_ns)
			return rec;
	}
	return NULL;
}

/* The frames of a wait in a dispatch of its own. 0: none came with the question. */
static uint32_t identity(const struct jank_parks *parks, uint32_t *ret_cnt)
{
	const struct jank_rec_script *rec;
	struct event event;

	begin_dispatch(parks);
	LEAVE(1);
	rec = sent(&event);
	if (rec)
		is_uint(rec->dispatch_ns, 1, "with the begin of the dispatch");
	*ret_cnt = rec ? rec->frame_cnt : 0;
	return rec ? rec->identity : 0;
}

static void test_places(void)
{
	struct jank_parks parks = { .kinds = JANK_PARKS_BY_PLACE | JANK_PARKS_SCRIPT };
	const struct jank_script_frame *frames;
	const struct jank_rec_script *rec;
	struct event event;

	ruby.flags = 0x20; /* VM_FRAME_FLAG_FINISH */
	stand(3, 100);
	begin_dispatch(&parks);
	LEAVE(1);
	rec = sent(&event);
	if (!ok(rec && rec->frame_cnt == 3 && rec->identity, "a question comes with the frames"))
		return;
	frames = (const void *)(rec + 1);
	ok(!frames[0].flags && !frames[1].flags && frames[2].flags == JANK_SCRIPT_ENTRY,
	   "the frame for which Ruby's C function was entered is marked");
	parks.chains[0] = (struct jank_park_chain){ .ip = event.wait.ip,
						    .verdict = JANK_PARK_YES,
						    .script = rec->identity };
	ARRIVE(2);
	say(&parks);
	ok(LEAVE(3).phase == PHASE_PARKED, "a park is recognised by its callers and its frames");
	stand(4, 100);
	begin_dispatch(&parks);
	ok(LEAVE(3).start_ns, "one frame more: the same callers are a handler's");
	stand(3, 101);
	begin_dispatch(&parks);
	ok(LEAVE(3).start_ns, "so is another call from as far out");
	parks.kinds = JANK_PARKS_BY_PLACE;
	stand(3, 100);
	begin_dispatch(&parks);
	ok(LEAVE(3).start_ns && !sent(&event), "elsewhere no frames are read");
	parks.chains[0].script = 0;
	begin_dispatch(&parks);
	ok(LEAVE(3).phase == PHASE_PARKED, "and none are sent");
}

/* The program can write anything there. */
static void test_hostile(void)
{
	const struct jank_parks parks = { .kinds = JANK_PARKS_BY_PLACE | JANK_PARKS_SCRIPT };
	uint32_t cnt;

	stand(JANK_SCRIPT_MAX + 10, 1);
	ok(identity(&parks, &cnt) && cnt == JANK_SCRIPT_MAX,
	   "more frames than the limit: this many");
	stand(3, 1);
	ruby.context.word_cnt = UINT64_MAX / 8;
	ruby.context.frame = (uint64_t)ruby.frames;
	ok(identity(&parks, &cnt) ? cnt <= JANK_SCRIPT_MAX : !cnt, "a stack without an end: %u",
	   cnt);
	stand(3, 1);
	ruby.context.frame = 16;
	is_uint(identity(&parks, &cnt), 0, "frames at an invalid address");
	stand(3, 1);
	ruby.context.frame = (uint64_t)OUTERMOST_END + 8;
	is_uint(identity(&parks, &cnt), 0, "a frame beyond the end");
	stand(3, 1);
	ruby.ec = ~0ull;
	is_uint(identity(&parks, &cnt), 0, "a context at an invalid address");
	stand(3, 1);
	ruby.ec = (uint64_t)&ruby.context - 8;
	is_uint(identity(&parks, &cnt), 0, "another fiber's context");
	stand(3, 1);
	ruby.native++;
	is_uint(identity(&parks, &cnt), 0, "the state belongs to another thread now");
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched", "logic_poll", "logic_park");
	test_places();
	test_hostile();
	return logic__done();
}
