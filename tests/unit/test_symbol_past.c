/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mappings at the time when an address was recorded: libraries that came, went, and lie where
 * another one was.
 */
#include <inttypes.h>

#include "symbol/names/proc_maps.h"
#include "tests/unit/symbol_fixture.h"

#define AT 0x7f0000001000ull

static const char *path_at(struct proc_maps *maps, uint64_t addr, uint64_t at_ns)
{
	const struct region *region;

	maps->at_ns = at_ns;
	region = proc_maps__find(maps, addr);
	maps->at_ns = 0;
	return region ? region->mapped->path : "nothing";
}

static void check(struct proc_maps *maps, uint64_t addr, uint64_t at_ns, const char *path)
{
	const char *found = path_at(maps, addr, at_ns);

	ok(!strcmp(found, path), "at %" PRIu64 " %s is %s", at_ns, path, found);
}

static struct mapped *add(struct proc_maps *maps, const char *path, uint64_t start, uint64_t end,
			  uint64_t t_ns)
{
	const struct mapping mapping = { start, end, 0x1000, 0x801, path[5], t_ns, path };
	struct mapped *ret;

	if (proc_maps__add(maps, &mapping, &ret))
		abort();
	return ret;
}

/* Lines as in /proc/PID/maps, of the same device and numbers. */
static void read_text(struct proc_maps *maps, const char *text)
{
	*maps = (struct proc_maps){ 0 };
	scratch__write_text("maps", text);
	if (proc_maps__read(maps, scratch__path("maps")))
		abort();
}

#define LINE_A "7f0000001000-7f0000003000 r-xp 00001000 08:01 97                   /lib/a\n"
#define LINE_B "7f0000001000-7f0000003000 r-xp 00001000 08:01 98                   /lib/b\n"
#define OTHER  "550000001000-550000002000 r-xp 00000000 08:01 7                    /bin/p\n"

static void test_turns(void)
{
	struct proc_maps maps;

	read_text(&maps, OTHER);
	ok(add(&maps, "/lib/a", AT, AT + 0x2000, 100), "a library is mapped");
	ok(add(&maps, "/lib/b", AT, AT + 0x2000, 200), "another one is mapped over it");
	ok(add(&maps, "/lib/a", AT, AT + 0x2000, 300), "and the first again");
	check(&maps, AT, 150, "/lib/a");
	check(&maps, AT + 0x1fff, 250, "/lib/b");
	check(&maps, AT, 350, "/lib/a");
	check(&maps, AT, 0, "/lib/a");
	check(&maps, 0x550000001000, 150, "/bin/p");
	ok(maps.cnt == 2, "of the present there are %zu", maps.cnt);
	ok(!add(&maps, "/lib/a", AT, AT + 0x2000, 400), "a present mapping needs no module");
	proc_maps__free(&maps);
}

static void test_pieces(void)
{
	const struct region *region;
	struct proc_maps maps;

	read_text(&maps, OTHER);
	add(&maps, "/lib/a", AT, AT + 0x4000, 100);
	add(&maps, "/lib/b", AT + 0x1000, AT + 0x2000, 200);
	check(&maps, AT, 250, "/lib/a");
	check(&maps, AT + 0x1000, 250, "/lib/b");
	check(&maps, AT + 0x1000, 150, "/lib/a");
	check(&maps, AT + 0x3fff, 250, "/lib/a");
	region = proc_maps__find(&maps, AT + 0x2000);
	ok(region->offset == 0x3000 && maps.cnt == 4, "the rest after it keeps its offset: %llx",
	   (unsigned long long)region->offset);
	proc_maps__free(&maps);
}

/* A reading shows what is gone, not since when; a later mapping at that place bounds it. */
static void test_reading(void)
{
	struct proc_maps maps, fresh;

	read_text(&maps, OTHER LINE_A);
	read_text(&fresh, OTHER LINE_B);
	proc_maps__keep_past(&fresh, &maps, 500);
	proc_maps__free(&maps);
	check(&fresh, AT, 400, "/lib/a");
	check(&fresh, AT, 600, "/lib/b");
	add(&fresh, "/lib/b", AT, AT + 0x2000, 300);
	check(&fresh, AT, 400, "/lib/b");
	check(&fresh, AT, 200, "/lib/a");

	read_text(&maps, OTHER);
	proc_maps__keep_past(&maps, &fresh, 900);
	proc_maps__free(&fresh);
	check(&maps, AT, 800, "/lib/b");
	check(&maps, AT, 200, "/lib/a");
	check(&maps, AT, 950, "nothing");
	check(&maps, AT, 0, "nothing");
	proc_maps__free(&maps);
}

static void test_bound(void)
{
	struct proc_maps maps, fresh;
	size_t cnt;

	read_text(&maps, OTHER);
	for (uint64_t i = 1; i <= 4000; i++)
		add(&maps, i % 2 ? "/lib/a" : "/lib/b", AT, AT + 0x2000, 10 * i);
	cnt = proc_maps__bytes(&maps);
	ok(cnt < 32768, "4,000 turns take %zu bytes", cnt);
	check(&maps, AT, 39995, "/lib/a");
	check(&maps, AT, 40005, "/lib/b");
	read_text(&fresh, OTHER "7f0000001000-7f0000003000 rwxp 00000000 00:00 0 \n");
	proc_maps__keep_past(&fresh, &maps, 50000);
	proc_maps__free(&maps);
	check(&fresh, AT, 40005, "/lib/b");
	check(&fresh, AT, 0, "");
	read_text(&maps, OTHER);
	proc_maps__keep_past(&maps, &fresh, 60000);
	proc_maps__free(&fresh);
	check(&maps, AT, 55000, "nothing"); /* a JIT compiler's memory is not kept */
	proc_maps__free(&maps);
}

/* Thousands of files, each mapped once. */
static void test_many(void)
{
	struct proc_maps maps, fresh;
	unsigned i, readings = 0;

	read_text(&maps, OTHER);
	for (i = 1; i <= 4000; i++) {
		const struct mapping mapping = { AT,	   AT + 0x2000, 0,	 0x801,
						 1000 + i, 10 * i,	"/tmp/x" };
		struct mapped *ret;

		if (proc_maps__add(&maps, &mapping, &ret) != -EINVAL)
			continue;
		read_text(&fresh, OTHER);
		proc_maps__keep_past(&fresh, &maps, 10 * i);
		proc_maps__free(&maps);
		maps = fresh;
		readings++;
	}
	ok(readings > 5 && readings < 12 && proc_maps__bytes(&maps) < 400000,
	   "of 4,000 files %zu bytes are kept, by %u readings", proc_maps__bytes(&maps), readings);
	check(&maps, AT, 39995, "/tmp/x");
	proc_maps__free(&maps);
}

int main(void)
{
	scratch__init();
	test_turns();
	test_pieces();
	test_reading();
	test_bound();
	test_many();
	return tap__done();
}
