/* SPDX-License-Identifier: GPL-2.0 */
/* The test vectors of SipHash's authors: the key 00 01 02 …, messages 00 01 02 … of each length. */
#include "export/record/record.h"
#include "tests/tap.h"

int main(void)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} rows[] = {
		{ 0, 0x726fdb47dd0e0e31 },  { 1, 0x74f839c593dc67fd },	{ 7, 0xab0200f58b01d137 },
		{ 8, 0x93f5f5799a932462 },  { 15, 0xa129ca6149be45e5 }, { 16, 0x3f2acc7f57c29bdb },
		{ 63, 0x958a324ceb064572 },
	};
	uint8_t key[SIPHASH_KEY_SZ], message[64];

	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = i;
	memcpy(key, message, sizeof(key));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_uint(siphash(key, message, rows[i].len), rows[i].hash, "%zu bytes", rows[i].len);
	key[15] ^= 1;
	ok(siphash(key, message, 8) != 0x93f5f5799a932462, "another key gives another hash");
	return tap__done();
}
