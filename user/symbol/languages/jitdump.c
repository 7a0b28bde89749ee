/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file grows while code is compiled, record by record; the last record may be incomplete. Only
 * addresses and file positions are kept in memory. The file is not trusted: sizes and counts are
 * limited and checked against the record's size.
 */
#include "symbol/languages/jit.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "files/apart.h"
#include "files/unread.h"

#define MAGIC	    0x4a695444
#define FILE_MAX_SZ (1ull << 32)
#define ENTRIES_MAX (256u << 10)
#define CLOCK_EVERY 256	       /* records between looks at the clock */
#define LINES_MAX   (1u << 20) /* bytes read of a record with lines */
#define COST_SHARE  20	       /* re-reading takes at most 1/20 of a CPU */

enum { CODE_LOAD, CODE_MOVE, DEBUG_INFO };

struct file_head {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct record_head {
	uint32_t id, size;
	uint64_t timestamp;
};

struct code_load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct code_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

struct debug_info {
	uint64_t addr, cnt;
};

void jitdump__init(struct jitdump *dump)
{
	*dump = (struct jitdump){ .fd = -1 };
	code_map__init(&dump->code);
	names__init(&dump->names);
}

void jitdump__free(struct jitdump *dump)
{
	code_map__free(&dump->code);
	names__free(&dump->names);
	free(dump->lines);
	free(dump->name);
	if (dump->fd >= 0)
		close(dump->fd);
	jitdump__init(dump);
}

bool jitdump__is(const struct mapped *mapped)
{
	const char *at = text__base_name(mapped->path);

	if (mapped->kind != MAPPED_FILE || strncmp(at, "jit-", 4) || !isdigit((unsigned char)at[4]))
		return false;
	at += 4 + strspn(at + 4, "0123456789");
	if (at[0] == '-' && isdigit((unsigned char)at[1])) /* Bun: thread, then process */
		at += 1 + strspn(at + 1, "0123456789");
	return !strcmp(at, ".dump");
}

void jitdump__open(struct jitdump *dump, int fd, uid_t uid, const char *name)
{
	uint32_t generation = dump->generation;
	struct file_head head;
	struct image img;
	struct stat st;

	if (apart__stat(fd, &st) || image__of_fd(&img, fd) ||
	    image__read(&img, 0, &head, sizeof(head)) || head.magic != MAGIC ||
	    head.size < sizeof(head) || head.size > img.size) {
		close(fd);
		return;
	}
	if (st.st_uid != uid) {
		unread__add(UNREAD_OWNER, name);
		close(fd);
		return;
	}
	jitdump__free(dump);
	dump->fd = fd;
	dump->name = strdup(name);
	dump->dev = st.st_dev;
	dump->inode = st.st_ino;
	dump->off = head.size;
	dump->generation = generation + 1;
}

static int add_code(struct jitdump *dump, uint64_t addr, uint64_t size, uint64_t name_off)
{
	if (size > SYMTAB_SIZE_MAX || addr >> 56)
		return 0;
	if (name_off > UINT32_MAX)
		return -EFBIG;
	return code_map__put(&dump->code, addr, size, name_off);
}

static int take_load(struct jitdump *dump, const struct image *img, uint64_t off, uint32_t size)
{
	struct code_load load;

	if (size <= sizeof(load) || image__read(img, off, &load, sizeof(load)))
		return 0;
	return add_code(dump, load.addr, load.size, off + sizeof(load));
}

/* Moved code keeps its name. It replaces what was at the new address, like new code. */
static int take_move(struct jitdump *dump, const struct image *img, uint64_t off, uint32_t size)
{
	const struct symbol *sym;
	struct code_move move;

	if (size < sizeof(move) || image__read(img, off, &move, sizeof(move)))
		return 0;
	sym = code_map__find(&dump->code, move.from);
	return sym ? add_code(dump, move.to, move.size, sym->name) : 0;
}

static int take_lines(struct jitdump *dump, const struct image *img, uint64_t off, uint32_t size)
{
	struct debug_info info;

	if (size < sizeof(info) || image__read(img, off, &info, sizeof(info)) || !info.cnt ||
	    info.cnt > size)
		return 0;
	if (dump->line_cnt >= ENTRIES_MAX)
		return 0;
	if (dump->line_cnt == dump->line_cap) {
		size_t cap = dump->line_cap ? 2 * dump->line_cap : 64;
		struct jit_lines *lines = realloc(dump->lines, cap * sizeof(*lines));

		if (!lines)
			return -ENOMEM;
		dump->lines = lines;
		dump->line_cap = cap;
	}
	dump->lines[dump->line_cnt++] = (struct jit_lines){ .addr = info.addr,
							    .off = off + sizeof(info),
							    .size = size - sizeof(info),
							    .cnt = info.cnt };
	return 0;
}

/*
 * Returns 1 when a record was read; 0 when there is none or it is incomplete; -errno when reading
 * must stop.
 */
static int take_record(struct jitdump *dump, const struct image *img)
{
	struct record_head head;
	uint64_t off = dump->off + sizeof(head);
	uint32_t size;
	int res = 0;

	if (image__read(img, dump->off, &head, sizeof(head)))
		return 0;
	if (head.size < sizeof(head))
		return -EINVAL;
	if (!image__holds(img, dump->off, head.size))
		return 0;
	size = head.size - sizeof(head);
	if (head.id == CODE_LOAD)
		res = take_load(dump, img, off, size);
	else if (head.id == CODE_MOVE)
		res = take_move(dump, img, off, size);
	else if (head.id == DEBUG_INFO)
		res = take_lines(dump, img, off, size);
	dump->off += head.size;
	return res ? res : 1;
}

static int by_place(const void *va, const void *vb)
{
	const struct jit_lines *a = va, *b = vb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (a->off > b->off) - (a->off < b->off);
}

static bool is_time_up(unsigned cnt, uint64_t until_ns)
{
	return cnt % CLOCK_EVERY == 0 && clock__thread_ns() >= until_ns;
}

static void read_on(struct jitdump *dump, const struct image *img)
{
	uint64_t until_ns = clock__thread_ns() + JITDUMP_CPU_NS, begin = dump->off;
	size_t line_cnt = dump->line_cnt;
	unsigned cnt = 0;
	int res = 1;

	dump->behind = false;
	while (res > 0 && !dump->behind && dump->off < FILE_MAX_SZ) {
		res = take_record(dump, img);
		dump->behind = res > 0 && is_time_up(++cnt, until_ns);
	}
	dump->full = res < 0 || dump->off >= FILE_MAX_SZ;
	if (dump->full)
		unread__add(UNREAD_JIT, dump->name ?: "jitdump");
	if (dump->off == begin)
		return;
	if (dump->line_cnt > line_cnt)
		qsort(dump->lines, dump->line_cnt, sizeof(*dump->lines), by_place);
	names__borrow(&dump->names, img, 0, img->size, 0);
	dump->generation++;
}

void jitdump__update(struct jitdump *dump)
{
	uint64_t begin_ns = clock__thread_ns();
	struct image img;

	if (dump->fd < 0 || dump->full || clock__mono_ns() < dump->next_ns ||
	    image__of_fd(&img, dump->fd) || img.size <= dump->off)
		return;
	read_on(dump, &img);
	dump->next_ns = clock__mono_ns() + (clock__thread_ns() - begin_ns) * COST_SHARE;
}

const struct symbol *jitdump__find(struct jitdump *dump, uint64_t addr)
{
	return code_map__find(&dump->code, addr);
}

/*
 * Returns the last record of lines for the address before the code's own record. Earlier code at
 * the same address may have other records.
 */
static const struct jit_lines *lines_of(const struct jitdump *dump, const struct symbol *sym)
{
	size_t low = 0, high = dump->line_cnt;

	while (low < high) {
		const struct jit_lines key = { .addr = sym->addr, .off = sym->name };
		size_t mid = low + (high - low) / 2;

		if (by_place(&dump->lines[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low && dump->lines[low - 1].addr == sym->addr ? &dump->lines[low - 1] : NULL;
}

/*
 * An entry has an address, a line, a column, and the file's name; "\xff" repeats the previous name.
 */
static uint32_t find_line(const char *at, const char *end, uint32_t cnt, uint64_t addr,
			  const char **file)
{
	static const char again[] = "\xff";
	const char *name = NULL;
	uint32_t best = 0;

	while (cnt-- && end - at > 16) {
		const char *text = at + 16, *stop = memchr(text, 0, end - text);
		uint64_t from;
		uint32_t line;

		memcpy(&from, at, sizeof(from));
		memcpy(&line, at + 8, sizeof(line));
		if (!stop || from > addr)
			break;
		if (strcmp(text, again))
			name = text;
		best = line;
		at = stop + 1;
	}
	*file = name;
	return name && *name && best <= INT32_MAX ? best : 0;
}

uint32_t jitdump__line(const struct jitdump *dump, const struct symbol *sym, uint64_t addr,
		       char *buf, size_t cap)
{
	const struct jit_lines *lines = lines_of(dump, sym);
	uint32_t size = lines && lines->size < LINES_MAX ? lines->size : LINES_MAX, ret = 0;
	char *bytes = lines ? malloc(size) : NULL;
	const char *file = NULL;
	struct image img;

	if (bytes && !image__of_fd(&img, dump->fd) && !image__read(&img, lines->off, bytes, size))
		ret = find_line(bytes, bytes + size, lines->cnt, addr, &file);
	if (ret)
		strncat(strcpy(buf, ""), file, cap - 1);
	free(bytes);
	return ret;
}

size_t jitdump__bytes(const struct jitdump *dump)
{
	return code_map__bytes(&dump->code) + dump->line_cap * sizeof(*dump->lines);
}
