/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Age and size limits of DIR. A scan of the whole directory is expensive, so the sum of the logs is
 * kept between scans. When the bound is reached, a sixteenth of it is freed at once, so that the
 * next blocks need no scan. The oldest logs of the user with the most bytes go first: one user's
 * blocks do not evict those of others.
 */
#include "base/hash.h"
#include "export/record_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/timed_name.h"

/* --- our logs in a directory */

struct listed {
	uint64_t mtime_ns, size;
	uint32_t uid; /* of the traced process; set by listing__read_users */
	char name[48];
};

struct listing {
	struct listed *logs; /* oldest first */
	size_t cnt, cap;
	uint64_t bytes;
};

/*
 * Our files in DIR are regular files of our user with names that we generate. All other files are
 * ignored.
 */

static bool is_tmp_name(const char *name)
{
	size_t len = strlen(name), prefix = strlen(RETAIN_TMP_PREFIX);

	if (strncmp(name, RETAIN_TMP_PREFIX, prefix))
		return false;
	name += prefix;
	len = strspn(name, "0123456789");
	return len && !strcmp(name + len, RETAIN_TMP_SUFFIX);
}

static bool is_ours(const char *name)
{
	return timed_name__is(&timed_name_log, name) || timed_name__is(&timed_name_history, name);
}

bool record_dir__knows(const char *name)
{
	for (enum record_format format = RECORD_JSON; format <= RECORD_PROTO; format++) {
		struct record_file file = { .format = format };

		if (!strcmp(name, record_file__name(&file)) ||
		    !strcmp(name, record_file__old_name(&file)))
			return true;
	}
	return is_ours(name) || is_tmp_name(name) || !strcmp(name, MARKS_NAME);
}

static int listing__add(struct listing *listing, const char *name, const struct stat *st)
{
	struct listed *log;

	if (listing->cnt == listing->cap) {
		size_t cap = listing->cap ? 2 * listing->cap : 64;

		log = reallocarray(listing->logs, cap, sizeof(*log));
		if (!log)
			return -ENOMEM;
		listing->logs = log;
		listing->cap = cap;
	}
	log = &listing->logs[listing->cnt++];
	log->mtime_ns = timespec__ns(st->st_mtim);
	log->size = (uint64_t)st->st_size;
	memcpy(log->name, name, strlen(name) + 1);
	listing->bytes += log->size;
	return 0;
}

static int listing__look_at(struct listing *listing, int dirfd, const char *name)
{
	bool tmp = is_tmp_name(name);
	struct stat st;

	if (!tmp && !(is_ours(name) && strlen(name) < sizeof(listing->logs->name)))
		return 0;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return 0;
	if (!tmp)
		return listing__add(listing, name, &st);
	unlinkat(dirfd, name, 0);
	return 0;
}

/* In the same millisecond, "…-10.log" follows "…-9.log": the longer name is the later one. */
static int by_age(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;

	if (a->mtime_ns != b->mtime_ns)
		return a->mtime_ns < b->mtime_ns ? -1 : 1;
	if (strlen(a->name) != strlen(b->name))
		return strlen(a->name) < strlen(b->name) ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Reads dirfd's logs, and deletes temporary files: under the lock no process is writing one. */
static int listing__read(struct listing *listing, int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(dir)))
		err = listing__look_at(listing, dirfd, entry->d_name);
	if (!err && errno)
		err = -errno;
	closedir(dir);
	if (listing->cnt)
		qsort(listing->logs, listing->cnt, sizeof(*listing->logs), by_age);
	return err;
}

static void listing__free(struct listing *listing)
{
	free(listing->logs);
	*listing = (struct listing){ 0 };
}

/* --- users: the log's own line has the uid */

#define HEAD_BYTES 2048 /* of a log; the line is among the first */
#define UID_LINE   "\nuid = "

/* UINT32_MAX: not known. Logs without a uid count as one user's. */
static uint32_t read_uid(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char head[HEAD_BYTES + 1];
	const char *line;
	ssize_t len;

	if (fd < 0)
		return UINT32_MAX;
	len = read(fd, head, HEAD_BYTES);
	close(fd);
	if (len < 0)
		return UINT32_MAX;
	head[len] = '\0';
	line = strstr(head, UID_LINE);
	return line ? (uint32_t)strtoul(line + strlen(UID_LINE), NULL, 10) : UINT32_MAX;
}

/* The logs of a user that are left, in a listing. */
struct log_user {
	uint32_t uid;
	uint64_t bytes;
	size_t next; /* index of its oldest log */
	UT_hash_handle hh;
};

static struct log_user *find_user(struct log_user *users, uint32_t uid)
{
	struct log_user *user;

	HASH_FIND(hh, users, &uid, sizeof(uid), user);
	return user;
}

static void free_users(struct log_user *users)
{
	struct log_user *user, *next;

	HASH_ITER (hh, users, user, next) {
		HASH_DEL(users, user);
		free(user);
	}
}

/* Reads the users of all logs. 0 or -ENOMEM; the caller frees *ret by free_users. */
static int listing__read_users(struct listing *listing, int dirfd, struct log_user **ret)
{
	for (size_t i = 0; i < listing->cnt; i++) {
		struct listed *log = &listing->logs[i];
		struct log_user *user;

		log->uid = read_uid(dirfd, log->name);
		user = find_user(*ret, log->uid);
		if (!user) {
			user = calloc(1, sizeof(*user));
			if (!user)
				return -ENOMEM;
			user->uid = log->uid;
			user->next = i;
			HASH_ADD(hh, *ret, uid, sizeof(user->uid), user);
			if (!user)
				return -ENOMEM;
		}
		user->bytes += log->size;
	}
	return 0;
}

static struct log_user *largest(struct log_user *users)
{
	struct log_user *user, *most = NULL;

	for (user = users; user; user = user->hh.next)
		if (!most || user->bytes > most->bytes)
			most = user;
	return most && most->bytes ? most : NULL;
}

/* The user's oldest log; its next one becomes the oldest. */
static const struct listed *take_oldest(const struct listing *listing, struct log_user *user)
{
	const struct listed *log = &listing->logs[user->next];

	user->bytes -= log->size;
	do
		user->next++;
	while (user->next < listing->cnt && listing->logs[user->next].uid != user->uid);
	return log;
}

/* Deletes logs until `excess` bytes are gone, and adds what went to *gone. */
static int drop_excess(struct listing *listing, int dirfd, uint64_t excess, uint64_t *gone)
{
	struct log_user *users = NULL, *user;
	int err = listing__read_users(listing, dirfd, &users);

	while (!err && *gone < excess && (user = largest(users))) {
		const struct listed *log = take_oldest(listing, user);

		if (!unlinkat(dirfd, log->name, 0))
			*gone += log->size;
	}
	free_users(users);
	return err;
}

#define WRITES_PER_LOOK 64

/*
 * Deletes the logs that are older than `before_ns`, or as many as exceed the bound by `excess`
 * bytes.
 */
static int drop_logs(struct retain *retain, uint64_t before_ns, uint64_t excess)
{
	struct listing listing = { 0 };
	uint64_t gone = 0;
	int err = listing__read(&listing, retain->dirfd);

	for (size_t i = 0; !err && i < listing.cnt; i++) {
		const struct listed *log = &listing.logs[i];

		if (log->mtime_ns >= before_ns)
			break;
		if (!unlinkat(retain->dirfd, log->name, 0))
			gone += log->size;
	}
	if (!err && excess)
		err = drop_excess(&listing, retain->dirfd, excess, &gone);
	retain->log_bytes = listing.bytes - gone;
	retain->writes = 0;
	listing__free(&listing);
	return err;
}

int retain__clean(struct retain *retain, uint64_t now_real_ns)
{
	uint64_t keep = retain->keep_ns;

	return drop_logs(retain, keep && keep < now_real_ns ? now_real_ns - keep : 0, 0);
}

/* No other user can put a link in the file's place, so its name may be used twice. */
static int hide(int dirfd, const char *name)
{
	struct stat st;

	if (!fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && st.st_nlink == 1 && (st.st_mode & 0077))
		return fchmodat(dirfd, name, 0600, 0) ? -errno : 0;
	return 0;
}

int retain__hide(const struct retain *retain)
{
	static const enum record_format formats[] = { RECORD_JSON, RECORD_PROTO };
	struct listing listing = {};
	int err = listing__read(&listing, retain->dirfd);

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats) && !err; i++) {
		const struct record_file file = { .format = formats[i] };

		err = hide(retain->dirfd, record_file__name(&file));
		if (!err)
			err = hide(retain->dirfd, record_file__old_name(&file));
	}
	for (size_t i = 0; i < listing.cnt && !err; i++)
		err = hide(retain->dirfd, listing.logs[i].name);
	listing__free(&listing);
	return err;
}

void retain__wrote_log(struct retain *retain, uint64_t len)
{
	retain->log_bytes += len;
	retain->writes++;
}

static uint64_t used(const struct retain *retain, const struct record_file *file)
{
	uint64_t old = 0;

	own_file__size(retain->dirfd, record_file__old_name(file), &old);
	return retain->log_bytes + record_file__size(file) + old;
}

static bool fits(const struct retain *retain, const struct record_file *file, uint64_t need)
{
	return used(retain, file) + need <= retain->max_bytes;
}

/* True if another process has changed DIR: its logs count too. */
static bool changed_by_others(const struct retain *retain)
{
	struct stat st;

	return fstat(retain->dirfd, &st) || st.st_mtim.tv_sec != retain->mtime.tv_sec ||
	       st.st_mtim.tv_nsec != retain->mtime.tv_nsec;
}

void retain__done(struct retain *retain)
{
	struct stat st;

	if (retain->max_bytes && !fstat(retain->dirfd, &st))
		retain->mtime = st.st_mtim;
}

static int drop_oldest(struct retain *retain, struct record_file *file, uint64_t need)
{
	uint64_t total, low = retain->max_bytes - retain->max_bytes / 16;
	int err = drop_logs(retain, 0, 0); /* get the exact sum first */

	total = used(retain, file) + need;
	if (err || total <= retain->max_bytes)
		return err;
	return drop_logs(retain, 0, total - low);
}

/* True if the sum of the logs may be outdated. */
static bool must_look(const struct retain *retain)
{
	return retain->writes >= WRITES_PER_LOOK || changed_by_others(retain);
}

/* Last resort: deletes the records themselves, older ones first. */
static int drop_records(struct retain *retain, struct record_file *file, uint64_t need)
{
	uint64_t old;
	int err = 0;

	if (!fits(retain, file, need) && record_file__size(file)) {
		err = record_file__rotate(file);
		if (!err)
			err = drop_oldest(retain, file, need);
	}
	if (!err && !fits(retain, file, need) &&
	    own_file__size(retain->dirfd, record_file__old_name(file), &old) &&
	    unlinkat(retain->dirfd, record_file__old_name(file), 0))
		err = -errno;
	if (err)
		return err;
	return fits(retain, file, need) ? 0 : -EFBIG;
}

/*
 * blocks.jsonl reaches at most half the bound, so that it and blocks.1.jsonl together never exceed
 * it. A rotation releases the lock for a moment, so the sizes are read again after it.
 */
int retain__make_room(struct retain *retain, struct record_file *file, uint64_t line_len,
		      uint64_t log_len)
{
	uint64_t need = line_len + log_len, size = record_file__size(file);
	int err = 0;

	if (!retain->max_bytes)
		return 0;
	if (need > retain->max_bytes)
		return -EFBIG;
	if (size && size + line_len > retain->max_bytes / 2)
		err = record_file__rotate(file);
	if (!err && (must_look(retain) || !fits(retain, file, need)))
		err = drop_oldest(retain, file, need);
	return err ? err : drop_records(retain, file, need);
}
