/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send.h"

#define FIRST_MS 1000u

/* xorshift64 */
static uint64_t next_random(struct backoff *b)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return b->random;
}

uint64_t backoff__next_ms(struct backoff *b, uint64_t retry_after_s)
{
	uint64_t most = FIRST_MS;

	for (unsigned i = 0; i < b->failures && most < BACKOFF_MAX_MS; i++)
		most *= 2;
	if (most > BACKOFF_MAX_MS)
		most = BACKOFF_MAX_MS;
	b->failures++;
	if (retry_after_s)
		return retry_after_s * 1000 + next_random(b) % FIRST_MS;
	return next_random(b) % (most + 1);
}
