/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel addresses: by a made-up kallsyms file, and by this machine's. */
#include "tests/unit/symbol_fixture.h"

static const char kallsyms[] = "0000000000000000 A percpu_thing\n"
			       "ffffffff81000000 T first\n"
			       "ffffffff81000000 t first_local\n"
			       "ffffffff81000100 t second\n"
			       "ffffffff81000200 D data\n"
			       "ffffffff81000300 W third\n"
			       "ffffffff810003f0 t __pfx_fourth\n"
			       "ffffffff81000400 t fourth\n"
			       "bad line\n"
			       "ffffffff81000500\n"
			       "ffffffff81000500 T\n"
			       "ffffffffc0002000 t b_one\t[mod_b]\n"
			       "ffffffffc0000000 t a_one\t[mod_a]\n"
			       "ffffffffc0002100 t b_two\t[mod_b]\n"
			       "ffffffffc0001000 t bpf_prog_0123_x\t[bpf]\n"
			       "ffffffffc0003000 t bpf_prog_4567_y\t[bpf]\n"
			       "ffffffffc0004000 t odd_end\t[mod\n";

static struct symbolizer *open_with(const char *path)
{
	struct symbolizer_opts opts = { .kallsyms = path, .demangle = true };
	struct symbolizer *ret = NULL;

	if (symbolizer__new(&opts, &ret, NULL))
		abort();
	return ret;
}

/* As the leaf, or as a caller's frame. */
static struct frame frame_of(struct symbolizer *sym, uint64_t addr, bool leaf)
{
	uint64_t addrs[] = { addr, addr };
	struct stack stack = { .addresses = addrs, .kernel_cnt = 2 };
	struct frame ret;

	if (symbolizer__stack(sym, 1, &stack))
		abort();
	ret = stack.frames[!leaf];
	free(stack.frames);
	return ret;
}

static void check(struct symbolizer *sym, uint64_t addr, const char *function, uint64_t offset,
		  const char *module)
{
	struct frame frame = frame_of(sym, addr, true);

	is_str(frame.function, function, "%llx is in %s", (unsigned long long)addr,
	       function ?: "no function");
	is_str(frame.module, module, "… of %s", module ?: "no module");
	is_uint(frame.offset, offset, "… at its offset");
	ok(frame.kernel && !frame.app && !frame.build_id,
	   "… a kernel frame; the kernel of another machine has no build id here");
}

static void check_table(void)
{
	struct symbolizer *sym;

	sym = open_with(scratch__write_text("kallsyms", kallsyms));
	check(sym, 0xffffffff80ffffff, NULL, 0, NULL);
	check(sym, 0xffffffff81000000, "first", 0, "vmlinux");
	check(sym, 0xffffffff810000ff, "first", 0xff, "vmlinux");
	check(sym, 0xffffffff810001ff, "second", 0xff, "vmlinux");
	check(sym, 0xffffffff81000200, NULL, 0, NULL);
	check(sym, 0xffffffff81000310, "third", 0x10, "vmlinux");
	check(sym, 0xffffffff810003f8, NULL, 0, NULL);
	check(sym, 0xffffffff81000400, "fourth", 0, "vmlinux");
	check(sym, 0xffffffffc0000010, "a_one", 0x10, "mod_a");
	check(sym, 0xffffffffc0001010, "bpf_prog_0123_x", 0x10, "bpf");
	check(sym, 0xffffffffc0002010, "b_one", 0x10, "mod_b");
	check(sym, 0xffffffffc0002110, "b_two", 0x10, "mod_b");
	check(sym, 0xffffffffc0003010, "bpf_prog_4567_y", 0x10, "bpf");
	check(sym, 0xffffffffc0004010, "odd_end", 0x10, "mod");
	check(sym, ~0ull, NULL, 0, NULL);
	is_str(frame_of(sym, 0xffffffff81000100, false).function, "first",
	       "a return address belongs to the call before it");
	symbolizer__free(sym);
}

/* kptr_restrict shows zeros. */
static void check_hidden(void)
{
	struct symbolizer *sym;

	sym = open_with(scratch__write_text(
		"hidden", "0000000000000000 T first\n0000000000000000 t second\n"));
	check(sym, 0xffffffff81000000, NULL, 0, NULL);
	symbolizer__free(sym);
	sym = open_with("");
	check(sym, 0xffffffff81000000, NULL, 0, NULL);
	symbolizer__free(sym);
	sym = open_with("/nonexistent");
	check(sym, 0xffffffff81000000, NULL, 0, NULL);
	symbolizer__free(sym);
}

/* A few hundred of this machine's own functions. */
static void check_this_kernel(void)
{
	struct symbolizer *sym = open_with(NULL);
	unsigned long long addr;
	size_t seen = 0, wrong = 0, nr = 0;
	char line[512], name[256], type;
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && fgets(line, sizeof(line), f)) {
		struct frame frame;

		if (sscanf(line, "%llx %c %255s", &addr, &type, name) != 3 || !addr ||
		    type != 'T' || !strncmp(name, "__pfx_", 6) || nr++ % 101)
			continue;
		frame = frame_of(sym, addr, true);
		seen++;
		wrong += !frame.function || frame.offset || !frame.module;
		if (seen == 1)
			ok(frame.build_id && strlen(frame.build_id) >= 16, "the kernel's build id");
	}
	if (f)
		fclose(f);
	if (seen)
		is_uint(wrong, 0, "each of %zu functions of this kernel is found", seen);
	else
		skip(2, "this user sees no kernel addresses");
	symbolizer__free(sym);
}

int main(void)
{
	scratch__init();
	check_table();
	check_hidden();
	check_this_kernel();
	return tap__done();
}
