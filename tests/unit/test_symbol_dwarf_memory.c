/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compressed debug information of a few KiB that expands to much. One stack may pass through many
 * such files, and nothing is trimmed before its block is done. All of it together stays within the
 * bound of one file.
 */
#include <fcntl.h>

#include "symbol/names/resolve.h"
#include "tests/unit/scratch.h"

#define FILES 4
#define MIB   (1u << 20)

static struct process_env env = { .proc = "/proc", .debug_dir = "/nonexistent" };
static struct pool pool;

/* strings: MiB of names, most of them unused. */
static bool make(unsigned strings)
{
	char cmd[1024];

	scratch__write_text("a.c", "int used(int v) { return v * 3; }\n");
	snprintf(cmd, sizeof(cmd),
		 "cd $D && cc -g -shared -fPIC -Wl,--build-id=none -o lib a.c && "
		 "objcopy --dump-section .debug_str=str lib && truncate -s %uM str && "
		 "objcopy --update-section .debug_str=str lib && rm str && "
		 "objcopy --compress-debug-sections=zlib lib",
		 strings);
	return !system(cmd);
}

/* The function's line by the DWARF of one more file. Its name has its own bound. */
static uint32_t line_of(unsigned nr)
{
	struct debugfile_places places = { .debug_dir = "/nonexistent",
					   .path = "/nonexistent/lib" };
	struct resolver rs = { .env = &env, .pool = &pool, .source = true };
	struct module *module;
	struct cached entry = {};
	uint64_t delta;
	struct stat st;
	int fd = open(scratch__path("lib"), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		abort();
	st.st_ino = 1000 + nr; /* makes the file different from the others */
	module = modules__of_file(&env.modules, fd, &st, (struct image_part){});
	module__load(&env.modules, module, fd, &places);
	for (uint64_t at = 0x1000; at < 0x1200 && !entry.line; at++)
		resolve__file(&rs, module, at, &entry, &delta);
	return entry.line;
}

static void check(unsigned strings, uint32_t line, const char *what)
{
	size_t most = 0;

	if (!make(strings)) {
		skip(2, "no compiler");
		return;
	}
	for (unsigned i = 0; i < FILES; i++) {
		uint32_t got = line_of(i);
		size_t bytes = modules__bytes(&env.modules);

		if (got != line)
			is_uint(got, line, "file %u: its line", i);
		most = bytes > most ? bytes : most;
	}
	ok(most > strings * MIB * (line > 0), "%s: there is much", what);
	ok(most < DWARF_FILE_MAX + MIB, "in %u files of %u MiB: %zu MiB at most", FILES, strings,
	   most / MIB);
	modules__free(&env.modules);
	env.modules = (struct modules){ 0 };
	pool__free(&pool);
}

int main(void)
{
	scratch__init();
	check(1, 1, "little");
	check(40, 1, "much");
	check(140, 0, "more than is read");
	return tap__done();
}
