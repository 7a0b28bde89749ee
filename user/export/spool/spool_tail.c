/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/spool/spool_writer.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "files/file.h"

#define NAME  "open.tail"
#define MAGIC "JANKTAL\n"

struct tail_head {
	char magic[8];
	uint32_t format, head_sz;
	uint64_t nr; /* of the batch */
};

/* In front of each record. */
struct tail_entry {
	uint32_t size, check;
};

static uint32_t check_of(const void *bytes, size_t size)
{
	return (uint32_t)XXH64(bytes, size, size);
}

/* --- reading */

/* Returns the number of bytes in whole entries. */
static size_t take_entries(struct spool_writer *w, const char *data, size_t len)
{
	size_t at = 0;

	while (len - at >= sizeof(struct tail_entry)) {
		struct tail_entry entry;
		const char *bytes = data + at + sizeof(entry);
		uint64_t size;

		memcpy(&entry, data + at, sizeof(entry));
		size = le32toh(entry.size);
		if (!size || size > len - at - sizeof(entry) ||
		    check_of(bytes, size) != le32toh(entry.check))
			break;
		strbuf__add(&w->raw, bytes, size);
		w->record_cnt++;
		at += sizeof(entry) + size;
	}
	return at;
}

/* Sets the size of what is kept: 0, if it is a tail of a batch that was closed, or not a tail. */
static int take_all(struct spool_writer *w, const char *data, size_t len, size_t *ret)
{
	struct tail_head head;
	uint32_t head_sz;

	*ret = 0;
	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	head_sz = le32toh(head.head_sz);
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)))
		return 0;
	if (le32toh(head.format) > SPOOL_FORMAT)
		return -EPROTONOSUPPORT;
	if (head_sz < sizeof(head) || head_sz > len || le64toh(head.nr) < w->next_nr)
		return 0;
	if (le64toh(head.nr) > SPOOL_NR_LAST) /* its records are not to be lost */
		return -EOVERFLOW;
	w->next_nr = le64toh(head.nr);
	*ret = head_sz + take_entries(w, data + head_sz, len - head_sz);
	return w->raw.failed ? -ENOMEM : 0;
}

static int read_all(struct spool_writer *w, size_t size)
{
	char *data = malloc(size ?: 1);
	ssize_t n = data ? file__pread(w->tail_fd, data, size, 0) : -ENOMEM;
	size_t whole = 0;
	int res = n < 0 ? (int)n : take_all(w, data, (size_t)n, &whole);

	free(data);
	if (!res && ftruncate(w->tail_fd, (off_t)whole))
		res = -errno;
	if (!res && lseek(w->tail_fd, (off_t)whole, SEEK_SET) < 0)
		res = -errno;
	return res;
}

int spool_tail__open(struct spool_writer *w)
{
	struct stat st;
	int fd = spool_dir__open(w->dirfd, NAME, O_RDWR | O_CREAT);

	if (fd < 0)
		return fd;
	w->tail_fd = fd;
	if (fstat(fd, &st))
		return -errno;
	/* A damaged size must not take all memory. */
	return read_all(w, st.st_size < 2 * SPOOL_RAW_MAX ? (size_t)st.st_size : 2 * SPOOL_RAW_MAX);
}

uint64_t spool_tail__nr(const struct spool_writer *w)
{
	int fd = spool_dir__open(w->dirfd, NAME, O_RDONLY);
	struct tail_head head;
	struct stat st;
	bool has;

	if (fd < 0)
		return 0;
	has = file__pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
	      !memcmp(head.magic, MAGIC, sizeof(head.magic)) && !fstat(fd, &st) &&
	      (uint64_t)st.st_size > sizeof(head);
	close(fd);
	return has ? le64toh(head.nr) : 0;
}

/* --- writing */

static int write_head(struct spool_writer *w)
{
	struct tail_head head = { .format = htole32(SPOOL_FORMAT),
				  .head_sz = htole32(sizeof(head)),
				  .nr = htole64(w->next_nr) };

	memcpy(head.magic, MAGIC, sizeof(head.magic));
	return output__write(w->tail_fd, &head, sizeof(head));
}

int spool_tail__add(struct spool_writer *w, const struct strbuf *record,
		    struct sink_progress *progress, bool *ret_new)
{
	const struct tail_entry entry = { htole32((uint32_t)record->len),
					  htole32(check_of(record->data, record->len)) };
	off_t before = lseek(w->tail_fd, 0, SEEK_CUR);
	struct strbuf bytes = STRBUF_INIT;
	int res = before ? 0 : write_head(w);

	if (!before)
		before = lseek(w->tail_fd, 0, SEEK_CUR);
	strbuf__add(&bytes, &entry, sizeof(entry));
	strbuf__add(&bytes, record->data, record->len);
	if (!res)
		res = bytes.failed
			      ? -ENOMEM
			      : sink_progress__write(progress, w->tail_fd, bytes.data, bytes.len);
	*ret_new = !res && lseek(w->tail_fd, 0, SEEK_CUR) != before;
	strbuf__free(&bytes);
	return res;
}

void spool_tail__empty(struct spool_writer *w)
{
	if (!ftruncate(w->tail_fd, 0))
		lseek(w->tail_fd, 0, SEEK_SET);
}
