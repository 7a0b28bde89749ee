/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of stripped Go programs by their own table, compared with the symbols of the same programs
 * unstripped.
 */
#include "symbol/dwarf/dwarf.h"
#include "symbol/elf/symtab.h"
#include "symbol/languages/gopclntab.h"
#include "symbol/unwind/cfi.h"
#include "tests/unit/gopclntab_image.h"
#include "tests/unit/symbol_fixture.h"

#define WHOLE_MIN 95 /* percent of functions; the others are not Go's, or aliases */

/* No packages: they would have to be compiled for each variant. */
static const char program[] = "package main\n"
			      "type box[T any] struct{ v T }\n"
			      "//go:noinline\n"
			      "func (b *box[T]) get() T { return b.v }\n"
			      "//go:noinline\n"
			      "func handle(v int) int {\n"
			      "	b := &box[int]{v}\n"
			      "	return b.get()\n"
			      "}\n"
			      "func main() {\n"
			      "	for handle(3) == 3 {\n"
			      "	}\n"
			      "}\n";

static int open_elf(const char *file, struct elf *elf)
{
	int fd = openat(AT_FDCWD, scratch__path(file), O_RDONLY | O_CLOEXEC);
	struct image img;

	if (fd < 0 || image__of_fd(&img, fd) || elf__open(elf, &img)) {
		ok(false, "%s is an ELF file", file);
		return -1;
	}
	return fd;
}

/*
 * The table has no type arguments of a generic function, and no suffix for its calling convention.
 */
static bool is_same(const char *name, const char *want)
{
	while (*name && *name == *want) {
		if (*want == '[' && !strncmp(name, "[...]", 5) && strrchr(want, ']')) {
			name += 5;
			want = strrchr(want, ']') + 1;
			continue;
		}
		name++;
		want++;
	}
	return !*name && (!*want || !strcmp(want, ".abi0") || !strcmp(want, ".abiinternal"));
}

static void check_against(const char *what, const char *full, const char *stripped)
{
	char want[NAME_MAX_LEN], got[NAME_MAX_LEN];
	size_t same = 0, missing = 0, other = 0;
	struct symtab truth, tab;
	struct gopclntab go;
	struct elf elf;
	int fd = open_elf(full, &elf);

	symtab__init(&truth);
	symtab__init(&tab);
	is_int(elfsym__read(&elf, SHT_SYMTAB, &truth), 0, "%s: symbols", what);
	elf__close(&elf);
	close(fd);
	fd = open_elf(stripped, &elf);
	ok(!elf__section_of_type(&elf, SHT_SYMTAB), "%s: stripped, it has none", what);
	is_int(gopclntab__open(&go, &elf), 0, "%s: its table", what);
	is_int(gopclntab__read(&go, &tab), 0, "%s: is read", what);
	elf__close(&elf);
	close(fd);
	for (size_t i = 0; i < truth.cnt; i++) {
		const struct symbol *sym = symtab__find(&tab, truth.syms[i].addr);

		names__get(&truth.names, truth.syms[i].name, want, sizeof(want));
		if (!sym || sym->addr != truth.syms[i].addr) {
			missing++;
			continue;
		}
		names__get(&tab.names, sym->name, got, sizeof(got));
		if (is_same(got, want))
			same++;
		else if (!other++)
			diag("%s: %s is called %s", what, want, got);
	}
	ok(tab.cnt > 1000 && same * 100 > truth.cnt * WHOLE_MIN && !other,
	   "%s: of %zu functions %zu have the same name, %zu none, %zu another", what, truth.cnt,
	   same, missing, other);
	symtab__free(&truth);
	symtab__free(&tab);
}

static bool build(const char *name, const char *env, const char *options)
{
	char cmd[1024];

	snprintf(cmd, sizeof(cmd),
		 "cd $D && HOME=$D GO111MODULE=off GOFLAGS= GOCACHE=$D/cache "
		 "%s go build %s -o %s main.go 2>$D/log",
		 env, options, name);
	if (!system(cmd))
		return true;
	diag("%s cannot be built here", name);
	return false;
}

static void check_form(const char *what, const char *env, const char *options, const char *link)
{
	char all[512];

	snprintf(all, sizeof(all), "%s %s -ldflags '-s -w %s'", options, "-trimpath", link);
	if (!build("stripped", env, all))
		return skip(5, "%s: cannot be built here", what);
	snprintf(all, sizeof(all), "%s %s -ldflags '-w %s'", options, "-trimpath", link);
	build("full", env, all);
	check_against(what, "full", "stripped");
}

struct truth {
	unsigned places;
	uint32_t line;
	char file[256];
};

static void note_place(const struct dwarf_place *place, void *ctx)
{
	struct truth *truth = ctx;

	truth->places++;
	truth->line = place->line;
	snprintf(truth->file, sizeof(truth->file), "%s", place->file ?: "");
}

static const char *plain(const char *path)
{
	return path + (strncmp(path, "./", 2) ? 0 : 2);
}

/* Go's two tables differ from each other in some places: one in ten thousand. */
static void check_lines_of(const struct gopclntab *go, const struct symtab *tab,
			   struct dwarf *dwarf)
{
	size_t same = 0, other = 0, none = 0, inlined = 0;

	for (size_t i = 0; i < tab->cnt; i++) {
		for (uint64_t at = 0; at < tab->syms[i].size; at += 13) {
			struct truth truth = {};
			char file[256];
			uint32_t line;
			bool has = gopclntab__line(go, tab->syms[i].addr + at, file, sizeof(file),
						   &line);

			dwarf__find(dwarf, tab->syms[i].addr + at, note_place, &truth);
			inlined += truth.places > 1;
			if (!has)
				none += truth.places == 1 && truth.line;
			else if (truth.places == 1 && truth.line == line &&
				 !strcmp(plain(truth.file), plain(file)))
				same++;
			else if (truth.places && other++ < 5)
				diag("+%llx: %s:%u, by DWARF %s:%u, %u functions",
				     (unsigned long long)(tab->syms[i].addr + at), file, line,
				     truth.file, truth.line, truth.places);
		}
	}
	ok(same > 10000 && other * 1000 < same && none * 100 < same,
	   "lines equal to DWARF: %zu; %zu others, %zu not found; %zu inlined", same, other, none,
	   inlined);
}

static void check_lines(void)
{
	struct dwarf *dwarf = NULL;
	struct gopclntab go;
	struct symtab tab;
	struct elf elf;
	int fd;

	fd = open_elf("debug", &elf);
	dwarf = fd >= 0 ? dwarf__new(&elf, NULL) : NULL;
	elf__close(&elf);
	close(fd);
	fd = open_elf("stripped", &elf);
	symtab__init(&tab);
	if (dwarf && !gopclntab__open(&go, &elf) && !gopclntab__read(&go, &tab))
		check_lines_of(&go, &tab, dwarf);
	symtab__free(&tab);
	elf__close(&elf);
	close(fd);
	dwarf__free(dwarf);
}

static struct cfi *open_cfi(const char *name, struct elf *elf)
{
	int fd = open_elf(name, elf);

	return cfi__new(fd, (struct image_part){ 0 }, NULL, 0);
}

/* A program's table for debuggers also says where the return address is. */
static void check_depths(void)
{
	struct cfi *with, *without;
	size_t same = 0, other = 0, none = 0;
	struct elf elf, stripped;
	struct gopclntab go;
	struct symtab tab;

	with = open_cfi("debug", &elf);
	without = open_cfi("stripped", &stripped);
	symtab__init(&tab);
	if (gopclntab__open(&go, &stripped) || gopclntab__read(&go, &tab))
		tab.cnt = 0;
	for (size_t i = 0; i < tab.cnt; i++) {
		uint64_t off = tab.syms[i].addr - elf.loads[0].vaddr + elf.loads[0].offset;

		for (uint64_t at = 0; at < tab.syms[i].size; at += 7) {
			const struct cfi_row *truth = cfi__row(with, off + at, true);
			const struct cfi_row *row = cfi__row(without, off + at, true);

			if (!truth || !truth->has_table || !row)
				continue;
			if (!row->has_depth)
				none++;
			else if (truth->cfa.how == CFI_VAL_OFFSET &&
				 truth->cfa.value == (int32_t)row->depth + 8)
				same++;
			else if (other++ < 5)
				diag("+%llx: %u, by .debug_frame %d",
				     (unsigned long long)(tab.syms[i].addr + at), row->depth,
				     truth->cfa.value);
		}
	}
	ok(same > 10000 && !other && none * 20 < same,
	   "depths equal to .debug_frame: %zu; %zu others, %zu unknown", same, other, none);
	symtab__free(&tab);
	cfi__free(with);
	cfi__free(without);
	elf__close(&elf);
	elf__close(&stripped);
}

static void check_places(void)
{
	if (!build("debug", "", "-trimpath -ldflags -compressdwarf=false") ||
	    !build("stripped", "", "-trimpath -ldflags '-s -w'"))
		return skip(2, "cannot be built here");
	check_lines();
	check_depths();
}

static void check_live(void)
{
	struct symbolizer *sym = fixture__symbolizer("/nowhere", NULL);
	char *path = strdup(scratch__path("stripped")), line[64] = "";
	struct fixture fx = {};
	uint64_t at = 0;
	FILE *nm;

	build("full", "", "-trimpath -ldflags -w");
	build("stripped", "", "-trimpath -ldflags '-s -w'");
	nm = popen("nm $D/full | sed -n 's/ T main.handle$//p'", "r");
	if (nm && fgets(line, sizeof(line), nm))
		at = strtoull(line, NULL, 16);
	if (nm)
		pclose(nm);
	fx.pid = fork();
	if (!fx.pid) {
		execl(path, path, NULL);
		_exit(127);
	}
	usleep(100000);
	NAMED(sym, &fx, at + 4, 4, "main.handle");
	kill(fx.pid, SIGKILL);
	waitpid(fx.pid, NULL, 0);
	symbolizer__free(sym);
	free(path);
}

/* Go 1.20's form, and damaged tables: of a made-up file. */
static int read_made(struct symtab *tab)
{
	struct gopclntab go;
	struct image img;
	struct elf elf;
	int res;

	symtab__init(tab);
	image__of_mem(&img, gopclntab_image.bytes, sizeof(gopclntab_image.bytes));
	if (elf__open(&elf, &img))
		abort();
	res = gopclntab__open(&go, &elf);
	if (!res)
		res = gopclntab__read(&go, tab);
	elf__close(&elf);
	return res;
}

static void is_made(const char *what, int want)
{
	struct symtab tab;

	is_int(read_made(&tab), want, "%s", what);
	symtab__free(&tab);
}

static void check_made(const char *what)
{
	struct symtab tab;
	const struct symbol *sym;
	char name[64];

	is_int(read_made(&tab), 0, "%s", what);
	is_uint(tab.cnt, MADE_FUNCS, "… each function");
	sym = symtab__find(&tab, MADE_TEXT + 2 * MADE_FUNC_SZ + 5);
	ok(sym && names__get(&tab.names, sym->name, name, sizeof(name)), "… one of them");
	is_str(name, "main.f2", "… has its name");
	ok(!symtab__find(&tab, MADE_TEXT + MADE_FUNCS * MADE_FUNC_SZ), "… and no more");
	symtab__free(&tab);
}

static void has_line(uint64_t addr, const char *want_file, uint32_t want)
{
	struct gopclntab go;
	struct image img;
	struct elf elf;
	char file[64] = "";
	uint32_t line = 0;

	image__of_mem(&img, gopclntab_image.bytes, sizeof(gopclntab_image.bytes));
	if (elf__open(&elf, &img) || gopclntab__open(&go, &elf))
		abort();
	if (!gopclntab__line(&go, addr, file, sizeof(file), &line))
		file[0] = 0;
	is_str(file, want_file, "+%#llx: file", (unsigned long long)addr - MADE_TEXT);
	is_uint(line, want, "… line");
	elf__close(&elf);
}

static void check_made_lines(void)
{
	static const uint32_t magics[] = { 0xfffffff0, 0xfffffff1 };

	for (int i = 0; i < 2; i++) {
		gopclntab_image__make(magics[i]);
		has_line(MADE_TEXT, "/src/main.go", 10);
		has_line(MADE_TEXT + 2 * MADE_FUNC_SZ + 0x1f, "/src/main.go", 10);
		has_line(MADE_TEXT + 2 * MADE_FUNC_SZ + 0x20, "/src/main.go", 13);
		has_line(MADE_TEXT + 2 * MADE_FUNC_SZ + 0x30, "", 0); /* inlined */
		has_line(MADE_TEXT - 1, "", 0);
		has_line(MADE_TEXT + MADE_FUNCS * MADE_FUNC_SZ + 7, "", 0);
		gopclntab_image.table.funcs[0].line = sizeof(gopclntab_image.table.values);
		has_line(MADE_TEXT, "", 0);
		gopclntab_image.table.funcs[0].line = 4;
		gopclntab_image.table.funcs[0].unit = 2;
		has_line(MADE_TEXT, "", 0);
		gopclntab_image.table.funcs[0].unit = 0;
		gopclntab_image.table.units[0] = UINT32_MAX;
		has_line(MADE_TEXT, "", 0);
	}
}

static void check_forms(void)
{
	gopclntab_image__make(0xfffffff0);
	check_made("Go 1.18's form");
	gopclntab_image__make(0xfffffff1);
	check_made("Go 1.20's form");
	gopclntab_image__hide();
	check_made("among other data, the code address left to the loader");
	gopclntab_image.relas[1].r_offset++;
	is_made("an unknown code address", -ENOENT);
	gopclntab_image__make(0xfffffff1);
	gopclntab_image__hide();
	gopclntab_image.sections[MADE_BUILDINFO].sh_name = 0;
	is_made("no search in a program without Go", -ENOENT);
}

#define DAMAGED(what, want, ...)                                                                   \
	do {                                                                                       \
		gopclntab_image__make(0xfffffff1);                                                 \
		__VA_ARGS__;                                                                       \
		is_made((what), (want));                                                           \
	} while (0)

static void check_damaged(void)
{
	struct made_table *made = &gopclntab_image.table;

	DAMAGED("an earlier form", -ENOENT, made->magic = 0xfffffffa);
	DAMAGED("pointers of another size", -ENOENT, made->ptr_size = 4);
	DAMAGED("no functions", -ENOENT, made->head[0] = 0);
	DAMAGED("more than there is room for", -ENOENT, made->head[0] = 1000);
	DAMAGED("more than any program has", -ENOENT, made->head[0] = 1ull << 61);
	DAMAGED("an index beyond the section", -ENOENT, made->head[7] = sizeof(*made));
	DAMAGED("one beyond everything", -ENOENT, made->head[7] = ~0ull - 8);
	DAMAGED("names after their end", -ENOENT, made->head[3] = made->head[4]);
	DAMAGED("code where there is none", -ENOENT, made->head[2] = 1ull << 40);
	DAMAGED("code nowhere", -ENOENT, made->head[2] = 0);
	DAMAGED("a function beyond the code", -ENODATA,
		made->index[MADE_FUNCS - 1].addr = made->funcs[MADE_FUNCS - 1].addr = 1 << 20);
	DAMAGED("an end beyond the code", -ENODATA, made->end = 1 << 30);
	DAMAGED("addresses that descend", -ENODATA,
		made->index[1].addr = made->funcs[1].addr = 0x90);
	DAMAGED("a description of another function", -ENODATA, made->funcs[1].addr++);
	DAMAGED("one beyond the table", -ENODATA, made->index[2].func = 1 << 30);
	DAMAGED("one beyond all tables", -ENODATA, made->index[2].func = UINT32_MAX);
	DAMAGED("descriptions out of order", -ENODATA,
		made->index[2].func = made->index[1].func - 8);
	DAMAGED("a name beyond the names", 0, made->funcs[1].name = 1 << 30);
}

static void check_real(void)
{
	if (system("go version >/dev/null 2>&1"))
		return skip(1, "no go here");
	check_form("a program", "", "", "");
	check_form("PIE", "", "-buildmode=pie", "");
	check_form("linked by C's linker", "CGO_ENABLED=1", "", "-linkmode=external");
	check_form("PIE by C's linker", "CGO_ENABLED=1", "-buildmode=pie", "-linkmode=external");
	if (getenv("JANK_GO_MACHINES")) { /* seven seconds each */
		check_form("arm64", "GOARCH=arm64", "", "");
		check_form("386", "GOARCH=386", "", "");
	}
	check_places();
	check_live();
}

int main(void)
{
	scratch__init();
	scratch__write_text("main.go", program);
	check_forms();
	check_made_lines();
	check_damaged();
	check_real();
	return tap__done();
}
