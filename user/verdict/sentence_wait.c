/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clauses for time off the CPU: the object of the wait, and the place. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "model/stack.h"
#include "verdict/analysis.h"
#include "verdict/sentence.h"

#define PORT_DNS     53
#define PRESSURE_PCT 5 /* threshold for mentioning it */

static bool is(const char *what, const char *word)
{
	return what && !strcmp(what, word);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool sentence__is_spent(const char *what)
{
	return is(what, "gc") || is(what, "reclaim") || is(what, "compaction") ||
	       is(what, "memory_limit") || is(what, "frozen");
}

#define NEARLY_ALL 0.9

/*
 * True if it is a span of the part in that call, from that application function (NULL: from any).
 */
static bool is_span_in(const struct clause *c, size_t i, const struct activity *m,
		       const struct frame *frame)
{
	const struct sample *sample = &c->block->samples[i];
	const struct frame *other = frame ? stack__app_frame(&sample->stack) : NULL;

	if (!analysis__weight(c->proof, i, c->nr) || sample->state != m->state ||
	    !same_text(sample->syscall_name, m->syscall))
		return false;
	return !frame || (other && stack__same_code(frame, other));
}

/*
 * Adds ", 301 ms of it" if the call named next has clearly less than the clause's time. That time
 * includes waits too short to be sent as spans; they belong to no call.
 */
static void add_part_of_it(struct clause *c, const struct activity *m, const struct frame *frame)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->block->sample_cnt; i++)
		if (is_span_in(c, i, m, frame))
			ns += c->block->samples[i].ns - c->block->samples[i].runnable_ns;
	if (!ns || (double)ns >= NEARLY_ALL * (double)c->ns)
		return;
	strbuf__adds(c->sb, ", ");
	clock__add_duration(c->sb, ns);
	strbuf__adds(c->sb, " of it");
}

/* Adds the place of the part's time, if one place has enough of it. */
static void add_place(struct clause *c, const struct activity *m)
{
	const struct frame *frame = stack__app_frame(m->stack);

	if (!frame)
		frame = c->part->frame;
	if (frame && !culprit__stands(c->proof, c->nr, frame))
		frame = NULL;
	if (m->syscall || frame)
		add_part_of_it(c, m, frame);
	if (sentence__add_call(c->sb, m, frame))
		clause__add_frame(c, frame);
}

/* Adds "/var/lib/x on vda". */
static bool add_file(struct strbuf *sb, const struct wait_object *waited)
{
	if (!waited || !waited->path)
		return false;
	words__add_path(sb, waited->path);
	if (waited->device) {
		strbuf__adds(sb, " on ");
		words__add_name(sb, waited->device);
	}
	return true;
}

static void add_peer_task(struct strbuf *sb, const struct block *block,
			  const struct wait_object *waited)
{
	const struct other_task *peer = &waited->peer_task;

	if (waited->raw.hdr.flags & JANK_WAITED_SOCKET && waited->raw.dport == PORT_DNS)
		strbuf__adds(sb, " (name server)");
	if (!peer->pid)
		return;
	if (peer->pid == block->pid) {
		strbuf__adds(sb, " (its own process)");
		return;
	}
	strbuf__adds(sb, " (");
	words__add_name(sb, peer->comm);
	strbuf__addf(sb, ", pid %" PRIu32 ")", peer->pid);
}

/* False for an epoll descriptor: it only represents the descriptors registered with it. */
static bool has_end(const struct wait_object *waited)
{
	return waited && (waited->peer || (waited->target && strcmp(waited->target, "epoll")));
}

/* Adds the descriptor's remote end, or its description. */
static void add_end(struct strbuf *sb, const struct block *block, const struct wait_object *waited)
{
	words__add_path(sb, waited->peer ? waited->peer : waited->target);
	add_peer_task(sb, block, waited);
}

static void add_socket(struct strbuf *sb, const struct block *block, const struct activity *m,
		       const char *what)
{
	if (has_end(m->waited)) {
		strbuf__adds(sb, is(what, "connect") ? " for a connection to "
				 : is(what, "send")  ? " to send to "
						     : " for ");
		add_end(sb, block, m->waited);
	} else if (is(what, "receive")) {
		strbuf__adds(sb, " for data on a socket");
	} else {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "for a socket");
	}
}

static void add_pipe(struct strbuf *sb, const struct block *block, const struct activity *m,
		     const char *what)
{
	strbuf__adds(sb, is(what, "receive") ? " for data in "
			 : is(what, "send")  ? " for room in "
					     : " for ");
	if (has_end(m->waited))
		add_end(sb, block, m->waited);
	else
		strbuf__adds(sb, is(what, "eventfd") ? "an eventfd" : "a pipe");
}

static void add_poll(struct strbuf *sb, const struct block *block, const struct activity *m,
		     const char *what)
{
	if (has_end(m->waited) && !is(what, "child")) {
		strbuf__adds(sb, is(what, "connect") ? " for a connection to " : " for ");
		add_end(sb, block, m->waited);
	} else if (is(what, "timeout")) {
		strbuf__adds(sb, " for events that did not come");
	} else {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "for events");
	}
}

/* Adds " for /mnt/x on fuse.sshfs (sshfs, pid 7)". */
static void add_served(struct strbuf *sb, const struct block *block, const struct activity *m,
		       const char *what)
{
	if (!m->waited || !m->waited->path) {
		strbuf__addf(sb, " %s", words__of_what(what));
		return;
	}
	strbuf__adds(sb, " for ");
	add_file(sb, m->waited);
	add_peer_task(sb, block, m->waited);
}

static void add_disk(struct strbuf *sb, const char *what)
{
	if (is(what, "network_fs") || is(what, "io_limit") || is(what, "kernel_lock") ||
	    is(what, "swap_in"))
		strbuf__addf(sb, " %s", words__of_what(what));
	else
		strbuf__addf(sb, " for the disk%s",
			     is(what, "dirty_limit") ? ", since too much is to be written," : "");
}

static void add_page(struct strbuf *sb, const struct activity *m, const char *what)
{
	if (what && strcmp(what, "file")) {
		strbuf__addf(sb, " %s", words__of_what(what));
		return;
	}
	if (!what && !(m->waited && m->waited->path)) {
		strbuf__adds(sb, " in page faults");
		return;
	}
	strbuf__adds(sb, " for a page of ");
	if (!add_file(sb, m->waited))
		strbuf__adds(sb, "a file");
}

/* True if the call has a path argument. */
static bool is_of_path(const struct activity *m)
{
	return m->waited && m->waited->path && m->waited->raw.hdr.flags & JANK_WAITED_PATH;
}

static void add_other(struct strbuf *sb, const struct block *block, const struct activity *m,
		      const char *what)
{
	if (is(what, "file_lock") && m->waited && m->waited->path) {
		strbuf__adds(sb, " for a lock on ");
		words__add_path(sb, m->waited->path);
	} else if (is(what, "eventfd")) {
		add_pipe(sb, block, m, what);
	} else if (!what && has_end(m->waited)) {
		strbuf__adds(sb, " for ");
		add_end(sb, block, m->waited);
	} else {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "in the kernel");
		if (is_of_path(m)) {
			strbuf__adds(sb, is(what, "fifo") ? " " : " for ");
			add_file(sb, m->waited);
		}
	}
}

static void add_futex(struct strbuf *sb, const struct activity *m, const char *what)
{
	const char *lock;

	if (!is(what, "timeout")) {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "for another thread (futex)");
		return;
	}
	lock = wait_reason__of_futex(m);
	if (is(lock, "mutex") || is(lock, "rwlock") || is(lock, "semaphore"))
		strbuf__addf(sb, " %s that it did not get", words__of_what(lock));
	else
		strbuf__adds(sb, " for a condition that did not come");
}

void sentence__add_object(struct strbuf *sb, const struct block *block, const struct activity *m,
			  const char *what)
{
	if (sentence__is_spent(what) || is(what, "safepoint") || is(what, "gil")) {
		strbuf__addf(sb, " %s", words__of_what(what));
		return;
	}
	if (is(what, "fuse")) {
		add_served(sb, block, m, what);
		return;
	}
	switch (m->state) {
	case JANK_STATE_FUTEX:
		add_futex(sb, m, what);
		break;
	case JANK_STATE_DISK:
		add_disk(sb, what);
		break;
	case JANK_STATE_POLL:
		add_poll(sb, block, m, what);
		break;
	case JANK_STATE_SOCKET:
		add_socket(sb, block, m, what);
		break;
	case JANK_STATE_PIPE:
		add_pipe(sb, block, m, what);
		break;
	case JANK_STATE_BINDER:
		strbuf__adds(sb, " for binder");
		break;
	case JANK_STATE_PAGE_FAULT:
		add_page(sb, m, what);
		break;
	default:
		add_other(sb, block, m, what);
	}
}

static void add_sleep(struct clause *c, const struct activity *m)
{
	const struct wait_object *waited = m->waited;

	clause__add_verb(c, "slept", "sleeping");
	if (c->part->frame && culprit__stands(c->proof, c->nr, c->part->frame)) {
		strbuf__adds(c->sb, " in ");
		clause__add_frame(c, c->part->frame);
	}
	if (!m->syscall)
		return;
	strbuf__addf(c->sb, " (%s", m->syscall);
	if (c->sample->ns < c->ns / 2) {
		strbuf__adds(c->sb, ", more than once");
	} else if (waited && waited->raw.hdr.flags & JANK_WAITED_TIMEOUT &&
		   waited->raw.timeout_ns != UINT64_MAX) {
		strbuf__adds(c->sb, " of ");
		clock__add_duration(c->sb, waited->raw.timeout_ns);
	}
	strbuf__adds(c->sb, ")");
}

/* Adds the number of major faults and the machine's memory pressure. */
static void add_memory(struct clause *c)
{
	const char *what = c->part->what;
	uint64_t faults = c->block->facts.known ? c->block->facts.maj_flt_cnt : 0;

	if (part__state(c->part) == JANK_STATE_PAGE_FAULT && faults > 1)
		strbuf__addf(c->sb, ", %" PRIu64 " major page faults", faults);
	if ((is(what, "reclaim") || is(what, "swap_in") || is(what, "memory_limit")) &&
	    c->block->load.psi_memory_pct >= PRESSURE_PCT)
		strbuf__addf(c->sb, ", the machine's memory pressure at %.0f %%",
			     c->block->load.psi_memory_pct);
}

/* Adds further facts about the wait: its file, its timeout. */
static void add_details(struct clause *c, const struct activity *m)
{
	const struct wait_object *waited = m->waited;

	if (m->state == JANK_STATE_DISK && waited && waited->path && !is(c->part->what, "fuse")) {
		strbuf__adds(c->sb, " (");
		add_file(c->sb, waited);
		strbuf__adds(c->sb, ")");
	}
	add_memory(c);
	if (!waited || !(waited->raw.hdr.flags & JANK_WAITED_TIMEOUT) ||
	    waited->raw.timeout_ns == UINT64_MAX || is(c->part->what, "gil"))
		return;
	if (activity__timed_out(m) && c->ns / 3 * 2 > waited->raw.timeout_ns) {
		strbuf__adds(c->sb, ", more than once until a timeout of ");
	} else {
		strbuf__adds(c->sb,
			     activity__timed_out(m) ? ", until its timeout of " : ", timeout ");
	}
	clock__add_duration(c->sb, waited->raw.timeout_ns);
}

void clause__add_wait(struct clause *c)
{
	static const struct stack nowhere;
	struct activity m = { .state = part__state(c->part), .stack = &nowhere };
	bool chain = analysis__has_chain(c->proof, c->nr);

	/* Prefer the wait with the chain: another may be as long, but explains less. */
	if (chain) {
		c->sample = &c->block->samples[c->block->chain_sample];
		m = activity__of_chain(c->block);
	} else if (c->sample) {
		m = activity__of_sample(c->sample);
	}
	if (m.state == JANK_STATE_SLEEP) {
		add_sleep(c, &m);
		return;
	}
	if (m.state == JANK_STATE_STOPPED && !c->part->what) {
		clause__add_verb(c, "was stopped for", "stopped");
		strbuf__adds(c->sb, ", by a debugger or a signal");
		return;
	}
	if (sentence__is_spent(c->part->what)) {
		strbuf__adds(c->sb, c->open ? " has spent " : " spent ");
		clock__add_duration(c->sb, c->ns);
	} else {
		clause__add_verb(c, "waited", "waiting");
	}
	if (chain && !is(c->part->what, "gc"))
		add_place(c, &m);
	sentence__add_object(c->sb, c->block, &m, c->part->what);
	if (chain) {
		sentence__add_chain(c->sb, c->block, 0, &m, c->part->what);
		return;
	}
	if (c->sample)
		sentence__add_other(c->sb, c->block, c->sample, c->part->what);
	if (is(c->part->what, "gc"))
		sentence__add_collector(c->sb, c->block, &m);
	else
		add_place(c, &m);
	add_details(c, &m);
}
