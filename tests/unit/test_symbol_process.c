/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Live processes: files deleted and replaced under them, other mount namespaces, the vdso, libc
 * compared with nm, processes that disappear, and the bounds of what is kept.
 */
#include <dlfcn.h>
#include <sys/auxv.h>
#include <time.h>

#include "tests/unit/symbol_fixture.h"

static const char program[] =
	"#include <stdio.h>\n"
	"static __attribute__((noinline)) int NAME(int v) { asm volatile(\"\"); return v * 3; }\n"
	"int main(void) {\n"
	"	printf(\"fn %p\\nready\\n\", (void *)NAME);\n"
	"	fflush(stdout);\n"
	"	return NAME(getchar());\n"
	"}\n";

static void check_deleted(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;

	fixture__sh("cp $D/one $D/run");
	fixture__run(&fx, "run");
	fixture__sh("rm $D/run");
	NAMED(sym, &fx, fixture__addr(&fx, "fn"), 0, "fn_one");
	is_str(fixture__frame(sym, fx.pid, fixture__addr(&fx, "fn"), true).module,
	       scratch__path("run"), "a deleted file's path, without \" (deleted)\"");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_replaced(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;

	fixture__sh("cp $D/one $D/run");
	fixture__run(&fx, "run");
	fixture__sh("cp $D/two $D/new && mv $D/new $D/run");
	NAMED(sym, &fx, fixture__addr(&fx, "fn"), 0, "fn_one");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* The first address comes after the end of the process, and after its file is deleted. */
static void check_vanished(const char *what, const char *meanwhile, bool known, const char *want)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	struct frame frame;

	fixture__sh("cp $D/one $D/run");
	fixture__run(&fx, "run");
	if (known)
		is_int(symbolizer__process(sym, fx.pid, NULL), 0, "seen while it lived");
	fixture__stop(&fx);
	fixture__sh(meanwhile);
	is_int(symbolizer__process(sym, fx.pid, NULL), -ESRCH, "an ended process is not there");
	frame = fixture__frame(sym, fx.pid, fixture__addr(&fx, "fn"), true);
	is_str(frame.function, want, "%s", what);
	frame = fixture__frame(sym, fx.pid, 0x1000, true);
	is_str(frame.module, NULL, "an address in no mapping stays bare");
	is_uint(frame.address, 0x1000, "but it is kept");
	symbolizer__process_gone(sym, fx.pid);
	is_str(fixture__frame(sym, fx.pid, fixture__addr(&fx, "fn"), true).function, NULL,
	       "after process_gone nothing is known");
	symbolizer__free(sym);
}

/* After an exec, the pid runs another program. */
static void check_exec(void)
{
	char cmd[512], *argv[] = { "/bin/sh", "-c", cmd, NULL };
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;

	snprintf(cmd, sizeof(cmd), "echo ready; read x; exec %s/one", scratch_dir);
	fixture__start(&fx, argv);
	is_int(symbolizer__process(sym, fx.pid, NULL), 0, "a shell");
	fputs("go\n", fx.in);
	fflush(fx.in);
	fixture__read(&fx);
	is_int(symbolizer__process(sym, fx.pid, NULL), 0, "which now runs another program");
	NAMED(sym, &fx, fixture__addr(&fx, "fn"), 0, "fn_one");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* A library that is loaded later is found without a notice. */
static void check_dlopen(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct timespec pause = { 0, 50000000 };
	const char *name = NULL;
	void *lib, *fn;

	is_int(symbolizer__process(sym, getpid(), NULL), 0, "ourselves");
	lib = dlopen(scratch__path("plugin.so"), RTLD_NOW);
	fn = lib ? dlsym(lib, "plugin_fn") : NULL;
	/* Mappings are read again after a time that grows with their cost: seconds, under load. */
	for (int i = 0; i < 1200 && (!name || strcmp(name, "plugin_fn")); i++) {
		nanosleep(&pause, NULL);
		name = fixture__frame(sym, getpid(), (uintptr_t)fn, true).function;
	}
	is_str(name, "plugin_fn", "a plugin that was loaded since");
	symbolizer__free(sym);
	if (lib)
		dlclose(lib);
}

static void check_vdso(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	uint64_t base = getauxval(AT_SYSINFO_EHDR), off;
	struct frame frame = { 0 };
	bool found = false;

	for (off = 0; off < 8192 && !found; off += 8) {
		frame = fixture__frame(sym, getpid(), base + off, true);
		found = frame.function && !strcmp(frame.function, "__vdso_clock_gettime");
	}
	ok(found, "the vdso's clock_gettime is found");
	is_str(frame.module, "[vdso]", "in its module");
	ok(!frame.app && frame.build_id, "it is not the program's code, and has a build id");
	symbolizer__free(sym);
}

/* The libc of this machine, some functions: nm of its debug file or of itself is the truth. */
static void check_libc(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	unsigned long long addr, size;
	uint64_t base = 0;
	char line[512], name[256], type;
	size_t seen = 0, wrong = 0, nr = 0;
	const char *libc = NULL;
	Dl_info info;
	FILE *f;

	if (dladdr((void *)getppid, &info) && info.dli_fname)
		libc = info.dli_fname;
	base = (uintptr_t)info.dli_fbase;
	setenv("LIBC", libc ?: "", 1);
	f = popen("nm -D -S --defined-only \"$LIBC\" | sed 's/@.*//'", "r");
	while (fgets(line, sizeof(line), f)) {
		struct frame frame;

		if (sscanf(line, "%llx %llx %c %255s", &addr, &size, &type, name) != 4 ||
		    !strchr("TWi", type) || size < 2 || nr++ % 7)
			continue;
		seen++;
		frame = fixture__frame(sym, getpid(), base + addr + size - 1, true);
		if (!frame.function || frame.offset != size - 1) {
			/* another name for the same address counts as right */
			if (wrong++ < 5)
				diag("%s: got %s+%#lx", name, frame.function ?: "nothing",
				     (unsigned long)frame.offset);
		}
		if (frame.app || !frame.build_id)
			wrong++;
	}
	pclose(f);
	ok(seen > 200, "%zu functions of %s", seen, libc);
	is_uint(wrong, 0, "each is found by its last byte, as libc's code");
	symbolizer__free(sym);
}

/* addr2line on the program's own functions. */
static void check_addr2line(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	char cmd[PATH_MAX + 64], want[256] = "";
	struct fixture fx;
	FILE *f;

	fixture__run(&fx, "nopie");
	snprintf(cmd, sizeof(cmd), "addr2line -f -e %s %#llx", scratch__path("nopie"),
		 (unsigned long long)fixture__addr(&fx, "fn") + 1);
	f = popen(cmd, "r");
	if (fscanf(f, "%255s", want) != 1)
		want[0] = 0;
	pclose(f);
	NAMED(sym, &fx, fixture__addr(&fx, "fn") + 1, 1, want);
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* A file that exists only in the process's own mount namespace. */
static void check_namespace(void)
{
	char cmd[512], *argv[] = { "unshare", "-m", "sh", "-c", cmd, NULL };
	struct symbolizer *sym;
	struct fixture fx;

	if (geteuid() || system("unshare -m true 2>/dev/null")) {
		skip(3, "mount namespaces need root");
		return;
	}
	sym = fixture__symbolizer(NULL, NULL);
	snprintf(cmd, sizeof(cmd),
		 "exec 3<%s/one; mount -t tmpfs none %s; cat <&3 >%s/inside; chmod +x %s/inside;"
		 "exec 3<&-; exec %s/inside",
		 scratch_dir, scratch_dir, scratch_dir, scratch_dir, scratch_dir);
	fixture__start(&fx, argv);
	ok(access(scratch__path("inside"), F_OK), "the file is not visible from here");
	NAMED(sym, &fx, fixture__addr(&fx, "fn"), 0, "fn_one");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_trim(void)
{
	struct symbolizer_opts opts = { .kallsyms = "", .demangle = true, .max_cache_bytes = 1 };
	struct symbolizer *sym;
	struct fixture fx;
	uint64_t at;

	if (symbolizer__new(&opts, &sym, NULL))
		abort();
	fixture__run(&fx, "one");
	at = fixture__addr(&fx, "fn");
	NAMED(sym, &fx, at, 0, "fn_one");
	symbolizer__trim(sym);
	NAMED(sym, &fx, at, 0, "fn_one");
	symbolizer__trim(sym);
	symbolizer__process_gone(sym, fx.pid);
	symbolizer__trim(sym);
	NAMED(sym, &fx, at, 0, "fn_one");
	fixture__stop(&fx);
	symbolizer__trim(sym);
	NAMED(sym, &fx, at, 0, "fn_one");
	symbolizer__free(sym);
}

static void check_odd(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct stack stack = { 0 };
	struct err err = { 0 };

	is_int(symbolizer__process(sym, 0x7ffffffe, &err), -ESRCH, "an unused pid");
	has_str(err.msg, "2147483646", "is named in the message");
	is_int(symbolizer__stack(sym, 0x7ffffffe, &stack), 0, "an empty stack");
	is_uint(stack.frame_cnt, 0, "has no frames");
	free(stack.frames);
	symbolizer__process_gone(sym, 1234567);
	symbolizer__free(sym);
	symbolizer__free(NULL);
}

int main(void)
{
	scratch__init();
	scratch__write_text("fix.c", program);
	scratch__write_text("plugin.c", "int plugin_fn(int v) { return v + 1; }\n");
	fixture__sh("gcc -O1 -DNAME=fn_one -o $D/one $D/fix.c && gcc -O1 -DNAME=fn_two -o $D/two "
		    "$D/fix.c");
	fixture__sh("gcc -g -O1 -no-pie -DNAME=fn_fixed -o $D/nopie $D/fix.c");
	fixture__sh("gcc -O1 -shared -fPIC -o $D/plugin.so $D/plugin.c");
	check_deleted();
	check_replaced();
	check_vanished("vanished: its file is still there", "true", true, "fn_one");
	check_vanished("vanished with its file", "rm $D/run", true, "fn_one");
	check_vanished("vanished, its file replaced", "cp $D/two $D/new && mv $D/new $D/run", true,
		       "fn_one");
	check_vanished("vanished before it was seen", "true", false, NULL);
	check_exec();
	check_dlopen();
	check_vdso();
	check_libc();
	check_addr2line();
	check_namespace();
	check_trim();
	check_odd();
	return tap__done();
}
