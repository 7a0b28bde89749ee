/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kinds of modules: static and 32-bit programs, libraries that are only in memory, and libraries
 * unloaded before they are named.
 */
#include <dlfcn.h>
#include <sys/mman.h>

#include "tests/unit/symbol_fixture.h"

static const char program[] = "#include <stdio.h>\n"
			      "static __attribute__((noinline)) int fn_here(int v) { asm "
			      "volatile(\"\"); return v * 3; }\n"
			      "int main(void) {\n"
			      "	printf(\"fn %p\\nready\\n\", (void *)fn_here);\n"
			      "	fflush(stdout);\n"
			      "	return fn_here(getchar());\n"
			      "}\n";

static void check_program(const char *what, const char *compiler, const char *need)
{
	struct symbolizer *sym;
	struct fixture fx;
	struct frame frame;
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "%s -O1 -g -Wl,--build-id -o $D/run $D/p.c 2>/dev/null",
		 compiler);
	if (system(cmd)) {
		skip(4, "%s: needs %s", what, need);
		return;
	}
	if (!fixture__runs("run")) {
		skip(4, "%s: this kernel runs no such programs", what);
		return;
	}
	sym = fixture__symbolizer(NULL, NULL);
	fixture__run(&fx, "run");
	frame = fixture__frame(sym, fx.pid, fixture__addr(&fx, "fn") + 1, true);
	is_str(frame.function, "fn_here", "%s: its function", what);
	is_uint(frame.offset, 1, "%s: the offset", what);
	is_uint(frame.line, 2, "%s: the line", what);
	ok(frame.build_id && frame.app, "%s: the build id, as its own code", what);
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void copy_to(int fd, const char *path)
{
	char buf[65536];
	FILE *f = fopen(path, "r");
	size_t len;

	while (f && (len = fread(buf, 1, sizeof(buf), f)))
		if (write(fd, buf, len) != (ssize_t)len)
			abort();
	if (f)
		fclose(f);
}

static void check_memfd(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	int fd = memfd_create("plugin", MFD_CLOEXEC);
	struct frame frame;
	char path[64];
	void *lib, *fn;

	copy_to(fd, scratch__path("plugin.so"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	lib = dlopen(path, RTLD_NOW);
	fn = lib ? dlsym(lib, "plugin_fn") : NULL;
	close(fd);
	frame = fixture__frame(sym, getpid(), (uintptr_t)fn, true);
	is_str(frame.function, "plugin_fn", "a library that is only in memory");
	has_str(frame.module ?: "", "memfd:plugin", "by the name of its memfd");
	symbolizer__free(sym);
	if (lib)
		dlclose(lib);
}

/* Erlang's and .NET's compilers map their code from a memfd, which is no ELF file. */
static void check_compiled(const char *name)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	int fd = memfd_create(name, MFD_CLOEXEC);
	struct frame frame;
	uint8_t *code;

	if (ftruncate(fd, 4096))
		abort();
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	frame = fixture__frame(sym, getpid(), (uintptr_t)code + 64, true);
	is_str(frame.module, "[jit]", "%s: code that was compiled at run time", name);
	symbolizer__free(sym);
	munmap(code, 4096);
}

/* Seen while it was loaded, named afterwards. */
static void check_unloaded(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	void *lib = dlopen(scratch__path("other.so"), RTLD_NOW);
	void *fn = lib ? dlsym(lib, "plugin_fn") : NULL;
	uint64_t addr = (uintptr_t)fn;

	is_int(symbolizer__process(sym, getpid(), NULL), 0, "ourselves, with a library");
	if (lib)
		dlclose(lib);
	remove(scratch__path("other.so"));
	is_str(fixture__frame(sym, getpid(), addr, true).function, "plugin_fn",
	       "a library that was unloaded and deleted since");
	symbolizer__free(sym);
}

int main(void)
{
	scratch__init();
	scratch__write_text("p.c", program);
	scratch__write_text("plugin.c", "int plugin_fn(int v) { return v + 1; }\n");
	fixture__sh(
		"gcc -O1 -shared -fPIC -o $D/plugin.so $D/plugin.c && cp $D/plugin.so $D/other.so");
	check_program("PIE", "gcc -pie -fPIE", "gcc");
	check_program("not PIE", "gcc -no-pie", "gcc");
	check_program("static", "gcc -static", "a static libc");
	check_program("static PIE", "gcc -static-pie", "a static libc");
	check_program("musl", "musl-gcc -static", "musl-gcc");
	check_program("32-bit", "i686-linux-gnu-gcc -static", "i686-linux-gnu-gcc");
	check_memfd();
	check_compiled("vmem");
	check_compiled("doublemapper");
	check_compiled("JITCode:QtQml");
	check_unloaded();
	return tap__done();
}
