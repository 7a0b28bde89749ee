/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/timed_name.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"

const struct timed_name timed_name_log = { "looper-", ".log" };
const struct timed_name timed_name_history = { "history-", ".pftrace" };

void timed_name__add(struct strbuf *sb, const struct timed_name *kind, uint64_t real_ns,
		     unsigned attempt)
{
	strbuf__adds(sb, kind->prefix);
	clock__add_local(sb, "%Y-%m-%d_%H-%M-%S.%L", real_ns);
	if (attempt)
		strbuf__addf(sb, "-%u", attempt);
	strbuf__adds(sb, kind->suffix);
}

bool timed_name__is(const struct timed_name *kind, const char *name)
{
	const char *pattern = "0000-00-00_00-00-00.000";

	if (strncmp(name, kind->prefix, strlen(kind->prefix)))
		return false;
	for (name += strlen(kind->prefix); *pattern; pattern++, name++)
		if (*pattern == '0' ? !isdigit((unsigned char)*name) : *name != *pattern)
			return false;
	if (name[0] == '-' && isdigit((unsigned char)name[1]))
		name += 1 + strspn(name + 1, "0123456789");
	return !strcmp(name, kind->suffix);
}
