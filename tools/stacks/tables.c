/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares our reader of unwind tables with libdw's, by the same addresses of each file, each in a
 * child that is confined like jankbpf-name. x86-64 only. stack_tables FILE... prints rules that
 * agree, µs a look-up and memory; --damaged N FILE... how N damaged copies of each file end.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "name/name.h"
#include "symbol/unwind/cfi.h"

#define ADDRESSES 2000
#define CPU_MAX_S 30
#define MIB	  (1024.0 * 1024)

/* DWARF's numbers of rbx, rbp, r12 to r15, and of the return address. */
static const uint8_t regs[] = { 3, 6, 12, 13, 14, 15, 16 };

#define REG_CNT (sizeof(regs) / sizeof(*regs))

struct rule {
	uint8_t how; /* enum cfi_how; of an expression only that it is one */
	int64_t reg, value;
};

struct rules {
	bool found;
	struct rule cfa, regs[REG_CNT];
};

enum kind { OWN, LIBDW, NOTHING, KINDS };

static const char *const kinds[] = { "own", "libdw", "nothing" };

/* What a child has found out. Shared with it. */
struct result {
	uint64_t open_ns, new_ns, again_ns;
	size_t heap;
	unsigned asked;
	struct rules rules[ADDRESSES];
	/* by the parent */
	int status;
	double cpu_s;
	long rss_kib;
};

static struct result *results;
static struct {
	uint64_t vaddr, offset;
} addresses[ADDRESSES];
static unsigned address_cnt;

/* --- ours */

static struct rule own_rule(const struct cfi_rule *from)
{
	struct rule ret = { .how = from->how };

	if (from->how == CFI_EXPR || from->how == CFI_VAL_EXPR)
		return ret;
	if (from->how == CFI_UNSAID)
		ret.how = CFI_SAME;
	ret.value = from->how == CFI_SAME || from->how == CFI_UNDEFINED ? 0 : from->value;
	return ret;
}

static void ask_own(struct cfi *cfi, unsigned nr, struct rules *ret)
{
	const struct cfi_row *row = cfi__row(cfi, addresses[nr].offset, true);
	const struct cfi_rule *rules = row && row->has_table ? cfi__rules(cfi, row) : NULL;

	if (!row || !row->has_table)
		return;
	ret->found = true;
	ret->cfa = own_rule(&row->cfa);
	ret->cfa.reg = row->cfa.how == CFI_VAL_OFFSET ? row->cfa.reg : 0;
	for (size_t i = 0; i < REG_CNT; i++) {
		ret->regs[i].how = CFI_SAME;
		for (unsigned j = 0; j < row->rule_cnt; j++)
			if (rules[j].reg == regs[i])
				ret->regs[i] = own_rule(&rules[j]);
	}
}

/* --- libdw's */

static struct rule libdw_cfa(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t cnt;

	if (dwarf_frame_cfa(frame, &ops, &cnt) || cnt < 1)
		return (struct rule){ .how = CFI_UNDEFINED };
	if (cnt == 1 && ops->atom == DW_OP_bregx)
		return (struct rule){ CFI_VAL_OFFSET, ops->number, ops->number2 };
	if (cnt == 1 && ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31)
		return (struct rule){ CFI_VAL_OFFSET, ops->atom - DW_OP_breg0, ops->number };
	return (struct rule){ .how = CFI_EXPR };
}

static struct rule libdw_rule(Dwarf_Frame *frame, unsigned reg)
{
	Dwarf_Op mem[3], *ops;
	bool is_value;
	size_t cnt;

	if (dwarf_frame_register(frame, reg, mem, &ops, &cnt))
		return (struct rule){ .how = CFI_UNDEFINED };
	if (!cnt)
		return (struct rule){ .how = ops ? CFI_UNDEFINED : CFI_SAME };
	if (ops[0].atom == DW_OP_regx)
		return (struct rule){ CFI_REGISTER, 0, ops[0].number };
	is_value = ops[cnt - 1].atom == DW_OP_stack_value;
	if (ops != mem || ops[0].atom != DW_OP_call_frame_cfa)
		return (struct rule){ .how = is_value ? CFI_VAL_EXPR : CFI_EXPR };
	if (is_value)
		return (struct rule){ CFI_VAL_OFFSET, 0, cnt > 2 ? ops[1].number : 0 };
	return (struct rule){ CFI_OFFSET, 0, cnt > 1 ? ops[1].number : 0 };
}

static void ask_libdw(Dwarf_CFI *cfi, unsigned nr, struct rules *ret)
{
	Dwarf_Frame *frame;

	if (!cfi || dwarf_cfi_addrframe(cfi, addresses[nr].vaddr, &frame))
		return;
	ret->found = true;
	ret->cfa = libdw_cfa(frame);
	for (size_t i = 0; i < REG_CNT; i++)
		ret->regs[i] = libdw_rule(frame, regs[i]);
	/* libdw's x86_64_cfi.c gives rbx's default, that it is kept, to register 0 (rax) */
	if (ret->regs[0].how == CFI_UNDEFINED)
		ret->regs[0].how = CFI_SAME;
	free(frame);
}

/* The table in .eh_frame, else that in .debug_frame. */
static Dwarf_CFI *open_libdw(int fd)
{
	Dwarf_CFI *ret = NULL;
	Dwarf *dwarf;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		ret = dwarf_getcfi_elf(elf);
	if (elf && !ret) {
		dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
		ret = dwarf ? dwarf_getcfi(dwarf) : NULL;
	}
	return ret;
}

/* --- a child */

static size_t heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void ask_all(struct cfi *own, Dwarf_CFI *libdw, struct rules *all, struct result *ret)
{
	for (unsigned i = 0; i < address_cnt; i++) {
		struct rules one = {};

		if (own)
			ask_own(own, i, &one);
		else
			ask_libdw(libdw, i, &one);
		if (!all)
			continue;
		all[i] = one;
		ret->asked++;
	}
}

static void run_child(enum kind kind, int fd, struct result *ret)
{
	const struct rlimit cpu = { CPU_MAX_S, CPU_MAX_S };
	Dwarf_CFI *libdw = NULL;
	struct cfi *own = NULL;
	uint64_t begin;
	size_t before;

	setrlimit(RLIMIT_CPU, &cpu);
	if (name_server__confine())
		_exit(120);
	if (kind == NOTHING)
		_exit(0);
	before = heap();
	begin = clock__mono_ns();
	if (kind == OWN)
		own = cfi__new(fd, (struct image_part){}, NULL, 0);
	else
		libdw = open_libdw(fd);
	ret->open_ns = clock__mono_ns() - begin;
	ask_all(own, libdw, ret->rules, ret);
	ret->new_ns = clock__mono_ns() - begin - ret->open_ns;
	begin = clock__mono_ns();
	ask_all(own, libdw, NULL, ret);
	ret->again_ns = clock__mono_ns() - begin;
	ret->heap = heap() - before;
	_exit(0);
}

static void run(enum kind kind, int fd)
{
	struct result *ret = &results[kind];
	struct rusage usage;
	pid_t pid;

	memset(ret, 0, sizeof(*ret));
	pid = fork();
	if (!pid)
		run_child(kind, fd, ret);
	while (wait4(pid, &ret->status, 0, &usage) < 0 && errno == EINTR)
		;
	ret->cpu_s = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
		     (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	ret->rss_kib = usage.ru_maxrss;
}

/* --- the parent */

/* Addresses at equal distances in the largest section of code, out of order. */
static bool choose(int fd, struct elf *elf)
{
	const struct elf_section *text = NULL;
	struct image img;

	address_cnt = 0;
	if (image__of_fd(&img, fd) || elf__open(elf, &img))
		return false;
	for (size_t i = 0; i < elf->section_cnt; i++)
		if (elf->sections[i].flags & SHF_EXECINSTR &&
		    elf->sections[i].type == SHT_PROGBITS &&
		    (!text || elf->sections[i].size > text->size))
			text = &elf->sections[i];
	for (unsigned i = 0; text && i < ADDRESSES; i++) {
		uint64_t at = text->size * ((i * 211ull) % ADDRESSES) / ADDRESSES;

		addresses[i].vaddr = text->addr + at;
		addresses[i].offset = text->offset + at;
		address_cnt++;
	}
	return address_cnt;
}

static bool same(const struct rule *a, const struct rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->value == b->value;
}

static void compare(const char *path)
{
	unsigned both = 0, equal = 0, only_own = 0, only_libdw = 0;

	for (unsigned i = 0; i < results[OWN].asked && i < results[LIBDW].asked; i++) {
		const struct rules *own = &results[OWN].rules[i], *libdw = &results[LIBDW].rules[i];
		bool is_equal = same(&own->cfa, &libdw->cfa);

		only_own += own->found && !libdw->found;
		only_libdw += libdw->found && !own->found;
		if (!own->found || !libdw->found)
			continue;
		for (size_t j = 0; j < REG_CNT; j++)
			is_equal &= same(&own->regs[j], &libdw->regs[j]);
		both++;
		equal += is_equal;
	}
	printf("%s: %u addresses, rules of both at %u, equal at %u; only ours %u, only libdw's %u\n",
	       path, address_cnt, both, equal, only_own, only_libdw);
}

static void measure(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf elf;

	if (fd < 0 || !choose(fd, &elf)) {
		printf("%s: no code\n", path);
		return;
	}
	for (enum kind kind = 0; kind < KINDS; kind++)
		run(kind, fd);
	compare(path);
	for (enum kind kind = OWN; kind <= LIBDW; kind++) {
		const struct result *res = &results[kind];

		printf("  %-6s status 0x%x; open %.0f µs, new %.2f, again %.2f µs; heap %.2f MiB, "
		       "resident + %.1f MiB; %.2f s\n",
		       kinds[kind], res->status, res->open_ns / 1e3,
		       res->new_ns / 1e3 / address_cnt, res->again_ns / 1e3 / address_cnt,
		       res->heap / MIB, (res->rss_kib - results[NOTHING].rss_kib) / 1024.0,
		       res->cpu_s);
	}
	elf__close(&elf);
	close(fd);
}

/* --- damaged copies */

static uint64_t any_number(void)
{
	static uint64_t seed = 1;

	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

static void damage(int to, const unsigned char *good, size_t size, const struct elf *elf)
{
	static const char *const names[] = { ".eh_frame", ".eh_frame", ".eh_frame_hdr",
					     ".debug_frame" };

	if (ftruncate(to, 0) || pwrite(to, good, size, 0) != (ssize_t)size)
		abort();
	for (unsigned i = 0, cnt = 1 + any_number() % 30; i < cnt; i++) {
		const struct elf_section *sec = elf__section(elf, names[any_number() % 4]);
		unsigned char byte = any_number() % 3 ? any_number() : any_number() % 2 ? 0xff : 0;

		if (sec && sec->size &&
		    pwrite(to, &byte, 1, sec->offset + any_number() % sec->size) != 1)
			abort();
	}
}

static void damaged(const char *path, unsigned runs)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), bad = memfd_create("bad", MFD_CLOEXEC);
	unsigned ended[KINDS] = {};
	double cpu_s[KINDS] = {};
	long rss_kib[KINDS] = {};
	unsigned char *good;
	struct stat st;
	struct elf elf;

	if (fd < 0 || bad < 0 || !choose(fd, &elf) || fstat(fd, &st))
		return;
	good = malloc(st.st_size);
	if (!good || pread(fd, good, st.st_size, 0) != st.st_size)
		abort();
	run(NOTHING, fd);
	for (unsigned i = 0; i < runs; i++) {
		damage(bad, good, st.st_size, &elf);
		for (enum kind kind = OWN; kind <= LIBDW; kind++) {
			const struct result *res = &results[kind];

			run(kind, bad);
			ended[kind] += res->status != 0;
			if (res->cpu_s > cpu_s[kind])
				cpu_s[kind] = res->cpu_s;
			if (res->rss_kib > rss_kib[kind])
				rss_kib[kind] = res->rss_kib;
		}
	}
	for (enum kind kind = OWN; kind <= LIBDW; kind++)
		printf("%s: %-6s %u files, %u ended the process; CPU %.2f s, resident + %.1f MiB at "
		       "most\n",
		       path, kinds[kind], runs, ended[kind], cpu_s[kind],
		       (rss_kib[kind] - results[NOTHING].rss_kib) / 1024.0);
	elf__close(&elf);
	free(good);
	close(bad);
	close(fd);
}

int main(int argc, char **argv)
{
	bool is_damaged = argc > 3 && !strcmp(argv[1], "--damaged");

	setlinebuf(stdout);
	results = mmap(NULL, KINDS * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (results == MAP_FAILED)
		abort();
	for (int i = is_damaged ? 3 : 1; i < argc; i++) {
		if (is_damaged)
			damaged(argv[i], atoi(argv[2]));
		else
			measure(argv[i]);
	}
	return 0;
}
