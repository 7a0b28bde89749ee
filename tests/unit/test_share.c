/* SPDX-License-Identifier: GPL-2.0 */
/* The rule of shares, and a user's account, in a ring that two users fill. */
#include "bpf/jank_share.h"

#include <stdbool.h>
#include <stdint.h>

#include "tests/tap.h"

#define RING	(4u << 20)
#define RECORD	1024
#define USERS	3
#define RECORDS (RING / RECORD)

/* The ring, with the user of each record in it. */
struct ring {
	uint64_t read, written; /* positions in bytes */
	uint8_t user[RECORDS];
	struct jank_share shares[USERS];
};

/* As share__check and bpf_ringbuf_output do. Returns false when the record is refused. */
static bool send(struct ring *ring, uint8_t user)
{
	struct jank_share *share = &ring->shares[user];
	uint64_t used = ring->written - ring->read;

	if (used > RING / 4) {
		jank_share__renew(share, ring->read, ring->written);
		if (jank_share__is_over(jank_share__held(share), jank_share__ring_free(used, RING)))
			return false;
		share->bytes += RECORD;
	}
	if (used + RECORD > RING)
		return false;
	ring->user[ring->written / RECORD % RECORDS] = user;
	ring->written += RECORD;
	return true;
}

static void read_some(struct ring *ring, unsigned cnt)
{
	for (; cnt && ring->read < ring->written; cnt--)
		ring->read += RECORD;
}

static unsigned held_by(const struct ring *ring, uint8_t user)
{
	unsigned cnt = 0;

	for (uint64_t pos = ring->read; pos < ring->written; pos += RECORD)
		cnt += ring->user[pos / RECORD % RECORDS] == user;
	return cnt;
}

static void test_rule(void)
{
	ok(!jank_share__is_over(0, 0), "who holds nothing is not over the share");
	ok(!jank_share__is_over(300, 100), "three times what is free");
	ok(jank_share__is_over(303, 100), "and not more");
	is_uint(jank_share__ring_free(0, RING), RING / 2, "the first half of the ring is free");
	is_uint(jank_share__ring_free(RING / 4, RING), RING / 4, "as far as it is not used");
	is_uint(jank_share__ring_free(RING / 2, RING), RING / 64, "a little is always free");
	is_uint(jank_share__ring_free(RING, RING), RING / 64, "even in a full ring");
}

/* One sends all the time, the other one now and then; the reader is slow, or stands still. */
static void test_ring(unsigned read_cnt, const char *what)
{
	static struct ring ring;
	unsigned refused = 0, most = 0, sent = 0;

	ring = (struct ring){ 0 };
	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < 50; k++)
			sent += send(&ring, 0);
		if (i % 100 == 0)
			refused += !send(&ring, 1);
		read_some(&ring, read_cnt);
		most = held_by(&ring, 0) > most ? held_by(&ring, 0) : most;
	}
	is_uint(refused, 0, "%s: nothing of the quiet user is refused", what);
	ok(most <= RECORDS / 2, "%s: the busy one holds at most half: %u of %u", what, most,
	   RECORDS);
	ok(sent >= RECORDS / 4 && sent >= 20000 * read_cnt * 9 / 10,
	   "%s: what is free is used: %u records", what, sent);
}

static void test_two_busy(void)
{
	static struct ring ring;
	unsigned sent[USERS] = { 0 }, refused = 0;

	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k < 50; k++) {
			sent[0] += send(&ring, 0);
			sent[1] += send(&ring, 1);
		}
		if (i % 100 == 0)
			refused += !send(&ring, 2);
		read_some(&ring, 5);
	}
	is_uint(refused, 0, "two busy users: nothing of a third one is refused");
	ok(sent[0] < 2 * sent[1] && sent[1] < 2 * sent[0],
	   "each of the two has its part: %u and %u records", sent[0], sent[1]);
}

int main(void)
{
	test_rule();
	test_ring(5, "a slow reader");
	test_ring(40, "a fast one");
	test_two_busy();
	return tap__done();
}
