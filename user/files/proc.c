/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded reads of lines, mappings and memory of /proc/PID. See proc.h. */
#include "files/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/apart.h"
#include "files/broker.h"
#include "files/broker_request.h"
#include "files/bucket.h"
#include "files/file.h"
#include "files/unread.h"

#define BUF_SZ	    65536
#define LINE_MAX_SZ 32768

struct state {
	char *buf;
	size_t len;
	uint64_t off;  /* offset of buf[0] in the file */
	bool skipping; /* inside a line that is too long */
};

/* Passes the complete lines in the buffer to fn and moves the rest to the front. */
static int hand_out(struct state *st, lines_fn fn, void *ctx)
{
	char *line = st->buf, *end = st->buf + st->len, *newline;
	int ret = 0;

	while (!ret && (newline = memchr(line, '\n', end - line))) {
		*newline = 0;
		if (!st->skipping)
			ret = fn(line, newline - line, st->off + (line - st->buf), ctx);
		st->skipping = false;
		line = newline + 1;
	}
	if (end - line > LINE_MAX_SZ) {
		st->skipping = true;
		line = end;
	}
	st->off += line - st->buf;
	st->len = end - line;
	memmove(st->buf, line, st->len);
	return ret;
}

/*
 * read, not pread: seeking is expensive in /proc files that are generated on the fly. An O_PATH
 * descriptor (file.h) has no file position and needs pread.
 */
static ssize_t read_next(int fd, void *buf, size_t len, uint64_t off)
{
	ssize_t n = read(fd, buf, len);

	if (n < 0 && errno == EBADF) {
		n = apart__pread(fd, buf, len, off);
		errno = n < 0 ? -n : 0;
	}
	return n;
}

static bool is_reached(const struct lines_limit *limit, uint64_t seen)
{
	return seen >= limit->bytes || (limit->cpu_ns && clock__thread_ns() >= limit->cpu_ns);
}

int lines__read(int fd, uint64_t *off, struct lines_limit limit, lines_fn fn, void *ctx,
		bool *ret_cut)
{
	struct state st = { .buf = malloc(BUF_SZ), .off = *off };
	uint64_t seen = 0;
	bool cut = false;
	int ret = 0;

	if (!st.buf)
		return -ENOMEM;
	if (lseek(fd, *off, SEEK_SET) < 0 && errno != EBADF)
		ret = -errno;
	while (!ret && !(cut = is_reached(&limit, seen))) {
		ssize_t n = read_next(fd, st.buf + st.len, BUF_SZ - st.len, st.off + st.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			ret = -errno;
		if (n <= 0)
			break;
		seen += n;
		st.len += n;
		ret = hand_out(&st, fn, ctx);
	}
	*off = st.off;
	free(st.buf);
	if (ret_cut)
		*ret_cut = cut;
	return ret;
}

int lines__read_path(const char *path, struct lines_limit limit, lines_fn fn, void *ctx)
{
	int fd = file__open_own(path), ret;
	uint64_t off = 0;

	if (fd < 0)
		return fd;
	ret = lines__read(fd, &off, limit, fn, ctx, NULL);
	close(fd);
	return ret;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int lines__hex(char **p, uint64_t *ret)
{
	const char *begin;
	uint64_t v = 0;

	if ((*p)[0] == '0' && (*p)[1] == 'x' && digit((*p)[2]) >= 0)
		*p += 2;
	begin = *p;
	for (; digit(**p) >= 0; (*p)++) {
		if (v >> 60)
			return -EINVAL;
		v = v << 4 | digit(**p);
	}
	if (*p == begin)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* --- mappings */

#define DELETED " (deleted)"

/*
 * A process may have 65,530 mappings of files with paths of 4 KiB: 250 MB, which the kernel writes
 * in 3 s. A thread that meets many such processes spends 200 ms at once, then 1/20 of its time;
 * MAPS_NS_MIN suffices for thousands of usual mappings.
 */
#define MAPS_NS_MAX (100 * NS_PER_MS)
#define MAPS_NS_MIN (2 * NS_PER_MS)

static const struct bucket_rate maps_rate = { 200 * NS_PER_MS, NS_PER_SEC / 20 };
static _Thread_local struct bucket maps_budget;

static uint64_t maps_ns(void)
{
	uint64_t left = bucket__left(&maps_budget, maps_rate, clock__mono_ns());

	return left < MAPS_NS_MIN ? MAPS_NS_MIN : left > MAPS_NS_MAX ? MAPS_NS_MAX : left;
}

int maps_file__read(const char *path, lines_fn fn, void *ctx)
{
	int fd = file__open_own(path), ret;
	uint64_t begin_ns = clock__thread_ns(), off = 0;
	struct lines_limit limit = { MAPS_BYTES_MAX, begin_ns + maps_ns() };
	bool cut = false;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	ret = lines__read(fd, &off, limit, fn, ctx, &cut);
	close(fd);
	if (!ret && cut)
		unread__add(UNREAD_MAPS, path);
	bucket__take(&maps_budget, clock__thread_ns() - begin_ns);
	return ret;
}

void maps_lines__decode_path(char *path)
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

/* "MAJ:MIN INODE      PATH" */
static int parse_tail(char *at, struct proc_maps_line *ret)
{
	uint64_t major, minor;

	ret->key = at;
	if (lines__hex(&at, &major) || *at++ != ':' || lines__hex(&at, &minor) || *at++ != ' ')
		return -EINVAL;
	ret->dev = makedev(major, minor);
	ret->inode = strtoull(at, &at, 10);
	ret->path = at + strspn(at, " ");
	if (ret->path > at) /* independent of the width of the columns before */
		ret->path = memmove(at + 1, ret->path, strlen(ret->path) + 1);
	return 1;
}

/* "START-END PERMS OFFSET " and the tail */
int maps_line__parse(char *at, bool any, struct proc_maps_line *ret)
{
	if (lines__hex(&at, &ret->start) || *at++ != '-' || lines__hex(&at, &ret->end) ||
	    *at++ != ' ' || ret->start >= ret->end || strcspn(at, " ") != 4 || at[4] != ' ')
		return -EINVAL;
	if (at[2] != 'x' && !any)
		return 0;
	at += 5;
	if (lines__hex(&at, &ret->offset) || *at++ != ' ')
		return -EINVAL;
	return parse_tail(at, ret);
}

struct maps_reader {
	int (*fn)(void *ctx, const struct proc_maps_line *line);
	void *ctx;
	bool any; /* not only executable ones */
};

static int take_mapping(char *text, size_t len, uint64_t off, void *ctx)
{
	const struct maps_reader *reader = ctx;
	struct proc_maps_line line;

	(void)len;
	(void)off;
	if (maps_line__parse(text, reader->any, &line) != 1 || !line.inode || line.path[0] != '/')
		return 0;
	maps_lines__decode_path(line.path);
	return strlen(line.path) < PATH_MAX ? reader->fn(reader->ctx, &line) : 0;
}

static int read_maps(struct maps_reader *reader, const char *maps_path)
{
	return maps_file__read(maps_path, take_mapping, reader);
}

int maps_lines__each(const char *maps_path, int (*fn)(void *ctx, const struct proc_maps_line *line),
		     void *ctx)
{
	return read_maps(&(struct maps_reader){ fn, ctx, false }, maps_path);
}

int maps_lines__each_file(const char *maps_path,
			  int (*fn)(void *ctx, const struct proc_maps_line *line), void *ctx)
{
	return read_maps(&(struct maps_reader){ fn, ctx, true }, maps_path);
}

/*
 * --- memory: the page's entry in /proc/PID/pagemap shows whether it is present. The page may
 * disappear before the read, which is therefore done by a separate process (apart.h).
 */

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)

static int check_present(const char *proc, uint32_t pid, uint64_t page)
{
	char path[PATH_MAX];
	uint64_t entry;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/pagemap", proc, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pread(fd, &entry, sizeof(entry), page * sizeof(entry));
	close(fd);
	if (n != sizeof(entry) || entry & SWAPPED)
		return -EFAULT;
	return entry & PRESENT ? 0 : -ENODATA;
}

/* Reads exactly len bytes, at most what one answer can have. */
static int read_by_broker(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = broker_client__read(BROKER_PAGES, pid, -1, addr, buf, len);

	return n < 0 ? (int)n : n == (ssize_t)len ? 0 : -EFAULT;
}

int memory__read(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	uint64_t page_sz = sysconf(_SC_PAGESIZE);
	ssize_t n;
	int res;

	if (!len || addr > INT64_MAX || addr / page_sz != (addr + len - 1) / page_sz)
		return -EINVAL;
	if (broker_client__is_on())
		return read_by_broker(pid, addr, buf, len);
	res = check_present(proc, pid, addr / page_sz);
	if (res)
		return res;
	n = apart__memory(pid, addr, buf, len);
	if (n < 0)
		return n;
	return n == (ssize_t)len ? 0 : -EFAULT;
}

/*
 * Which of the pieces are in pages that are present. An address above all user memory is beyond the
 * end of pagemap.
 */
static uint32_t present_of(const char *proc, uint32_t pid, const uint64_t *addrs, size_t cnt)
{
	uint64_t page_sz = sysconf(_SC_PAGESIZE), entry;
	char path[PATH_MAX];
	uint32_t ret = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/pagemap", proc, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		if (addrs[i] <= INT64_MAX && addrs[i] % MEMORY_PIECE == 0 &&
		    pread(fd, &entry, sizeof(entry), addrs[i] / page_sz * sizeof(entry)) ==
			    sizeof(entry) &&
		    entry & PRESENT && !(entry & SWAPPED))
			ret |= 1u << i;
	close(fd);
	return ret;
}

uint32_t memory__read_pieces(const char *proc, uint32_t pid, const uint64_t *addrs, size_t cnt,
			     void *buf)
{
	uint32_t present;

	if (!cnt || cnt > MEMORY_PIECES_MAX)
		return 0;
	if (broker_client__is_on())
		return broker_client__read_pieces(pid, addrs, cnt, buf);
	present = present_of(proc, pid, addrs, cnt);
	return present ? apart__memory_pieces(pid, addrs, cnt, present, buf) : 0;
}

#define VDSO_MAX (256 * 1024)

/* Never in one read: a page that is not present must not be brought in. */
int memory__read_across(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	size_t page_sz = sysconf(_SC_PAGESIZE), done = 0;
	int res = 0;

	if (addr > INT64_MAX || len > INT64_MAX - addr)
		return -EINVAL;
	if (broker_client__is_on() && len <= BROKER_DATA_MAX)
		return len ? read_by_broker(pid, addr, buf, len) : 0;
	while (!res && done < len) {
		size_t left = page_sz - (addr + done) % page_sz;
		size_t piece = len - done < left ? len - done : left;

		res = memory__read(proc, pid, addr + done, (char *)buf + done, piece);
		done += piece;
	}
	return res;
}

/* A 32-bit process has a different vdso than ours. Another mapping may be there by now. */
int vdso__copy(uint32_t pid, uint64_t start, uint64_t end, void **ret, size_t *ret_size)
{
	size_t size = end - start;
	size_t got = 0;
	ssize_t n = 1;
	char *mem;

	if (end <= start || end - start > VDSO_MAX)
		return -EINVAL;
	mem = malloc(size);
	for (; mem && got < size && n > 0; got += n > 0 ? n : 0)
		n = apart__memory(pid, start + got, mem + got, size - got);
	if (got != size) {
		free(mem);
		return -EIO;
	}
	*ret = mem;
	*ret_size = size;
	return 0;
}
