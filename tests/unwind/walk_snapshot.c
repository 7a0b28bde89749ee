/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks one stack that check.py has prepared. Arguments: a directory that replaces /proc and has
 * process 1, which becomes this process; the machine (EM_*), bytes of an address, the bits of an
 * address of code (0: of this machine); a file with the registers as 64-bit words, in the order of
 * jank_abi.h; files with a stack each: its first address as a 64-bit word, then its bytes. The
 * first stack is the thread's. "memory" and more such files: what else was in the process's memory,
 * as ART's lists.
 * Prints the addresses, leaf first, the dex pcs, the names by ART's lists, how the walk ended, and
 * its time in ns: the first one, and one that finds all tables open.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/names/symbolize.h"
#include "symbol/unwind/unwind.h"

#define STACK_MAX (1u << 20)
#define AGAIN	  20
#define SP_OF_ARM 13 /* the kernel has it twice */

static size_t read_file(const char *path, void *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t ret = f ? fread(buf, 1, size, f) : 0;

	if (f)
		fclose(f);
	return ret;
}

/* Bytes between the stack pointer and the first recorded one are zeros; below it: the red zone. */
static void read_stack(const char *path, unsigned sp, struct copy_event *ret)
{
	uint8_t *bytes = calloc(1, 2 * STACK_MAX), *data = bytes + STACK_MAX;
	size_t len = bytes ? read_file(path, data - 8, STACK_MAX) : 0;
	uint64_t begin, below, want = ret->rec.regs[sp];

	if (len < 8)
		exit(2);
	memcpy(&begin, data - 8, 8);
	memset(data - 8, 0, 8);
	len -= 8;
	if (!want)
		ret->rec.regs[sp] = want = begin;
	if (want - begin > len && begin - want > STACK_MAX)
		want = begin + len; /* the stack pointer is in none */
	ret->bytes = data + (int64_t)(want - begin);
	ret->rec.copy_sz = len - (want - begin);
	below = want - begin <= len ? want - begin : 0;
	if (below > JANK_RED_ZONE)
		below = JANK_RED_ZONE;
	memcpy(ret->rec.red_zone + JANK_RED_ZONE - below, ret->bytes - below, below);
}

/* Puts the bytes of a file at their address in this process; pages may be there already. */
static void map_memory(const char *path)
{
	static uint8_t bytes[STACK_MAX];
	size_t len = read_file(path, bytes, sizeof(bytes));
	uint64_t addr, page = sysconf(_SC_PAGESIZE);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	if (len <= 8)
		exit(2);
	memcpy(&addr, bytes, 8);
	for (uint64_t at = addr & -page; at < addr + len - 8; at += page)
		if (mmap((void *)at, page, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED &&
		    errno != EEXIST)
			exit(2);
	memcpy((void *)addr, bytes + 8, len - 8);
}

/* Gives the prepared process this process's number and pages. */
static void become(const char *proc)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d", proc, getpid());
	if (symlink("1", path))
		exit(2);
	snprintf(path, sizeof(path), "%s/1/pagemap", proc);
	if (symlink("/proc/self/pagemap", path))
		exit(2);
}

/* Of JIT code's methods, innermost first. */
static void print_names(struct symbolizer *sym, const struct unwound *got)
{
	struct stack stack = { .addresses = (uint64_t *)got->addresses,
			       .user_cnt = got->cnt,
			       .script = (struct jank_script_frame *)got->script,
			       .script_cnt = got->script_cnt };

	if (symbolizer__stack(sym, getpid(), &stack))
		exit(2);
	for (size_t i = 0; i < stack.frame_cnt; i++)
		if (stack.frames[i].language && stack.frames[i].function &&
		    !strcmp(stack.frames[i].module ?: "", "[jit]"))
			printf("name %s\n", stack.frames[i].function);
}

int main(int argc, char **argv)
{
	struct symbolizer_opts opts = { .kallsyms = "",
					.debug_dir = "/nowhere",
					.proc = argv[1],
					.machine = atoi(argv[2]),
					.pc_mask = (1ull << atoi(argv[4])) - 1 };
	bool narrow = atoi(argv[3]) == 4;
	static struct unwound got;
	struct copy_event copy = {}, other = {};
	struct symbolizer *sym;
	struct err err = {};
	uint64_t first, last;
	unsigned sp = opts.machine == EM_AARCH64 ? 31 : 7;
	int stacks_end = 6;

	if (argc < 6 || !read_file(argv[5], copy.rec.regs, sizeof(copy.rec.regs)))
		return 2;
	become(argv[1]);
	copy.rec.hdr.tgid = getpid();
	copy.rec.hdr.flags = narrow ? JANK_COPY_32BIT : 0;
	while (stacks_end < argc && strcmp(argv[stacks_end], "memory"))
		stacks_end++;
	for (int i = stacks_end + 1; i < argc; i++)
		map_memory(argv[i]);
	if (stacks_end > 6)
		read_stack(argv[6], sp, &copy);
	if (stacks_end > 7) {
		read_stack(argv[7], sp, &other);
		other.rec.regs[SP_OF_ARM] = other.rec.regs[sp];
		opts.other = &other;
	}
	if (symbolizer__new(&opts, &sym, &err))
		return 2;
	first = clock__mono_ns();
	symbolizer__unwind(sym, &copy, &got, 1);
	first = clock__mono_ns() - first;
	last = clock__mono_ns();
	for (int i = 0; i < AGAIN; i++)
		symbolizer__unwind(sym, &copy, &got, 1);
	last = (clock__mono_ns() - last) / AGAIN;
	for (uint32_t i = 0; i < got.cnt; i++)
		printf("%" PRIx64 "\n", got.addresses[i]);
	for (uint32_t i = 0; i < got.dex_cnt; i++)
		printf("dex %u %" PRIx64 "\n", got.dex[i].index, got.dex[i].pc);
	print_names(sym, &got);
	printf("end %d %s\ntime %" PRIu64 " %" PRIu64 "\n", got.end, got.module ?: "-", first,
	       last);
	return 0;
}
