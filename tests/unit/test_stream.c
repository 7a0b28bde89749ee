/* SPDX-License-Identifier: GPL-2.0 */
/* Streams of protobuf: lengths, one write per record, torn tails, two writers, rotation. */
#include <sys/socket.h>

#include "export/json/json.h"
#include "export/record/record.h"
#include "export/sink.h"
#include "tests/unit/export_run.h"

#define WRITERS	     4
#define RECORDS_EACH 100

static struct strbuf out = STRBUF_INIT;

static void test_length(void)
{
	static const struct {
		unsigned char bytes[12];
		size_t len;
		int want;
		uint64_t value;
	} rows[] = {
		{ { 0 }, 0, 0, 0 },
		{ { 0x00 }, 1, 1, 0 },
		{ { 0x01 }, 1, 1, 1 },
		{ { 0x7f, 0xff }, 2, 1, 127 },
		{ { 0x80 }, 1, 0, 0 },
		{ { 0x80, 0x01 }, 2, 2, 128 },
		{ { 0xff, 0x7f }, 2, 2, 16383 },
		{ { 0x80, 0x80, 0x01 }, 3, 3, 16384 },
		{ { 0xff, 0xff, 0xff, 0xff, 0x0f }, 5, 5, UINT32_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
		  10,
		  10,
		  UINT64_MAX },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 9, 0, 0 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 10, -EBADMSG, 0 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01 },
		  11,
		  -EBADMSG,
		  0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t value = 0;
		int res = stream__length(rows[i].bytes, rows[i].len, &value);

		is_int(res, rows[i].want, "length %zu takes this many bytes", i);
		if (res > 0)
			is_uint(value, rows[i].value, "and decodes to itself");
	}
}

/* The number of whole records; -1 if there is anything else. *ret_ids: the sum of their pids. */
static int count_records(const struct strbuf *bytes, uint64_t *ret_pids)
{
	size_t at = 0;
	int cnt = 0;

	*ret_pids = 0;
	while (at < bytes->len) {
		Jankbpf__Record *record;
		uint64_t len = 0;
		int head = stream__length(bytes->data + at, bytes->len - at, &len);

		if (head <= 0 || len > bytes->len - at - head)
			return -1;
		record = jankbpf__record__unpack(NULL, len, (uint8_t *)bytes->data + at + head);
		if (!record || !record->schema || strcmp(record->schema, "jankbpf/1"))
			return -1;
		if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK)
			*ret_pids += record->block->pid;
		jankbpf__record__free_unpacked(record, NULL);
		at += head + len;
		cnt++;
	}
	return cnt;
}

/* A stream's record is its length and the message of the block's JSON. */
static void test_same(void)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct strbuf bytes = STRBUF_INIT;
		struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
		struct block *block = fixtures[i].make();
		Jankbpf__Record *record;
		uint64_t len = 0;
		int head;

		is_int(stream__add(&bytes, RECORD_PROTO, fixture__record(block)), 0,
		       "%s is written", fixtures[i].name);
		head = stream__length(bytes.data, bytes.len, &len);
		ok(head > 0 && head + len == bytes.len, "after its length");
		record = jankbpf__record__unpack(NULL, len, (uint8_t *)bytes.data + head);
		fixture__add_block(&want, block);
		if (record)
			json__add_record(&got, record);
		is_str(strbuf__str(&got), strbuf__str(&want), "equal to its JSON");
		jankbpf__record__free_unpacked(record, NULL);
		strbuf__free(&want);
		strbuf__free(&got);
		strbuf__free(&bytes);
		block__free(block);
	}
}

/* A datagram holds what one write() wrote. */
static void test_one_write(void)
{
	static char buf[1 << 20];
	struct strbuf got = STRBUF_INIT;
	struct sink *sink;
	uint64_t pids;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		abort();
	sink = sink_stream__new(fds[0], RECORD_PROTO);
	is_int(send_block(sink, fixture__cpu()), 0, "a record into a socket");
	is_int(send_summary(sink, true), 0, "and a summary");
	for (int i = 0; i < 2; i++) {
		ssize_t n = recv(fds[1], buf, sizeof(buf), MSG_DONTWAIT);

		strbuf__reset(&got);
		strbuf__add(&got, buf, n > 0 ? (size_t)n : 0);
		is_int(count_records(&got, &pids), 1, "one write, one record");
	}
	is_int(recv(fds[1], buf, sizeof(buf), MSG_DONTWAIT), -1, "and nothing after it");
	close(fds[1]);
	is_int(send_block(sink, fixture__cpu()), -EPIPE, "a reader that has left is EPIPE");
	sink->ops->free(sink);
	close(fds[0]);
	strbuf__free(&got);
}

static struct sink *open_dir(const char *name, uint64_t max_bytes)
{
	struct sink_dir_opts opts = { .dir = scratch__path(name),
				      .max_bytes = max_bytes,
				      .format = RECORD_PROTO };
	struct sink *sink = NULL;
	struct err err = { 0 };

	if (sink_dir__new(&opts, &sink, &err))
		ok(false, "%s is opened: %s", name, err.msg);
	return sink;
}

static int records_in(const char *path, uint64_t *ret_pids)
{
	slurp(scratch__path(path), &out);
	return count_records(&out, ret_pids);
}

static struct block *numbered(uint32_t pid)
{
	struct block *block = fixture__bare();

	block->pid = pid;
	return block;
}

/* At whatever byte the last writer stopped, the next one's records are whole. */
static void test_torn(void)
{
	struct sink *sink = open_dir("torn", 0);
	struct strbuf two = STRBUF_INIT;
	size_t first, wrong = 0;
	uint64_t pids;

	is_int(send_block(sink, numbered(1)), 0, "a record");
	slurp(scratch__path("torn/blocks.pb"), &two);
	first = two.len;
	is_int(send_block(sink, numbered(2)), 0, "and another one");
	sink->ops->free(sink);
	slurp(scratch__path("torn/blocks.pb"), &two);
	ok(first && two.len > first, "are in blocks.pb");
	for (size_t len = 0; len <= two.len; len++) {
		uint64_t want = 4 + (len >= first ? 1 : 0) + (len == two.len ? 2 : 0);

		scratch__write("torn/blocks.pb", two.data, len);
		sink = open_dir("torn", 0);
		wrong += send_block(sink, numbered(4)) != 0;
		sink->ops->free(sink);
		wrong += records_in("torn/blocks.pb", &pids) < 1 || pids != want;
	}
	is_uint(wrong, 0, "torn at any byte, whole records stay and the next one is whole");
	/* A length beyond the file, and an invalid one. */
	for (int i = 0; i < 2; i++) {
		strbuf__reset(&out);
		strbuf__add(&out, two.data, first);
		strbuf__add(&out,
			    i ? "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
			      : "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
			    i ? 10 : 11);
		scratch__write("torn/blocks.pb", out.data, out.len);
		sink = open_dir("torn", 0);
		is_int(send_block(sink, numbered(4)), 0, "a bad length is not a clean end");
		sink->ops->free(sink);
		ok(records_in("torn/blocks.pb", &pids) == 2 && pids == 5, "the rest is cut off");
	}
	strbuf__free(&two);
}

/* Several processes append to one DIR. */
static void test_together(void)
{
	pid_t children[WRITERS];
	uint64_t pids, want = 0;
	bool good = true;

	for (int i = 0; i < WRITERS; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		{
			struct sink *sink = open_dir("together", 0);
			int bad = 0;

			for (uint32_t k = 0; k < RECORDS_EACH; k++)
				bad |= send_block(sink, numbered(1000u * i + k));
			sink->ops->free(sink);
			strbuf__free(&out);
			_exit(bad != 0);
		}
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		good &= waitpid(children[i], &status, 0) > 0 && !status;
		for (uint32_t k = 0; k < RECORDS_EACH; k++)
			want += 1000u * i + k;
	}
	ok(good, "%d processes write", WRITERS);
	is_int(records_in("together/blocks.pb", &pids), WRITERS * RECORDS_EACH,
	       "all of their records are there");
	is_uint(pids, want, "each one");
}

static void test_rotation(void)
{
	struct sink *sink = open_dir("rotated", 0);
	uint64_t pids, old_pids;
	struct stat st;
	off_t one;
	int now, old;

	send_block(sink, numbered(1));
	sink->ops->free(sink);
	if (stat(scratch__path("rotated/blocks.pb"), &st))
		abort();
	one = st.st_size;
	sink = open_dir("rotated", (uint64_t)one * 40);
	for (uint32_t i = 0; i < 400; i++)
		if (send_block(sink, numbered(1)))
			ok(false, "record %u is written", i);
	sink->ops->free(sink);
	now = records_in("rotated/blocks.pb", &pids);
	old = records_in("rotated/blocks.1.pb", &old_pids);
	ok(now > 0 && old > 0 && now + old < 400,
	   "blocks.pb becomes blocks.1.pb (%d and %d records)", now, old);
	ok(pids == (uint64_t)now && old_pids == (uint64_t)old, "both have whole records");
	ok(access(scratch__path("rotated/blocks.jsonl"), F_OK), "and no file of the other format");
}

int main(void)
{
	ignore_signals();
	scratch__init();
	test_length();
	test_same();
	test_one_write();
	test_torn();
	test_together();
	test_rotation();
	strbuf__free(&out);
	return tap__done();
}
