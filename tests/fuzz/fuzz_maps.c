/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged /proc/PID/maps and mountinfo. The kernel writes them, but paths come from anybody, and
 * tests and --root read ordinary files in their place. One text goes to all three readers.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "files/proc.h"
#include "procfs/filepath.h"
#include "symbol/names/proc_maps.h"
#include "tests/fuzz/corpus.h"
#include "tests/unit/scratch.h"

static const char *const words[] = {
	"r-xp",
	"rw-p",
	" (deleted)",
	"\\012",
	"\\040",
	"[vdso]",
	"[anon:",
	"[heap]",
	"[stack",
	" - ",
	"\n",
	" ",
	"-",
	":",
	"fuse.",
	"nfs4",
	"7f0000000000-7f0000001000",
	NULL,
};

static struct {
	uint64_t regions, lines, mounts;
	const char *broken;
	char path[64];
	int fd;
} run;

/* The first line, in a buffer of exactly its size. */
static void parse_line(const struct corpus *c)
{
	const char *text = (const char *)c->bytes, *end = memchr(text, '\n', c->len);
	char *line = strndup(text, end ? (size_t)(end - text) : c->len);
	struct proc_maps_line parsed;

	if (!line)
		abort();
	if (maps_line__parse(line, true, &parsed) == 1 && parsed.start >= parsed.end)
		run.broken = "an empty region";
	free(line);
}

static void read_maps(void)
{
	struct proc_maps maps = { 0 };

	if (!proc_maps__read(&maps, run.path))
		for (size_t i = 0; i < maps.cnt; i++) {
			const struct region *r = &maps.regions[i];

			run.regions++;
			if (r->start >= r->end || (i && r->start < r[-1].start))
				run.broken = "a region out of order";
			if (proc_maps__same(&maps, r->mapped) != r->mapped)
				run.broken = "a file that differs from itself";
			proc_maps__find(&maps, r->start);
			proc_maps__find(&maps, r->end);
		}
	proc_maps__bytes(&maps);
	proc_maps__free(&maps);
}

static int take_line(void *ctx, const struct proc_maps_line *line)
{
	run.lines++;
	if (line->path[0] != '/' && line->path[0] != '\n')
		run.broken = "an invalid path";
	return strlen(line->path) == 13;
}

static void read_mounts(void)
{
	struct mountinfo mi;

	if (mountinfo__read(scratch_dir, 1, &mi))
		return;
	for (size_t i = 0; i < mi.cnt; i++) {
		const struct mount *m = &mi.mounts[i];

		run.mounts++;
		if (!mountinfo__by_id(&mi, m->id) || !mountinfo__next_of(&mi, m->dev, NULL))
			run.broken = "a mount that is not found";
		mount__is_remote(m);
		if (strlen(m->root) + strlen(m->point) + strlen(m->source) > CORPUS_INPUT_SZ)
			run.broken = "a path longer than the text";
	}
	mountinfo__free(&mi);
}

int main(void)
{
	struct corpus *c = corpus__load("maps", 60);

	scratch__init();
	run.fd = memfd_create("maps", MFD_CLOEXEC);
	snprintf(run.path, sizeof(run.path), "/proc/self/fd/%d", run.fd);
	if (run.fd < 0 || mkdir(scratch__path("1"), 0755) ||
	    symlink(run.path, scratch__path("1/mountinfo")))
		skip_all("no file");
	c->words = words;
	while (corpus__next(c) && !run.broken) {
		if (ftruncate(run.fd, 0) || pwrite(run.fd, c->bytes, c->len, 0) != (ssize_t)c->len)
			abort();
		parse_line(c);
		read_maps();
		maps_lines__each(run.path, take_line, NULL);
		maps_lines__each_file(run.path, take_line, NULL);
		read_mounts();
	}
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.regions && run.lines && run.mounts, "%llu regions, %llu lines, %llu mounts",
	   (unsigned long long)run.regions, (unsigned long long)run.lines,
	   (unsigned long long)run.mounts);
	corpus__end(c);
	close(run.fd);
	return tap__done();
}
