/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of waits: for what a thread waited. */
#include <inttypes.h>
#include <string.h>

#include "verdict/sentence.h"

#define PORT_DNS 53

bool sentence__is_spent(const char *what)
{
	return words__is(what, "gc") || words__is(what, "reclaim") ||
	       words__is(what, "compaction") || words__is(what, "memory_limit") ||
	       words__is(what, "frozen");
}

bool sentence__add_file(struct strbuf *sb, const struct wait_object *waited)
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
		strbuf__adds(sb, words__is(what, "connect") ? " for a connection to "
				 : words__is(what, "send")  ? " to send to "
							    : " for ");
		add_end(sb, block, m->waited);
	} else if (words__is(what, "receive")) {
		strbuf__adds(sb, " for data on a socket");
	} else {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "for a socket");
	}
}

static void add_pipe(struct strbuf *sb, const struct block *block, const struct activity *m,
		     const char *what)
{
	strbuf__adds(sb, words__is(what, "receive") ? " for data in "
			 : words__is(what, "send")  ? " for room in "
						    : " for ");
	if (has_end(m->waited))
		add_end(sb, block, m->waited);
	else
		strbuf__adds(sb, words__is(what, "eventfd") ? "an eventfd" : "a pipe");
}

static void add_poll(struct strbuf *sb, const struct block *block, const struct activity *m,
		     const char *what)
{
	if (has_end(m->waited) && !words__is(what, "child")) {
		strbuf__adds(sb, words__is(what, "connect") ? " for a connection to " : " for ");
		add_end(sb, block, m->waited);
	} else if (words__is(what, "timeout")) {
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
	sentence__add_file(sb, m->waited);
	add_peer_task(sb, block, m->waited);
}

static void add_disk(struct strbuf *sb, const char *what)
{
	if (words__is(what, "network_fs") || words__is(what, "io_limit") ||
	    words__is(what, "kernel_lock") || words__is(what, "swap_in"))
		strbuf__addf(sb, " %s", words__of_what(what));
	else
		strbuf__addf(sb, " for the disk%s",
			     words__is(what, "dirty_limit") ? ", since too much is to be written,"
							    : "");
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
	if (!sentence__add_file(sb, m->waited))
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
	if (words__is(what, "file_lock") && m->waited && m->waited->path) {
		strbuf__adds(sb, " for a lock on ");
		words__add_path(sb, m->waited->path);
	} else if (words__is(what, "eventfd")) {
		add_pipe(sb, block, m, what);
	} else if (!what && has_end(m->waited)) {
		strbuf__adds(sb, " for ");
		add_end(sb, block, m->waited);
	} else {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "in the kernel");
		if (is_of_path(m)) {
			strbuf__adds(sb, words__is(what, "fifo") ? " " : " for ");
			sentence__add_file(sb, m->waited);
		}
	}
}

static void add_futex(struct strbuf *sb, const struct activity *m, const char *what)
{
	const char *lock;

	if (!words__is(what, "timeout")) {
		strbuf__addf(sb, " %s", what ? words__of_what(what) : "for another thread (futex)");
		return;
	}
	lock = wait_reason__of_futex(m);
	if (words__is(lock, "mutex") || words__is(lock, "rwlock") || words__is(lock, "semaphore"))
		strbuf__addf(sb, " %s that it did not get", words__of_what(lock));
	else
		strbuf__adds(sb, " for a condition that did not come");
}

void sentence__add_object(struct strbuf *sb, const struct block *block, const struct activity *m,
			  const char *what)
{
	if (sentence__is_spent(what) || words__is(what, "safepoint") || words__is(what, "gil")) {
		strbuf__addf(sb, " %s", words__of_what(what));
		return;
	}
	if (words__is(what, "fuse")) {
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
