/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /proc/PID/maps, read in pieces: it can hold 100,000 lines, with any bytes in the paths. Only a bounded
 * number of different files is kept.
 */
#include "kernel/candidates.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel/targets.h"

#define BUF_SZ	     (64u << 10) /* four times the longest path, each byte escaped */
#define MAPS_MAX     (256ull << 20)
#define DELETED	     " (deleted)"
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

static const char *const likely_names[] = { "libc.so*", "libc-*",    "libc.musl*",
					    "ld-musl*", "libutils*", "libpthread*" };

struct reader {
	struct candidates *found;
	size_t other_cnt;
	uint64_t exe_dev, exe_inode;
	char exe[TARGET_PATH_MAX];
};

static bool is_likely_name(const char *path)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; name && i < ARRAY_LEN(likely_names); i++) {
		if (!fnmatch(likely_names[i], name + 1, 0))
			return true;
	}
	return false;
}

/* The kernel writes a newline in a path as \012 and appends a word to a deleted file's. */
static void decode_path(char *path)
{
	size_t len = strlen(path), cut = strlen(DELETED);
	char *to = path;

	if (len > cut && !strcmp(path + len - cut, DELETED))
		path[len - cut] = 0;
	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* A line of an executable file mapping. False for all others. */
static bool parse_line(char *line, struct candidate *ret)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	const char *space = strchr(line, ' ');
	char perms[5];
	int at = 0;

	if (!space || strnlen(space, 5) < 5 || space[3] != 'x')
		return false; /* most lines: not worth a scan */
	if (sscanf(line, "%16llx-%16llx %4s %16llx %8x:%8x %20llu %n", &start, &end, perms, &offset,
		   &major, &minor, &inode, &at) != 7 ||
	    !at || !inode || line[at] != '/')
		return false;
	decode_path(line + at);
	*ret = (struct candidate){ .path = line + at,
				   .start = start,
				   .end = end,
				   .dev = makedev(major, minor),
				   .inode = inode };
	return ret->path[0] && strlen(ret->path) < PATH_MAX;
}

static int add(struct reader *reader, const struct candidate *new)
{
	struct candidates *found = reader->found;
	struct candidate *item;

	for (size_t i = 0; i < found->cnt; i++) {
		if (found->items[i].inode == new->inode && found->items[i].dev == new->dev)
			return 0;
	}
	if (new->likely ? found->likely_cnt == CANDIDATES_LIKELY_MAX
			: reader->other_cnt == CANDIDATES_OTHER_MAX)
		return 0;
	item = &found->items[found->cnt];
	*item = *new;
	item->path = strdup(new->path);
	if (!item->path)
		return -ENOMEM;
	found->cnt++;
	found->likely_cnt += new->likely;
	reader->other_cnt += !new->likely;
	return 0;
}

static int take_line(struct reader *reader, char *line)
{
	struct candidate new;

	if (!parse_line(line, &new))
		return 0;
	new.is_exe = (new.inode == reader->exe_inode &&new.dev == reader->exe_dev) ||
		     !strcmp(new.path, reader->exe);
	new.likely = new.is_exe || is_likely_name(new.path);
	return add(reader, &new);
}

/* Hands on the whole lines in buf and returns how many bytes of a last, unfinished one stay in it. */
static ssize_t take_lines(struct reader *reader, char *buf, size_t len)
{
	char *line = buf, *end;
	int err;

	while ((end = memchr(line, '\n', len - (size_t)(line - buf))) != NULL) {
		*end = 0;
		err = take_line(reader, line);
		if (err)
			return err;
		line = end + 1;
	}
	len -= (size_t)(line - buf);
	memmove(buf, line, len);
	return (ssize_t)len;
}

static int read_lines(struct reader *reader, int fd)
{
	char *buf = malloc(BUF_SZ);
	uint64_t total = 0;
	ssize_t kept = 0, n;

	if (!buf)
		return -ENOMEM;
	for (;;) {
		do {
			n = read(fd, buf + kept, BUF_SZ - (size_t)kept);
		} while (n < 0 && errno == EINTR);
		if (n <= 0 || (total += (uint64_t)n) > MAPS_MAX)
			break;
		kept = take_lines(reader, buf, (size_t)(kept + n));
		if (kept < 0 || kept == BUF_SZ)
			break; /* out of memory; a line that the kernel would not write */
	}
	n = n < 0 ? -errno : kept < 0 ? kept : 0;
	free(buf);
	return (int)n;
}

/* Which mapping is the program itself: by its file, or where a stacked file system shows two numbers
 * for one file, by its path. */
static void learn_exe(pid_t pid, struct reader *reader)
{
	char link[64];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (!stat(link, &st)) {
		reader->exe_dev = st.st_dev;
		reader->exe_inode = st.st_ino;
	}
	n = readlink(link, reader->exe, sizeof(reader->exe) - 1);
	reader->exe[n > 0 ? n : 0] = 0;
	decode_path(reader->exe);
}

static int by_likelihood(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return y->likely - x->likely;
}

int candidates__read_file(const char *maps_path, pid_t pid, struct candidates *ret)
{
	struct reader reader = { .found = ret };
	int fd, err;

	*ret = (struct candidates){ 0 };
	fd = open(maps_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	learn_exe(pid, &reader);
	ret->items = calloc(CANDIDATES_LIKELY_MAX + CANDIDATES_OTHER_MAX, sizeof(*ret->items));
	err = ret->items ? read_lines(&reader, fd) : -ENOMEM;
	close(fd);
	if (ret->cnt)
		qsort(ret->items, ret->cnt, sizeof(*ret->items), by_likelihood);
	return err;
}

int candidates__read(pid_t pid, struct candidates *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return candidates__read_file(path, pid, ret);
}

void candidates__free(struct candidates *candidates)
{
	for (size_t i = 0; i < candidates->cnt; i++)
		free(candidates->items[i].path);
	free(candidates->items);
	*candidates = (struct candidates){ 0 };
}

/* Opens nothing but a regular file, and of those only the one with that inode (0: any). */
static int open_regular(const char *path, uint64_t inode)
{
	char again[32];
	struct stat st;
	int fd, ret;

	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		ret = -errno;
	else if (!S_ISREG(st.st_mode) || (inode && st.st_ino != inode))
		ret = -ENOEXEC;
	else {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
		ret = open(again, O_RDONLY | O_CLOEXEC);
		ret = ret < 0 ? -errno : ret;
	}
	close(fd);
	return ret;
}

int candidate__open(const struct candidate *candidate, pid_t pid, char *open_path, size_t size)
{
	int fd;

	snprintf(open_path, size, "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)candidate->start, (unsigned long long)candidate->end);
	fd = open_regular(open_path, 0);
	if (fd >= 0)
		return fd;
	snprintf(open_path, size, "/proc/%d/root%s", (int)pid, candidate->path);
	return open_regular(open_path, candidate->inode);
}
