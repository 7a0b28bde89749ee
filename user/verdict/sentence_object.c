/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of waits: for what a thread waited. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model/pid.h"
#include "verdict/sentence.h"

#define PORT_DNS 53

bool sentence__is_spent(const char *reason)
{
	return words__is(reason, "gc") || words__is(reason, "reclaim") ||
	       words__is(reason, "compaction") || words__is(reason, "memory_limit") ||
	       words__is(reason, "frozen");
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
	strbuf__adds(sb, ", ");
	pid__add(sb, peer->pid);
	strbuf__adds(sb, ")");
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
		       const char *reason)
{
	if (has_end(m->waited)) {
		strbuf__adds(sb, words__is(reason, "connect") ? " for a connection to "
				 : words__is(reason, "send")  ? " to send to "
							      : " for ");
		add_end(sb, block, m->waited);
	} else if (words__is(reason, "receive")) {
		strbuf__adds(sb, " for data on a socket");
	} else {
		strbuf__addf(sb, " %s", reason ? words__of_reason(reason) : "for a socket");
	}
}

static void add_pipe(struct strbuf *sb, const struct block *block, const struct activity *m,
		     const char *reason)
{
	strbuf__adds(sb, words__is(reason, "receive") ? " for data in "
			 : words__is(reason, "send")  ? " for room in "
						      : " for ");
	if (has_end(m->waited))
		add_end(sb, block, m->waited);
	else
		strbuf__adds(sb, words__is(reason, "eventfd") ? "an eventfd" : "a pipe");
}

/* A loop's own eventfd tells less than the function that runs the loop. */
static bool is_only_alarm(const struct wait_object *waited, const char *reason)
{
	return reason && !words__is(reason, "eventfd") && waited->target &&
	       text__begins(waited->target, "eventfd");
}

static void add_poll(struct strbuf *sb, const struct block *block, const struct activity *m,
		     const char *reason)
{
	if (has_end(m->waited) && !words__is(reason, "child") &&
	    !is_only_alarm(m->waited, reason)) {
		strbuf__adds(sb, words__is(reason, "connect") ? " for a connection to " : " for ");
		add_end(sb, block, m->waited);
	} else if (words__is(reason, "timeout")) {
		strbuf__adds(sb, " for events that did not come");
	} else if (!reason && m->waited && m->waited->path) {
		strbuf__adds(sb, " for events of ");
		words__add_path(sb, m->waited->path);
	} else {
		strbuf__addf(sb, " %s", reason ? words__of_reason(reason) : "for events");
	}
}

/* Adds " for /mnt/x on fuse.sshfs (sshfs, pid 7)". */
static void add_served(struct strbuf *sb, const struct block *block, const struct activity *m,
		       const char *reason)
{
	if (!m->waited || !m->waited->path) {
		strbuf__addf(sb, " %s", words__of_reason(reason));
		return;
	}
	strbuf__adds(sb, " for ");
	sentence__add_file(sb, m->waited);
	add_peer_task(sb, block, m->waited);
}

bool sentence__is_for_disk(uint32_t state, const char *reason)
{
	static const char *const others[] = { "network_fs", "io_limit",	   "kernel_lock",
					      "swap_in",    "dirty_limit", "fuse" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (words__is(reason, others[i]))
			return false;
	return state == JANK_STATE_DISK && !sentence__is_spent(reason);
}

static void add_disk(struct strbuf *sb, const char *reason)
{
	if (sentence__is_for_disk(JANK_STATE_DISK, reason))
		strbuf__adds(sb, " for the disk");
	else if (words__is(reason, "dirty_limit"))
		strbuf__adds(sb, " for the disk, since too much is to be written,");
	else
		strbuf__addf(sb, " %s", words__of_reason(reason));
}

static void add_page(struct strbuf *sb, const struct activity *m, const char *reason)
{
	if (reason && strcmp(reason, "file")) {
		strbuf__addf(sb, " %s", words__of_reason(reason));
		return;
	}
	if (!reason && !(m->waited && m->waited->path)) {
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

/* Ctrl-S stops the output whatever the reader does; outside of the kernel it cannot be seen. */
static void add_terminal(struct strbuf *sb, const struct block *block, const struct activity *m,
			 const char *reason)
{
	const char *path = m->waited ? m->waited->path : NULL;
	bool pty = path && !strncmp(path, "/dev/pts/", strlen("/dev/pts/"));

	strbuf__adds(sb, words__is(reason, "receive") ? " for input from the terminal"
			 : pty			      ? " for the terminal"
						      : " for room in the terminal");
	if (path) {
		strbuf__addc(sb, ' ');
		words__add_path(sb, path);
	}
	if (!pty || !words__is(reason, "send"))
		return;
	strbuf__adds(sb, " that ");
	if (m->waited->peer_task.pid)
		words__add_task(sb, block, &m->waited->peer_task, NULL);
	else
		strbuf__adds(sb, "its reader");
	strbuf__addf(sb, " %s not read (or Ctrl-S stopped it)",
		     block->type == BLOCK_HANG ? "does" : "did");
}

static void add_other(struct strbuf *sb, const struct block *block, const struct activity *m,
		      const char *reason)
{
	bool names = words__is(reason, "metadata") || words__is(reason, "network_fs");

	if (words__is(reason, "send") || words__is(reason, "receive")) {
		add_terminal(sb, block, m, reason);
		return;
	}
	if (names && is_of_path(m)) {
		strbuf__adds(sb, " for ");
		sentence__add_file(sb, m->waited);
		return;
	}
	if (words__is(reason, "file_lock") && m->waited && m->waited->path) {
		strbuf__adds(sb, " for a lock on ");
		words__add_path(sb, m->waited->path);
	} else if (words__is(reason, "eventfd")) {
		add_pipe(sb, block, m, reason);
	} else if (!reason && has_end(m->waited)) {
		strbuf__adds(sb, " for ");
		add_end(sb, block, m->waited);
	} else if (!reason && m->waited && m->waited->path) {
		strbuf__adds(sb, " for ");
		words__add_path(sb, m->waited->path);
	} else {
		strbuf__addf(sb, " %s", reason ? words__of_reason(reason) : "in the kernel");
		if (is_of_path(m)) {
			strbuf__adds(sb, words__is(reason, "fifo") ? " " : " for ");
			sentence__add_file(sb, m->waited);
		}
	}
}

static void add_futex(struct strbuf *sb, const struct activity *m, const char *reason)
{
	const char *lock;

	if (!words__is(reason, "timeout")) {
		strbuf__addf(sb, " %s",
			     reason ? words__of_reason(reason) : "for another thread (futex)");
		return;
	}
	lock = wait_reason__of_futex(m);
	if (words__is(lock, "mutex") || words__is(lock, "rwlock") || words__is(lock, "semaphore"))
		strbuf__addf(sb, " %s that it did not get", words__of_reason(lock));
	else
		strbuf__adds(sb, " for a condition that did not come");
}

/* Adds " for a reply of system_server (pid 7) to binder call 12", or what is known of it. */
static void add_binder(struct strbuf *sb, const struct block *block, const struct activity *m)
{
	const struct wait_object *waited = m->waited;

	if (!waited || !(waited->raw.hdr.flags & JANK_WAITED_BINDER)) {
		strbuf__adds(sb, " for binder");
		return;
	}
	strbuf__adds(sb, " for a reply");
	if (waited->peer_task.pid) {
		strbuf__adds(sb, " of ");
		words__add_task(sb, block, &waited->peer_task, NULL);
	}
	strbuf__addf(sb, " to binder call %" PRIu32, waited->raw.binder_code);
}

bool sentence__names_peer(const struct activity *m, const char *reason)
{
	switch (m->state) {
	case JANK_STATE_SOCKET:
	case JANK_STATE_PIPE:
		return has_end(m->waited);
	case JANK_STATE_POLL:
		return has_end(m->waited) && !words__is(reason, "child");
	case JANK_STATE_BINDER:
		return m->waited && m->waited->peer_task.pid;
	}
	return words__is(reason, "fuse") || words__is(reason, "send")
		       ? m->waited && m->waited->path
		       : m->state == JANK_STATE_OTHER && has_end(m->waited) &&
				 (!reason || words__is(reason, "eventfd"));
}

void sentence__add_object(struct strbuf *sb, const struct block *block, const struct activity *m,
			  const char *reason)
{
	if (sentence__is_spent(reason) || words__is(reason, "safepoint") ||
	    words__is(reason, "gil")) {
		strbuf__addf(sb, " %s", words__of_reason(reason));
		return;
	}
	if (words__is(reason, "fuse")) {
		add_served(sb, block, m, reason);
		return;
	}
	switch (m->state) {
	case JANK_STATE_FUTEX:
		add_futex(sb, m, reason);
		break;
	case JANK_STATE_DISK:
		add_disk(sb, reason);
		break;
	case JANK_STATE_POLL:
		add_poll(sb, block, m, reason);
		break;
	case JANK_STATE_SOCKET:
		add_socket(sb, block, m, reason);
		break;
	case JANK_STATE_PIPE:
		add_pipe(sb, block, m, reason);
		break;
	case JANK_STATE_BINDER:
		add_binder(sb, block, m);
		break;
	case JANK_STATE_PAGE_FAULT:
		add_page(sb, m, reason);
		break;
	default:
		add_other(sb, block, m, reason);
	}
}
