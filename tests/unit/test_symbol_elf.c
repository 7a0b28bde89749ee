/* SPDX-License-Identifier: GPL-2.0 */
/* Names from real files: every kind of symbol table, PIE and not, C++, PLT, separate debug
 * files. */
#include "files/unread.h"
#include "symbol/elf/debugfile.h"
#include "symbol/modules/module.h"
#include "tests/unit/symbol_fixture.h"

static const char program[] =
	"#include <stdio.h>\n"
	"#include <unistd.h>\n"
	"extern char sized_asm[], untyped_asm[], inner_label[], after_asm[];\n"
	"__attribute__((noinline)) int fixture_global(int v) { return v * 3 + getpid(); }\n"
	"static __attribute__((noinline)) int fixture_local(int v) { return v * 5 + getppid(); }\n"
	"__attribute__((weak, alias(\"fixture_global\"))) int a_weak(int v);\n"
	"asm(\".text\\n.p2align 6\\n.globl sized_asm\\n.type "
	"sized_asm,@function\\nsized_asm:\\n\"\n"
	"    \"nop\\nnop\\n.globl inner_label\\ninner_label: nop\\nnop\\n.size "
	"sized_asm,.-sized_asm\\n\"\n"
	"    \"nop\\nnop\\nnop\\nnop\\n\"\n"
	"    \".globl untyped_asm\\nuntyped_asm: nop\\nnop\\nnop\\nnop\\n\"\n"
	"    \".globl after_asm\\n.type after_asm,@function\\nafter_asm: nop\\nret\\n.size "
	"after_asm,.-after_asm\\n\"\n"
	"    \".type an_ifunc,@gnu_indirect_function\\nan_ifunc: nop\\nret\\n\"\n"
	"    \".size an_ifunc,.-an_ifunc\\n\"\n"
	"    \"no_mark: nop\\n\\\"$x.1\\\": nop\\n\");\n"
	"int main(void) {\n"
	"	volatile int v = fixture_global(1) + fixture_local(2);\n"
	"	printf(\"global %p\\nlocal %p\\nsized %p\\ninner %p\\nuntyped %p\\nafter "
	"%p\\nready\\n\",\n"
	"	       (void *)fixture_global, (void *)fixture_local, sized_asm, inner_label, "
	"untyped_asm, after_asm);\n"
	"	fflush(stdout);\n"
	"	while (getchar() != EOF) v++;\n"
	"}\n";

static const char cxx_program[] =
	"#include <cstdio>\n"
	"namespace outer { template <class T> struct box { __attribute__((noinline)) T get(T v) { "
	"asm volatile(\"\"); return v; } }; }\n"
	"template struct outer::box<long>;\n"
	"int main() {\n"
	"	auto p = &outer::box<long>::get; void *at = *(void **)&p;\n"
	"	std::printf(\"get %p\\nready\\n\", at); std::fflush(stdout);\n"
	"	while (std::getchar() != EOF) ;\n"
	"}\n";

static void check_all(const char *file)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	struct frame frame;
	uint64_t at;

	fixture__run(&fx, file);
	diag("%s", file);
	is_int(symbolizer__process(sym, fx.pid, NULL), 0, "its mappings are read");
	at = fixture__addr(&fx, "global");
	NAMED(sym, &fx, at, 0, "fixture_global");
	NAMED(sym, &fx, at + 1, 1, "fixture_global");
	at = fixture__addr(&fx, "local");
	NAMED(sym, &fx, at + 1, 1, "fixture_local");
	frame = fixture__frame(sym, fx.pid, at + 1, true);
	is_str(frame.module, scratch__path(file), "the module is the file");
	ok(frame.build_id && strlen(frame.build_id) == 40, "a build id of 20 bytes");
	ok(frame.app && !frame.kernel, "the program's own code");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* Sizes: an address after a sized function is not its; labels reach to the next symbol. */
static void check_extents(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	uint64_t sized, after, untyped;
	struct frame frame;

	fixture__run(&fx, "pie");
	sized = fixture__addr(&fx, "sized");
	untyped = fixture__addr(&fx, "untyped");
	after = fixture__addr(&fx, "after");
	NAMED(sym, &fx, sized + 3, 3, "sized_asm");
	NAMED(sym, &fx, fixture__addr(&fx, "inner"), 2, "sized_asm");
	frame = fixture__frame(sym, fx.pid, sized + 4, true);
	is_str(frame.function, NULL, "after a sized function's end there is no name");
	is_str(frame.module, scratch__path("pie"), "but the module");
	ok(frame.offset > 0 && frame.offset < 1 << 20, "and the offset in it");
	NAMED(sym, &fx, untyped, 0, "untyped_asm");
	NAMED(sym, &fx, untyped + 3, 3, "untyped_asm");
	NAMED(sym, &fx, after, 0, "after_asm");
	NAMED(sym, &fx, after + 3, 1, "an_ifunc");
	NAMED(sym, &fx, after + 5, 1, "no_mark");

	frame = fixture__frame(sym, fx.pid, after, false);
	is_str(frame.function, "untyped_asm", "a return address belongs to the call before it");
	is_uint(frame.offset, 4, "its offset is the address's own");
	frame = fixture__frame(sym, fx.pid, sized + 4, false);
	is_str(frame.function, "sized_asm", "so does one after a function that ends with a call");
	frame = fixture__frame(sym, fx.pid, untyped, false);
	is_str(frame.function, "untyped_asm", "a trampoline has no caller: its begin is its own");
	is_uint(frame.offset, 0, "… at offset 0");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_cxx(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;

	fixture__run(&fx, "cxx");
	NAMED(sym, &fx, fixture__addr(&fx, "get"), 0, "outer::box<long>::get");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* A fully stripped file: only exported functions have names. */
static void check_stripped(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	struct fixture fx;
	struct frame frame;

	fixture__run(&fx, "stripped");
	NAMED(sym, &fx, fixture__addr(&fx, "global") + 1, 1, "fixture_global");
	frame = fixture__frame(sym, fx.pid, fixture__addr(&fx, "local"), true);
	is_str(frame.function, NULL, "a stripped local function has no name");
	is_str(frame.module, scratch__path("stripped"), "its module stays");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* The local function of `file` gets its name from elsewhere (or, want NULL, has none). */
static void check_local(const char *file, const char *debug_dir, const char *want)
{
	struct symbolizer *sym = fixture__symbolizer(debug_dir, NULL);
	struct fixture fx;
	struct frame frame;

	fixture__run(&fx, file);
	frame = fixture__frame(sym, fx.pid, fixture__addr(&fx, "local") + 2, true);
	is_str(frame.function, want, "%s with debug files in %s", file, debug_dir);
	NAMED(sym, &fx, fixture__addr(&fx, "global") + 2, 2, "fixture_global");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* Beside the file, or in a process's own root, any user may have put one. */
static void check_owners(void)
{
	if (geteuid()) {
		skip(9, "files of other owners need root");
		return;
	}
	fixture__sh("chown 65534 $D/.debug/linked.debug");
	check_local("linked", "/nonexistent", NULL);
	fixture__sh("chown 65534 $D/linked");
	check_local("linked", "/nonexistent", "fixture_local");
	fixture__sh("chown 0 $D/linked $D/.debug/linked.debug");
	check_local("linked", "/nonexistent", "fixture_local");
}

/* DEBUG_BYTES: the size of a sparse debug file, with the right checksum. */
static void link_debug_of(const char *bytes)
{
	setenv("DEBUG_BYTES", bytes, 1);
	fixture__sh("f=$D/debug$D/linked.debug && objcopy --only-keep-debug $D/noid $f && "
		    "truncate -s $DEBUG_BYTES $f && strip -o $D/linked $D/noid && "
		    "objcopy --add-gnu-debuglink=$f $D/linked");
}

/* The limit of one file, then that of all. The first ones have used little of it. */
static void check_checksums(const char *debug_dir)
{
	uint64_t before = unread__cnt();

	link_debug_of("100M");
	check_local("linked", debug_dir, "fixture_local");
	is_uint(unread__cnt() - before, 0, "a sparse debug file of 100 MiB is used");
	link_debug_of("129M");
	check_local("linked", debug_dir, NULL);
	ok(unread__cnt() > before, "one of 129 MiB is not, which is counted");
	link_debug_of("101M");
	check_local("linked", debug_dir, "fixture_local");
	before = unread__cnt();
	link_debug_of("102M");
	check_local("linked", debug_dir, NULL);
	ok(unread__cnt() > before, "a third of 102 MiB is too much in total");
}

static void check_separate(void)
{
	char debug_dir[PATH_MAX];

	snprintf(debug_dir, sizeof(debug_dir), "%s/debug", scratch_dir);
	fixture__sh("id=$(readelf -n $D/pie | sed -n 's/.*Build ID: //p') && rest=${id#??} &&"
		    " dir=$D/debug/.build-id/${id%$rest} && mkdir -p $dir &&"
		    " objcopy --only-keep-debug $D/pie $dir/$rest.debug");
	check_local("stripped", debug_dir, "fixture_local");
	fixture__sh("f=$(find $D/debug -name '*.debug') && objcopy --only-keep-debug $D/nopie $f");
	check_local("stripped", debug_dir, NULL);

	fixture__sh(
		"objcopy --only-keep-debug $D/noid $D/linked.debug && strip -o $D/linked $D/noid &&"
		" objcopy --add-gnu-debuglink=$D/linked.debug $D/linked");
	check_local("linked", "/nonexistent", "fixture_local");
	fixture__sh("mkdir $D/.debug && mv $D/linked.debug $D/.debug/");
	check_local("linked", "/nonexistent", "fixture_local");
	check_owners();
	fixture__sh("mkdir -p $D/debug$D && mv $D/.debug/linked.debug $D/debug$D/");
	check_local("linked", debug_dir, "fixture_local");
	fixture__sh("printf x >> $D/debug$D/linked.debug");
	check_local("linked", debug_dir, NULL);
	check_checksums(debug_dir);
}

static void check_bomb(void)
{
	int fd = open(scratch__path("bombed"), O_RDONLY);
	struct image img;
	struct elf elf;
	size_t size;
	void *mem;

	if (image__of_fd(&img, fd) || elf__open(&elf, &img))
		abort();
	is_int(debugdata__unpack(&elf, &mem, &size), -EFBIG, "200 MB of zeros are not unpacked");
	elf__close(&elf);
	close(fd);
}

static void check_debugdata(void)
{
	fixture__sh("objcopy --only-keep-debug $D/pie $D/mini && xz -f -k $D/mini && strip -o "
		    "$D/withmini $D/pie &&"
		    " objcopy --add-section .gnu_debugdata=$D/mini.xz $D/withmini");
	check_local("withmini", "/nonexistent", "fixture_local");
	fixture__sh(
		"head -c 200000000 /dev/zero | xz -0 > $D/bomb.xz && strip -o $D/bombed $D/pie &&"
		" objcopy --add-section .gnu_debugdata=$D/bomb.xz $D/bombed");
	check_local("bombed", "/nonexistent", NULL);
	check_bomb();
	fixture__sh("head -c 300 $D/mini.xz > $D/cut.xz && strip -o $D/withcut $D/pie &&"
		    " objcopy --add-section .gnu_debugdata=$D/cut.xz $D/withcut");
	check_local("withcut", "/nonexistent", NULL);
}

#ifdef __x86_64__
/* The stub for getppid, found by objdump. */
static void check_plt(const char *file)
{
	struct symbolizer *sym = fixture__symbolizer("/nonexistent", NULL);
	unsigned long long stub = 0, main_at = 0;
	struct fixture fx;
	char cmd[512];
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "objdump -d %s/%s | awk '/<getppid@plt>:/ {print $1; exit}';"
		 "nm %s/%s | awk '/ T fixture_global/ {print $1}'",
		 scratch_dir, file, scratch_dir, file);
	f = popen(cmd, "r");
	if (fscanf(f, "%llx %llx", &stub, &main_at) != 2)
		stub = 0;
	pclose(f);
	fixture__run(&fx, file);
	stub += fixture__addr(&fx, "global") - main_at;
	NAMED(sym, &fx, stub, 0, "getppid@plt");
	NAMED(sym, &fx, stub + 6, 6, "getppid@plt");
	fixture__stop(&fx);
	symbolizer__free(sym);
}
#endif

/* A 32-bit file, by its tables only: there may be no 32-bit libc here. */
static void check_class32(void)
{
	const struct module_tab *tab = NULL;
	struct modules modules = { 0 };
	struct stat st;
	struct module *module;
	const struct symbol *sym;
	char name[64] = "";
	uint64_t delta = 0;
	int fd;

	if (system("echo 'int fn32(int v) { return v + 1; } int next32(int v) { return v; }' |"
		   " gcc -m32 -O1 -x c -nostdlib -shared -Wl,--build-id -o $D/elf32.so - "
		   "2>/dev/null")) {
		skip(3, "no 32-bit code from this compiler");
		return;
	}
	fd = open(scratch__path("elf32.so"), O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		abort();
	module = modules__of_file(&modules, fd, &st, (struct image_part){});
	module__load(&modules, module, module->fd,
		     &(struct debugfile_places){ "/none", NULL, "", NULL, {} });
	ok(strlen(module->build_id) == 40, "a 32-bit file's build id");
	sym = module__find(&modules, module, 0x1002, &tab, &delta);
	if (sym)
		names__get(&tab->syms.names, sym->name, name, sizeof(name));
	is_str(name, "fn32", "and its function");
	is_uint(delta, 2, "and the offset");
	modules__free(&modules);
}

int main(void)
{
	scratch__init();
	scratch__write_text("fix.c", program);
	scratch__write_text("fix.cc", cxx_program);
	fixture__sh("gcc -O1 -pie -fPIE -rdynamic -Wl,--build-id -o $D/pie $D/fix.c");
	fixture__sh("gcc -O1 -no-pie -rdynamic -Wl,--build-id -o $D/nopie $D/fix.c");
	fixture__sh("gcc -O1 -no-pie -rdynamic -Wl,--build-id -Wl,-z,noseparate-code -o $D/packed "
		    "$D/fix.c");
	fixture__sh("gcc -O1 -rdynamic -static-pie -Wl,--build-id -o $D/static $D/fix.c");
	fixture__sh("gcc -O1 -rdynamic -Wl,--build-id=none -o $D/noid $D/fix.c");
	fixture__sh("gcc -O1 -pie -fPIE -rdynamic -Wl,-z,now -fcf-protection -Wl,-z,ibtplt -o "
		    "$D/ibt $D/fix.c");
	fixture__sh("g++ -O1 -o $D/cxx $D/fix.cc && strip -o $D/stripped $D/pie");
	check_all("pie");
	check_all("nopie");
	check_all("packed");
	check_all("static");
	check_extents();
	check_cxx();
	check_class32();
	check_stripped();
	check_separate();
	check_debugdata();
#ifdef __x86_64__
	check_plt("pie");
	check_plt("ibt");
#else
	skip(8, "the stubs of this machine are not known");
#endif
	return tap__done();
}
