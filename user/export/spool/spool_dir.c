/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of segments, and the small files of a spool. */
#include "export/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/file.h"

#define SUFFIX	      ".spool"
#define NEXT	      ".new" /* of a file that replaces another */
#define POSITION      ".position"
#define POSITION_HEAD "jankbpf-position 1"
#define SMALL_MAX     4096
#define SEGMENTS_MAX  1000000

/* --- files */

/* Never a link, a FIFO or a file with another name: who may write DIR could have made it. */
int spool_dir__open(int dirfd, const char *name, int flags)
{
	int fd = openat(dirfd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink <= 1)
		return fd;
	close(fd);
	return -EPERM;
}

int spool_dir__open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int read_small(int dirfd, const char *name, struct strbuf *ret)
{
	int fd = spool_dir__open(dirfd, name, O_RDONLY);
	char bytes[SMALL_MAX];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = file__pread(fd, bytes, sizeof(bytes), 0);
	close(fd);
	if (n < 0)
		return (int)n;
	strbuf__add(ret, bytes, (size_t)n);
	return ret->failed ? -ENOMEM : 0;
}

/* A power failure leaves the old content or the new one. */
static int replace(int dirfd, const char *name, const struct strbuf *text)
{
	char next[NAME_MAX + 1];
	int fd, res;

	if (snprintf(next, sizeof(next), "%s" NEXT, name) >= (int)sizeof(next))
		return -ENAMETOOLONG;
	unlinkat(dirfd, next, 0); /* of a process that was killed */
	fd = spool_dir__open(dirfd, next, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return fd;
	res = file__write_all(fd, strbuf__str(text), text->len);
	if (!res && fdatasync(fd))
		res = -errno;
	close(fd);
	if (!res && renameat(dirfd, next, dirfd, name))
		res = -errno;
	if (res)
		unlinkat(dirfd, next, 0);
	return res;
}

int spool_dir__lock(int dirfd, const char *name)
{
	int fd = spool_dir__open(dirfd, name, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EINTR)
			continue;
		close(fd);
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	}
	return fd;
}

/* --- segments */

static void segment_name(char ret[40], uint64_t first)
{
	snprintf(ret, 40, "%010" PRIu64 SUFFIX, first);
}

int spool_dir__open_segment(int dirfd, uint64_t first, int flags)
{
	char name[40];

	segment_name(name, first);
	return spool_dir__open(dirfd, name, flags);
}

int spool_dir__remove_segment(int dirfd, uint64_t first)
{
	char name[40];

	segment_name(name, first);
	return unlinkat(dirfd, name, 0) ? -errno : 0;
}

/* 0: not the name of a segment, in the one form that we write. */
static uint64_t number_of(const char *name)
{
	char again[40];
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < 19 && name[i] >= '0' && name[i] <= '9'; i++)
		nr = nr * 10 + (uint64_t)(name[i] - '0');
	if (strcmp(name + i, SUFFIX))
		return 0;
	segment_name(again, nr);
	return strcmp(again, name) ? 0 : nr;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int add(uint64_t **list, size_t *cnt, uint64_t nr)
{
	uint64_t *more = *cnt & (*cnt - 1)
				 ? *list
				 : reallocarray(*list, *cnt ? 2 * *cnt : 1, sizeof(**list));

	if (!more)
		return -ENOMEM;
	more[(*cnt)++] = nr;
	*list = more;
	return 0;
}

bool spool_dir__knows(const char *name)
{
	static const char *const names[] = { "agent", "open.tail", "dropped", "write.lock",
					     "send.lock" };
	size_t len = strlen(name);

	if (len > strlen(NEXT) && !strcmp(name + len - strlen(NEXT), NEXT))
		len -= strlen(NEXT);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (len == strlen(names[i]) && !strncmp(name, names[i], len))
			return true;
	return number_of(name) || (len > strlen(POSITION) && !strncmp(name + len - strlen(POSITION),
								      POSITION, strlen(POSITION)));
}

int spool_dir__list(int dirfd, uint64_t **ret, size_t *ret_cnt)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), res = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t nr;

	*ret = NULL;
	*ret_cnt = 0;
	if (!dir) {
		res = -errno;
		if (fd >= 0)
			close(fd);
		return res;
	}
	while (!res && *ret_cnt < SEGMENTS_MAX && (entry = readdir(dir)))
		if ((nr = number_of(entry->d_name)))
			res = add(ret, ret_cnt, nr);
	closedir(dir);
	if (res) {
		free(*ret);
		*ret = NULL;
		*ret_cnt = 0;
	}
	if (*ret_cnt)
		qsort(*ret, *ret_cnt, sizeof(**ret), compare);
	return res;
}

/* --- the identity */

static int make_agent(int dirfd, char ret[SPOOL_AGENT_SZ])
{
	struct strbuf text = STRBUF_INIT;
	unsigned char bytes[16];
	int res;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	strbuf__addf(&text, "%s\n", ret);
	res = text.failed ? -ENOMEM : replace(dirfd, "agent", &text);
	strbuf__free(&text);
	return res;
}

int spool_dir__agent(int dirfd, bool create, char ret[SPOOL_AGENT_SZ])
{
	struct strbuf text = STRBUF_INIT;
	int res = read_small(dirfd, "agent", &text);

	if (!res && (strspn(strbuf__str(&text), "0123456789abcdef") != SPOOL_AGENT_SZ - 1 ||
		     text.len != SPOOL_AGENT_SZ || text.data[SPOOL_AGENT_SZ - 1] != '\n'))
		res = -EBADMSG;
	if (!res) {
		memcpy(ret, text.data, SPOOL_AGENT_SZ - 1);
		ret[SPOOL_AGENT_SZ - 1] = '\0';
	}
	strbuf__free(&text);
	return res == -ENOENT && create ? make_agent(dirfd, ret) : res;
}

/* --- positions */

#define POSITION_MEMBERS(X)                                                                        \
	X(batch)                                                                                   \
	X(sent_batches)                                                                            \
	X(sent_records)                                                                            \
	X(sent_bytes)                                                                              \
	X(retries)                                                                                 \
	X(refused_records)                                                                         \
	X(damaged_records)

static void position_name(char ret[80], const char *backend)
{
	snprintf(ret, 80, "%.60s" POSITION, backend);
}

/* A later version may have further lines. */
static int read_line(const char *line, size_t len, struct spool_position *ret)
{
	char key[40];
	uint64_t value;

	if (len > 100 || sscanf(line, "%39[a-z_] %" SCNu64, key, &value) != 2)
		return -EBADMSG;
#define READ(member)                                                                               \
	if (!strcmp(key, #member))                                                                 \
		ret->member = value;
	POSITION_MEMBERS(READ)
	return 0;
}

static int parse_position(const char *text, struct spool_position *ret)
{
	size_t head = strlen(POSITION_HEAD);
	bool has_batch = strstr(text, "\nbatch ");

	if (strncmp(text, POSITION_HEAD "\n", head + 1) || !has_batch)
		return -EBADMSG;
	for (text += head + 1; *text;) {
		size_t len = strcspn(text, "\n");

		if (!text[len] || read_line(text, len, ret))
			return -EBADMSG;
		text += len + 1;
	}
	return 0;
}

int spool_dir__read_position(int dirfd, const char *backend, struct spool_position *ret)
{
	struct strbuf text = STRBUF_INIT;
	char name[80];
	int res;

	*ret = (struct spool_position){};
	position_name(name, backend);
	res = read_small(dirfd, name, &text);
	if (res == -ENOENT)
		return 0;
	if (!res)
		res = parse_position(strbuf__str(&text), ret);
	strbuf__free(&text);
	if (res)
		*ret = (struct spool_position){};
	return res;
}

int spool_dir__write_position(int dirfd, const char *backend, const struct spool_position *position)
{
	struct strbuf text = STRBUF_INIT;
	char name[80];
	int res;

	position_name(name, backend);
	strbuf__adds(&text, POSITION_HEAD "\n");
#define WRITE(member) strbuf__addf(&text, #member " %" PRIu64 "\n", position->member);
	POSITION_MEMBERS(WRITE)
	res = text.failed ? -ENOMEM : replace(dirfd, name, &text);
	strbuf__free(&text);
	return res;
}

/* --- drops */

#define DROPS_FORM(number)                                                                         \
	"jankbpf-dropped 1\nrecords " number "\nsegment " number "\nsegment_records " number "\n"

int spool_dir__read_drops(int dirfd, struct spool_drops *ret)
{
	struct strbuf text = STRBUF_INIT;
	int res = read_small(dirfd, "dropped", &text);

	*ret = (struct spool_drops){};
	if (!res && sscanf(strbuf__str(&text), DROPS_FORM("%" SCNu64), &ret->records, &ret->segment,
			   &ret->segment_records) != 3) {
		*ret = (struct spool_drops){};
		res = -EBADMSG;
	}
	strbuf__free(&text);
	return res == -ENOENT ? 0 : res;
}

int spool_dir__write_drops(int dirfd, const struct spool_drops *drops)
{
	struct strbuf text = STRBUF_INIT;
	int res;

	strbuf__addf(&text, DROPS_FORM("%" PRIu64), drops->records, drops->segment,
		     drops->segment_records);
	res = text.failed ? -ENOMEM : replace(dirfd, "dropped", &text);
	strbuf__free(&text);
	return res;
}
