/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of a library share one set of tables, but each process has its own path. What happens to
 * one copy does not affect the others.
 */
#include <sys/mman.h>

#include "symbol/names/symbolize_parts.h"
#include "symbol/unwind/tables.h"
#include "tests/unit/symbol_fixture.h"

#define FUNCTIONS 8000 /* 1.4 MB of names: more than are copied out of the file */
#define FN_BYTES  16
#define CFA	  48

/*
 * Functions of FN_BYTES with the names WORD_…_0, WORD_…_1, …; the same library except for the word
 * and the CFA's offset.
 */
static void write_library(const char *name, const char *word, unsigned cfa)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd),
		 "awk 'BEGIN { pad = sprintf(\"%%160s\", \"\"); gsub(\" \", \"x\", pad);"
		 " print \".text\\n.balign 4096\";"
		 " for (i = 0; i < %u; i++) { fn = \"%s_\" pad \"_\" i;"
		 " print \".type \" fn \", @function\\n\" fn \":\\n.cfi_startproc\\n"
		 ".cfi_def_cfa_offset %u\\n.skip %u\\n.cfi_endproc\\n.size \" fn \", %u\" } }' "
		 "</dev/null >$D/lib.s && "
		 "cc -shared -nostdlib -Wl,--build-id=sha1 -o $D/%s $D/lib.s",
		 FUNCTIONS, word, cfa, FN_BYTES, FN_BYTES, name);
	fixture__sh(cmd);
}

static size_t file_size; /* of the file mapped last */

/* A file that this process has mapped as code. */
static uint64_t map(const char *name)
{
	int fd = open(scratch__path(name), O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *mem;

	if (fd < 0 || fstat(fd, &st))
		abort();
	file_size = st.st_size;
	mem = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return mem == MAP_FAILED ? 0 : (uintptr_t)mem;
}

static uint64_t text; /* where in the file the first function is */

static uint64_t function_at(uint64_t base, unsigned nr)
{
	return base + text + (uint64_t)nr * FN_BYTES;
}

static struct frame frame_of(struct symbolizer *sym, uint64_t base, unsigned nr)
{
	return fixture__frame(sym, getpid(), function_at(base, nr) + 1, true);
}

static void named(struct symbolizer *sym, uint64_t base, unsigned nr, const char *what)
{
	const char *name = frame_of(sym, base, nr).function ?: "";
	const char *end = strrchr(name, '_');

	ok(!strncmp(name, "right_", 6) && end && atoi(end + 1) == (int)nr,
	   "%s: the name of function %u", what, nr);
}

/* The CFA's offset by the unwind tables, or -1. */
static int cfa_of(struct symbolizer *sym, uint64_t base, unsigned nr)
{
	struct process *process = symbolizer__known(sym, getpid());
	uint64_t addr = function_at(base, nr) + 1;
	const struct region *region = proc_maps__find(&process->maps, addr);
	const struct cfi_row *row;
	struct cfi *cfi;

	row = region ? tables__row(&sym->env, process, region, addr, true, &cfi) : NULL;
	return row && row->has_table ? row->cfa.value : -1;
}

/*
 * The number of modules with symbols or unwind tables, without this test's own program and the
 * system's.
 */
static unsigned module_cnt(struct symbolizer *sym)
{
	const char *prefix = scratch__path("");
	const struct module *seen[64];
	const struct mapped *mapped;
	unsigned cnt = 0, i;

	for (mapped = symbolizer__known(sym, getpid())->maps.mapped; mapped;
	     mapped = mapped->hh.next) {
		if (strncmp(mapped->path ?: "", prefix, strlen(prefix)) || !mapped->module)
			continue;
		for (i = 0; i < cnt && seen[i] != mapped->module; i++)
			;
		if (i == cnt && cnt < 64)
			seen[cnt++] = mapped->module;
	}
	return cnt;
}

static void check_one_of_many(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	uint64_t base[20];
	char name[32];
	size_t bytes = 0, wrong = 0;

	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		setenv("C", name, 1);
		fixture__sh("mkdir $D/$C && cp $D/lib $D/$C/lib");
		strcat(name, "/lib");
		base[i] = map(name);
	}
	is_int(symbolizer__process(sym, getpid(), NULL), 0, "20 copies are mapped");
	is_uint(module_cnt(sym), 20, "each is a module until it is read");
	for (unsigned i = 0; i < 20; i++) {
		struct frame frame = frame_of(sym, base[i], 3 * i);

		snprintf(name, sizeof(name), "c%u/lib", i);
		wrong += !frame.module || strcmp(frame.module, scratch__path(name)) != 0;
		named(sym, base[i], 3 * i + 1, name);
		wrong += cfa_of(sym, base[i], i) != CFA;
		if (!i)
			bytes = modules__bytes(&sym->env.modules);
	}
	is_uint(wrong, 0, "each has its own path, and callers");
	is_uint(module_cnt(sym), 1, "they are one module");
	ok(modules__bytes(&sym->env.modules) < bytes + 65536, "one copy's tables: %zu KiB, 20: %zu",
	   bytes >> 10, modules__bytes(&sym->env.modules) >> 10);
	symbolizer__process_gone(sym, getpid());
	sym->max_cache_bytes = 1;
	symbolizer__trim(sym);
	is_uint(HASH_COUNT(sym->env.modules.table), 0, "none is left at the end");
	is_uint(sym->env.modules.held + sym->env.modules.cfi_held, 0, "nor is a descriptor");
	symbolizer__free(sym);
}

/* The copy that the tables came from is overwritten, then deleted. */
static void check_written_over(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	uint64_t a = (fixture__sh("cp $D/lib $D/a"), map("a"));
	uint64_t b = (fixture__sh("cp $D/lib $D/b"), map("b"));
	const char *name;

	named(sym, a, 1, "a");
	named(sym, b, 2, "b");
	is_int(cfa_of(sym, a, 1), CFA, "a's callers");
	fixture__sh("cat $D/wrong >$D/a");
	named(sym, b, 3, "b, while a is another library now");
	is_int(cfa_of(sym, b, 3), CFA, "b's callers");
	name = frame_of(sym, a, 4).function;
	ok(!name || strncmp(name, "wrong", 5), "a does not get names that it did not have then");
	fixture__sh("rm $D/a");
	named(sym, b, 5, "b, without a");
	symbolizer__free(sym);
}

/* Tables are dropped when only one copy can still be opened. */
static void check_reopened(void)
{
	struct symbolizer_opts opts = { .kallsyms = "", .max_cache_bytes = 1 };
	uint64_t b = map("b"), a = (fixture__sh("cp $D/lib $D/a"), map("a"));
	struct symbolizer *sym;

	if (symbolizer__new(&opts, &sym, NULL))
		abort();
	named(sym, a, 1, "a");
	is_int(cfa_of(sym, a, 1), CFA, "a's callers");
	symbolizer__trim(sym);
	fixture__sh("rm $D/a");
	munmap((void *)a, file_size);
	named(sym, b, 2, "b, read again from b");
	is_int(cfa_of(sym, b, 2), CFA, "b's callers");
	symbolizer__trim(sym);
	named(sym, b, 2, "and again");
	symbolizer__free(sym);
}

/* All copies are deleted before they are read: one of them was kept open. */
static void check_deleted(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	uint64_t a = (fixture__sh("cp $D/lib $D/a"), map("a"));
	uint64_t b = (fixture__sh("cp $D/lib $D/b2"), map("b2"));

	is_int(symbolizer__process(sym, getpid(), NULL), 0, "seen");
	fixture__sh("rm $D/a $D/b2");
	named(sym, a, 1, "a, deleted");
	named(sym, b, 1, "b, deleted");
	symbolizer__free(sym);
}

/* Replaced by another file of the same name while it is mapped. */
static void check_upgraded(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	uint64_t old = (fixture__sh("cp $D/lib $D/a"), map("a")), new;
	const char *name;

	named(sym, old, 1, "before the upgrade");
	fixture__sh("cp $D/wrong $D/new && mv $D/new $D/a");
	new = map("a");
	is_int(symbolizer__process(sym, getpid(), NULL), 0, "its maps, read again");
	named(sym, old, 2, "the old one after it");
	name = frame_of(sym, new, 2).function ?: "";
	ok(!strncmp(name, "wrong_", 6), "the new one has its own names");
	symbolizer__free(sym);
}

/* Later processes find what is known of their files without reading them. */
static void check_come_and_go(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	uint64_t a = (fixture__sh("cp $D/lib $D/a"), map("a"));
	size_t known;

	named(sym, a, 1, "a first process");
	known = module_ids__bytes(&sym->env.modules.ids);
	symbolizer__process_gone(sym, getpid());
	is_int(symbolizer__process(sym, getpid(), NULL), 0, "a later one");
	for (struct module *m = sym->env.modules.table; m; m = m->hh.next)
		if (m->loaded && module_id__is_shared(&m->id))
			is_uint(m->refs, 1, "has the tables from the start");
	named(sym, a, 2, "a later one");
	is_uint(module_ids__bytes(&sym->env.modules.ids), known, "nothing is kept twice");
	symbolizer__free(sym);
}

static bool find_text(void)
{
	FILE *f = popen("nm $D/lib | awk '/ right_x*_0$/ { print $1 }'", "r");
	unsigned long long at = 0;
	bool ret = fscanf(f, "%llx", &at) == 1;

	pclose(f);
	text = at;
	return ret;
}

int main(void)
{
	scratch__init();
	write_library("lib", "right", CFA);
	write_library("wrong", "wrong", CFA + 16);
	if (!find_text())
		skip_all("no assembler");
	check_one_of_many();
	check_written_over();
	check_reopened();
	check_deleted();
	check_upgraded();
	check_come_and_go();
	return tap__done();
}
