/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/modules/debuginfod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_DEBUGINFOD
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <limits.h>

#define TIMEOUT "10" /* seconds without progress; debuginfod's own default is 90 */
#define MAXTIME "60" /* seconds of a download; debuginfod has no limit */
/*
 * Bytes of a file, unless the user has set DEBUGINFOD_MAXSIZE. We do not set that variable: the
 * library then adds one more header to each request and, up to 0.188 at least, leaks a buffer.
 */
#define FILE_MAX (512ll << 20)

/*
 * Loaded with the first server. Linking it would also load libcurl and its dependencies for every
 * user: 6 MB of memory and 10 ms at each start.
 */
#define LIBRARY "libdebuginfod.so.1"
static struct {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_find_debuginfo) *find_debuginfo;
	__typeof__(debuginfod_set_progressfn) *set_progressfn;
	__typeof__(debuginfod_set_user_data) *set_user_data;
	__typeof__(debuginfod_get_user_data) *get_user_data;
} lib;

struct debuginfod {
	debuginfod_client *client;
	bool (*stopped)(void *ctx);
	void *ctx;
	long long file_max; /* bytes */
	bool too_large;
};

static bool load_library(struct err *err)
{
	void *so = dlopen(LIBRARY, RTLD_NOW);

	if (so) {
		*(void **)&lib.begin = dlsym(so, "debuginfod_begin");
		*(void **)&lib.end = dlsym(so, "debuginfod_end");
		*(void **)&lib.find_debuginfo = dlsym(so, "debuginfod_find_debuginfo");
		*(void **)&lib.set_progressfn = dlsym(so, "debuginfod_set_progressfn");
		*(void **)&lib.set_user_data = dlsym(so, "debuginfod_set_user_data");
		*(void **)&lib.get_user_data = dlsym(so, "debuginfod_get_user_data");
	}
	if (lib.begin && lib.end && lib.find_debuginfo && lib.set_progressfn && lib.set_user_data &&
	    lib.get_user_data)
		return true;
	err__set(err, ENOENT,
		 "DEBUGINFOD_URLS is set, but " LIBRARY
		 " (Debian: libdebuginfod1) cannot be loaded: no server is asked");
	return false;
}

/* Called now and then during a download, with bytes so far and in total; nonzero aborts it. */
static int on_progress(debuginfod_client *client, long a, long b)
{
	struct debuginfod *d = lib.get_user_data(client);

	d->too_large = a > d->file_max || b > d->file_max;
	return d->too_large || d->stopped(d->ctx);
}

struct debuginfod *debuginfod__new(bool (*stopped)(void *ctx), void *ctx, struct err *err)
{
	struct debuginfod *d = load_library(err) ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return NULL;
	setenv(DEBUGINFOD_TIMEOUT_ENV_VAR, TIMEOUT, 0);
	setenv(DEBUGINFOD_MAXTIME_ENV_VAR, MAXTIME, 0);
	*d = (struct debuginfod){ .client = lib.begin(), .stopped = stopped, .ctx = ctx };
	if (!d->client) {
		free(d);
		return NULL;
	}
	d->file_max = getenv(DEBUGINFOD_MAXSIZE_ENV_VAR) ? LLONG_MAX : FILE_MAX;
	lib.set_user_data(d->client, d);
	lib.set_progressfn(d->client, on_progress);
	return d;
}

void debuginfod__free(struct debuginfod *d)
{
	if (!d)
		return;
	lib.end(d->client);
	free(d);
}

int debuginfod__get(struct debuginfod *d, const char *build_id)
{
	int fd;

	d->too_large = false;
	fd = lib.find_debuginfo(d->client, (const unsigned char *)build_id, 0, NULL);
	return d->too_large ? -EFBIG : fd;
}

#else

struct debuginfod *debuginfod__new(bool (*stopped)(void *ctx), void *ctx, struct err *err)
{
	err__set(err, ENOENT,
		 "DEBUGINFOD_URLS is set, but this program was built without libdebuginfod: no "
		 "server is asked");
	return NULL;
}

void debuginfod__free(struct debuginfod *d)
{
}

int debuginfod__get(struct debuginfod *d, const char *build_id)
{
	return -ENOSYS;
}

#endif

bool debuginfod__is_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " ")];
}
