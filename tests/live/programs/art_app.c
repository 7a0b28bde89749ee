// SPDX-License-Identifier: GPL-2.0
// An app on the stand-in for ART: an epoll loop whose handler calls five methods of JIT code, each
// in the next, the last of which spins for 50 ms. They keep no frame pointer. Each turn has methods
// of its own, "com.example.G<turn>.level<0 to 4>", whose code takes the place of older ones. They
// have a file of symbols and unwind tables each. Those of every third turn get one file together,
// compressed in half of the cases, and the single ones are removed. Prints of each turn: its
// number, begin and end in ns of the wall clock.
#define _GNU_SOURCE
#include <elf.h>
#include <lzma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "art_turns.h"

#define LEVELS	5
#define SLOTS	200
#define SLOT_SZ 64
#define FILE_SZ 4096
#define SPIN_NS 50000000ull
#define OLD	200 // entries from before the first turn

void *art_add(const void *symfile, uint64_t size);
void art_remove(void *entry);

#ifdef __x86_64__
#define ELF_MACHINE EM_X86_64
// push %rbp; sub $16, %rsp; mov $17, %ebp; add $8, %rdi; call *(%rdi); lea 2(%rip), %rax;
// jmp *%rax; add $16, %rsp; pop %rbp; ret: no frame pointer, as in ART's code, and a way to the
// return that reading the code does not tell
static const uint8_t code[] = { 0x55, 0x48, 0x83, 0xec, 0x10, 0xbd, 0x11, 0x00, 0x00, 0x00, 0x48,
				0x83, 0xc7, 0x08, 0xff, 0x17, 0x48, 0x8d, 0x05, 0x02, 0x00, 0x00,
				0x00, 0xff, 0xe0, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 };

// Its unwind table: .debug_frame
static const uint8_t cie[] = { 16,   0,	   0,  0,    0xff, 0xff, 0xff, 0xff, 1, 0,
			       0x01, 0x78, 16, 0x0c, 7,	   8,	 0x90, 1,    0, 0 };
static const uint8_t steps[] = { 0x41, 0x0e, 16, 0x86, 2,    0x44, 0x0e, 32,
				 0x58, 0x0e, 16, 0x41, 0xc6, 0x0e, 8,	 0 };

#else
#define ELF_MACHINE EM_AARCH64
// sub sp, sp, #32; str x30, [sp, #24]; str x29, [sp, #16]; mov x29, #17; add x0, x0, #8;
// ldr x1, [x0]; blr x1; adr x1, .+8; br x1; ldr x29, [sp, #16]; ldr x30, [sp, #24];
// add sp, sp, #32; ret
static const uint32_t code[] = { 0xd10083ff, 0xf9000ffe, 0xf9000bfd, 0xd280023d, 0x91002000,
				 0xf9400001, 0xd63f0020, 0x10000041, 0xd61f0020, 0xf9400bfd,
				 0xf9400ffe, 0x910083ff, 0xd65f03c0 };

static const uint8_t cie[] = { 16,   0,	   0,  0,    0xff, 0xff, 0xff, 0xff, 1, 0,
			       0x01, 0x78, 30, 0x0c, 31,   0,	 0,    0,    0, 0 };
static const uint8_t steps[] = { 0x44, 0x0e, 32,   0x44, 0x9e, 1,    0x44, 0x9d,
				 2,    0x5c, 0xdd, 0x44, 0xde, 0x44, 0x0e, 0 };
#endif

static uint8_t *memory;
static void *entries[SLOTS]; // NULL: of a file with several
static void *packed[SLOTS / LEVELS];
static uint8_t *files[SLOTS], *packed_files[SLOTS / LEVELS];

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

__attribute__((noinline)) void spin(void *unused)
{
	uint64_t end = now(CLOCK_MONOTONIC) + SPIN_NS;

	while (now(CLOCK_MONOTONIC) < end)
		;
}

static size_t add(uint8_t *file, size_t at, const void *from, size_t len)
{
	memcpy(file + at, from, len);
	return at + len;
}

// The names, .debug_frame, and .symtab with the names. Returns the end.
static size_t add_symbols(uint8_t *file, size_t at, Elf64_Shdr *heads, const char *names[],
			  size_t cnt)
{
	Elf64_Sym syms[LEVELS + 1] = {};

	file[at++] = 0;
	for (size_t i = 0; i < cnt; i++) {
		syms[i + 1] = (Elf64_Sym){ .st_name = at - heads[3].sh_offset,
					   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					   .st_shndx = 1,
					   .st_value = heads[1].sh_addr + i * SLOT_SZ,
					   .st_size = sizeof(code) };
		at = add(file, at, names[i], strlen(names[i]) + 1);
	}
	heads[3].sh_size = at - heads[3].sh_offset;
	at = (at + 7) & ~7ul;
	heads[5] = (Elf64_Shdr){ .sh_name = 48, .sh_type = SHT_PROGBITS, .sh_offset = at };
	at = add(file, at, cie, sizeof(cie));
	for (size_t i = 0; i < cnt; i++) {
		uint32_t head[2] = { 4 + 16 + sizeof(steps), 0 };
		uint64_t range[2] = { heads[1].sh_addr + i * SLOT_SZ, sizeof(code) };

		at = add(file, at, head, sizeof(head));
		at = add(file, at, range, sizeof(range));
		at = add(file, at, steps, sizeof(steps));
	}
	heads[5].sh_size = at - heads[5].sh_offset;
	at = (at + 7) & ~7ul;
	heads[2] = (Elf64_Shdr){ .sh_name = 7,
				 .sh_type = SHT_SYMTAB,
				 .sh_offset = at,
				 .sh_link = 3,
				 .sh_size = (cnt + 1) * sizeof(*syms),
				 .sh_entsize = sizeof(*syms) };
	return add(file, at, syms, heads[2].sh_size);
}

// An ELF file with .text (no bytes, at an absolute address), .symtab and .debug_frame, as ART's; or
// around another one.
static size_t make_file(uint8_t *file, uint64_t text, uint64_t text_size, const char *names[],
			size_t cnt, const uint8_t *inner, size_t inner_size)
{
	static const char strings[] =
		"\0.text\0.symtab\0.strtab\0.shstrtab\0.gnu_debugdata\0.debug_frame";
	Elf64_Shdr heads[6] = {};
	Elf64_Ehdr elf = { .e_ident = ELFMAG "\2\1\1",
			   .e_type = ET_DYN,
			   .e_machine = ELF_MACHINE,
			   .e_version = 1,
			   .e_ehsize = sizeof(elf),
			   .e_shentsize = sizeof(*heads),
			   .e_shnum = 6,
			   .e_shstrndx = 4 };
	size_t at = sizeof(elf);

	heads[1] = (Elf64_Shdr){ .sh_name = 1,
				 .sh_type = SHT_NOBITS,
				 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				 .sh_addr = text,
				 .sh_size = text_size,
				 .sh_offset = at };
	heads[3] = (Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = at };
	if (inner) {
		heads[2] = (Elf64_Shdr){ .sh_name = 33,
					 .sh_type = SHT_PROGBITS,
					 .sh_offset = at,
					 .sh_size = inner_size };
		at = add(file, at, inner, inner_size);
	} else {
		at = add_symbols(file, at, heads, names, cnt);
	}
	heads[4] = (Elf64_Shdr){
		.sh_name = 23, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(strings)
	};
	at = add(file, at, strings, sizeof(strings));
	at = (at + 7) & ~7ul;
	elf.e_shoff = at;
	at = add(file, at, heads, sizeof(heads));
	add(file, 0, &elf, sizeof(elf));
	return at;
}

static size_t compress(uint8_t *file, uint64_t text, size_t len)
{
	uint8_t small[FILE_SZ];
	size_t size = 0;

	if (lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, file, len, small, &size,
				    sizeof(small)))
		abort();
	return make_file(file, text, LEVELS * SLOT_SZ, NULL, 0, small, size);
}

// New methods at the addresses of older ones, which go first.
static void make_methods(unsigned turn)
{
	unsigned group = turn % (SLOTS / LEVELS), first = group * LEVELS;
	uint64_t text = (uint64_t)(memory + first * SLOT_SZ);
	char text_names[LEVELS][64];
	const char *names[LEVELS];
	size_t len;

	if (packed[group])
		art_remove(packed[group]);
	packed[group] = NULL;
	for (unsigned i = 0; i < LEVELS; i++) {
		unsigned slot = first + i;

		if (entries[slot])
			art_remove(entries[slot]);
		snprintf(text_names[i], sizeof(*text_names), "com.example.G%u.level%u", turn, i);
		names[i] = text_names[i];
		memcpy(memory + slot * SLOT_SZ, code, sizeof(code));
		__builtin___clear_cache((char *)memory + slot * SLOT_SZ,
					(char *)memory + (slot + 1) * SLOT_SZ);
		len = make_file(files[slot], text + i * SLOT_SZ, SLOT_SZ, &names[i], 1, NULL, 0);
		entries[slot] = art_add(files[slot], len);
	}
	if (turn % 3)
		return;
	len = make_file(packed_files[group], text, LEVELS * SLOT_SZ, names, LEVELS, NULL, 0);
	if (turn % 2)
		len = compress(packed_files[group], text, len);
	packed[group] = art_add(packed_files[group], len);
	for (unsigned i = first; i < first + LEVELS; i++) {
		art_remove(entries[i]);
		entries[i] = NULL;
		memset(files[i], 0xff, FILE_SZ);
	}
}

static void handle(unsigned turn)
{
	uint64_t chain[LEVELS + 1], begin;
	unsigned first = turn % (SLOTS / LEVELS) * LEVELS;

	make_methods(turn);
	for (unsigned i = 0; i < LEVELS; i++)
		chain[i] = (uint64_t)(memory + (first + i) * SLOT_SZ);
	chain[LEVELS] = (uint64_t)spin;
	begin = now(CLOCK_REALTIME);
	((void (*)(void *))chain[0])(chain);
	printf("%u %llu %llu\n", turn, (unsigned long long)begin,
	       (unsigned long long)now(CLOCK_REALTIME));
	fflush(stdout);
}

// What was there before: entries of other methods, and the zygote's behind two empty ones.
static void make_old(void)
{
	for (unsigned i = 0; i < OLD; i++) {
		uint8_t *file = calloc(1, FILE_SZ);
		char name[64];
		const char *names[1] = { name };

		if (i == OLD / 2) {
			art_add(NULL, 0);
			art_add(NULL, 0);
		}
		snprintf(name, sizeof(name), "android.Old.method%u", i);
		if (!file)
			abort();
		art_add(file, make_file(file, (uint64_t)memory + (SLOTS + i) * SLOT_SZ, SLOT_SZ,
					names, 1, NULL, 0));
	}
}

int main(void)
{
	int cache = memfd_create("jit-cache", 0);

	if (cache < 0 || ftruncate(cache, (SLOTS + OLD) * SLOT_SZ))
		return 1;
	memory = mmap(NULL, (SLOTS + OLD) * SLOT_SZ, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED,
		      cache, 0);
	if (memory == MAP_FAILED)
		return 1;
	for (unsigned i = 0; i < SLOTS; i++)
		files[i] = calloc(1, FILE_SZ);
	for (unsigned i = 0; i < SLOTS / LEVELS; i++)
		packed_files[i] = calloc(1, FILE_SZ);
	make_old();
	return art_turns(handle);
}
