/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorted tables of functions. See symtab.h. */
#include "symbol/elf/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"

/* --- names of a symbol table, in an arena or left in their file */

#define COPY_MAX                                                                                   \
	(1u << 20)     /* bytes; a larger string table stays in its file, a smaller one is copied */
#define FIRST_READ 256 /* bytes; most names are shorter */

void names__init(struct names *names)
{
	memset(names, 0, sizeof(*names));
	names->img.fd = -1;
}

void names__free(struct names *names)
{
	if (names->owns_fd)
		close(names->img.fd);
	free(names->arena);
	names__init(names);
}

void names__borrow(struct names *names, const struct image *img, uint64_t off, uint64_t size,
		   char end)
{
	names__free(names);
	names->img = *img;
	names->off = off;
	names->size = size;
	names->end = end;
}

static int copy_to_arena(struct names *names)
{
	char *arena = must__malloc(names->size);
	int ret = image__read(&names->img, names->off, arena, names->size);

	if (ret) {
		free(arena);
		return ret;
	}
	names->arena = arena;
	names->cap = names->size;
	names->off = 0;
	image__of_mem(&names->img, arena, names->size);
	return 0;
}

int names__keep(struct names *names)
{
	int fd;

	if (names->arena || names->owns_fd)
		return 0;
	if (names->img.fd < 0 || names->size <= COPY_MAX)
		return copy_to_arena(names);
	fd = fcntl(names->img.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	names->img.fd = fd;
	names->owns_fd = true;
	return 0;
}

static void names_grow(struct names *names, size_t need)
{
	size_t cap = names->cap ? names->cap : 4096;

	while (cap < need)
		cap += cap / 2;
	if (cap == names->cap)
		return;
	names->arena = must__realloc(names->arena, cap);
	names->cap = cap;
}

int64_t names__add(struct names *names, const char *str, size_t len)
{
	int64_t off = names->size;

	if (len >= NAME_MAX_LEN)
		len = NAME_MAX_LEN - 1;
	if (names->size + len + 1 > NAMES_ARENA_MAX)
		return -E2BIG;
	names_grow(names, names->size + len + 1);
	memcpy(names->arena + off, str, len);
	names->arena[off + len] = 0;
	names->size += len + 1;
	image__of_mem(&names->img, names->arena, names->size);
	return off;
}

void names__shrink(struct names *names)
{
	char *arena = names->arena ? realloc(names->arena, names->size ? names->size : 1) : NULL;

	if (!arena)
		return;
	names->arena = arena;
	names->cap = names->size ? names->size : 1;
	image__of_mem(&names->img, arena, names->size);
}

static size_t length(const char *buf, size_t max, char end)
{
	size_t len = 0;

	while (len < max && buf[len] && buf[len] != end)
		len++;
	return len;
}

size_t names__get(const struct names *names, uint64_t off, char *buf, size_t cap)
{
	size_t left, want, len;

	buf[0] = 0;
	if (off >= names->size)
		return 0;
	left = names->size - off < cap - 1 ? names->size - off : cap - 1;
	want = left < FIRST_READ ? left : FIRST_READ;
	if (image__read(&names->img, names->off + off, buf, want))
		want = 0;
	len = length(buf, want, names->end);
	if (len == want && want < left) {
		if (!image__read(&names->img, names->off + off, buf, left))
			want = left;
		len = length(buf, want, names->end);
	}
	buf[len] = 0;
	return len;
}

size_t names__bytes(const struct names *names)
{
	return names->cap;
}

/*
 * How many symbols before addr are examined for one that encloses it: limits the cost of a hostile
 * file.
 */
#define ENCLOSING_MAX 64
/* Aliases with compared names, at one address and in a whole table; limited for the same reason. */
#define ALIASES_MAX    16
#define COMPARISON_MAX 100000
#define COMPARED_LEN   512

void symtab__init(struct symtab *tab)
{
	memset(tab, 0, sizeof(*tab));
	names__init(&tab->names);
}

void symtab__free(struct symtab *tab)
{
	free(tab->syms);
	names__free(&tab->names);
	symtab__init(tab);
}

int symtab__add(struct symtab *tab, uint64_t addr, uint64_t size, bool open, unsigned rank,
		uint32_t name)
{
	if (!size)
		return 0;
	if (tab->cnt >= SYMTAB_MAX)
		return -E2BIG;
	if (tab->cnt == tab->cap) {
		tab->cap = tab->cap ? tab->cap + tab->cap / 2 : 256;
		tab->syms = must__realloc(tab->syms, tab->cap * sizeof(*tab->syms));
	}
	tab->syms[tab->cnt++] = (struct symbol){
		.addr = addr,
		.size = size < SYMTAB_SIZE_MAX ? size : SYMTAB_SIZE_MAX,
		.rank = rank,
		.open = open,
		.name = name,
	};
	return 0;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_address(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;
	int order = ORDER(a->addr, b->addr);

	if (!order)
		order = ORDER(a->rank, b->rank);
	if (!order)
		order = ORDER(a->open, b->open);
	if (!order)
		order = ORDER(b->size, a->size);
	return order ? order : ORDER(a->name, b->name);
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Of two names for the same code, prefer the well-known: `malloc` rather than `__libc_malloc`. */
static bool reads_better(const char *a, const char *b)
{
	int order = ORDER(underscores(a), underscores(b));

	if (!order)
		order = ORDER(strlen(a), strlen(b));
	return (order ? order : strcmp(a, b)) < 0;
}

/* The best of the equal aliases at the front of a group. */
static size_t best_alias(const struct symtab *tab, size_t first, size_t end, size_t *budget)
{
	char best[COMPARED_LEN], name[COMPARED_LEN];
	const struct symbol *a = &tab->syms[first];
	size_t ret = first, i;

	for (i = first + 1; i < end && i < first + ALIASES_MAX && *budget; i++, --*budget) {
		const struct symbol *b = &tab->syms[i];

		if (a->rank != b->rank || a->open != b->open)
			break;
		if (i == first + 1)
			names__get(&tab->names, a->name, best, sizeof(best));
		if (names__get(&tab->names, b->name, name, sizeof(name)) &&
		    (!best[0] || reads_better(name, best))) {
			memcpy(best, name, sizeof(best));
			ret = i;
		}
	}
	return ret;
}

static struct symbol merge_aliases(const struct symtab *tab, size_t first, size_t end,
				   size_t *budget)
{
	struct symbol sym = tab->syms[best_alias(tab, first, end, budget)];
	size_t i;

	for (i = first; sym.open && i < end; i++) {
		if (!tab->syms[i].open) {
			sym.size = tab->syms[i].size;
			sym.open = 0;
		}
	}
	return sym;
}

static void unify_aliases(struct symtab *tab)
{
	size_t first, end, out = 0, budget = COMPARISON_MAX;

	for (first = 0; first < tab->cnt; first = end) {
		end = first + 1;
		while (end < tab->cnt && tab->syms[end].addr == tab->syms[first].addr)
			end++;
		tab->syms[out++] = merge_aliases(tab, first, end, &budget);
	}
	tab->cnt = out;
}

/* A label without a size inside a function with a size is a part of it, not a function. */
static void close_open(struct symtab *tab)
{
	uint64_t reached = 0;
	size_t i, out = 0;

	for (i = 0; i < tab->cnt; i++) {
		struct symbol sym = tab->syms[i];

		if (sym.open && sym.addr < reached)
			continue;
		if (sym.open && i + 1 < tab->cnt && tab->syms[i + 1].addr - sym.addr < sym.size)
			sym.size = tab->syms[i + 1].addr - sym.addr;
		sym.open = 0;
		sym.inside = sym.addr < reached;
		if (sym.addr + sym.size > reached)
			reached = sym.addr + sym.size;
		tab->syms[out++] = sym;
	}
	tab->cnt = out;
}

void symtab__shrink(struct symtab *tab)
{
	struct symbol *syms = realloc(tab->syms, (tab->cnt ? tab->cnt : 1) * sizeof(*syms));

	if (syms) {
		tab->syms = syms;
		tab->cap = tab->cnt ? tab->cnt : 1;
	}
}

void symtab__finish(struct symtab *tab)
{
	if (tab->cnt)
		qsort(tab->syms, tab->cnt, sizeof(*tab->syms), by_address);
	unify_aliases(tab);
	close_open(tab);
	symtab__shrink(tab);
}

static bool is_dead(const struct symbol *old, const struct symbol *sym)
{
	return old->name < sym->name && old->addr + old->size > sym->addr;
}

void symtab__finish_latest(struct symtab *tab)
{
	size_t i, out = 0;

	if (tab->cnt)
		qsort(tab->syms, tab->cnt, sizeof(*tab->syms), by_address);
	for (i = 0; i < tab->cnt; i++) {
		struct symbol sym = tab->syms[i];

		while (out && is_dead(&tab->syms[out - 1], &sym))
			out--;
		if (out && tab->syms[out - 1].addr + tab->syms[out - 1].size > sym.addr)
			continue; /* overwritten by that later symbol */
		tab->syms[out++] = sym;
	}
	tab->cnt = out;
}

/* The last symbol that begins at or before addr: an index, or cnt. */
static size_t at_or_before(const struct symtab *tab, uint64_t addr)
{
	size_t low = 0, high = tab->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (tab->syms[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : tab->cnt;
}

const struct symbol *symtab__find(const struct symtab *tab, uint64_t addr)
{
	size_t i = at_or_before(tab, addr), steps;

	if (i == tab->cnt)
		return NULL;
	for (steps = 0; steps < ENCLOSING_MAX; steps++, i--) {
		const struct symbol *sym = &tab->syms[i];

		if (addr - sym->addr < sym->size)
			return sym;
		if (!sym->inside || !i)
			return NULL;
	}
	return NULL;
}

size_t symtab__bytes(const struct symtab *tab)
{
	return tab->cap * sizeof(*tab->syms) + names__bytes(&tab->names);
}
