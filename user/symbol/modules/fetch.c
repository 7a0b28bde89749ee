/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that asks debuginfod servers, and a table of the results. See fetch.h. */
#include "symbol/modules/fetch.h"

#ifdef HAVE_DEBUGINFOD
#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/thread.h"
#include "files/broker.h"
#include "files/unread.h"
#include "symbol/elf/elf.h"

#define TIMEOUT	    "10"	/* seconds without progress; debuginfod's own default is 90 */
#define MAXTIME	    "60"	/* seconds of a download; debuginfod has no limit */
#define FETCHED_MAX (4ll << 30) /* bytes of all files, those from the client's cache included */
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

struct wanted {
	UT_hash_handle hh;
	bool asked;
	int fd; /* -1: not available */
	char build_id[BUILD_ID_HEX_SZ];
};

/* Number of requests of a process or, unless it is root, of a user. */
struct asker {
	struct asker_key {
		uint32_t is_user, id;
	} key;
	unsigned cnt;
	UT_hash_handle hh;
};

/*
 * The lock guards all but the debuginfod client and the last two members, which belong to the
 * thread. Every request has at most two askers, so their number is bounded, too.
 */
struct fetch {
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
	bool running, stop;
	struct wanted *all;
	struct asker *askers;
	unsigned cnt;
	long long fetched, file_max; /* bytes of all files so far; limit of one */
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

static bool has_stopped(struct fetch *fetch)
{
	bool ret;

	pthread_mutex_lock(&fetch->lock);
	ret = fetch->stop;
	pthread_mutex_unlock(&fetch->lock);
	return ret;
}

/* Called now and then during a download, with bytes so far and in total; nonzero aborts it. */
static int on_progress(debuginfod_client *client, long a, long b)
{
	struct fetch *fetch = lib.get_user_data(client);

	fetch->too_large = a > fetch->file_max || b > fetch->file_max;
	return fetch->too_large || has_stopped(fetch);
}

/* A descriptor, or -1: not available. */
static int download(struct fetch *fetch, debuginfod_client *client, const char *build_id)
{
	struct stat st;
	int fd = -EDQUOT;

	fetch->too_large = false;
	if (fetch->fetched < FETCHED_MAX)
		fd = lib.find_debuginfo(client, (const unsigned char *)build_id, 0, NULL);
	if (fd >= 0 && !fstat(fd, &st))
		fetch->fetched += st.st_size;
	if (fetch->too_large || fd == -EFBIG || fd == -ETIME || fd == -EDQUOT)
		unread__add(UNREAD_FETCH, build_id);
	return fd < 0 ? -1 : fd;
}

static struct wanted *next_wanted(struct fetch *fetch)
{
	struct wanted *wanted;

	for (wanted = fetch->all; wanted && wanted->asked; wanted = wanted->hh.next)
		;
	return wanted;
}

static void take(struct fetch *fetch, debuginfod_client *client)
{
	struct wanted *wanted = next_wanted(fetch);
	char build_id[BUILD_ID_HEX_SZ];
	int fd;

	if (!wanted) {
		pthread_cond_wait(&fetch->more, &fetch->lock);
		return;
	}
	wanted->asked = true; /* stays in the table: nothing is removed while the thread runs */
	memcpy(build_id, wanted->build_id, sizeof(build_id));
	pthread_mutex_unlock(&fetch->lock);
	fd = download(fetch, client, build_id);
	pthread_mutex_lock(&fetch->lock);
	if (fd >= 0) {
		wanted->fd = fd;
		fetch->cnt++;
	}
}

static void *run(void *arg)
{
	debuginfod_client *client = lib.begin();
	struct fetch *fetch = arg;

	if (!client)
		return NULL;
	lib.set_user_data(client, fetch);
	lib.set_progressfn(client, on_progress);
	pthread_mutex_lock(&fetch->lock);
	while (!fetch->stop)
		take(fetch, client);
	pthread_mutex_unlock(&fetch->lock);
	lib.end(client);
	return NULL;
}

struct fetch *fetch__new(struct err *err)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	struct fetch *ret = urls && urls[strspn(urls, " ")] ? calloc(1, sizeof(*ret)) : NULL;

	if (!ret || broker_client__is_on())
		return ret;
	if (!load_library(err)) {
		free(ret);
		return NULL;
	}
	setenv(DEBUGINFOD_TIMEOUT_ENV_VAR, TIMEOUT, 0);
	setenv(DEBUGINFOD_MAXTIME_ENV_VAR, MAXTIME, 0);
	ret->file_max = getenv(DEBUGINFOD_MAXSIZE_ENV_VAR) ? LLONG_MAX : FILE_MAX;
	pthread_mutex_init(&ret->lock, NULL);
	pthread_cond_init(&ret->more, NULL);
	return ret;
}

void fetch__free(struct fetch *fetch)
{
	struct wanted *wanted, *next;
	struct asker *asker, *next_asker;

	if (!fetch)
		return;
	if (broker_client__is_on()) {
		free(fetch);
		return;
	}
	pthread_mutex_lock(&fetch->lock);
	fetch->stop = true;
	pthread_cond_signal(&fetch->more);
	pthread_mutex_unlock(&fetch->lock);
	if (fetch->running)
		pthread_join(fetch->thread, NULL);
	HASH_ITER (hh, fetch->all, wanted, next) {
		HASH_DEL(fetch->all, wanted);
		if (wanted->fd >= 0)
			close(wanted->fd);
		free(wanted);
	}
	HASH_ITER (hh, fetch->askers, asker, next_asker) {
		HASH_DEL(fetch->askers, asker);
		free(asker);
	}
	pthread_cond_destroy(&fetch->more);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch);
}

static bool start(struct fetch *fetch)
{
	if (!fetch->running)
		fetch->running = !thread__start(&fetch->thread, "jankbpf-fetch", run, fetch);
	return fetch->running;
}

static struct wanted *find(const struct fetch *fetch, const char *build_id)
{
	struct wanted *ret;

	HASH_FIND_STR(fetch->all, build_id, ret);
	return ret;
}

static struct asker *asker_of(struct fetch *fetch, bool is_user, uint32_t id)
{
	const struct asker_key key = { is_user, id };
	struct asker *ret;

	HASH_FIND(hh, fetch->askers, &key, sizeof(key), ret);
	if (!ret && (ret = calloc(1, sizeof(*ret)))) {
		ret->key = key;
		HASH_ADD(hh, fetch->askers, key, sizeof(key), ret);
	}
	return ret;
}

/* Counts a request. False: a limit is reached. */
static bool admit(struct fetch *fetch, struct fetch_asker by)
{
	struct asker *process, *user;

	if (HASH_COUNT(fetch->all) >= FETCHES_MAX)
		return false;
	process = asker_of(fetch, false, by.pid);
	user = asker_of(fetch, true, by.uid);
	if (!process || !user || process->cnt >= FETCHES_OF_PROCESS ||
	    (by.uid && user->cnt >= FETCHES_OF_USER))
		return false;
	process->cnt++;
	user->cnt++;
	return true;
}

static void add_wanted(struct fetch *fetch, const char *build_id)
{
	struct wanted *wanted = calloc(1, sizeof(*wanted));

	if (!wanted)
		return;
	wanted->fd = -1;
	strcpy(wanted->build_id, build_id);
	HASH_ADD_STR(fetch->all, build_id, wanted);
	if (wanted)
		pthread_cond_signal(&fetch->more);
}

void fetch__want(struct fetch *fetch, const char *build_id, struct fetch_asker asker)
{
	size_t len = strlen(build_id);
	bool refused = false;

	if (!fetch || !len || len >= BUILD_ID_HEX_SZ)
		return;
	if (broker_client__is_on()) {
		broker_client__ask(BROKER_FETCH_WANT, asker.pid, 0, build_id);
		return;
	}
	pthread_mutex_lock(&fetch->lock);
	if (!find(fetch, build_id) && start(fetch)) {
		refused = !admit(fetch, asker);
		if (!refused)
			add_wanted(fetch, build_id);
	}
	pthread_mutex_unlock(&fetch->lock);
	if (refused)
		unread__add(UNREAD_FETCH, build_id);
}

int fetch__open(struct fetch *fetch, const char *build_id)
{
	const struct wanted *wanted;
	int ret = -1;

	if (!fetch)
		return -1;
	if (broker_client__is_on()) {
		ret = (int)broker_client__ask(BROKER_FETCH_OPEN, 0, 0, build_id);
		return ret < 0 ? -1 : ret;
	}
	pthread_mutex_lock(&fetch->lock);
	wanted = find(fetch, build_id);
	if (wanted && wanted->fd >= 0)
		ret = fcntl(wanted->fd, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_unlock(&fetch->lock);
	return ret;
}

unsigned fetch__cnt(struct fetch *fetch)
{
	unsigned ret = 0;

	if (!fetch)
		return 0;
	if (broker_client__is_on())
		return (unsigned)broker_client__ask(BROKER_FETCH_CNT, 0, 0, NULL);
	pthread_mutex_lock(&fetch->lock);
	ret = fetch->cnt;
	pthread_mutex_unlock(&fetch->lock);
	return ret;
}

#else

#include <stddef.h>

struct fetch *fetch__new(struct err *err)
{
	return NULL;
}

void fetch__free(struct fetch *fetch)
{
}

void fetch__want(struct fetch *fetch, const char *build_id, struct fetch_asker asker)
{
}

int fetch__open(struct fetch *fetch, const char *build_id)
{
	return -1;
}

unsigned fetch__cnt(struct fetch *fetch)
{
	return 0;
}

#endif
