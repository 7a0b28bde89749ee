/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of segments and batches. */
#include "export/spool/spool.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define SEGMENT_MAGIC "JANKSPL\n"
#define BATCH_MAGIC   "JBAT"
#define ZSTD_LEVEL    3

_Static_assert(sizeof(struct spool_segment_head) == 56, "segment head");
_Static_assert(sizeof(struct spool_batch_head) == 48, "batch head");

/* --- segments */

void spool__add_segment_head(struct strbuf *sb, const char *agent, uint64_t created_ns)
{
	struct spool_segment_head head = {
		.format = htole32(SPOOL_FORMAT),
		.head_sz = htole32(sizeof(head)),
		.created_ns = htole64(created_ns),
	};

	memcpy(head.magic, SEGMENT_MAGIC, sizeof(head.magic));
	memcpy(head.agent, agent, sizeof(head.agent));
	strbuf__add(sb, &head, sizeof(head));
}

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr("0123456789abcdef", text[i]) || !text[i])
			return false;
	return true;
}

int spool__read_segment_head(const void *data, size_t len, struct spool_segment_head *ret)
{
	if (len < sizeof(*ret))
		return 0;
	memcpy(ret, data, sizeof(*ret));
	ret->format = le32toh(ret->format);
	ret->head_sz = le32toh(ret->head_sz);
	ret->created_ns = le64toh(ret->created_ns);
	if (memcmp(ret->magic, SEGMENT_MAGIC, sizeof(ret->magic)))
		return -EBADMSG;
	if (ret->format > SPOOL_FORMAT)
		return -EPROTONOSUPPORT;
	if (ret->head_sz < sizeof(*ret) || ret->head_sz > SPOOL_HEAD_MAX ||
	    !is_hex(ret->agent, sizeof(ret->agent)))
		return -EBADMSG;
	return len < ret->head_sz ? 0 : (int)ret->head_sz;
}

/* --- batches */

/* head: as it is on disk. */
static uint64_t checksum(const void *head, const void *rest, size_t rest_sz)
{
	return XXH64(rest, rest_sz, XXH64(head, offsetof(struct spool_batch_head, checksum), 0));
}

int spool__read_batch_head(const void *data, size_t len, struct spool_batch_head *ret)
{
	if (len < sizeof(*ret))
		return 0;
	memcpy(ret, data, sizeof(*ret));
	ret->head_sz = le32toh(ret->head_sz);
	ret->nr = le64toh(ret->nr);
	ret->record_cnt = le32toh(ret->record_cnt);
	ret->raw_sz = le32toh(ret->raw_sz);
	ret->packed_sz = le32toh(ret->packed_sz);
	ret->created_ns = le64toh(ret->created_ns);
	ret->checksum = le64toh(ret->checksum);
	if (memcmp(ret->magic, BATCH_MAGIC, sizeof(ret->magic)) || ret->head_sz < sizeof(*ret) ||
	    ret->head_sz > SPOOL_HEAD_MAX || !ret->nr || ret->nr > SPOOL_NR_MAX ||
	    !ret->record_cnt || !ret->packed_sz || ret->raw_sz > SPOOL_RAW_MAX ||
	    ret->packed_sz > SPOOL_RAW_MAX || ret->record_cnt > ret->raw_sz)
		return -EBADMSG;
	return (int)ret->head_sz;
}

int spool__check_batch(const void *data, const struct spool_batch_head *head)
{
	const char *rest = (const char *)data + sizeof(*head);
	size_t size = head->head_sz - sizeof(*head) + head->packed_sz;

	return checksum(data, rest, size) == head->checksum ? 0 : -EBADMSG;
}

bool spool__complete_batch(void *data, size_t len, struct spool_batch_head *ret)
{
	int head_sz;

	if (len < sizeof(*ret) || memcmp(data, "\0\0\0", SPOOL_MAGIC_SZ))
		return false;
	memcpy(data, BATCH_MAGIC, SPOOL_MAGIC_SZ);
	head_sz = spool__read_batch_head(data, len, ret);
	return head_sz > 0 && len - (size_t)head_sz >= ret->packed_sz &&
	       !spool__check_batch(data, ret);
}

size_t spool__find_batch(const void *data, size_t len, uint64_t after)
{
	const char *from = data, *at = from, *end = from + len;
	struct spool_batch_head head;

	while (at < end &&
	       (at = memmem(at + 1, (size_t)(end - at - 1), BATCH_MAGIC, SPOOL_MAGIC_SZ))) {
		size_t left = (size_t)(end - at);

		if (spool__read_batch_head(at, left, &head) > 0 && head.nr > after &&
		    (size_t)head.head_sz + head.packed_sz <= left && !spool__check_batch(at, &head))
			return (size_t)(at - from);
	}
	return 0;
}

#ifdef HAVE_ZSTD

bool spool__is_available(void)
{
	return true;
}

int spool__pack(struct strbuf *sb, const struct strbuf *raw)
{
	size_t room = ZSTD_compressBound(raw->len), size;
	void *packed = malloc(room ?: 1);

	if (!packed)
		return -ENOMEM;
	size = ZSTD_compress(packed, room, raw->data, raw->len, ZSTD_LEVEL);
	if (!ZSTD_isError(size))
		strbuf__add(sb, packed, size);
	free(packed);
	return ZSTD_isError(size) || sb->failed ? -ENOMEM : 0;
}

int spool__add_batch(struct strbuf *sb, uint64_t nr, uint32_t record_cnt, uint64_t created_ns,
		     const struct strbuf *raw)
{
	struct spool_batch_head head = {
		.head_sz = htole32(sizeof(head)),
		.nr = htole64(nr),
		.record_cnt = htole32(record_cnt),
		.raw_sz = htole32((uint32_t)raw->len),
		.created_ns = htole64(created_ns),
	};
	struct strbuf packed = STRBUF_INIT;
	int res = raw->len > SPOOL_RAW_MAX ? -EMSGSIZE : spool__pack(&packed, raw);

	if (!res && packed.len > SPOOL_RAW_MAX)
		res = -EMSGSIZE;
	if (!res) {
		memcpy(head.magic, BATCH_MAGIC, sizeof(head.magic));
		head.packed_sz = htole32((uint32_t)packed.len);
		head.checksum = htole64(checksum(&head, packed.data, packed.len));
		strbuf__add(sb, &head, sizeof(head));
		strbuf__add(sb, packed.data, packed.len);
	}
	strbuf__free(&packed);
	return res ?: sb->failed ? -ENOMEM : 0;
}

/* True if the bytes are so many records: before memory is taken for a number that may be a lie. */
static bool has_records(const char *raw, size_t len, uint32_t record_cnt)
{
	while (len && record_cnt) {
		uint64_t size;
		int head = stream__length(raw, len, &size);

		if (head <= 0 || size > len - (size_t)head)
			return false;
		raw += (size_t)head + size;
		len -= (size_t)head + size;
		record_cnt--;
	}
	return !len && !record_cnt;
}

/* ctx: set to true once. */
static void *alloc_noted(void *ctx, size_t size)
{
	void *ret = malloc(size);

	*(bool *)ctx |= !ret;
	return ret;
}

static void free_noted(void *ctx, void *at)
{
	free(at);
}

/* The library says only that it failed: a lack of memory is no damage. */
static int unpack_record(const void *bytes, size_t size, Jankbpf__Record **ret)
{
	bool failed = false;
	ProtobufCAllocator allocator = { alloc_noted, free_noted, &failed };

	*ret = jankbpf__record__unpack(&allocator, size, bytes);
	return *ret ? 0 : failed ? -ENOMEM : -EBADMSG;
}

static int unpack(const char *raw, size_t len, uint32_t record_cnt, Jankbpf__Record **to)
{
	for (uint32_t i = 0; i < record_cnt; i++) {
		uint64_t size;
		int head = stream__length(raw, len, &size);

		int res = unpack_record(raw + head, size, &to[i]);

		if (res)
			return res;
		raw += (size_t)head + size;
		len -= (size_t)head + size;
	}
	return 0;
}

int spool__read_records(const void *data, const struct spool_batch_head *head,
			Jankbpf__Record ***ret)
{
	const char *frame = (const char *)data + head->head_sz;
	char *raw = malloc(head->raw_sz);
	Jankbpf__Record **records = NULL;
	int res = raw ? 0 : -ENOMEM;

	if (!res && (ZSTD_decompress(raw, head->raw_sz, frame, head->packed_sz) != head->raw_sz ||
		     !has_records(raw, head->raw_sz, head->record_cnt)))
		res = -EBADMSG;
	if (!res && !(records = calloc(head->record_cnt, sizeof(*records))))
		res = -ENOMEM;
	if (!res)
		res = unpack(raw, head->raw_sz, head->record_cnt, records);
	free(raw);
	if (res)
		spool__free_records(records, head->record_cnt);
	else
		*ret = records;
	return res;
}

#else

bool spool__is_available(void)
{
	return false;
}

int spool__pack(struct strbuf *sb, const struct strbuf *raw)
{
	return -ENOSYS;
}

int spool__add_batch(struct strbuf *sb, uint64_t nr, uint32_t record_cnt, uint64_t created_ns,
		     const struct strbuf *raw)
{
	return -ENOSYS;
}

int spool__read_records(const void *data, const struct spool_batch_head *head,
			Jankbpf__Record ***ret)
{
	return -ENOSYS;
}

#endif

void spool__free_records(Jankbpf__Record **records, size_t cnt)
{
	for (size_t i = 0; records && i < cnt; i++)
		if (records[i])
			jankbpf__record__free_unpacked(records[i], NULL);
	free(records);
}
