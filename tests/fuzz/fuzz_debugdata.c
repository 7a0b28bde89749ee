/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged .gnu_debugdata: half of the time the compressed bytes, half of the time the ELF file in
 * them, compressed again (else a checksum would refuse most). The size that a few bytes claim must
 * stay within its bound.
 */
#include <elf.h>
#include <lzma.h>
#include <sys/mman.h>

#include "symbol/elf/debugfile.h"
#include "symbol/elf/elffunc.h"
#include "symbol/modules/module.h"
#include "tests/fuzz/corpus.h"

#define OUTER_SZ     4096
#define PACKED_SZ    (2 * CORPUS_INPUT_SZ)
#define UNPACKED_MAX (32u << 20)

static struct {
	uint64_t unpacked, refused, named;
	const char *broken;
	uint8_t file[OUTER_SZ + PACKED_SZ];
	size_t len;
	int fd;
} run;

/* A file of three sections: none, their names, and the compressed one, which begins at OUTER_SZ. */
static void wrap(size_t packed_sz)
{
	static const char names[] = "\0.shstrtab\0.gnu_debugdata";
	const size_t names_at = 1024, sections_at = 2048;
	Elf64_Phdr load = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 1 << 20 };
	Elf64_Shdr sections[3] = {
		{},
		{ .sh_name = 1,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = names_at,
		  .sh_size = sizeof(names) },
		{ .sh_name = 11,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = OUTER_SZ,
		  .sh_size = packed_sz },
	};
	Elf64_Ehdr head = {
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(load),
		.e_phnum = 1,
		.e_shoff = sections_at,
		.e_shentsize = sizeof(sections[0]),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	run.len = OUTER_SZ + packed_sz;
	load.p_filesz = run.len;
	memset(run.file, 0, OUTER_SZ);
	memcpy(run.file, &head, sizeof(head));
	memcpy(run.file + head.e_phoff, &load, sizeof(load));
	memcpy(run.file + names_at, names, sizeof(names));
	memcpy(run.file + sections_at, sections, sizeof(sections));
}

/* With the smallest dictionary: most of the time would otherwise be spent to clear it. */
static size_t pack(const void *bytes, size_t len)
{
	lzma_options_lzma options;
	lzma_filter filters[] = {
		{ LZMA_FILTER_LZMA2, &options },
		{ LZMA_VLI_UNKNOWN, NULL },
	};
	size_t ret = 0;

	lzma_lzma_preset(&options, 0);
	options.dict_size = LZMA_DICT_SIZE_MIN;
	if (lzma_stream_buffer_encode(filters, LZMA_CHECK_NONE, NULL, bytes, len,
				      run.file + OUTER_SZ, &ret, PACKED_SZ))
		abort();
	return ret;
}

/* Names of the inner file: the outer one has none. */
static void read_module(const struct image *img)
{
	struct modules modules = { 0 };
	struct module *module = modules__get(&modules, &(struct module_id){ 0 });
	const struct module_tab *tab;
	uint64_t delta;

	if (!module)
		abort();
	module__build(module, img, NULL);
	for (uint64_t off = 0; off < OUTER_SZ; off += 7)
		run.named += module__find(&modules, module, off, &tab, &delta) != NULL;
	module->loaded = true;
	modules__free(&modules);
}

static void read_functions(void)
{
	static const char *const names[] = { "slow", "hidden" };
	struct elffunc_place places[2];
	struct elffunc elf, debug;

	if (ftruncate(run.fd, 0) || pwrite(run.fd, run.file, run.len, 0) != (ssize_t)run.len)
		abort();
	if (elffunc__open(fcntl(run.fd, F_DUPFD_CLOEXEC, 3), &elf))
		return;
	if (!elffunc__open_debugdata(&elf, &debug)) {
		elffunc__find_each(&debug, names, 2, places);
		elffunc__close(&debug);
	}
	elffunc__close(&elf);
}

static void use(const struct corpus *c)
{
	size_t packed = c->len, size = 0;
	struct image img;
	struct elf elf;
	void *mem;
	int res;

	if (c->len > 4 && !memcmp(c->bytes, ELFMAG, SELFMAG))
		packed = pack(c->bytes, c->len);
	else
		memcpy(run.file + OUTER_SZ, c->bytes, c->len);
	wrap(packed);
	image__of_mem(&img, run.file, run.len);
	if (elf__open(&elf, &img))
		abort();
	res = debugdata__unpack(&elf, &mem, &size);
	elf__close(&elf);
	run.unpacked += !res;
	run.refused += !!res;
	if (res)
		return;
	free(mem);
	if (size > UNPACKED_MAX)
		run.broken = "more than the bound";
	read_module(&img);
	read_functions();
}

int main(void)
{
	struct corpus *c = corpus__load("debugdata", 20);

	run.fd = memfd_create("debugdata", MFD_CLOEXEC);
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.unpacked && run.refused && run.named, "%llu decompressed, %llu refused, %llu names",
	   (unsigned long long)run.unpacked, (unsigned long long)run.refused,
	   (unsigned long long)run.named);
	corpus__end(c);
	close(run.fd);
	return tap__done();
}
