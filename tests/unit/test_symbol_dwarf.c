/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines and inlined functions: every address of small programs compared with addr2line, those of a
 * running one, and damaged files.
 */
#include "symbol/dwarf/dwarf.h"
#include "symbol/elf/elf.h"
#include "symbol/names/symbolize_parts.h"
#include "tests/unit/symbol_fixture.h"

#define ANSWER_SZ 4096

static const char program[] =
	"#include <stdio.h>\n"
	"static inline int twice(int v) { asm volatile(\"nop\"); return v * 2; }\n"
	"static inline __attribute__((always_inline)) int more(int v)\n"
	"{\n"
	"	int sum = 0;\n"
	"	for (int i = 0; i < v; i++)\n"
	"		sum += twice(i) * v;\n"
	"	return sum;\n"
	"}\n"
	"__attribute__((noinline)) int slow(int v)\n"
	"{\n"
	"	asm volatile(\"\");\n"
	"	int got = more(v);\n"
	"#ifndef __clang__\n" /* Clang would emit it twice */
	"	asm volatile(\".globl inside\\ninside: nop\");\n"
	"#endif\n"
	"	return got + 1;\n"
	"}\n"
	"#ifdef __clang__\n"
	"char inside[1];\n"
	"#else\n"
	"extern char inside[];\n"
	"#endif\n"
	"int main(void)\n"
	"{\n"
	"	printf(\"slow %p\\ninside %p\\nready\\n\", (void *)slow, (void *)inside);\n"
	"	fflush(stdout);\n"
	"	return slow(getchar());\n"
	"}\n";

struct answer {
	char text[ANSWER_SZ];
};

static void add_place(const struct dwarf_place *place, void *ctx)
{
	struct answer *answer = ctx;
	size_t len = strlen(answer->text);
	const char *slash = place->file ? strrchr(place->file, '/') : NULL;

	snprintf(answer->text + len, sizeof(answer->text) - len, "%s %s:%u\n",
		 place->function ?: "??", slash ? slash + 1 : "??", place->line);
}

static struct dwarf *open_dwarf(const char *path, struct elf *elf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dwarf *ret = NULL;
	struct image img;

	if (fd >= 0 && !image__of_fd(&img, fd) && !elf__open(elf, &img)) {
		ret = dwarf__new(elf, NULL);
		elf__close(elf);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* What addr2line says up to the next address: functions as "NAME FILE:LINE". */
static bool read_answer(FILE *f, char *next, size_t cap, struct answer *ret)
{
	char name[512], place[PATH_MAX], *end, *slash;

	ret->text[0] = 0;
	while (fgets(name, sizeof(name), f)) {
		size_t len = strlen(ret->text);

		if (!strncmp(name, "0x", 2)) {
			snprintf(next, cap, "%.40s", name);
			return true;
		}
		if (!fgets(place, sizeof(place), f))
			break;
		name[strcspn(name, ".\n")] = 0; /* slow.constprop.0 */
		end = strstr(place, " (discriminator");
		place[end ? (size_t)(end - place) : strcspn(place, "\n")] = 0;
		slash = strrchr(place, '/');
		snprintf(ret->text + len, sizeof(ret->text) - len, "%s %s\n", name,
			 slash ? slash + 1 : place);
	}
	next[0] = 0;
	return ret->text[0];
}

static void compare_all(const char *path, const char *how)
{
	char cmd[PATH_MAX + 256], at[64] = "", next[64] = "";
	size_t seen = 0, inlined = 0, wrong = 0;
	struct answer want, got;
	struct elf elf;
	struct dwarf *dwarf = open_dwarf(path, &elf);
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "objdump -d -j .text %s | sed -n 's/^ *\\([0-9a-f]*\\):\\t.*/0x\\1/p' | "
		 "addr2line -aife %s",
		 path, path);
	f = popen(cmd, "r");
	read_answer(f, next, sizeof(next), &want);
	while (dwarf && (snprintf(at, sizeof(at), "%s", next), at[0])) {
		read_answer(f, next, sizeof(next), &want);
		if (strstr(want.text, "??:") || strstr(want.text, ":?"))
			continue; /* where there is no DWARF, it knows the symbol */
		got.text[0] = 0;
		dwarf__find(dwarf, strtoull(at, NULL, 16), add_place, &got);
		if (!strncmp(got.text, "?? ", 3) && !strchr(got.text, '\n')[1])
			continue; /* fill between functions, which has lines */
		seen++;
		inlined += strchr(want.text, '\n')[1] != 0;
		if (strcmp(got.text, want.text) && wrong++ < 3)
			diag("%.20s: got %s want %s", at, got.text, want.text);
	}
	pclose(f);
	ok(dwarf && seen > 20 && inlined > 5, "%s: %zu instructions, %zu inlined", how, seen,
	   inlined);
	is_uint(wrong, 0, "%s: each equals addr2line's", how);
	dwarf__free(dwarf);
}

static void check_forms(void)
{
	static const char *const forms[] = {
		"gcc -gdwarf-2",	  "gcc -gdwarf-3",
		"gcc -gdwarf-4",	  "gcc -gdwarf-5",
		"gcc -gdwarf-5 -gz=zlib", "gcc -gdwarf-4 -m32 -c",
		"clang -gdwarf-4",	  "clang -gdwarf-5",
		"gcc -g -no-pie -static", "clang -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
	};
	char cmd[512];

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strstr(forms[i], "-m32")) /* needs no 32-bit C library */
			snprintf(cmd, sizeof(cmd),
				 "sed 's/#include.*/int printf(const char *, ...), fflush(void *), "
				 "getchar(void); extern void *stdout;/' $D/p.c > $D/p32.c && "
				 "gcc -gdwarf-4 -m32 -O2 -ffreestanding -fno-pie -c -o $D/p.o "
				 "$D/p32.c && ld -m elf_i386 -e slow "
				 "--unresolved-symbols=ignore-all "
				 "-o $D/p $D/p.o 2>/dev/null");
		else
			snprintf(cmd, sizeof(cmd), "%s -O2 -o $D/p $D/p.c 2>/dev/null", forms[i]);
		if (system(cmd)) {
			skip(2, "%s: cannot be built here", forms[i]);
			continue;
		}
		compare_all(scratch__path("p"), forms[i]);
	}
}

static void name_inside(struct symbolizer *sym, const struct fixture *fx, struct stack *stack)
{
	uint64_t addr = fixture__addr(fx, "inside");

	*stack = (struct stack){ .addresses = &addr, .user_cnt = 1 };
	is_int(symbolizer__stack(sym, fx->pid, stack), 0, "an address is named");
	stack->addresses = NULL;
}

static void check_running(const char *what, const char *debug_dir, bool lines)
{
	struct symbolizer *sym = fixture__symbolizer(debug_dir, NULL);
	uint64_t addr[2];
	struct stack stack;
	struct frame frame;
	struct fixture fx;

	fixture__run(&fx, "run");
	addr[0] = addr[1] = fixture__addr(&fx, "slow");
	name_inside(sym, &fx, &stack);
	is_uint(stack.frame_cnt, 1, "%s: nothing is inlined at the label", what);
	is_str(stack.frames[0].function, "slow", "%s: the function", what);
	is_uint(stack.frames[0].line, lines ? 15 : 0, "%s: its line", what);
	ok(!!stack.frames[0].file == lines, "%s: its file", what);
	free(stack.frames);
	is_int(symbolizer__function(sym, fx.pid, addr[0], &frame), 0, "its begin");
	is_str(frame.function, "slow", "%s: is the function, whatever is inlined there", what);
	ok(!frame.inlined && !frame.offset, "%s: not what is inlined", what);
	fixture__stop(&fx);
	symbolizer__free(sym);
}

/* The address of an instruction of twice() inside slow(). */
static uint64_t inlined_offset(void)
{
	unsigned long long ret = 0, begin = 0;
	FILE *f = popen(
		"nm $D/one | sed -n 's/ T slow$//p'; "
		"objdump -d --disassemble=slow $D/one | sed -n 's/^ *\\([0-9a-f]*\\):.*/0x\\1/p'"
		" | addr2line -aife $D/one | grep -B1 '^twice$' | grep -m1 ^0x",
		"r");

	if (fscanf(f, "%llx\n%llx", &begin, &ret) != 2)
		ret = 0;
	pclose(f);
	return ret ? ret - begin : 0;
}

/*
 * More frames than there was room for at first, and few enough that the sanitizer fills the new
 * room (4 KiB).
 */
static void check_many_inlined(struct symbolizer *sym, const struct fixture *fx, uint64_t address)
{
	uint64_t addresses[20];
	struct stack stack = { .addresses = addresses, .user_cnt = 20 };
	size_t kernel = 0, outer = 0;

	for (size_t i = 0; i < 20; i++)
		addresses[i] = address;
	is_int(symbolizer__stack(sym, fx->pid, &stack), 0, "a stack of only such calls");
	for (size_t i = 0; i < stack.frame_cnt; i++) {
		kernel += stack.frames[i].kernel;
		outer += !stack.frames[i].inlined;
	}
	ok(stack.frame_cnt == 59 && !kernel && outer == 20,
	   "%zu frames; %zu are not inlined, %zu are of the kernel", stack.frame_cnt, outer,
	   kernel);
	free(stack.frames);
}

static void check_inlined(void)
{
	struct symbolizer *sym = fixture__symbolizer(scratch__path(""), NULL);
	uint64_t off = inlined_offset(), addresses[3];
	struct stack stack = { .addresses = addresses, .user_cnt = 3 };
	struct fixture fx;

	ok(off, "something is inlined into slow()");
	fixture__sh("cp $D/one $D/run");
	fixture__run(&fx, "run");
	addresses[0] = fixture__addr(&fx, "inside");
	addresses[1] = fixture__addr(&fx, "slow") + off + 1; /* to be returned to */
	addresses[2] = fixture__addr(&fx, "inside") + 1;
	is_int(symbolizer__stack(sym, fx.pid, &stack), 0, "a stack with an inlined call");
	is_uint(stack.frame_cnt, 5, "has two frames more than addresses");
	is_str(stack.frames[1].function, "twice", "the innermost first");
	is_str(stack.frames[2].function, "more", "then the one around it");
	is_str(stack.frames[3].function, "slow", "then the function");
	is_uint(stack.frames[1].line, 2, "each with its line");
	is_uint(stack.frames[2].line, 7, "of the call");
	is_uint(stack.frames[3].line, 13, "of the call");
	ok(stack.frames[1].inlined && stack.frames[2].inlined && !stack.frames[3].inlined,
	   "two are inlined");
	ok(!stack.frames[1].app && stack.frames[3].app, "and only the function can be blamed");
	is_uint(stack.frames[1].address, addresses[1], "all at the one address");
	has_str(stack.frames[1].file, "p.c", "in the file");
	free(stack.frames);
	check_many_inlined(sym, &fx, addresses[1]);
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static unsigned loaded_cnt(const struct symbolizer *sym)
{
	const struct module *module;
	unsigned ret = 0;

	for (module = sym->env.modules.table; module; module = module->hh.next)
		ret += dwarf__is_loaded(module->dwarf);
	return ret;
}

static unsigned line_of(struct symbolizer *sym, const struct fixture *fx, uint64_t addr)
{
	struct stack stack = { .addresses = &addr, .user_cnt = 1 };
	unsigned ret = 0;

	if (!symbolizer__stack(sym, fx->pid, &stack) && stack.frame_cnt)
		ret = stack.frames[0].line;
	free(stack.frames);
	return ret;
}

static void ignore_place(const struct dwarf_place *place, void *ctx)
{
	unsigned *cnt = ctx;

	*cnt += place->function != NULL;
}

/* Waits until the limit on reading files again allows it. */
static void read_again(const struct symbolizer *sym)
{
	const struct module *module;
	unsigned cnt = 0;

	for (unsigned tries = 10000; tries && !loaded_cnt(sym); tries--, usleep(1000))
		for (module = sym->env.modules.table; module; module = module->hh.next)
			if (module->dwarf)
				dwarf__find(module->dwarf, 0, ignore_place, &cnt);
}

/* Memory of a machine that traces always must fall again. */
static void check_rest(void)
{
	struct symbolizer *sym = fixture__symbolizer(scratch__path(""), NULL);
	const uint64_t minute_ns = 60 * NS_PER_SEC, now_ns = 10 * minute_ns;
	struct fixture fx, other;
	uint64_t addr;

	fixture__run(&fx, "run");
	addr = fixture__addr(&fx, "inside");
	symbolizer__rest(sym, now_ns);
	is_uint(line_of(sym, &fx, addr), 15, "an address has its line");
	symbolizer__rest(sym, now_ns + minute_ns);
	is_uint(loaded_cnt(sym), 1, "whose file stays, because it was needed");
	is_uint(line_of(sym, &fx, addr), 15, "the address is known now");
	symbolizer__rest(sym, now_ns + 2 * minute_ns - 1);
	is_uint(loaded_cnt(sym), 1, "nothing is freed within a minute");
	symbolizer__rest(sym, now_ns + 2 * minute_ns);
	is_uint(loaded_cnt(sym), 0, "after a minute without new addresses the file is freed");
	is_uint(line_of(sym, &fx, addr), 15, "a known address keeps its line");
	fixture__run(&other, "run");
	is_uint(line_of(sym, &other, fixture__addr(&other, "inside")), 15,
		"another process of the program has it, too");
	is_uint(loaded_cnt(sym), 0, "both from memory");
	fixture__stop(&other);
	read_again(sym);
	is_uint(loaded_cnt(sym), 1, "the file is read again");
	ok(line_of(sym, &fx, addr + 1) > 15, "for a new address");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_separate(void)
{
	fixture__sh("gcc -g -O2 -Wl,--build-id -o $D/one $D/p.c");
	check_inlined();
	check_running("in the program", scratch__path(""), true);
	check_rest();
	fixture__sh("objcopy --only-keep-debug $D/one $D/one.debug && strip -o $D/run $D/one && "
		    "id=$(readelf -n $D/one | sed -n 's/.*Build ID: //p') && "
		    "mkdir -p $D/dbg/.build-id/${id%${id#??}} && "
		    "cp $D/one.debug $D/dbg/.build-id/${id%${id#??}}/${id#??}.debug");
	check_running("in a debug file", scratch__path("dbg"), true);
	fixture__sh("strip --strip-debug -o $D/run $D/one");
	check_running("a program with symbols beside a debug file", scratch__path("dbg"), true);
	check_running("without", scratch__path("none"), false);
}

/* Damage in the sections themselves with intact headers, and a truncated file. */
static void check_damaged(const char *how)
{
	char cmd[256];
	size_t size;
	unsigned char *good, *bad;
	uint64_t seed = 1;
	unsigned cnt = 0, opened = 0;
	struct stat st;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "%s -O2 -o $D/p $D/p.c", how);
	fixture__sh(cmd);
	if (stat(scratch__path("p"), &st))
		abort();
	size = st.st_size;
	good = malloc(size);
	bad = malloc(size);
	f = fopen(scratch__path("p"), "r");
	if (!good || !bad || fread(good, 1, size, f) != size)
		abort();
	fclose(f);
	for (unsigned run = 0; run < 400; run++) {
		struct dwarf *dwarf;
		struct elf elf;

		memcpy(bad, good, size);
		for (unsigned i = 0; i < 1 + run % 40; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			bad[0x2000 + (seed >> 33) % (size - 0x3000)] = seed >> 24;
		}
		scratch__write("bad", bad, run % 5 ? size : size - (seed >> 40) % size);
		dwarf = open_dwarf(scratch__path("bad"), &elf);
		opened += dwarf != NULL;
		for (uint64_t at = 0x1000; dwarf && at < 0x1300; at += 29)
			dwarf__find(dwarf, at, ignore_place, &cnt);
		dwarf__free(dwarf);
	}
	free(good);
	free(bad);
	ok(opened > 50 && cnt > 50, "%s: damaged files are read as far as possible (%u, %u)", how,
	   opened, cnt);
}

int main(void)
{
	scratch__init();
	scratch__write_text("p.c", program);
	check_forms();
	check_separate();
	check_damaged("gcc -gdwarf-4");
	check_damaged("gcc -gdwarf-5");
	check_damaged("clang -gdwarf-5");
	return tap__done();
}
