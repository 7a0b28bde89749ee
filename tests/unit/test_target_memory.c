/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of a process in pieces: asked for at once, and what is not there. */
#include "symbol/languages/target_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files/apart.h"
#include "files/proc.h"
#include "tests/tap.h"

#define PAGES 8

/* at: of a page that is present. */
static void test_limits(struct target_memory *mem, uint64_t at)
{
	uint64_t word;

	for (unsigned i = 0; i < 1000; i++)
		target_memory__read(mem, (uint64_t)i << 32, &word, 1);
	target_memory__fetch(mem);
	is_int(target_memory__read(mem, 1ull << 45, &word, 1), TARGET_LATER,
	       "with too many pieces there is no room");
	ok(target_memory__is_full(mem), "… which is known");
	target_memory__forget(mem);
	target_memory__read(mem, at + 100, &word, sizeof(word));
	ok(!target_memory__is_full(mem) && target_memory__fetch(mem), "… without them there is");
	is_int(target_memory__read(mem, at + 100, &word, sizeof(word)), TARGET_READ, "… again");
	for (unsigned i = 0; i < 10000; i++) {
		target_memory__forget(mem);
		target_memory__read(mem, at + 100, &word, sizeof(word));
		if (!target_memory__fetch(mem))
			break;
	}
	is_int(target_memory__read(mem, at + 100, &word, sizeof(word)), TARGET_LATER,
	       "a stack with too many requests gets no more");
	ok(!target_memory__fetch(mem), "… however it asks");
	target_memory__begin(mem, "/proc", getpid());
	target_memory__read(mem, at + 100, &word, sizeof(word));
	ok(target_memory__fetch(mem), "the next stack does");
}

int main(void)
{
	struct target_memory *mem = target_memory__new();
	char *bytes = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	uint64_t at = (uint64_t)bytes, word, addrs[] = { at, at + 4096, at + 3 * 4096, 1ull << 62 };
	static char buf[4 * MEMORY_PIECE], large[TARGET_LARGE];

	apart__start();
	for (unsigned i = 0; i < PAGES; i++)
		if (i != 3 && i != 5)
			memset(bytes + i * 4096, 'a' + (int)i, 4096);

	is_uint(memory__read_pieces("/proc", getpid(), addrs, 4, buf), 3,
		"present pieces; one that was never touched, and no address");
	ok(buf[0] == 'a' && buf[4096] == 'b', "their bytes, each in its place");
	is_uint(memory__read_pieces("/proc", getpid(), addrs, MEMORY_PIECES_MAX + 1, buf), 0,
		"too many at once");

	target_memory__begin(mem, "/proc", getpid());
	is_int(target_memory__read(mem, at + 100, &word, sizeof(word)), TARGET_LATER, "not yet");
	is_uint(word, 0, "zeros meanwhile");
	is_int(target_memory__read(mem, at + 2 * 4096 - 4, &word, sizeof(word)), TARGET_LATER,
	       "across two pieces: not yet");
	ok(target_memory__fetch(mem), "both are asked for");
	is_int(target_memory__read(mem, at + 100, &word, sizeof(word)), TARGET_READ, "there");
	is_uint(word, 0x6161616161616161, "its bytes");
	is_int(target_memory__read(mem, at + 2 * 4096 - 4, &word, sizeof(word)), TARGET_READ,
	       "across two pieces");
	is_uint(word, 0x6363636362626262, "its bytes");
	ok(!target_memory__fetch(mem), "nothing is lacking");
	is_int(target_memory__read(mem, at + 3 * 4096, &word, sizeof(word)), TARGET_LATER,
	       "a page that was never touched: not yet");
	ok(target_memory__fetch(mem), "it is asked for");
	is_int(target_memory__read(mem, at + 3 * 4096, &word, sizeof(word)), TARGET_NEVER,
	       "in vain");
	is_int(target_memory__read(mem, UINT64_MAX - 3, &word, sizeof(word)), TARGET_NEVER,
	       "beyond all memory");

	ok(!target_memory__read_large(mem, at + 4096, large, 3 * 4096), "with a hole in it");
	ok(target_memory__read_large(mem, at + 6 * 4096 + 9, large, 4096), "across pages");
	ok(large[0] == 'g' && large[4095] == 'h', "its bytes");
	ok(!target_memory__read_large(mem, at, large, TARGET_LARGE + 1), "too much");

	test_limits(mem, at);
	target_memory__free(mem);
	apart__stop();
	return tap__done();
}
