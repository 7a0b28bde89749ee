/* SPDX-License-Identifier: GPL-2.0 */
/* The message of a dispatch goes to its block and to no other; unknown parts are left out. */
#include "model/block.h"

#include <errno.h>

#include "export/record/record.h"
#include "model/loop.h"
#include "tests/tap.h"
#include "tests/unit/loops_fixture.h"
#include "tests/unit/message_fixture.h"

static void feed_message(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t data)
{
	struct jank_rec_message rec = fixture__message(tid, dispatch_ns, data);

	feed(loops, &rec);
}

/* The data of the first ready descriptor in the message of a block or hang; 0: no message. */
static uint64_t data_with(struct loops *loops, struct jank_rec_block rec)
{
	struct dispatch *dispatch;
	uint64_t ret = 0;

	if (fixture__feed(loops, &rec, &dispatch) || !dispatch)
		return 0;
	if (dispatch->evidence.message)
		ret = dispatch->evidence.message->ready_data[0];
	dispatch__free(dispatch);
	return ret;
}

static void test_belongs(void)
{
	struct loops *loops = fresh();

	feed_message(loops, 11, 100, 7);
	feed_message(loops, 12, 100, 8);
	is_uint(data_with(loops, fixture__block(11, 100, MS)), 7, "a block has its own message");
	is_uint(data_with(loops, fixture__block(11, 100, MS)), 0, "which is used once");
	is_uint(data_with(loops, fixture__block(12, 100, MS)), 8, "another thread has its own");
	feed_message(loops, 11, 200, 9);
	is_uint(data_with(loops, fixture__block(11, 300, MS)), 0, "no message of another dispatch");
	feed_message(loops, 11, 400, 10);
	feed_message(loops, 11, 350, 11);
	is_uint(data_with(loops, fixture__block(11, 400, MS)), 10,
		"a late message changes nothing");
	loops__free(loops);
}

static void test_hang(void)
{
	struct loops *loops = fresh();

	feed_message(loops, 11, 100, 7);
	is_uint(data_with(loops, fixture__hang(11, 100, MS)), 7, "a hang has it");
	is_uint(data_with(loops, fixture__block(11, 100, 2 * MS)), 7, "and so has its end");
	feed_message(loops, 11, 200, 7);
	is_uint(data_with(loops, fixture__hang(11, 200, MS)), 7, "a hang has it");
	feed_message(loops, 11, 200, 8);
	is_uint(data_with(loops, fixture__block(11, 200, 2 * MS)), 8, "its end has the later one");
	feed_message(loops, 11, 300, 7);
	loops__free(loops); /* what was not used is freed: checked by the sanitizer */
}

static void test_judged(void)
{
	struct judge judge = { .threshold_ns = MS, .host = &(struct host_info){ 0 } };
	struct loops *loops = fresh();
	struct jank_rec_block rec = fixture__block(11, 100, 2 * MS);
	struct block *block = NULL;
	struct dispatch *dispatch;

	feed_message(loops, 11, 100, 7);
	fixture__feed(loops, &rec, &dispatch);
	is_int(judge__dispatch(&judge, dispatch, NULL, &block), 1, "a block is made");
	ok(block->message && block->message->ready_data[0] == 7 && !dispatch->evidence.message,
	   "and takes the message");
	ok(block__bytes(block) >= sizeof(struct block) + sizeof(*block->message),
	   "its memory is counted");
	dispatch__free(dispatch);
	block__free(block);
	loops__free(loops);
}

static bool is_shown(struct record *builder, const struct message *m)
{
	const struct jank_rec_message raw = { .mark = 3 };
	struct block *block = block__new();
	bool ret;

	message_fixture__set(block, &raw, m);
	ok(block->message->mark == 3, "a new one has its raw values");
	ret = record__of_block(builder, block)->block->message;
	block__free(block);
	return ret;
}

static void test_known(void)
{
	struct record *builder = record__new();
	struct block *block = block__new();

	ok(!record__of_block(builder, block)->block->message, "without a message nothing is known");
	block__free(block);
	ok(!is_shown(builder, &(struct message){ .fd.fd = -1 }), "none of which can be shown");
	ok(is_shown(builder, &(struct message){ .fd.fd = -1, .ready_cnt = 2 }),
	   "the number of ready descriptors is something");
	ok(is_shown(builder,
		    &(struct message){ .fd.fd = -1, .callback = { .module = "/lib/a.so" } }),
	   "so is the place of a callback");
	record__free(builder);
}

/* The counts of a record are checked before use. */
static void test_bad(void)
{
	struct jank_rec_message rec = fixture__message(11, 100, 7);
	struct event event;
	void *exact;

	memset(rec.text, 'x', sizeof(rec.text));
	exact = fixture__exact(&rec, sizeof(rec));
	is_int(decode__record(exact, sizeof(rec), &event), 0, "a message is decoded");
	is_uint(strlen(event.message.text), JANK_MESSAGE_TEXT_SZ - 1, "its text ends");
	free(exact);
	rec.ready_got = JANK_READY_MAX + 1;
	exact = fixture__exact(&rec, sizeof(rec));
	is_int(decode__record(exact, sizeof(rec), &event), -EBADMSG, "too many events are refused");
	free(exact);
	rec = fixture__message(11, 100, 7);
	rec.hdr.size -= 8;
	exact = fixture__exact(&rec, sizeof(rec));
	is_int(decode__record(exact, rec.hdr.size, &event), -EBADMSG, "and a short record");
	free(exact);
}

int main(void)
{
	test_belongs();
	test_hang();
	test_judged();
	test_known();
	test_bad();
	return tap__done();
}
