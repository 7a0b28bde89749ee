/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/binder_event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files/file.h"

#define FORMAT_MAX 8192

struct kernel_types;

/* Of drivers/android/binder_trace.h, at the places that bpf/binder.bpf.c reads. */
static const char *const fields[] = {
	"field:int to_proc;\toffset:16;\tsize:4;",
	"field:int reply;\toffset:24;\tsize:4;",
	"field:unsigned int code;\toffset:28;\tsize:4;",
	"field:unsigned int flags;\toffset:32;\tsize:4;",
};

int binder_event__check(const char *format)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!strstr(format, fields[i]))
			return -EOPNOTSUPP;
	return 0;
}

int binder_event__find(const char *driver)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int res = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && res; i++) {
		struct strbuf sb = STRBUF_INIT;
		char path[128];

		snprintf(path, sizeof(path), "%s/events/%s/binder_transaction/format", places[i],
			 driver);
		res = file__read(path, FORMAT_MAX, &sb);
		if (!res)
			res = sb.failed ? -ENOMEM : binder_event__check(strbuf__str(&sb));
		strbuf__free(&sb);
		if (res == -EOPNOTSUPP)
			break;
	}
	return res;
}

/* The test of the feature: one driver suffices. */
int probe__binder(const struct kernel_types *types);
int probe__binder(const struct kernel_types *types)
{
	int res = -ENOENT;

	(void)types;
#define X_FIND(driver) res = res ? binder_event__find(driver) : 0;
	BINDER_DRIVERS(X_FIND)
	return res;
}
