/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile ELF files: truncated at every place that matters, every header field set to every bad
 * value, some thousand random changes (with a fixed seed). They may lose their names; the
 * sanitizers check that nothing else happens. Images are in buffers of exactly their size, so that
 * any read beyond is caught.
 */
#include <elf.h>
#include <time.h>

#include "symbol/elf/elf.h"
#include "symbol/modules/module.h"
#include "symbol/names/resolve.h"
#include "tests/unit/symbol_fixture.h"

static const char program[] =
	"#include <stdio.h>\n#include <unistd.h>\n"
	"static __attribute__((noinline)) int a_local(int v) { return v * 3 + getpid(); }\n"
	"__attribute__((noinline)) int a_global(int v) { return a_local(v) * 2; }\n"
	"int main(void) { printf(\"fn %p\\nready\\n\", (void *)a_global); fflush(stdout); return "
	"a_global(getchar()); }\n";

struct file {
	unsigned char *data;
	size_t size;
};

static uint64_t named_cnt; /* over all mutations: names still found */

static struct file load(const char *name)
{
	FILE *f = fopen(scratch__path(name), "r");
	struct file ret = { 0 };

	if (!f || fseek(f, 0, SEEK_END))
		abort();
	ret.size = ftell(f);
	rewind(f);
	ret.data = malloc(ret.size);
	if (fread(ret.data, 1, ret.size, f) != ret.size)
		abort();
	fclose(f);
	return ret;
}

/* Builds the tables of an image and looks up names all over the file. */
static size_t use(const unsigned char *data, size_t size)
{
	unsigned char *copy = malloc(size ? size : 1);
	struct debugfile_places places = { "/nonexistent", NULL, "/nonexistent/file", NULL, {} };
	const struct module_tab *tab = NULL;
	struct modules modules = { 0 };
	char name[NAME_MAX_LEN], shown[DEMANGLE_MAX];
	struct module *module = modules__get(&modules, &(struct module_id){ 0 });
	struct image img;
	uint64_t delta, off;
	size_t named = 0;

	memcpy(copy, data, size);
	image__of_mem(&img, copy, size);
	module__build(module, &img, &places);
	free(copy);
	for (off = 0; off < size; off += 61) {
		const struct symbol *sym = module__find(&modules, module, off, &tab, &delta);

		if (!sym || !names__get(&tab->syms.names, sym->name, name, sizeof(name)))
			continue;
		demangle__name(name, shown, sizeof(shown));
		named++;
	}
	module->loaded = true;
	modules__free(&modules);
	named_cnt += named;
	return named;
}

/* Every length within the headers, and around each section's begin and end. */
static void check_truncations(const struct file *file)
{
	const Elf64_Ehdr *eh = (const void *)file->data;
	const Elf64_Shdr *sh = (const void *)(file->data + eh->e_shoff);
	size_t len, i;
	int k;

	for (len = 0; len < eh->e_phoff + eh->e_phnum * sizeof(Elf64_Phdr); len++)
		use(file->data, len);
	for (len = eh->e_shoff; len < file->size; len += 4)
		use(file->data, len);
	for (i = 0; i < eh->e_shnum; i++) {
		for (k = -1; k <= 1; k++) {
			if (sh[i].sh_offset + k <= file->size)
				use(file->data, sh[i].sh_offset + k);
			if (sh[i].sh_type != SHT_NOBITS &&
			    sh[i].sh_offset + sh[i].sh_size + k <= file->size)
				use(file->data, sh[i].sh_offset + sh[i].sh_size + k);
		}
	}
	ok(true, "truncated at %zu places and more", file->size - eh->e_shoff);
}

static void check_values(const struct file *file, size_t begin, size_t end, size_t width,
			 const char *what)
{
	const uint64_t values[] = {
		0,	    1,		2,	file->size, file->size - 1, file->size + 1,
		0x7fffffff, 0x80000000, 0xffff, 0xfffffffe, ~0ull,	    ~0ull - 15,
		1ull << 63, 1ull << 40
	};
	unsigned char saved[8];
	size_t at, i, cnt = 0;

	for (at = begin; at + width <= end; at += width) {
		memcpy(saved, file->data + at, width);
		for (i = 0; i < sizeof(values) / sizeof(*values); i++, cnt++) {
			memcpy(file->data + at, &values[i], width);
			use(file->data, file->size);
		}
		memcpy(file->data + at, saved, width);
	}
	ok(cnt > 0, "%s: %zu bad values", what, cnt);
}

static void check_fields(const struct file *file)
{
	const Elf64_Ehdr *eh = (const void *)file->data;
	size_t ph_end = eh->e_phoff + eh->e_phnum * sizeof(Elf64_Phdr);
	size_t sh_end = eh->e_shoff + eh->e_shnum * sizeof(Elf64_Shdr);
	size_t shoff = eh->e_shoff, phoff = eh->e_phoff;

	check_values(file, 0, sizeof(*eh), 2, "file header, by 2 bytes");
	check_values(file, 0, sizeof(*eh), 8, "file header, by 8 bytes");
	check_values(file, phoff, ph_end, 8, "segments");
	check_values(file, shoff, sh_end, 4, "sections, by 4 bytes");
	check_values(file, shoff, sh_end, 8, "sections, by 8 bytes");
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static void check_random(struct file *file, unsigned cnt)
{
	const Elf64_Ehdr *eh = (const void *)file->data;
	size_t shoff = eh->e_shoff, sh_size = file->size - shoff;
	unsigned char *saved = malloc(file->size);
	uint64_t state = 0x6a616e6b;
	unsigned i, k;

	memcpy(saved, file->data, file->size);
	for (i = 0; i < cnt; i++) {
		unsigned flips = 1 + next_random(&state) % 8;

		for (k = 0; k < flips; k++) {
			size_t at = next_random(&state) % file->size;

			if (i % 3 == 1)
				at = at % 1024;
			else if (i % 3 == 2)
				at = shoff + at % sh_size;
			file->data[at] = next_random(&state);
		}
		use(file->data, file->size);
		memcpy(file->data, saved, file->size);
	}
	free(saved);
	ok(true, "%u random changes", cnt);
}

static void check_file(const char *name, unsigned random_cnt)
{
	struct file file = load(name);
	size_t whole = use(file.data, file.size);

	diag("%s: %zu bytes", name, file.size);
	ok(whole > 0, "undamaged, it has names: %zu", whole);
	check_truncations(&file);
	check_fields(&file);
	check_random(&file, random_cnt);
	is_uint(use(file.data, file.size), whole, "undamaged again, it has as many");
	free(file.data);
}

static void check_no_elf(void)
{
	unsigned char zeros[4096] = { 0 };

	is_uint(use(zeros, 0), 0, "an empty file");
	is_uint(use(zeros, sizeof(zeros)), 0, "a file of zeros");
	memcpy(zeros, ELFMAG, SELFMAG);
	is_uint(use(zeros, sizeof(zeros)), 0, "an ELF magic and zeros");
	is_uint(use(zeros, 4), 0, "an ELF magic alone");
}

/* The note's bytes exist, but after the end of the notes. */
static void check_long_note(void)
{
	struct {
		Elf64_Nhdr hdr;
		char name[4];
		unsigned char id[20];
	} note = { { 4, 20, NT_GNU_BUILD_ID }, "GNU", { 0xab } };
	char hex[BUILD_ID_HEX_SZ] = "";
	struct image img;

	image__of_mem(&img, &note, sizeof(note));
	ok(!buildid__find(&img, 0, sizeof(note) - 1, hex), "a note longer than the notes section");
	is_str(hex, "", "gives no build id");
	ok(buildid__find(&img, 0, sizeof(note), hex), "a whole one does");
	is_str(hex, "ab00000000000000000000000000000000000000", "in lower-case hex");
}

/* Names that are read from the file on use: it is truncated meanwhile. */
static void check_cut_names(void)
{
	enum { SIZE = 2 << 20 };
	char buf[NAME_MAX_LEN], *text = malloc(SIZE);
	int fd = open(scratch__path("names"), O_RDWR | O_CREAT, 0600);
	struct names names;
	struct image img;

	memset(text, 'n', SIZE);
	text[100] = text[SIZE - 1] = 0;
	if (write(fd, text, SIZE) != SIZE || image__of_fd(&img, fd))
		abort();
	names__init(&names);
	names__borrow(&names, &img, 0, SIZE, 0);
	is_int(names__keep(&names), 0, "many names stay in their file");
	is_uint(names__bytes(&names), 0, "and cost no memory");
	close(fd);
	is_uint(names__get(&names, 0, buf, sizeof(buf)), 100, "they are read from there");
	is_uint(names__get(&names, SIZE - 50, buf, sizeof(buf)), 49, "up to the last");
	if (truncate(scratch__path("names"), 200))
		abort();
	is_uint(names__get(&names, SIZE - 50, buf, sizeof(buf)), 0, "a truncated one is none");
	names__free(&names);
	free(text);
}

/* A running program's file is truncated while we read it. */
static void check_cut_file(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	struct frame frame;
	struct err err = { 0 };

	fixture__sh("cp $D/plain $D/run");
	fixture__run(&fx, "run");
	if (!is_int(symbolizer__process(sym, fx.pid, &err), 0, "a program is seen"))
		diag("%s", err.msg);
	fixture__stop(&fx);
	fixture__sh("truncate -s 5000 $D/run");
	frame = fixture__frame(sym, fx.pid, fixture__addr(&fx, "fn"), true);
	is_str(frame.function, NULL, "its file is truncated: it has no names");
	is_str(frame.module, scratch__path("run"), "but its module");
	symbolizer__free(sym);
}

int main(void)
{
	scratch__init();
	scratch__write_text("fix.c", program);
	fixture__sh("gcc -O1 -rdynamic -Wl,--build-id -o $D/plain $D/fix.c");
	fixture__sh("objcopy --only-keep-debug $D/plain $D/mini && xz -0 -f -k $D/mini &&"
		    " strip -o $D/stripped $D/plain &&"
		    " objcopy --add-section .gnu_debugdata=$D/mini.xz --add-gnu-debuglink=$D/mini "
		    "$D/stripped");
	check_no_elf();
	check_file("plain", 4000);
	check_file("stripped", 2000);
	check_long_note();
	check_cut_names();
	check_cut_file();
	ok(named_cnt > 10000, "changed files often still gave names: %llu",
	   (unsigned long long)named_cnt);
	return tap__done();
}
