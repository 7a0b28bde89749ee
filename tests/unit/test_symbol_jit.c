/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /tmp/perf-PID.map: found by the process's own pid in its own /tmp, read as it grows, never
 * trusted.
 */
#include <time.h>

#include "files/unread.h"
#include "tests/unit/symbol_fixture.h"

/*
 * Maps a page of code, and appends a line to its perf map for each line that it reads: "OFFSET SIZE
 * NAME". A line "!" starts a new map.
 */
static const char program[] = "#define _GNU_SOURCE\n"
			      "#include <stdio.h>\n#include <stdlib.h>\n#include "
			      "<string.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
			      "int main(int argc, char **argv) {\n"
			      "	char *code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, "
			      "MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
			      "	char line[9000], path[64];\n"
			      "	FILE *f;\n"
			      "	snprintf(path, sizeof(path), \"/tmp/perf-%d.map\", getpid());\n"
			      "	printf(\"code %p\\nready\\n\", code); fflush(stdout);\n"
			      "	while (fgets(line, sizeof(line), stdin)) {\n"
			      "		char *rest;\n"
			      "		unsigned long off = strtoul(line, &rest, 16);\n"
			      "		if (line[0] == '!' || line[0] == '-') unlink(path);\n"
			      "		f = fopen(path, line[0] == '0' ? \"w\" : \"a\");\n"
			      "		if (line[0] == '=') fputs(line + 1, f);\n"
			      "		else if (line[0] != '!' && line[0] != '-' && line[0] != "
			      "'0') fprintf(f, \"%lx%s\", (unsigned long)code + off, rest);\n"
			      "		fclose(f);\n"
			      "		if (line[0] == '-') unlink(path);\n"
			      "		printf(\"ready\\n\"); fflush(stdout);\n"
			      "	}\n"
			      "	unlink(path);\n"
			      "}\n";

static void add_line(struct fixture *fx, const char *line)
{
	struct timespec pause = {
		0, 120000000
	}; /* longer than the interval at which a file is searched again */

	fprintf(fx->in, "%s\n", line);
	fflush(fx->in);
	fixture__read(fx);
	nanosleep(&pause, NULL);
}

/* A killed process leaves its map behind. */
static void stop(struct fixture *fx)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", fx->pid);
	remove(path);
	fixture__stop(fx);
}

static void check_growth(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	struct frame frame;
	uint64_t code;

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	frame = fixture__frame(sym, fx.pid, code + 0x104, true);
	is_str(frame.function, NULL, "no map yet: no name");
	is_str(frame.module, "[jit]", "but the module");
	ok(frame.app, "which is the program's own code");
	add_line(&fx, "100 10 LazyCompile:~first /app/x.js:3");
	frame = fixture__frame(sym, fx.pid, code + 0x104, true);
	is_str(frame.function, "first", "of V8's name only the function");
	is_str(frame.file, "/app/x.js", "and its file");
	is_uint(frame.offset, 4, "and the offset");
	is_str(frame.module, "/app/x.js", "which is the module");
	NAMED(sym, &fx, code + 0x10f, 15, "first");
	is_str(fixture__frame(sym, fx.pid, code + 0x110, true).function, NULL, "its end");
	is_str(fixture__frame(sym, fx.pid, code + 0x110, false).function, "first",
	       "as a return address: still the same function");
	add_line(&fx, "200 20 second");
	NAMED(sym, &fx, code + 0x210, 16, "second");
	add_line(&fx, "300 10 Builtins_InterpreterEntryTrampoline");
	ok(!fixture__frame(sym, fx.pid, code + 0x304, true).app,
	   "a trampoline is not the program's own");
	add_line(&fx, "300 10 Builtins_ArrayMap");
	ok(fixture__frame(sym, fx.pid, code + 0x304, true).app, "a function of the runtime is");
	add_line(&fx, "100 10 moved");
	NAMED(sym, &fx, code + 0x104, 4, "moved");
	add_line(&fx, "108 8 half");
	is_str(fixture__frame(sym, fx.pid, code + 0x104, true).function, NULL,
	       "overwritten code has no name any more");
	stop(&fx);
	NAMED(sym, &fx, code + 0x210, 16, "second");
	symbolizer__free(sym);
}

static void check_restart(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	uint64_t code;

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	add_line(&fx, "300 10 before_with_a_long_name");
	NAMED(sym, &fx, code + 0x300, 0, "before_with_a_long_name");
	add_line(&fx, "0");
	is_str(fixture__frame(sym, fx.pid, code + 0x300, true).function, NULL, "an emptied map");
	add_line(&fx, "300 10 cut");
	NAMED(sym, &fx, code + 0x300, 0, "cut");
	add_line(&fx, "!");
	add_line(&fx, "300 10 replaced");
	NAMED(sym, &fx, code + 0x300, 0, "replaced");
	add_line(&fx, "-");
	NAMED(sym, &fx, code + 0x300, 0, "replaced");
	stop(&fx);
	symbolizer__free(sym);
}

static void check_hostile_lines(void)
{
	static const char *const lines[] = {
		"=",
		"= ",
		"=zz 10 name",
		"=10",
		"=10 ",
		"=10 10",
		"=10 10 ",
		"=ffffffffffffffff ffffffffffffffff wrap",
		"=fffffffffffffffff0 10 too_large",
		"=-10 10 negative",
		"=0 ffffffff everything",
		"400 0 empty",
		"400 fffffffffff too_long",
		"=\x01\x02\xff\xfe",
		"= 400 10 indented",
	};
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	char longer[8192];
	struct fixture fx;
	uint64_t code;
	size_t i;

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		fprintf(fx.in, "%s\n", lines[i]);
		fflush(fx.in);
		fixture__read(&fx);
	}
	add_line(&fx, "500 10 raw\x01\xff\x1b[31m");
	is_str(fixture__frame(sym, fx.pid, code + 0x400, true).function, NULL,
	       "none of the bad lines names anything");
	NAMED(sym, &fx, code + 0x500, 0, "raw\x01\xff\x1b[31m");
	memset(longer, 'n', sizeof(longer));
	memcpy(longer, "600 10 ", 7);
	longer[sizeof(longer) - 1] = 0;
	add_line(&fx, longer);
	is_uint(strlen(fixture__frame(sym, fx.pid, code + 0x600, true).function), 4095,
		"a name of 8,000 bytes is cut");
	stop(&fx);
	symbolizer__free(sym);
}

/* A file that is not a regular file of the process's user is not read. */
static void check_untrusted(const char *what, const char *cmd, bool wanted)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	char path[64];
	struct fixture fx;
	uint64_t code;
	FILE *f;

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	f = fopen(scratch__path("map"), "w");
	fprintf(f, "%llx 10 named\n", (unsigned long long)code);
	fclose(f);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", fx.pid);
	setenv("MAP", path, 1);
	fixture__sh(cmd);
	is_str(fixture__frame(sym, fx.pid, code, true).function, wanted ? "named" : NULL, "%s",
	       what);
	stop(&fx);
	symbolizer__free(sym);
}

/* In a container the process has another pid and another /tmp. */
static void check_container(void)
{
	char cmd[512], *argv[] = { "unshare", "-mpf", "--kill-child", "sh", "-c", cmd, NULL };
	char children[PATH_MAX];
	struct fixture fx, inner;
	struct symbolizer *sym;
	FILE *f;

	if (geteuid() || system("unshare -mpf true 2>/dev/null")) {
		skip(3, "namespaces need root");
		return;
	}
	sym = fixture__symbolizer(NULL, NULL);
	snprintf(cmd, sizeof(cmd),
		 "exec 4<%s/jit; mount -t tmpfs none /tmp; cat <&4 >/tmp/jit; chmod +x /tmp/jit;"
		 "exec 4<&-; exec /tmp/jit",
		 scratch_dir);
	fixture__start(&fx, argv);
	inner = fx;
	snprintf(children, sizeof(children), "/proc/%d/task/%d/children", fx.pid, fx.pid);
	f = fopen(children, "r");
	ok(f && fscanf(f, "%d", &inner.pid) == 1, "the container's first process");
	if (f)
		fclose(f);
	add_line(&fx, "100 10 contained");
	NAMED(sym, &inner, fixture__addr(&fx, "code") + 0x100, 0, "contained");
	stop(&fx);
	symbolizer__free(sym);
}

/* 400,000 functions: more than are kept; and the time to read them. */
static void check_large(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	char path[64];
	struct fixture fx;
	uint64_t code;
	unsigned i;
	FILE *f;

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", fx.pid);
	f = fopen(path, "w");
	fprintf(f, "%llx 10 named\n", (unsigned long long)code);
	for (i = 0; i < 400000; i++)
		fprintf(f, "%x 8 function%u\n", 0x10000 + 16 * i, i);
	for (i = 0; i < 400000; i++)
		fprintf(f, "%llx 8 again%u\n", (unsigned long long)code + 0x100, i);
	fclose(f);
	NAMED(sym, &fx, code, 0, "named");
	stop(&fx);
	symbolizer__free(sym);
}

/* Long lines without a name, then a name: within the limit of the file, or behind it. */
static void check_long(const char *mib, bool wanted)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	uint64_t code, before = unread__cnt();
	struct frame frame = {};
	struct fixture fx;
	char cmd[512];

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	snprintf(
		cmd, sizeof(cmd),
		"m=/tmp/perf-%d.map; yes $(head -c 4000 /dev/zero | tr '\\0' x) | head -c %sM > $m;"
		" printf '\\n%llx 10 named\\n' >> $m",
		fx.pid, mib, (unsigned long long)code);
	fixture__sh(cmd);
	for (int i = 0; i < 400 && !frame.function && unread__cnt() == before; i++) {
		frame = fixture__frame(sym, fx.pid, code, true);
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
	is_str(frame.function, wanted ? "named" : NULL, "a name after %s MiB", mib);
	is_uint(unread__cnt() - before, !wanted, "which is%s counted as unread",
		wanted ? " not" : "");
	for (int i = 0; i < 20; i++)
		fixture__frame(sym, fx.pid, code, true);
	is_uint(unread__cnt() - before, !wanted, "once");
	stop(&fx);
	symbolizer__free(sym);
}

/* As HotSpot writes it: numbers with 0x, and all of it again over the old file. */
static void check_java(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	char line[256];
	uint64_t code;

	fixture__run(&fx, "jit");
	code = fixture__addr(&fx, "code");
	snprintf(line, sizeof(line), "=0x%016llx 0x%016x void a.B.first(int)",
		 (unsigned long long)code + 0x100, 0x40);
	add_line(&fx, line);
	NAMED(sym, &fx, code + 0x104, 4, "void a.B.first(int)");
	is_str(fixture__frame(sym, fx.pid, code + 0x104, true).language, "java", "its language");
	add_line(&fx, "0");
	snprintf(line, sizeof(line), "=0x%016llx 0x%016x void a.B.third(int)",
		 (unsigned long long)code + 0x100, 0x40);
	fprintf(fx.in, "%s\n", line); /* the longer the read took, the longer until the next */
	fflush(fx.in);
	fixture__read(&fx);
	snprintf(line, sizeof(line), "=0x%016llx 0x%016x void a.B.other(int)",
		 (unsigned long long)code + 0x200, 0x40);
	add_line(&fx, line);
	NAMED(sym, &fx, code + 0x104, 4, "void a.B.third(int)");
	NAMED(sym, &fx, code + 0x204, 4, "void a.B.other(int)");
	stop(&fx);
	symbolizer__free(sym);
}

int main(void)
{
	scratch__init();
	scratch__write_text("jit.c", program);
	fixture__sh("gcc -O1 -o $D/jit $D/jit.c");
	check_growth();
	check_restart();
	check_java();
	check_hostile_lines();
	check_untrusted("a map of the process's own user", "cp $D/map $MAP", true);
	check_untrusted("a map that is a FIFO", "mkfifo $MAP", false);
	check_untrusted("a map that is a directory", "mkdir $MAP; true", false);
	if (!geteuid())
		check_untrusted("another user's map", "cp $D/map $MAP && chown 65534 $MAP", false);
	else
		skip(1, "only root can give files away");
	check_untrusted("a map that is a device", "ln -s /dev/zero $MAP", false);
	check_untrusted("a symbolic link to a map", "ln -s $D/map $MAP", false);
	check_untrusted("a map with two names", "cp $D/map $MAP && ln $MAP $MAP.2", false);
	fixture__sh("rm -f $MAP.2");
	check_container();
	check_large();
	check_long("60", true);
	check_long("66", false);
	return tap__done();
}
