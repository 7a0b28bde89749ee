/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lookups by address in Go's function table. Each function has runs of addresses with a file
 * number, runs with a line, and runs with the depth of the stack pointer. Inlined code has its own
 * file and line there, and only the running program knows its function: such an address gets no
 * line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/languages/gopclntab.h"

#define STEPS_MAX   65536 /* limit of runs of one function */
#define WINDOW	    256
#define DATA_INLINE 2 /* index of the function's table of inlined code */
#define NOWHERE	    UINT32_MAX
/* runtime/symtab.go */
#define FLAG_TOPFRAME 1 /* no function calls it */
#define FLAG_SPWRITE  2 /* it sets the stack pointer itself */

struct func {
	uint32_t addr, name, args, deferreturn, sp, file, line, data_cnt, unit;
};

struct gopclntab *gopclntab__keep(const struct gopclntab *go)
{
	struct gopclntab *ret = go->img.fd >= 0 ? malloc(sizeof(*ret)) : NULL;

	if (!ret)
		return NULL;
	*ret = *go;
	ret->img.fd = fcntl(go->img.fd, F_DUPFD_CLOEXEC, 3);
	if (ret->img.fd >= 0)
		return ret;
	free(ret);
	return NULL;
}

void gopclntab__free(struct gopclntab *go)
{
	if (!go)
		return;
	close(go->img.fd);
	free(go);
}

/* Reads from a part of the table that ends at `end`. */
static int read_part(const struct gopclntab *go, uint64_t begin, uint64_t end, uint64_t off,
		     void *buf, size_t len)
{
	if (off > end - begin || len > end - begin - off)
		return -ENODATA;
	return image__read(&go->img, go->off + begin + off, buf, len);
}

/*
 * Finds the function with the last begin at or before the address. ret gets the position of its
 * description.
 */
static int find_func(const struct gopclntab *go, uint32_t addr, uint32_t *ret)
{
	uint32_t low = 0, high = go->func_cnt, entry[2];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (read_part(go, go->funcs, go->size, 8ull * mid, entry, sizeof(entry)))
			return -ENODATA;
		if (entry[0] <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || read_part(go, go->funcs, go->size, 8ull * (low - 1), entry, sizeof(entry)))
		return -ENODATA;
	*ret = entry[1];
	return 0;
}

struct runs {
	const struct gopclntab *go;
	uint64_t off; /* of the next byte, in the table of values */
	uint8_t buf[WINDOW];
	size_t at, len;
	bool bad;
};

static uint8_t next_byte(struct runs *runs)
{
	uint64_t left;

	if (runs->at == runs->len) {
		left = runs->go->funcs - runs->go->values;
		left = runs->off < left ? left - runs->off : 0;
		runs->at = 0;
		runs->len = left < WINDOW ? left : WINDOW;
		runs->bad = !runs->len || read_part(runs->go, runs->go->values, runs->go->funcs,
						    runs->off, runs->buf, runs->len);
		if (runs->bad) {
			runs->len = 0;
			return 0;
		}
	}
	runs->off++;
	return runs->buf[runs->at++];
}

static uint32_t next_number(struct runs *runs)
{
	uint32_t ret = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte = next_byte(runs);

		if (shift < 32)
			ret |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return ret;
	}
	runs->bad = true;
	return 0;
}

/* Returns the value at a distance from the function's begin; -1: none. */
static int64_t value_at(const struct gopclntab *go, uint32_t table, uint32_t distance)
{
	struct runs runs = { .go = go, .off = table };
	uint64_t end = 0;
	int64_t value = -1;

	for (unsigned i = 0; table && i < STEPS_MAX; i++) {
		uint32_t delta = next_number(&runs);

		if (runs.bad || (!delta && i))
			break;
		value += delta & 1 ? -1 - (int64_t)(delta >> 1) : (int64_t)(delta >> 1);
		end += (uint64_t)next_number(&runs) * go->min_lc;
		if (runs.bad)
			break;
		if (distance < end)
			return value;
	}
	return -1;
}

static bool is_inlined(const struct gopclntab *go, const struct func *func, uint32_t at,
		       uint32_t distance)
{
	uint64_t data = (uint64_t)at + sizeof(*func) + (go->has_start_line ? 4 : 0) + 4;
	uint32_t table;

	if (func->data_cnt <= DATA_INLINE)
		return false;
	if (read_part(go, go->funcs, go->size, data + 4 * DATA_INLINE, &table, sizeof(table)))
		return true;
	return value_at(go, table, distance) >= 0;
}

static bool read_file(const struct gopclntab *go, const struct func *func, int64_t nr, char *buf,
		      size_t cap)
{
	uint64_t left;
	uint32_t off;

	if (nr < 0 ||
	    read_part(go, go->units, go->files, 4 * (func->unit + (uint64_t)nr), &off, sizeof(off)))
		return false;
	left = go->values - go->files;
	if (off == NOWHERE || off >= left)
		return false;
	left -= off;
	if (left > cap)
		left = cap;
	return !read_part(go, go->files, go->values, off, buf, left) && buf[0] &&
	       memchr(buf, 0, left);
}

/*
 * Finds the function that contains an address. ret_at gets the position of its description,
 * ret_distance the distance from its begin.
 */
static bool func_at(const struct gopclntab *go, uint64_t vaddr, struct func *ret, uint32_t *ret_at,
		    uint32_t *ret_distance)
{
	if (vaddr < go->text || vaddr >= go->code_end || vaddr - go->text > UINT32_MAX ||
	    find_func(go, vaddr - go->text, ret_at) ||
	    read_part(go, go->funcs, go->size, *ret_at, ret, sizeof(*ret)) ||
	    ret->addr > vaddr - go->text)
		return false;
	*ret_distance = vaddr - go->text - ret->addr;
	return true;
}

/*
 * Reads the flags. After the description's numbers come the function's id for the runtime, its
 * flags, and two more bytes.
 */
static bool read_flags(const struct gopclntab *go, uint32_t at, uint8_t *ret)
{
	uint64_t off = (uint64_t)at + sizeof(struct func) + (go->has_start_line ? 4 : 0) + 1;

	return !read_part(go, go->funcs, go->size, off, ret, sizeof(*ret));
}

bool gopclntab__depth(const struct gopclntab *go, uint64_t vaddr, uint32_t *ret, bool *is_top)
{
	struct func func;
	uint32_t at, distance;
	int64_t depth;
	uint8_t flags;

	if (!func_at(go, vaddr, &func, &at, &distance) || !read_flags(go, at, &flags) ||
	    flags & FLAG_SPWRITE)
		return false;
	depth = value_at(go, func.sp, distance);
	if (depth < 0 || depth > GOPCLNTAB_DEPTH_MAX)
		return false;
	*ret = depth;
	*is_top = flags & FLAG_TOPFRAME;
	return true;
}

bool gopclntab__line(const struct gopclntab *go, uint64_t vaddr, char *file, size_t cap,
		     uint32_t *ret_line)
{
	struct func func;
	uint32_t at, distance;
	int64_t line;

	if (!func_at(go, vaddr, &func, &at, &distance))
		return false;
	if (is_inlined(go, &func, at, distance))
		return false;
	line = value_at(go, func.line, distance);
	if (line <= 0 || line > INT32_MAX ||
	    !read_file(go, &func, value_at(go, func.file, distance), file, cap))
		return false;
	*ret_line = line;
	return true;
}
