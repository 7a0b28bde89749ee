/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probes' own functions, called from programs that user space runs on demand: for the current
 * task, with its real task storage, ring and maps.
 */
#include "tests/bpf/logic.h"
#include "bpf/binder.bpf.h"
#include "bpf/history.bpf.h"
#include "bpf/looper.bpf.h"
#include "bpf/sched.bpf.h"
#include "bpf/vblank.bpf.h"

/* The verifier allows only constant offsets into the context. */
#define EACH_STATE(i) _Pragma("unroll") for (int i = 0; i < JANK_STATE_CNT; i++)

SEC("syscall")
int logic_bucket(struct logic_bucket *ctx)
{
	ctx->bucket = jank_hist__bucket(ctx->ns, jank_hist__log2(ctx->ns));
	return 0;
}

/* Corrects the account of a block by its CPU time. */
SEC("syscall")
int logic_trust(struct jank_rec_block *ctx)
{
	u64 state_ns[JANK_STATE_CNT];

	EACH_STATE (i)
		state_ns[i] = ctx->state_ns[i];
	thread__trust_cpu_clock(state_ns, ctx->cpu_ns);
	EACH_STATE (i)
		ctx->state_ns[i] = state_ns[i];
	return 0;
}

/* The state in which a thread would sleep in this very system call (bpf). */
SEC("syscall")
int logic_kind(struct logic_step *ctx)
{
	s32 nr = 0;

	ctx->state = classify_block__blocked(bpf_get_current_task_btf(), ctx->task_state, &nr);
	ctx->span_syscall = nr;
	return 0;
}

static __always_inline void show(struct logic_step *ctx, struct jank_thread *t)
{
	ctx->known = t != NULL;
	if (!t)
		return;
	ctx->due = t->due;
	ctx->phase = t->phase;
	ctx->trial = t->trial;
	ctx->start_ns = t->start_ns;
	ctx->mark_ns = t->mark_ns;
	ctx->loop_sp = t->sp;
	ctx->key = t->key;
	ctx->loop_fd = t->fd;
	ctx->loop = t->loop;
	ctx->state = t->state;
	ctx->start_delay_ns = t->start_delay_ns;
	ctx->woken_ns = t->woken_ns;
	ctx->looper_entry = t->looper_entry;
	ctx->ready_cnt = t->ready_cnt;
	ctx->nested_cnt = t->nested_cnt;
	ctx->wakeup_missed_cnt = t->wakeup_missed_cnt;
	ctx->stack_cnt = t->stack_cnt;
	ctx->dispatch_cnt = t->dispatch_cnt;
	ctx->block_cnt = t->block_cnt;
	ctx->span_syscall = t->span.rec.syscall;
	EACH_STATE (i)
		ctx->state_ns[i] = t->state_ns[i];
	ctx->mark = t->handled.mark;
	ctx->got = t->handled.rec.got;
	ctx->ready_got = t->handled.rec.ready_got;
	_Pragma("unroll") for (int i = 0; i < JANK_MARK_FIELD_MAX; i++) ctx->value[i] =
		t->handled.rec.value[i];
	_Pragma("unroll") for (int i = 0; i < JANK_READY_MAX; i++) ctx->ready_inode[i] =
		t->handled.rec.ready_inode[i];
	ctx->value_inode = t->handled.rec.value_inode[0];
	_Pragma("unroll") for (int i = 0; i < JANK_MESSAGE_TEXT_SZ; i++) ctx->text[i] =
		t->handled.rec.text[i];
}

/* One program for each kind of step, so that each is small for the verifier. */
SEC("syscall")
int logic_wait(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jank_thread *t;

	switch (ctx->step) {
	case LOGIC_BEGIN:
		loop_wait__begin(task, ctx->fd, ctx->sp);
		break;
	case LOGIC_END:
		loop_wait__end(task, ctx->ret, ctx->fd ?: -1, 0);
		break;
	case LOGIC_LOOPER:
		looper__enter(task, ctx->looper, ctx->sp);
		break;
	case LOGIC_MARK:
		t = thread__get(task);
		if (t)
			off__mark(t);
		break;
	case LOGIC_RESET:
		bpf_task_storage_delete(&jank_threads, task);
		break;
	}
	show(ctx, thread__get(task));
	return 0;
}

/* A task leaves the CPU, which it got at the last call. */
static __noinline int add_slice(struct task_struct *task, __u32 tid, __u64 now_ns)
{
	static __u64 last_ns;
	struct jank_slices *slices = slices__own();
	__u64 ns = now_ns - last_ns;

	last_ns = now_ns;
	if (slices && (ns >= JANK_SLICE_MIN_NS || slices__sum(slices, ns)))
		slices__add(slices, task, tid, ns, now_ns);
	return 0;
}

SEC("syscall")
int logic_sched(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jank_thread *t = thread__get(task);

	if (!t)
		return 0;
	switch (ctx->step) {
	case LOGIC_OPEN:
		thread__open(t, task, ctx->now_ns);
		break;
	case LOGIC_LEAVE:
		sched__leave(ctx, t, task, ctx->preempted, ctx->task_state, ctx->now_ns);
		break;
	case LOGIC_WAKE:
		sched__wake(ctx, t, task, ctx->now_ns);
		break;
	case LOGIC_ARRIVE:
		sched__arrive(t, task, ctx->now_ns);
		break;
	case LOGIC_SLICE:
		add_slice(task->group_leader, ctx->arg ?: (__u64)task->group_leader->pid,
			  ctx->now_ns);
		break;
	case LOGIC_FORGET:
		thread__forget_dispatch(t);
		break;
	case LOGIC_DUE:
		sched__due(t, task, ctx->now_ns);
		break;
	case LOGIC_WAIT_LEAVE:
		sched__leave_wait(t, task, ctx->preempted, ctx->now_ns);
		break;
	case LOGIC_READY:
		t->ready_cnt = ctx->ret;
		break;
	case LOGIC_FREEZE:
		sched__freeze_wait(t, task, ctx->now_ns);
		break;
	case LOGIC_WAIT_ARRIVE:
		sched__arrive_in_wait(t, task, ctx->now_ns);
		break;
	}
	show(ctx, t);
	return 0;
}

/* The end of a dispatch, and its histogram. */
SEC("syscall")
int logic_count(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jank_thread *t = thread__get(task);
	__u64 at = ctx->ret;

	if (!t)
		return 0;
	if (ctx->step == LOGIC_CLOSE)
		thread__close(t, task, ctx->now_ns, JANK_END_WAIT);
	else if (ctx->step == LOGIC_FILL && at < JANK_HIST_BUCKETS)
		t->dispatches.cnt[at] = ctx->arg;
	show(ctx, t);
	ctx->over_cnt = t->dispatches.over_cnt;
	ctx->max_ns = t->dispatches.max_ns;
	ctx->counted = 0;
	for (int i = 0; i < JANK_HIST_BUCKETS; i++)
		ctx->counted += t->dispatches.cnt[i];
	return 0;
}

/* All except the waker's stack: a program of this type cannot take one. */
SEC("syscall")
int logic_watch(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jank_watch *watch = waker_watch__own();

	switch (ctx->step) {
	case LOGIC_WATCH:
		jank_watch_start_ns = ctx->now_ns;
		if (watch) {
			watch->token_cnt = ctx->arg;
			watch->paid_ns = ctx->now_ns;
		}
		jank_queue_off_ns = ctx->sp ? ctx->sp - queue_clock__left(task) : 0;
		ctx->key = (__u64)KREAD(task, sched_class);
		break;
	case LOGIC_OTHER_LEAVE:
		waker_watch__leave(ctx, task, ctx->preempted, ctx->task_state, ctx->now_ns);
		break;
	case LOGIC_OTHER_WAKE:
		waker_watch__end_sleep(ctx, task, ctx->now_ns);
		break;
	case LOGIC_OTHER_ARRIVE:
		waker_watch__arrive(task, ctx->now_ns);
		break;
	case LOGIC_OTHER_RESTS:
		ctx->key = watch_rest__leaves(KREAD(task, pid), ctx->now_ns) |
			   watch_rest__goes_on(KREAD(task, pid), ctx->now_ns + ctx->arg) << 1;
		break;
	}
	return 0;
}

/* The display of number fd shows its frame arg at now_ns. */
SEC("syscall")
int logic_vblank(struct logic_step *ctx)
{
	vblank__record(ctx->fd, ctx->arg, ctx->now_ns);
	return 0;
}

/*
 * The thread sends a binder call of code arg to the process fd, with the flags of `looper`; a reply
 * if ret is not 0. Or it receives one (fd 0).
 */
SEC("syscall")
int logic_binder(struct logic_step *ctx)
{
	if (ctx->fd)
		binder__sends(ctx->fd, ctx->arg, ctx->looper, ctx->ret);
	else
		binder__receives();
	return 0;
}

/* A tick in this thread at now_ns, at the address arg; with a dispatch if ret is not 0. */
SEC("syscall")
int logic_tick(struct logic_step *ctx)
{
	history__tick(bpf_get_current_task_btf(), ctx->ret, ctx->arg, ctx->now_ns);
	return 0;
}

SEC("syscall")
int logic_poll(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_place at = {
		.sp = ctx->sp,
		.fds = ctx->arg,
		.nr = compat__syscall_nr(regs),
		.fd_cnt = ctx->fd,
		.set = ctx->looper,
	};

	if (ctx->step == LOGIC_POLL)
		poll__turn(task, regs, &at, ctx->ret);
	show(ctx, thread__get(task));
	return 0;
}

SEC("syscall")
int logic_park(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jank_thread *t = thread__get(task);

	if (ctx->step == LOGIC_WORKER && (t || (t = thread__create(task))))
		thread__may_park(t, ctx->arg);
	else if (t && ctx->step == LOGIC_PARK)
		park__considers(t, ctx->now_ns);
	else if (t && t->phase == JANK_PHASE_PARKED)
		park__arrives(t, task, ctx->now_ns);
	show(ctx, t);
	return 0;
}

SEC("syscall")
int logic_message(struct logic_step *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct jank_thread *t = thread__get(task);

	if (!t)
		return 0;
	if (ctx->step == LOGIC_HANDLE) {
		message__begin(t, ctx->looper);
		t->ready_cnt = ctx->ret;
		t->handled.mark = ctx->fd + 1;
		t->handled.args[0] = ctx->sp;
		t->handled.args[1] = ctx->arg;
	} else {
		read_message__all(t);
	}
	show(ctx, t);
	return 0;
}
