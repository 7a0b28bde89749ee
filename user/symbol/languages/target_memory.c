/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An open-addressing table of pieces, by address. See target_memory.h. */
#include "symbol/languages/target_memory.h"

#include <stdlib.h>
#include <string.h>

#include "files/proc.h"

#define PIECES_MAX   128 /* 512 KiB */
#define SLOT_CNT     256
#define REQUESTS_MAX 128 /* 93 functions of Java that are new take 47 */

struct piece {
	uint64_t addr;
	bool read;
};

struct target_memory {
	const char *proc;
	uint32_t pid;
	unsigned requests;
	bool full;
	bool any;
	size_t cnt;		 /* of pieces */
	size_t lacking;		 /* those that were not asked for: the last ones */
	uint8_t slots[SLOT_CNT]; /* index of a piece, plus 1; 0: free */
	struct piece pieces[PIECES_MAX];
	char bytes[PIECES_MAX][MEMORY_PIECE];
};

_Static_assert(PIECES_MAX < UINT8_MAX, "slots");

struct target_memory *target_memory__new(void)
{
	return calloc(1, sizeof(struct target_memory));
}

void target_memory__free(struct target_memory *mem)
{
	free(mem);
}

size_t target_memory__bytes(void)
{
	return sizeof(struct target_memory);
}

void target_memory__begin(struct target_memory *mem, const char *proc, uint32_t pid)
{
	mem->proc = proc;
	mem->pid = pid;
	mem->requests = 0;
	mem->any = false;
	target_memory__forget(mem);
}

bool target_memory__is_full(const struct target_memory *mem)
{
	return mem->full;
}

bool target_memory__has_any(const struct target_memory *mem)
{
	return mem->any;
}

void target_memory__forget(struct target_memory *mem)
{
	mem->full = false;
	mem->cnt = mem->lacking = 0;
	memset(mem->slots, 0, sizeof(mem->slots));
}

/* The piece at an address, which is added as lacking when it is new. NULL: no room. */
static struct piece *piece_at(struct target_memory *mem, uint64_t addr)
{
	size_t at = (addr / MEMORY_PIECE * 0x9e3779b97f4a7c15) >> 56;

	for (; mem->slots[at]; at = (at + 1) % SLOT_CNT)
		if (mem->pieces[mem->slots[at] - 1].addr == addr)
			return &mem->pieces[mem->slots[at] - 1];
	mem->full |= mem->cnt == PIECES_MAX && addr <= INT64_MAX;
	if (mem->cnt == PIECES_MAX || addr > INT64_MAX)
		return NULL;
	mem->pieces[mem->cnt] = (struct piece){ .addr = addr };
	mem->slots[at] = ++mem->cnt;
	mem->lacking++;
	return &mem->pieces[mem->cnt - 1];
}

/* Notes all pieces of the range that are lacking, not only the first one. */
enum target_read target_memory__read(struct target_memory *mem, uint64_t addr, void *buf,
				     size_t len)
{
	enum target_read ret = TARGET_READ;

	for (size_t done = 0; done < len;) {
		size_t off = (addr + done) % MEMORY_PIECE, part = MEMORY_PIECE - off;
		const struct piece *piece = piece_at(mem, addr + done - off);

		if (part > len - done)
			part = len - done;
		if (piece && piece->read)
			memcpy((char *)buf + done, mem->bytes[piece - mem->pieces] + off, part);
		else if (piece ? piece >= mem->pieces + mem->cnt - mem->lacking
			       : addr + done <= INT64_MAX)
			ret = ret == TARGET_NEVER ? ret : TARGET_LATER;
		else
			ret = TARGET_NEVER;
		done += part;
	}
	if (ret != TARGET_READ)
		memset(buf, 0, len);
	return ret;
}

bool target_memory__fetch(struct target_memory *mem)
{
	size_t first = mem->cnt - mem->lacking;
	bool any = mem->lacking && mem->requests < REQUESTS_MAX;

	while (first < mem->cnt && mem->requests < REQUESTS_MAX) {
		size_t cnt =
			mem->cnt - first < MEMORY_PIECES_MAX ? mem->cnt - first : MEMORY_PIECES_MAX;
		uint64_t addrs[MEMORY_PIECES_MAX];
		uint32_t read;

		for (size_t i = 0; i < cnt; i++)
			addrs[i] = mem->pieces[first + i].addr;
		read = memory__read_pieces(mem->proc, mem->pid, addrs, cnt, mem->bytes[first]);
		for (size_t i = 0; i < cnt; i++)
			mem->pieces[first + i].read = read & 1u << i;
		mem->any |= read != 0;
		mem->requests++;
		first += cnt;
	}
	mem->lacking = mem->cnt - first;
	return any;
}

bool target_memory__read_large(const struct target_memory *mem, uint64_t addr, void *buf,
			       size_t len)
{
	uint64_t first = addr / MEMORY_PIECE, end = (addr + len + MEMORY_PIECE - 1) / MEMORY_PIECE;
	uint64_t addrs[MEMORY_PIECES_MAX];
	char *bytes;
	bool ret;

	if (!len || len > TARGET_LARGE || addr > INT64_MAX)
		return false;
	for (uint64_t i = first; i < end; i++)
		addrs[i - first] = i * MEMORY_PIECE;
	bytes = malloc((end - first) * MEMORY_PIECE);
	ret = bytes && memory__read_pieces(mem->proc, mem->pid, addrs, end - first, bytes) ==
			       (1u << (end - first)) - 1;
	if (ret)
		memcpy(buf, bytes + addr % MEMORY_PIECE, len);
	free(bytes);
	return ret;
}
