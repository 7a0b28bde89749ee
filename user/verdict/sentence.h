/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict in plain English, for an engineer to act on: "main thread waited 150 ms in
 * handle_query for a mutex held by thread 'indexer' (tid 4711), which waited for the disk in fsync
 * ← flush_index".
 */
#ifndef JANK_VERDICT_SENTENCE_H
#define JANK_VERDICT_SENTENCE_H

#include "base/strbuf.h"
#include "model/block.h"
#include "model/chain/wait_reason.h"
#include "verdict/analysis.h"
#include "verdict/blame.h"
#include <string.h>

/*
 * Makes the sentence from the verdict's parts; requires at least one. Owned by the caller; NULL:
 * out of memory.
 */
char *sentence__make(const struct analysis *analysis);

/*
 * --- Words of the sentence. Names come from traced programs and may hold any bytes. They are cut
 * to a limit here; the exporters escape them.
 */

void words__add_name(struct strbuf *sb, const char *name); /* cut at its end */
void words__add_path(struct strbuf *sb, const char *path); /* cut at its start */

/* "ns::f", or "libx.so+0x12" without a name. */
void words__add_function(struct strbuf *sb, const struct frame *frame);

/* The same, plus " (app.js:5)" if that is not the process's own program. line 0: without one. */
void words__add_place(struct strbuf *sb, const struct block *block, const struct frame *frame,
		      uint32_t line);

/*
 * "thread 'x' (tid 12)" for the block's own process, else "postgres (pid 612)"; process may be
 * NULL.
 */
void words__add_task(struct strbuf *sb, const struct block *block, const struct other_task *task,
		     const char *process);

/*
 * "'x' (pid 7 and 2 more, real-time priority 50)": who ran instead; runners->task is not NULL. The
 * priority is shown only if it is better than `than`.
 */
void words__add_runners(struct strbuf *sb, const struct runners *runners, uint16_t than);

void words__add_pct(struct strbuf *sb, double share); /* "80 %" */

/* ", until bash (pid 7) thawed it"; nothing without a pid. */
void words__add_thawer(struct strbuf *sb, const struct other_task *thawer);

/* The words of the list below, or NULL. */
const char *words__of_reason(const char *reason);

/* True if the reason is that word of the list; NULL is none. */
static inline bool words__is(const char *reason, const char *word)
{
	return reason && !strcmp(reason, word);
}

/*
 * The finer cause: which problem of a kind it was. Derived from the kernel and library functions on
 * the stacks, the system call, and the wait object. One word of the list below, for `cause.what`;
 * NULL: not known.
 */

/* X(key, words): the words follow "waited 150 ms" or "spent 150 ms" */
#define VERDICT_REASONS(X)                                                                         \
	/* cpu, kernel, and waits in them */                                                       \
	X("gc", "in garbage collection")                                                           \
	X("safepoint", "for the runtime, which had stopped its threads")                           \
	X("gil", "for the interpreter's lock")                                                     \
	X("interrupts", "in interrupts")                                                           \
	X("reclaim", "reclaiming memory")                                                          \
	X("compaction", "compacting memory")                                                       \
	X("memory_limit", "at its cgroup's memory limit")                                          \
	/* runnable */                                                                             \
	X("throttled", "for its cgroup's CPU quota")                                               \
	X("stolen", "for a CPU that the hypervisor had taken")                                     \
	X("priority", "for a CPU that higher priorities had")                                      \
	X("affinity", "for the CPUs that it is bound to")                                          \
	X("preempted", "for a CPU that others had")                                                \
	X("wakeup_latency", "for a CPU after its wake-up")                                         \
	/* futex */                                                                                \
	X("mutex", "for a mutex")                                                                  \
	X("condition", "for a condition variable")                                                 \
	X("rwlock", "for a read-write lock")                                                       \
	X("semaphore", "for a semaphore")                                                          \
	X("join", "for a thread's end")                                                            \
	X("barrier", "at a barrier")                                                               \
	X("deadlock", "in a deadlock")                                                             \
	/* disk */                                                                                 \
	X("fsync", "for the disk in fsync")                                                        \
	X("read", "for data to be read")                                                           \
	X("write", "for data to be written")                                                       \
	X("metadata", "for a directory or an inode")                                               \
	X("dirty_limit", "since too much is to be written")                                        \
	X("fuse", "for a file system that a program serves (FUSE)")                                \
	X("network_fs", "for a file system over the network")                                      \
	X("io_limit", "for its cgroup's share of the disk")                                        \
	/* page_fault */                                                                           \
	X("file", "for a page of a file")                                                          \
	X("swap_in", "for memory that was swapped out")                                            \
	X("userfault", "for a page from its userfaultfd's handler")                                \
	/* socket, poll, pipe, other */                                                            \
	X("connect", "for a connection")                                                           \
	X("dns", "for a name to be looked up")                                                     \
	X("receive", "for an answer")                                                              \
	X("send", "to send")                                                                       \
	X("timeout", "for a time to pass")                                                         \
	X("eventfd", "for an eventfd")                                                             \
	X("child", "for a child process")                                                          \
	X("clipboard", "for the clipboard")                                                        \
	X("dbus", "for an answer over D-Bus")                                                      \
	X("job", "for a job that runs the loop meanwhile")                                         \
	X("dialog", "for its dialog")                                                              \
	X("fifo", "for the other end of a FIFO")                                                   \
	X("file_lock", "for a file's lock")                                                        \
	X("kernel_lock", "for a lock in the kernel")                                               \
	X("frozen", "frozen with its cgroup")

/* --- Clauses of the sentence, one for each part of the verdict. Internal to sentence*.c. */

/* A clause under construction. */
struct clause {
	struct strbuf *sb;
	const struct analysis *analysis;
	const struct block *block;
	size_t nr; /* index of the part */
	const struct cause_part *part;
	const struct sample *sample; /* with the most weight; NULL: none */
	uint64_t ns;		     /* of what the clause says next; at first of the part */
	unsigned same; /* SAME_*: in what the described waits of the part are the same */
	bool open;     /* it still lasts (hang) */
};

void clause__add_busy(struct clause *c);     /* on the CPU */
void clause__add_runnable(struct clause *c); /* waiting for a CPU */

/* "waited 150 ms", or "has been waiting for 5.2 s" */
void clause__add_verb(struct clause *c, const char *past, const char *going_on);

/* Adds " ← onRequest": the handler in which the frame took the time, if it is another function. */
void clause__add_handler(struct clause *c, const struct frame *frame);

/* Adds a part's frame, which may represent several places. */
void clause__add_frame(struct clause *c, const struct frame *frame);

/*
 * Adds " in CALL ← ". frame: the application frame of the activity (NULL: not known). Returns
 * true if the caller must add that frame next.
 */
bool sentence__add_call(struct strbuf *sb, const struct activity *activity,
			const struct frame *frame);

/* Adds " in CALL ← FUNCTION", as far as known, for the activity of another thread. */
void sentence__add_place(struct strbuf *sb, const struct block *block,
			 const struct activity *activity);

/*
 * Adds " (runtime.gcStart) ← f": the collector's outermost function, and the application function
 * that called it.
 */
void sentence__add_collector(struct strbuf *sb, const struct block *block,
			     const struct activity *activity);

/* Adds the object of the wait: " for a mutex", " in garbage collection" … */
void sentence__add_object(struct strbuf *sb, const struct block *block,
			  const struct activity *activity, const char *reason);

/* True if the words for such a wait are " for the disk", without an object. */
bool sentence__is_for_disk(uint32_t state, const char *reason);

/* True if sentence__add_object names the process at the other end, if that is known. */
bool sentence__names_peer(const struct activity *activity, const char *reason);

/* Adds "/var/lib/x on vda"; false: the file is not known. */
bool sentence__add_file(struct strbuf *sb, const struct wait_object *waited);

/* True if the words of this reason follow "spent", not "waited". */
bool sentence__is_spent(const char *reason);

/*
 * Adds the chain: " held by thread 'x' (tid 12), which …". activity: that of the explained wait.
 * ns: the time that the sentence said of such waits; the chain may explain only one of them.
 */
void sentence__add_chain(struct strbuf *sb, const struct block *block,
			 const struct activity *activity, const char *reason, uint64_t ns);

/* Adds ": deadlock: main thread → mutex 'a' held by …". waited: of the dispatch's own wait. */
void sentence__add_deadlock(struct strbuf *sb, const struct block *block,
			    const struct wait_object *waited);

/* Adds "main thread", or "thread 'x'": the thread of the dispatch. */
void words__add_thread(struct strbuf *sb, const struct block *block);

/* Adds the owner or the waker, for a wait without a chain. */
void sentence__add_other(struct strbuf *sb, const struct block *block, const struct sample *sample,
			 const char *reason);

#endif
