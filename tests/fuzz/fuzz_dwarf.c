/* SPDX-License-Identifier: GPL-2.0 */
/* Damaged DWARF: of a small program, made by the compilers that are here, in each version. */
#include <fcntl.h>
#include <stdio.h>

#include "symbol/dwarf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"
#include "tests/tap.h"

#define SEED_MAX 8

static const char program[] =
	"static inline int twice(int v) { asm volatile(\"nop\"); return v * 2; }\n"
	"struct s { int a; struct s *next; };\n"
	"static inline __attribute__((always_inline)) int more(struct s *s)\n"
	"{ int sum = 0; while (s) { sum += twice(s->a); s = s->next; } return sum; }\n"
	"int slow(struct s *s) { return more(s) + 1; }\n"
	"int main(int cnt, char **args) { struct s s = { cnt, 0 }; return slow(&s) * more(&s); }\n";

struct seed {
	unsigned char *bytes;
	size_t size, from, to; /* the sections of DWARF */
	uint64_t code, code_end;
};

static struct seed seeds[SEED_MAX];
static size_t seed_cnt;

/* What lies between the sections' first and last. */
static void find_parts(struct seed *seed, const struct elf *elf)
{
	seed->from = seed->size;
	for (size_t i = 0; i < elf->section_cnt; i++) {
		const struct elf_section *sec = &elf->sections[i];
		const char *name = elf->names + sec->name;

		if (!strcmp(name, ".text")) {
			seed->code = sec->addr;
			seed->code_end = sec->addr + sec->size;
		}
		if (strncmp(name, ".debug_", 7))
			continue;
		if (sec->offset < seed->from)
			seed->from = sec->offset;
		if (sec->offset + sec->size > seed->to)
			seed->to = sec->offset + sec->size;
	}
}

static void add_seed(const char *compiler)
{
	struct seed *seed = &seeds[seed_cnt];
	char cmd[256];
	struct stat st;
	struct image img;
	struct elf elf;
	int fd;

	snprintf(cmd, sizeof(cmd), "%s -O2 -o $D/seed $D/p.c 2>/dev/null", compiler);
	if (system(cmd))
		return;
	fd = open(scratch__path("seed"), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return;
	seed->size = st.st_size;
	seed->bytes = malloc(seed->size);
	if (seed->bytes && !image__of_fd(&img, fd) && !elf__open(&elf, &img)) {
		find_parts(seed, &elf);
		elf__close(&elf);
		if (!image__read(&img, 0, seed->bytes, seed->size) && seed->from < seed->to)
			seed_cnt++;
	}
	close(fd);
}

static void count_place(const struct dwarf_place *place, void *ctx)
{
	uint64_t *cnt = ctx;

	*cnt += (place->function ? strlen(place->function) : 0) + (place->file != NULL);
}

static uint64_t read_all(const char *path, const struct seed *seed)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dwarf *dwarf = NULL;
	struct image img;
	struct elf elf;
	uint64_t ret = 0;

	if (fd >= 0 && !image__of_fd(&img, fd) && !elf__open(&elf, &img)) {
		dwarf = dwarf__new(&elf, NULL);
		elf__close(&elf);
	}
	for (uint64_t at = seed->code; dwarf && at < seed->code_end; at += 7)
		dwarf__find(dwarf, at, count_place, &ret);
	dwarf__free(dwarf);
	if (fd >= 0)
		close(fd);
	return ret;
}

int main(void)
{
	static const char *const compilers[] = {
		"gcc -gdwarf-2",   "gcc -gdwarf-4",	     "gcc -gdwarf-5",
		"clang -gdwarf-4", "gcc -gdwarf-5 -gz=zlib", "clang -gdwarf-5",
	};
	struct fuzz fuzz = fuzz__begin();
	uint64_t found = 0;

	scratch__init();
	scratch__write_text("p.c", program);
	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++)
		add_seed(compilers[i]);
	if (!seed_cnt)
		skip_all("no compiler");
	while (fuzz__goes_on(&fuzz)) {
		const struct seed *seed = &seeds[fuzz__below(&fuzz, seed_cnt)];
		unsigned char *bad = malloc(seed->size);

		if (!bad)
			abort();
		memcpy(bad, seed->bytes, seed->size);
		for (size_t i = fuzz__below(&fuzz, 12) + 1; i; i--)
			fuzz__damage(&fuzz, bad + seed->from, seed->to - seed->from);
		scratch__write("bad", bad,
			       fuzz__chance(&fuzz, 10) ? fuzz__below(&fuzz, seed->size)
						       : seed->size);
		free(bad);
		found += read_all(scratch__path("bad"), seed);
	}
	ok(found > 0, "%llu damaged files were read", (unsigned long long)fuzz.round);
	return tap__done();
}
