/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that waits for downloads, and a table of the results. See fetch.h. */
#include "symbol/modules/fetch.h"

#include <errno.h>
#include <fcntl.h>
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
#include "symbol/modules/debuginfod.h"

#define FETCHED_MAX (4ll << 30) /* bytes of all files, those from the client's cache included */

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
 * The lock guards all but the source and the last member, which belongs to the thread. Every
 * request has at most two askers, so their number is bounded, too.
 */
struct fetch {
	struct fetch_source source;
	struct debuginfod *local; /* the source is this process */
	pthread_mutex_t lock;
	pthread_cond_t more;
	pthread_t thread;
	bool running, stop;
	struct wanted *all;
	struct asker *askers;
	unsigned cnt;
	long long fetched; /* bytes of all files so far */
};

static bool has_stopped(void *ctx)
{
	struct fetch *fetch = ctx;
	bool ret;

	pthread_mutex_lock(&fetch->lock);
	ret = fetch->stop;
	pthread_mutex_unlock(&fetch->lock);
	return ret;
}

/* A descriptor, or -1: not available. */
static int download(struct fetch *fetch, const char *build_id)
{
	struct stat st;
	int fd = -EDQUOT;

	if (fetch->fetched < FETCHED_MAX)
		fd = fetch->source.get(fetch->source.ctx, build_id);
	if (fd >= 0 && !fstat(fd, &st))
		fetch->fetched += st.st_size;
	if (fd == -EFBIG || fd == -ETIME || fd == -EDQUOT || (fd == -EPIPE && !has_stopped(fetch)))
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

static void take(struct fetch *fetch)
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
	fd = download(fetch, build_id);
	pthread_mutex_lock(&fetch->lock);
	if (fd >= 0) {
		wanted->fd = fd;
		fetch->cnt++;
	}
}

static void *run(void *arg)
{
	struct fetch *fetch = arg;

	pthread_mutex_lock(&fetch->lock);
	while (!fetch->stop)
		take(fetch);
	pthread_mutex_unlock(&fetch->lock);
	return NULL;
}

static int get_local(void *ctx, const char *build_id)
{
	return debuginfod__get(ctx, build_id);
}

static bool open_source(struct fetch *fetch, const struct fetch_source *source, struct err *err)
{
	if (source) {
		fetch->source = *source;
		return true;
	}
	fetch->local = debuginfod__new(has_stopped, fetch, err);
	fetch->source = (struct fetch_source){ .get = get_local, .ctx = fetch->local };
	return fetch->local;
}

struct fetch *fetch__new(const struct fetch_source *source, struct err *err)
{
	struct fetch *ret = debuginfod__is_wanted() ? calloc(1, sizeof(*ret)) : NULL;

	if (!ret || broker_client__is_on())
		return ret;
	if (!open_source(ret, source, err)) {
		free(ret);
		return NULL;
	}
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
	if (fetch->source.stop)
		fetch->source.stop(fetch->source.ctx);
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
	debuginfod__free(fetch->local);
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
