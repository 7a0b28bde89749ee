/* SPDX-License-Identifier: GPL-2.0 */
/* Which argument means what is the system call's business; its name is known by then. */
#include "export/wait.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

static bool has(const struct waited *waited, uint16_t flag)
{
	return waited && waited->raw.hdr.flags & flag;
}

int32_t wait__fd(const struct waited *waited)
{
	if (!has(waited, JANK_WAITED_FILE) || waited->raw.fd < 0)
		return -1;
	return waited->raw.fd;
}

bool wait__timeout(const struct waited *waited, uint64_t *ret_ns)
{
	if (!has(waited, JANK_WAITED_TIMEOUT) || waited->raw.timeout_ns == UINT64_MAX)
		return false;
	*ret_ns = waited->raw.timeout_ns;
	return true;
}

/* System calls with the number of bytes asked for, by its argument. */
static const struct {
	const char *name;
	unsigned arg;
} counted[] = {
	{ "read", 2 },	   { "write", 2 },  { "pread64", 2 },	{ "pwrite64", 2 },
	{ "recvfrom", 2 }, { "sendto", 2 }, { "readahead", 2 }, { "sendfile", 3 },
};

bool wait__bytes(const struct waited *waited, const char *syscall_name, uint64_t *ret)
{
	if (!has(waited, JANK_WAITED_ARGS) || !syscall_name)
		return false;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		if (strcmp(counted[i].name, syscall_name))
			continue;
		*ret = waited->raw.args[counted[i].arg];
		return true;
	}
	return false;
}

static void add_owner(struct strbuf *sb, const struct other_task *owner)
{
	strbuf__addf(sb, "%sheld by %s (its tid %" PRIu32 ")", sb->len ? ", " : "",
		     *owner->comm ? owner->comm : "a thread", owner->tid);
}

/* What it is, and who is there. */
static void add_object(struct strbuf *sb, const struct waited *waited)
{
	const char *object = waited->path ? waited->path : waited->peer;
	const struct other_task *there = &waited->peer_task;

	if (!object)
		object = waited->target;
	if (object)
		strbuf__addf(sb, "for %s", object);
	if (waited->path && waited->device)
		strbuf__addf(sb, " on %s", waited->device);
	if (there->pid)
		strbuf__addf(sb, object ? " (%s, pid %" PRIu32 ")" : "for %s, pid %" PRIu32,
			     there->comm, there->pid);
}

static bool is_sleep(const char *syscall_name)
{
	return syscall_name && strstr(syscall_name, "nanosleep");
}

void wait__add_phrase(struct strbuf *sb, const struct waited *waited, uint32_t said,
		      const char *syscall_name, bool all)
{
	uint64_t timeout_ns, bytes;

	if (!waited)
		return;
	add_object(sb, waited);
	if (waited->owner.tid && waited->owner.tid != said)
		add_owner(sb, &waited->owner);
	if (all && wait__fd(waited) >= 0)
		strbuf__addf(sb, "%sfd %" PRId32, sb->len ? ", " : "", wait__fd(waited));
	if (wait__timeout(waited, &timeout_ns)) {
		strbuf__adds(sb, sb->len ? ", " : "");
		clock__add_duration(sb, timeout_ns);
		strbuf__adds(sb, is_sleep(syscall_name) ? " asked for" : " at most");
	}
	if (all && wait__bytes(waited, syscall_name, &bytes))
		strbuf__addf(sb, "%s%" PRIu64 " bytes", sb->len ? ", " : "", bytes);
}
