/* SPDX-License-Identifier: GPL-2.0 */
/* Forged or incomplete answers: what does not fit is refused or ignored. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "journal/answers.h"
#include "journal/journal.h"
#include "schema/journal.pb-c.h"
#include "tests/tap.h"

#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))

/* Adds a record of that kind with the message. Returns 0, -EBADMSG or -ENOMEM. */
static int add(struct answers *a, uint16_t kind, const void *message)
{
	size_t len = protobuf_c_message_get_packed_size(message), pad = -len % 8;
	struct jank_rec *rec = calloc(1, sizeof(*rec) + len + pad);
	int res;

	*rec = (struct jank_rec){ .size = sizeof(*rec) + len + pad, .kind = kind, .flags = pad };
	protobuf_c_message_pack(message, (uint8_t *)(rec + 1));
	res = answers__add(a, rec);
	free(rec);
	return res;
}

static int add_bytes(struct answers *a, uint16_t kind, const char *bytes, size_t len)
{
	size_t pad = -len % 8;
	struct jank_rec *rec = calloc(1, sizeof(*rec) + len + pad);
	int res;

	*rec = (struct jank_rec){ .size = sizeof(*rec) + len + pad, .kind = kind, .flags = pad };
	memcpy(rec + 1, bytes, len);
	res = answers__add(a, rec);
	free(rec);
	return res;
}

static void test_bad_bytes(void)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "\xff", 1 },	       /* a tag cut short */
		{ "\x08", 1 },	       /* no number */
		{ "\x08\xff\xff", 3 }, /* one cut short */
		{ "\x0a\x05x", 3 },    /* bytes beyond the record */
		{ "\x0a\xff\xff\xff\xff\x0f", 6 },
		{ "\x0d\x01", 2 }, /* a 32-bit value cut short */
		{ "\x09\x01", 2 }, /* a 64-bit value cut short */
		{ "\x0b", 1 },	   /* a group: no such wire type */
		{ "\x0f", 1 },
		{ "\x00\x01", 2 }, /* field 0 */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
	};
	struct answers *a = answers__new();

	for (uint16_t kind = JOURNAL_SESSION; kind <= JOURNAL_END; kind++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			is_int(add_bytes(a, kind, rows[i].bytes, rows[i].len), -EBADMSG,
			       "kind %x: bytes %zu are bad", kind, i);
	ok(!answers__session(a)->known && !answers__process(a, 1), "none of it is used");
	is_int(add_bytes(a, JANK_REC_BLOCK, "\xff", 1), 0, "records of the kernel are no answers");
	is_int(add_bytes(a, 0x8fff, "\xff", 1), 0, "nor are records of a later version");
	for (uint16_t kind = 0x8001; kind <= 0x8008; kind++)
		is_int(add_bytes(a, kind, "{}", 2), 0, "nor are those of version 1");
	answers__free(a);
	answers__free(NULL);
}

/* Well-formed records without content. */
static void test_empty(void)
{
	struct jank_rec_block rec = { .start_ns = 0 };
	uint64_t address = 0x10;
	struct stack stack = { .addresses = &address, .user_cnt = 1 };
	struct answers *a = answers__new();
	struct host_info memory = { .mem_total_kb = 9 };
	enum not_shown_reason reason;
	struct block *block = block__new();
	struct block_loss *lost;
	int64_t offset;
	size_t cnt;

	for (uint16_t kind = JOURNAL_SESSION; kind <= JOURNAL_END; kind++)
		is_int(add_bytes(a, kind, "", 0), 0, "kind %x without a field", kind);
	ok(!answers__session(a)->threshold_ns && !answers__session(a)->host.name,
	   "an empty session is unknown");
	ok(answers__process(a, 0) && !answers__process(a, 0)->name &&
		   identity__uid(answers__process(a, 0)) == UID_UNKNOWN,
	   "an empty process has number 0 and no name");
	ok(answers__time(a, &rec, &memory, &offset) && memory.mem_total_kb == 9,
	   "an empty time is unknown");
	is_int(answers__waited(a, block), 0, "empty answers are applied");
	ok(!block->live->cpu->has_total_pct, "an empty load is unknown");
	ok(!block->live->frames && !answers__loop(a, &rec) && !answers__left_out(a, &rec, &reason),
	   "so are empty frames and an empty loop");
	is_int(answers__name(a, 0, &stack), 0, "frames without a frame are valid");
	ok(stack.frame_cnt == 1 && stack.frames[0].address == 0x10, "and leave the address bare");
	is_int(answers__losses(a, &lost, &cnt), 0, "an end without losses is valid");
	ok(!cnt && !lost, "and has none");
	free(stack.frames);
	block__free(block);
	answers__free(a);
}

/* Frames of one address: their number is bounded, and missing flags are false. */
static void test_bounds(void)
{
	enum { MANY = 10001 };
	uint64_t addresses[] = { 0x10, 0x20 };
	struct stack stack = { .addresses = addresses, .user_cnt = 2 };
	Jankbpf__JournalFrames message = JANKBPF__JOURNAL_FRAMES__INIT;
	Jankbpf__Frame frame = JANKBPF__FRAME__INIT, *frames[MANY];
	struct answers *a = answers__new();
	protobuf_c_boolean app = true;

	for (int i = 0; i < MANY; i++)
		frames[i] = &frame;
	SET(&message, pid, 1);
	SET(&message, key, answers__native_key(0x10, true));
	message.frames = frames;
	message.n_frames = MANY;
	message.app = &app;
	message.n_app = 1;
	is_int(add(a, JOURNAL_FRAMES, &message), 0, "10001 frames at one address are valid");
	message.key = 0x20;
	message.n_frames = message.n_app = 0;
	is_int(add(a, JOURNAL_FRAMES, &message), 0, "so are none at another");
	is_int(answers__name(a, 1, &stack), 0, "both are used for a stack");
	is_uint(stack.frame_cnt, ANSWERS_INLINED_MAX + 1,
		"the first becomes %d frames, the second the bare address", ANSWERS_INLINED_MAX);
	ok(stack.frames[0].app && !stack.frames[1].app, "a missing flag is false");
	free(stack.frames);
	answers__free(a);
}

/* Of several records of one kind the last one counts; what the earlier ones said is dropped. */
static void test_repeated(void)
{
	Jankbpf__JournalSession session = JANKBPF__JOURNAL_SESSION__INIT;
	Jankbpf__Identity process = JANKBPF__IDENTITY__INIT;
	Jankbpf__JournalEnd end = JANKBPF__JOURNAL_END__INIT;
	Jankbpf__Host name = JANKBPF__HOST__INIT;
	struct answers *a = answers__new();

	session.host = &name;
	SET(&process, pid, 1);
	for (int i = 0; i < 3; i++) {
		name.name = process.name = (char *)(i < 2 ? "old" : "new");
		SET(&end, elapsed_ns, i);
		add(a, JOURNAL_SESSION, &session);
		add(a, JOURNAL_PROCESS, &process);
		add(a, JOURNAL_END, &end);
	}
	is_str(answers__session(a)->host.name, "new", "the last session counts");
	is_str(answers__process(a, 1)->name, "new", "the last of a process, too");
	is_uint(answers__session(a)->elapsed_ns, 2, "and the last end");
	answers__free(a);
}

int main(void)
{
	test_bad_bytes();
	test_empty();
	test_bounds();
	test_repeated();
	return tap__done();
}
