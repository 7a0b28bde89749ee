/* SPDX-License-Identifier: GPL-2.0 */
/* Damaged perf maps, which grow, shrink and are replaced while they are read. */
#include <sys/stat.h>

#include "symbol/languages/jit.h"
#include "symbol/languages/runtime.h"
#include "tests/fuzz/corpus.h"
#include "tests/unit/scratch.h"

#define PID 42

static const char *const words[] = {
	"7f0000001000 20 ", "1000 ffffffff ", "0 0 ",  "\n", "\r\n", "JS:~", "LazyCompile:*",
	"py::f:/a.py",	    "[Tier0]",	      "::run", " ",  "\n7f", NULL,
};

static struct {
	uint64_t found, named;
	const char *broken;
	char path[PATH_MAX];
} run;

static void look_up(struct perfmap *map)
{
	const struct symtab *tab = &map->tab;
	char name[512];

	for (size_t i = 0; i < tab->cnt; i++) {
		const struct symbol *sym = symtab__find(tab, tab->syms[i].addr);

		if (i && tab->syms[i].addr <= tab->syms[i - 1].addr)
			run.broken = "out of order";
		if (!sym || sym->addr > tab->syms[i].addr ||
		    tab->syms[i].addr - sym->addr >= sym->size)
			run.broken = "a symbol that is not found";
		if (!sym)
			continue;
		run.found++;
		if (!names__get(&tab->names, sym->name, name, sizeof(name)))
			continue;
		language__of(name);
		run.named++;
	}
}

static void write_part(const struct corpus *c, size_t from, size_t to, int flags)
{
	int fd = open(run.path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	if (fd < 0 || write(fd, c->bytes + from, to - from) != (ssize_t)(to - from))
		abort();
	close(fd);
}

static void update(struct perfmap *map)
{
	map->next_ns = 0; /* whatever the last reading has cost */
	perfmap__update(map, scratch_dir, PID, getuid());
	look_up(map);
}

static void use(struct corpus *c)
{
	struct perfmap map;
	size_t half = fuzz__below(&c->fuzz, c->len + 1);

	perfmap__init(&map);
	/* not truncated to 0, which some file systems write to the disk at once */
	unlink(run.path);
	write_part(c, 0, half, O_EXCL);
	update(&map);
	write_part(c, half, c->len, O_APPEND);
	update(&map);
	if (fuzz__chance(&c->fuzz, 4)) { /* truncated meanwhile: its names are gone */
		if (truncate(run.path, half / 2))
			abort();
		look_up(&map);
	}
	if (fuzz__chance(&c->fuzz, 4))
		unlink(run.path);
	update(&map);
	perfmap__free(&map);
}

int main(void)
{
	struct corpus *c = corpus__load("perfmap", 60);

	scratch__init();
	if (mkdir(scratch__path("tmp"), 0755))
		skip_all("no directory");
	snprintf(run.path, sizeof(run.path), "%s/tmp/perf-%d.map", scratch_dir, PID);
	c->words = words;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.found > run.named && run.named, "%llu symbols, %llu with names",
	   (unsigned long long)run.found, (unsigned long long)run.named);
	corpus__end(c);
	return tap__done();
}
