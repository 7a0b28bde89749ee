/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the strongest evidence first. A garbage collector or a memory shortage anywhere on the
 * stack explains a wait of any kind. Then come kernel functions, the system call and its arguments,
 * and last the library functions. Of a futex: the lock's functions on the stack, then the holder,
 * the arguments, the waker; a timeout that ran out replaces them.
 */
#include "model/chain/wait_reason.h"

#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "bpf/futex.h"
#include "model/stack.h"
#include "wait_reasons.inc" /* by tools/loops/reasons */

#define TIMEOUT_SLACK_NS 500000ull /* from arming a timer to leaving the CPU */
#define PORT_DNS	 53
#define THREADING	 "/threading.py"
#define PTS		 "/dev/pts/"
#define TCP_SYN_SENT	 2
#define NAME_LEN_MAX	 512 /* traced programs choose the names */

/* --- matching of function names with the tables of loops/wait_reasons.tbl */

/*
 * Matches the whole name, ignoring compiler suffixes (".isra.0") and symbol versions
 * ("@@GLIBC_2.34").
 */
static bool is_whole(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	return !strncmp(name, pattern, len) && (!name[len] || name[len] == '.' || name[len] == '@');
}

static bool matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (pattern[0] == '*')
		return memmem(name, strnlen(name, NAME_LEN_MAX), pattern + 1, len - 1);
	if (pattern[0] != name[0])
		return false;
	if (pattern[len - 1] == '*')
		return !strncmp(name, pattern, len - 1);
	return is_whole(name, pattern);
}

/* Index of the first rule below `end` that matches, or end. */
static size_t first_rule(const struct wait_reason_table *table, const char *name, size_t end)
{
	for (size_t i = 0; i < end; i++)
		if (matches(table->rules[i].pattern, name))
			return i;
	return end;
}

static bool may_match(const struct wait_reason_table *table, const struct frame *frame)
{
	return frame->function && !frame->inlined && frame->kernel == table->kernel;
}

/* The word of the first rule that matches any frame of the stack, or NULL. */
static const char *any_in(const struct wait_reason_table *table, const struct stack *stack)
{
	size_t best = table->cnt;

	for (size_t i = 0; best && i < stack->frame_cnt; i++)
		if (may_match(table, &stack->frames[i]))
			best = first_rule(table, stack->frames[i].function, best);
	return best < table->cnt ? table->rules[best].reason : NULL;
}

/* The word of the rule that matches the innermost matching frame, or NULL. *ret: that frame. */
static const char *innermost_in(const struct wait_reason_table *table, const struct stack *stack,
				const struct frame **ret)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		size_t rule = table->cnt;

		if (may_match(table, &stack->frames[i]))
			rule = first_rule(table, stack->frames[i].function, table->cnt);
		if (rule == table->cnt)
			continue;
		*ret = &stack->frames[i];
		return table->rules[rule].reason;
	}
	return NULL;
}

/* The word of the first rule that matches the name; NULL: none, or no name. */
static const char *name_in(const struct wait_reason_table *table, const char *name)
{
	size_t rule = name ? first_rule(table, name, table->cnt) : table->cnt;

	return rule < table->cnt ? table->rules[rule].reason : NULL;
}

/* --- activities */

struct activity activity__of_sample(const struct sample *sample)
{
	return (struct activity){
		.state = sample->state,
		.syscall = sample->syscall_name,
		.stack = &sample->stack,
		.waited = sample->waited,
		.blocked_ns = sample->ns - sample->runnable_ns,
		.waker_tid = sample->has_waker && !sample->waker_softirq ? sample->waker.tid : 0,
	};
}

/* The stack of the waker that ended the wait of the previous link. */
static const struct stack *wake_stack_of(const struct block *block, size_t nr)
{
	if (nr >= block->chain_cnt || block->chain[nr].role != LINK_WOKE)
		return NULL;
	return &block->chain[nr].wake_stack;
}

static bool is_held(const struct block *block, size_t nr)
{
	return nr < block->chain_cnt && block->chain[nr].role == LINK_HELD;
}

struct activity activity__of_chain(const struct block *block)
{
	struct activity ret = activity__of_sample(&block->samples[block->chain_sample]);

	ret.wake_stack = wake_stack_of(block, 0);
	ret.held = is_held(block, 0);
	return ret;
}

struct activity activity__of_link(const struct block *block, size_t nr)
{
	const struct link *link = &block->chain[nr];

	return (struct activity){
		.wake_stack = wake_stack_of(block, nr + 1),
		.held = is_held(block, nr + 1),
		.state = link->state,
		.syscall = link->syscall_name,
		.stack = &link->stack,
		.waited = link->waited,
	};
}

/*
 * True if the name is one of the calls. A suffix "64" or "_time64" is a variant of the same call.
 */
static bool is_call(const char *name, const char *const *calls)
{
	for (; name && *calls; calls++) {
		size_t len = strlen(*calls);

		if (strncmp(name, *calls, len))
			continue;
		if (!name[len] || !strcmp(name + len, "64") || !strcmp(name + len, "_time64"))
			return true;
	}
	return false;
}

#define IS_CALL(name, ...) is_call(name, (const char *const[]){ __VA_ARGS__, NULL })

static bool knows(const struct wait_object *waited, unsigned flag)
{
	return waited && waited->raw.hdr.flags & flag;
}

bool activity__timed_out(const struct activity *m)
{
	return wait_object__timed_out(m->waited ? &m->waited->raw : NULL, m->blocked_ns);
}

bool wait_object__timed_out(const struct jank_rec_waited *raw, uint64_t blocked_ns)
{
	if (!raw || !(raw->hdr.flags & JANK_WAITED_TIMEOUT) || raw->timeout_ns == UINT64_MAX)
		return false;
	return blocked_ns && blocked_ns + TIMEOUT_SLACK_NS >= raw->timeout_ns;
}

/* select and poll of no descriptor: the portable sleep. */
static bool is_poll_of_none(const struct activity *m)
{
	if (m->state != JANK_STATE_POLL || !knows(m->waited, JANK_WAITED_ARGS))
		return false;
	if (IS_CALL(m->syscall, "poll", "ppoll"))
		return !m->waited->raw.args[1];
	return IS_CALL(m->syscall, "select", "pselect6") && !(int32_t)m->waited->raw.args[0];
}

/* pthread_join waits until the kernel clears a tid. */
static const char *by_futex_args(const struct activity *m)
{
	const struct jank_rec_waited *raw = m->waited ? &m->waited->raw : NULL;
	uint32_t op, val;

	if (m->waited && m->waited->owner.tid)
		return "mutex";
	if (!knows(m->waited, JANK_WAITED_ARGS) || !IS_CALL(m->syscall, "futex"))
		return NULL;
	if (wait_object__is_lock(raw))
		return "mutex";
	op = raw->args[1] & FUTEX_CMD_MASK;
	val = (uint32_t)raw->args[2];
	if ((op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && !(raw->args[1] & FUTEX_PRIVATE_FLAG) &&
	    m->waker_tid && val == m->waker_tid)
		return "join";
	return NULL;
}

/* CPython builds its conditions and events from its locks: the caller in threading.py decides. */
static const char *of_threading(const struct stack *stack)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];
		size_t len = frame->module ? strlen(frame->module) : 0;

		if (frame->kernel || !frame->language)
			continue;
		if (len < strlen(THREADING) || !frame->function ||
		    strcmp(frame->module + len - strlen(THREADING), THREADING))
			return NULL;
		return strstr(frame->function, "_wait_for_tstate_lock") ? "join"
		       : strstr(frame->function, "wait")		? "condition"
									: NULL;
	}
	return NULL;
}

const char *wait_reason__of_futex(const struct activity *m)
{
	const struct frame *frame;
	const char *reason = of_threading(m->stack);

	if (!reason)
		reason = any_in(&reasons_runtime, m->stack);
	if (!reason)
		reason = innermost_in(&reasons_lock, m->stack, &frame);
	if (!reason)
		reason = m->held ? "mutex" : by_futex_args(m);
	if (!reason && m->wake_stack)
		reason = innermost_in(&reasons_wake, m->wake_stack, &frame);
	return reason;
}

bool wait_reason__is_slice(const struct activity *m)
{
	return any_in(&reasons_slices, m->stack);
}

static const char *of_futex(const struct activity *m)
{
	const char *reason = any_in(&reasons_slices, m->stack);

	if (reason)
		return reason;
	return activity__timed_out(m) || wait_reason__is_sleep(m) ? "timeout"
								  : wait_reason__of_futex(m);
}

bool wait_reason__has_sleep(const struct activity *m)
{
	return any_in(&reasons_sleep, m->stack);
}

bool wait_reason__is_sleep(const struct activity *m)
{
	return knows(m->waited, JANK_WAITED_TIMEOUT) && m->waited->raw.timeout_ns != UINT64_MAX &&
	       (wait_reason__has_sleep(m) || is_poll_of_none(m));
}

/* The word for a wait for a remote file system or FUSE, by its type; NULL: another type. */
static const char *of_mount(const struct activity *m)
{
	static const struct {
		const char *type, *reason;
	} rows[] = { { "fuse", "fuse" },       { "nfs", "network_fs" },	 { "nfs4", "network_fs" },
		     { "cifs", "network_fs" }, { "smb3", "network_fs" }, { "9p", "network_fs" },
		     { "ceph", "network_fs" }, { "afs", "network_fs" } };
	const char *type = m->waited && m->waited->path ? m->waited->device : NULL;
	size_t len = type ? strcspn(type, " .") : 0;

	for (size_t i = 0; len && i < sizeof(rows) / sizeof(*rows); i++)
		if (len == strlen(rows[i].type) && !strncmp(type, rows[i].type, len))
			return rows[i].reason;
	return NULL;
}

/* The file is on a file system that this program serves. */
static bool is_served(const struct activity *m)
{
	return m->waited && m->waited->path && m->waited->peer_task.pid &&
	       !S_ISCHR(m->waited->raw.mode);
}

static bool is_remote(const char *reason)
{
	return reason && (!strcmp(reason, "fuse") || !strcmp(reason, "network_fs"));
}

#define OPENS "open", "openat", "openat2", "creat"

static bool is_metadata(const struct activity *m)
{
	return IS_CALL(m->syscall, OPENS, "stat", "lstat", "fstat", "newfstatat", "fstatat",
		       "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
		       "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat",
		       "rmdir", "link", "linkat", "symlink", "symlinkat", "getdents", "truncate",
		       "ftruncate", "chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat",
		       "utimensat", "getxattr", "lgetxattr", "listxattr", "llistxattr", "setxattr",
		       "lsetxattr");
}

static const char *of_disk(const struct activity *m)
{
	const char *kernel = any_in(&reasons_kernel_wait, m->stack);

	if (is_remote(kernel))
		return kernel;
	if (is_served(m))
		return "fuse";
	if (of_mount(m))
		return of_mount(m);
	if (IS_CALL(m->syscall, "fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"))
		return "fsync";
	if (kernel)
		return kernel;
	if (IS_CALL(m->syscall, "read", "pread", "readv", "preadv", "preadv2", "sendfile"))
		return "read";
	if (IS_CALL(m->syscall, "write", "pwrite", "writev", "pwritev", "pwritev2", "fallocate"))
		return "write";
	return is_metadata(m) ? "metadata" : NULL;
}

static const char *of_page_fault(const struct activity *m)
{
	const char *kernel = any_in(&reasons_kernel_wait, m->stack);

	if (kernel && (is_remote(kernel) || strcmp(kernel, "file") || !is_served(m)))
		return kernel;
	if (is_served(m))
		return "fuse";
	if (knows(m->waited, JANK_WAITED_FILE) && m->waited->path)
		return "file";
	return NULL;
}

static bool is_dns(const struct activity *m)
{
	if (knows(m->waited, JANK_WAITED_SOCKET) && m->waited->raw.dport == PORT_DNS)
		return true;
	return any_in(&reasons_resolver, m->stack);
}

static bool is_eventfd(const struct activity *m)
{
	if (!m->waited)
		return false;
	if (m->waited->target && !strncmp(m->waited->target, "eventfd", 7))
		return true;
	return m->waited->path &&
	       strstr(m->waited->path, "[eventfd]"); /* the kernel's name for it */
}

/* True for a poll of one descriptor with a known peer. */
static bool is_poll_of_peer(const struct activity *m)
{
	const struct wait_object *waited = m->waited;

	return knows(waited, JANK_WAITED_SOCKET) && knows(waited, JANK_WAITED_ARGS) &&
	       IS_CALL(m->syscall, "poll", "ppoll") && waited->raw.args[1] == 1 &&
	       (waited->peer || waited->peer_task.pid);
}

static bool is_nested(const struct frame *frame, const char *reason)
{
	return may_match(&reasons_nested, frame) &&
	       text__same(name_in(&reasons_nested, frame->function), reason);
}

/* Of functions of one library that call each other, the outer one is what the program called. */
const char *wait_reason__of_nested(const struct stack *stack, const struct frame **ret)
{
	const char *reason = innermost_in(&reasons_nested, stack, ret);
	const struct frame *at = reason ? *ret : NULL, *end = stack->frames + stack->frame_cnt;
	const char *module = at ? at->module : NULL;

	for (; module && at < end && at->module && !strcmp(at->module, module); at++)
		if (is_nested(at, reason))
			*ret = at;
	return reason;
}

static const char *of_poll(const struct activity *m)
{
	const char *child = any_in(&reasons_child, m->stack), *nested;
	const struct frame *frame;

	if (is_dns(m))
		return "dns";
	if (knows(m->waited, JANK_WAITED_SOCKET) && m->waited->raw.state == TCP_SYN_SENT)
		return "connect";
	if (activity__timed_out(m) || wait_reason__is_sleep(m))
		return "timeout";
	if (!child && m->wake_stack)
		child = any_in(&reasons_kernel_exit, m->wake_stack);
	if (child)
		return child;
	nested = wait_reason__of_nested(m->stack, &frame);
	if (nested)
		return nested;
	if (is_poll_of_peer(m))
		return "receive";
	return is_eventfd(m) ? "eventfd" : NULL;
}

static const char *of_transfer(const struct activity *m)
{
	if (is_eventfd(m))
		return "eventfd";
	if (IS_CALL(m->syscall, "read", "readv", "recv", "recvfrom", "recvmsg", "recvmmsg"))
		return "receive";
	if (IS_CALL(m->syscall, "write", "writev", "send", "sendto", "sendmsg", "sendmmsg",
		    "sendfile", "splice"))
		return "send";
	return NULL;
}

static const char *of_socket(const struct activity *m)
{
	if (IS_CALL(m->syscall, "connect"))
		return "connect";
	return is_dns(m) ? "dns" : of_transfer(m);
}

/* True if the call waits for a file system: an open may wait for the device that it opens. */
static bool is_for_names(const struct activity *m)
{
	const struct frame *frames = m->stack->frames;
	bool named = m->stack->frame_cnt && frames[0].kernel && frames[0].function;

	if (!is_metadata(m) || !IS_CALL(m->syscall, OPENS))
		return is_metadata(m);
	for (size_t i = 0; i < m->stack->frame_cnt; i++)
		if (frames[i].kernel && IS_CALL(frames[i].function, "chrdev_open", "blkdev_open"))
			return false;
	return named;
}

/* A write: the terminal's reader does not read. */
static const char *of_terminal(const struct activity *m)
{
	const struct wait_object *waited = m->waited;
	const struct frame *frame;
	const char *ret = innermost_in(&reasons_kernel_terminal, m->stack, &frame);

	if (ret || !knows(waited, JANK_WAITED_FILE) || !S_ISCHR(waited->raw.mode) ||
	    !waited->path || strncmp(waited->path, PTS, strlen(PTS)))
		return ret;
	return of_transfer(m);
}

static const char *of_other(const struct activity *m)
{
	const char *reason;

	if (is_eventfd(m))
		return "eventfd";
	if (IS_CALL(m->syscall, "wait4", "waitid", "waitpid", "vfork"))
		return "child";
	if (IS_CALL(m->syscall, "flock"))
		return "file_lock";
	reason = any_in(&reasons_kernel_wait, m->stack);
	if (!reason)
		reason = of_terminal(m);
	if (!reason)
		reason = is_served(m) ? "fuse" : of_mount(m);
	return reason || !is_for_names(m) ? reason : "metadata";
}

/* Where a stop found the thread, it did not wait for anything else. */
static const char *of_stopped(const struct activity *m)
{
	return any_in(&reasons_kernel_wait, m->stack);
}

static const char *of_running(const struct activity *m)
{
	return any_in(&reasons_kernel_interrupts, m->stack);
}

const char *wait_reason__of(const struct activity *m)
{
	static const char *(*const by_state[JANK_STATE_CNT])(const struct activity *) = {
		[JANK_STATE_RUNNING] = of_running,
		[JANK_STATE_FUTEX] = of_futex,
		[JANK_STATE_DISK] = of_disk,
		[JANK_STATE_POLL] = of_poll,
		[JANK_STATE_SOCKET] = of_socket,
		[JANK_STATE_PIPE] = of_transfer,
		[JANK_STATE_PAGE_FAULT] = of_page_fault,
		[JANK_STATE_STOPPED] = of_stopped,
		[JANK_STATE_OTHER] = of_other,
	};
	const char *reason;

	if (m->state >= JANK_STATE_CNT || m->state == JANK_STATE_RUNNABLE)
		return NULL;
	if (m->stack->flags & JANK_STACK_FROZEN)
		return "frozen";
	reason = any_in(&reasons_gc, m->stack);
	if (!reason)
		reason = any_in(&reasons_kernel_memory, m->stack);
	if (!reason && by_state[m->state])
		reason = by_state[m->state](m);
	return reason;
}

bool wait_reason__needs_thread(uint32_t state, const char *reason)
{
	static const char *const by_thread[] = { "userfault", "eventfd", "file_lock", "child" };

	if (reason && !strcmp(reason, "timeout"))
		return false;
	if (state == JANK_STATE_FUTEX || state == JANK_STATE_PIPE || state == JANK_STATE_BINDER ||
	    state == JANK_STATE_SOCKET || state == JANK_STATE_POLL)
		return true;
	for (size_t i = 0; reason && i < sizeof(by_thread) / sizeof(*by_thread); i++)
		if (!strcmp(reason, by_thread[i]))
			return true;
	return false;
}

const char *wait_reason__of_thread(const char *comm)
{
	return name_in(&reasons_thread, comm);
}

/* The outermost one says what the application asked for: JSON.parse may collect garbage, too. */
const char *wait_reason__activity(const struct stack *stack, const struct frame *app)
{
	for (const struct frame *frame = app; frame > stack->frames;) {
		const char *ret = may_match(&reasons_activity, --frame)
					  ? name_in(&reasons_activity, frame->function)
					  : NULL;

		if (ret)
			return ret;
	}
	return NULL;
}

bool wait_reason__is_turn(const struct frame *frame)
{
	return may_match(&reasons_turn, frame) && name_in(&reasons_turn, frame->function);
}

const struct frame *wait_reason__frame(const struct activity *m)
{
	/* A runtime's function says more than the library's that it calls. */
	static const struct {
		const struct wait_reason_table *table;
		bool of_futex;
	} tables[] = { { &reasons_gc, false },
		       { &reasons_sleep, false },
		       { &reasons_runtime, true },
		       { &reasons_lock, true },
		       { &reasons_resolver, false } };
	const struct frame *ret = NULL;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (tables[i].of_futex && m->state != JANK_STATE_FUTEX)
			continue;
		if (innermost_in(tables[i].table, m->stack, &ret))
			return ret;
	}
	wait_reason__of_nested(m->stack, &ret);
	return ret;
}

const struct frame *wait_reason__collector(const struct activity *m,
					   const struct frame **ret_caller)
{
	const struct frame *ret = NULL;

	*ret_caller = NULL;
	for (size_t i = 0; i < m->stack->frame_cnt; i++) {
		const struct frame *frame = &m->stack->frames[i];

		if (!frame->kernel && !frame->inlined && name_in(&reasons_gc, frame->function)) {
			ret = frame;
			*ret_caller = NULL;
		} else if (ret && !*ret_caller && stack__is_app(frame)) {
			*ret_caller = frame;
		}
	}
	return ret;
}
