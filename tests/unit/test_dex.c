/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DEX files (user/symbol/languages/dex.c): those of tests/unit/dex_image.h, and what Debian's smali
 * assembles for several versions, compared with Debian's dexdump. DEX_CORPUS names a directory with
 * more: of each file in it, dexdump must tell the same (make check-dex).
 */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/dex_image.h"
#include "tests/unit/scratch.h"

static struct dex_bytes bytes;

static void use_memory(struct dex_memory *memory)
{
	bytes = (struct dex_bytes){ .read = dex_memory__read, .ctx = memory };
}

/* "a.b.C.method File.java:12", of the instruction at a position. "": none. */
static const char *describe(const struct dex *dex, uint64_t at)
{
	static char ret[DEX_NAME_MAX + DEX_FILE_MAX + 32];
	char name[DEX_NAME_MAX], file[DEX_FILE_MAX];
	struct dex_method m;

	if (!dex__find(dex, &bytes, at, &m) || !dex_method__name(dex, &bytes, &m, name))
		return "";
	dex_method__file(dex, &bytes, &m, file);
	snprintf(ret, sizeof(ret), "%s%s %s:%u", m.shared ? "?" : "", name, file,
		 dex_method__line(dex, &bytes, &m));
	return ret;
}

static void check_first(const struct dex *dex, const uint32_t *insns, const char *kind)
{
	is_str(describe(dex, insns[0]), "com.example.Main.<init> Main.java:10", "%s: first", kind);
	is_str(describe(dex, insns[0] + 7), "com.example.Main.<init> Main.java:12",
	       "%s: its last byte", kind);
	is_str(describe(dex, insns[0] + 8), "", "%s: behind it", kind);
	is_str(describe(dex, insns[0] - 2), "", "%s: before it", kind);
	is_str(describe(dex, insns[2]), "com.example.Main.run Main.java:20", "%s: virtual", kind);
	is_str(describe(dex, insns[2] + 2 * 5), "com.example.Main.run Main.java:22",
	       "%s: between two entries", kind);
	is_str(describe(dex, insns[2] + 2 * 39), "com.example.Main.run Main.java:46",
	       "%s: the last entry", kind);
	is_str(describe(dex, insns[3] + 2), "com.example.Main.run Main.java:300", "%s: overload",
	       kind);
	is_str(describe(dex, insns[4] + 2), "?a.b.a :0", "%s: shared, without file and lines",
	       kind);
	is_str(describe(dex, insns[6] + 2 * 2099), "a.b.large :2398", "%s: a large method", kind);
	is_str(describe(dex, insns[7]), "com.example.Main$1.onClick Main.java:70",
	       "%s: an inner class", kind);
}

static void check_image(enum dex_image_kind kind, const char *what)
{
	static struct dex_image im;
	struct dex_memory memory = { im.bytes, sizeof(im.bytes) };
	struct dex dex, second;

	dex_image__make_two(&im, kind);
	memory.len = im.len;
	use_memory(&memory);
	if (!ok(!dex__open(&dex, &bytes, 0) && !dex__index(&dex, &bytes), "%s: open", what))
		return;
	is_uint(dex.run_cnt, 4, "%s: runs: Main, shared code, the rest of b and of Main$1", what);
	check_first(&dex, im.insns[0], what);
	if (kind == DEX_IMAGE_041)
		is_uint(dex.next, im.begin[1], "%s: another file follows", what);
	if (kind != DEX_IMAGE_035) {
		ok(!dex__open(&second, &bytes, im.begin[1]) && !dex__index(&second, &bytes),
		   "%s: open the second file", what);
		is_str(describe(&second, im.insns[1][0] + 4), "com.example.Other.get Other.kt:5",
		       "%s: in the second", what);
		is_str(describe(&second, im.insns[0][0]), "", "%s: of the first", what);
		is_uint(second.next, 0, "%s: none follows", what);
		dex__free(&second);
	}
	dex__free(&dex);
}

static void check_refused(void)
{
	static struct dex_image im;
	struct dex_memory memory = { im.bytes, sizeof(im.bytes) };
	static const struct {
		const char *what;
		uint32_t at, value;
		unsigned size;
	} cases[] = {
		{ "magic", 0, 'x', 1 },
		{ "version 036", 6, '6', 1 },
		{ "version 042", 5, '4' | '2' << 8, 2 },
		{ "byte order", 40, 0x78563412, 4 },
		{ "size", 32, 0x6f, 4 },
		{ "too many strings", 56, 1 << 20, 4 },
		{ "types outside", 68, 1 << 30, 4 },
		{ "methods outside", 92, UINT32_MAX, 4 },
		{ "too many classes", 96, 65537, 4 },
	};
	struct dex dex;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		dex_image__make_two(&im, DEX_IMAGE_035);
		di__put(&im, cases[i].at, cases[i].value, cases[i].size);
		use_memory(&memory);
		ok(dex__open(&dex, &bytes, 0) < 0, "refused: %s", cases[i].what);
	}
	memory.len = 0x60;
	dex_image__make_two(&im, DEX_IMAGE_035);
	use_memory(&memory);
	ok(dex__open(&dex, &bytes, 0) < 0, "refused: a cut header");
	ok(dex__open(&dex, &bytes, UINT64_MAX - 3) < 0, "refused: a position at the end");
}

/* --- against dexdump */

static int64_t read_image(void *ctx, uint64_t at, void *buf, size_t len)
{
	const struct image *img = ctx;

	if (at >= img->size)
		return -1;
	if (len > img->size - at)
		len = img->size - at;
	return image__read(img, at, buf, len) ? -1 : (int64_t)len;
}

/* What dexdump says of a method: its first instruction, name, number of units, lines. */
struct truth {
	uint32_t at, units;
	char name[DEX_NAME_MAX];
	uint32_t positions[4096][2];
	size_t position_cnt;
};

struct comparison {
	struct dex dex;
	struct truth truth;
	uint64_t methods, equal, lines, equal_lines, shared;
};

static void compare_lines(struct comparison *c)
{
	struct truth *t = &c->truth;
	struct dex_method m;

	for (size_t i = 0; i < t->position_cnt; i++) {
		size_t last = i;
		bool known;

		/* of entries at one unit, the last counts */
		while (last + 1 < t->position_cnt &&
		       t->positions[last + 1][0] == t->positions[i][0])
			last++;
		known = dex__find(&c->dex, &bytes, t->at + 2 * t->positions[i][0], &m);
		if (!known)
			continue;
		c->lines++;
		c->equal_lines += dex_method__line(&c->dex, &bytes, &m) == t->positions[last][1];
		i = last;
	}
}

static void compare(struct comparison *c)
{
	struct truth *t = &c->truth;
	char name[DEX_NAME_MAX];
	struct dex_method m;
	bool same;

	if (!t->name[0])
		return;
	c->methods++;
	same = dex__find(&c->dex, &bytes, t->at, &m) && !m.unit && m.unit_cnt == t->units &&
	       dex_method__name(&c->dex, &bytes, &m, name) && (m.shared || !strcmp(name, t->name));
	if (same) {
		c->shared += m.shared;
		same = dex__find(&c->dex, &bytes, t->at + 2 * t->units - 1, &m) &&
		       m.unit + 1 == t->units;
	}
	if (!same && c->methods - c->equal < 4)
		diag("%s at 0x%x", t->name, t->at);
	c->equal += same;
	if (same && !m.shared)
		compare_lines(c);
	t->name[0] = '\0';
	t->position_cnt = 0;
}

/* "000118:   |[000118] com.example.A.run:(I)I": the offset of the code, in the data. */
static void take_line(struct comparison *c, char *line)
{
	struct truth *t = &c->truth;
	unsigned unit, number, code;
	char *name = line, *end;

	if (sscanf(line, " insns size : %u", &number) == 1) {
		compare(c);
		t->units = number;
	} else if (sscanf(line, "%x: |[%x] %n", &unit, &code, &number) == 2 &&
		   (end = strstr(line, ":("))) {
		name += number;
		t->at = c->dex.data + code + (c->dex.compact ? 4 : 16);
		snprintf(t->name, sizeof(t->name), "%.*s", (int)(end - name), name);
	} else if (sscanf(line, " 0x%x line=%u", &unit, &number) == 2 && t->position_cnt < 4096) {
		t->positions[t->position_cnt][0] = unit;
		t->positions[t->position_cnt++][1] = number;
	}
}

/* Compares a DEX file with what dexdump says. */
static void compare_file(const char *path, const char *what)
{
	static struct comparison c;
	static char line[16384], command[PATH_MAX + 64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct image img;
	FILE *dump;

	c = (struct comparison){};
	if (fd < 0 || image__of_fd(&img, fd)) {
		ok(false, "%s: open", what);
		return;
	}
	bytes = (struct dex_bytes){ .read = read_image, .ctx = &img };
	ok(!dex__open(&c.dex, &bytes, 0) && !dex__index(&c.dex, &bytes), "%s: is a DEX file", what);
	snprintf(command, sizeof(command), "dexdump -d '%s' 2>/dev/null", path);
	dump = popen(command, "r");
	while (dump && fgets(line, sizeof(line), dump))
		take_line(&c, line);
	if (dump)
		pclose(dump);
	compare(&c);
	ok(c.methods && c.equal == c.methods,
	   "%s: %llu of %llu methods as dexdump says, %llu share code, %zu runs", what,
	   (unsigned long long)c.equal, (unsigned long long)c.methods, (unsigned long long)c.shared,
	   c.dex.run_cnt);
	ok(c.equal_lines == c.lines, "%s: %llu of %llu lines", what,
	   (unsigned long long)c.equal_lines, (unsigned long long)c.lines);
	dex__free(&c.dex);
	close(fd);
}

#define METHOD_CNT 300

/* Classes of several sizes; two units and a line for each statement. */
static void write_smali(void)
{
	for (unsigned class = 0; class < 12; class ++) {
		char name[64];
		FILE *file;

		snprintf(name, sizeof(name), "C%u.smali", class);
		file = fopen(scratch__path(name), "w");
		if (!file)
			return;
		fprintf(file, ".class public Lcom/example/p%u/C%u;\n.super Ljava/lang/Object;\n",
			class % 3, class);
		if (class % 4)
			fprintf(file, ".source \"C%u.java\"\n", class);
		for (unsigned i = 0; i < class; i++)
			fprintf(file, ".field public f%u:I\n.field public static s%u:J\n", i, i);
		for (unsigned m = 0; m < METHOD_CNT / 12; m++) {
			fprintf(file, ".method public %s m%u(I%.*s)I\n.registers 16\n",
				m % 2 ? "static" : "", m / 2, m % 5, "JJJJJ");
			for (unsigned i = 0; i < m * class; i++)
				fprintf(file, "%s.line %u\nconst v0, %u\n",
					i % 7 ? "" : ".local v0, \"x\":I\n",
					100 * m + (i * 37) % 90 + 1, 70000 + i);
			fprintf(file, "const/4 v0, 1\nreturn v0\n.end method\n");
		}
		fclose(file);
	}
}

static void check_assembled(void)
{
	static const int levels[] = { 20, 24, 26, 28 }; /* 035, 037, 038, 039 */

	write_smali();
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		char command[256], what[32];

		snprintf(what, sizeof(what), "smali, API %d", levels[i]);
		snprintf(
			command, sizeof(command),
			"cd $D && rm -f out.dex && smali assemble -a %d -o out.dex C*.smali >smali.log 2>&1 && [ -s out.dex ]",
			levels[i]);
		if (!ok(!system(command), "%s: assembled", what))
			continue;
		compare_file(scratch__path("out.dex"), what);
	}
}

static bool ends_with(const char *name, const char *end)
{
	return strlen(name) > strlen(end) && !strcmp(name + strlen(name) - strlen(end), end);
}

/* What follows the header of a vdex file: its first DEX file, if it has any. */
static void check_vdex(const char *path, const char *name)
{
	static uint8_t content[32 << 20];
	FILE *file = fopen(path, "r");
	size_t len = file ? fread(content, 1, sizeof(content), file) : 0;
	size_t at = 0;

	if (file)
		fclose(file);
	while (at + 8 < len && memcmp(content + at, "dex\n03", 6) &&
	       memcmp(content + at, "cdex001", 8))
		at += 4;
	if (at + 8 < len)
		compare_file(scratch__write("vdex.dex", content + at, len - at), name);
}

/* Extracts each classes*.dex of an archive, or takes a DEX file as it is. */
static void check_corpus_file(const char *dir, const char *name)
{
	char path[PATH_MAX], command[2 * PATH_MAX + 128], what[256];
	static const char unzip[] = "rm -rf $D/x && mkdir $D/x && "
				    "unzip -q -o '%s' 'classes*.dex' -d $D/x 2>/dev/null";
	struct dirent **entries;
	int cnt;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (ends_with(name, ".dex")) {
		compare_file(path, name);
		return;
	}
	if (ends_with(name, ".vdex")) {
		check_vdex(path, name);
		return;
	}
	snprintf(command, sizeof(command), unzip, path);
	if (system(command))
		return;
	cnt = scandir(scratch__path("x"), &entries, NULL, alphasort);
	for (int i = 0; i < cnt; i++) {
		if (entries[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/x/%s", scratch_dir, entries[i]->d_name);
			snprintf(what, sizeof(what), "%.120s!/%.80s", name, entries[i]->d_name);
			compare_file(path, what);
		}
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
}

static void check_corpus(const char *dir)
{
	struct dirent **entries;
	int cnt = scandir(dir, &entries, NULL, alphasort);

	ok(cnt > 2, "%s has files", dir);
	for (int i = 0; i < cnt; i++) {
		if (entries[i]->d_name[0] != '.')
			check_corpus_file(dir, entries[i]->d_name);
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
}

int main(void)
{
	const char *corpus = getenv("DEX_CORPUS");

	scratch__init();
	check_image(DEX_IMAGE_035, "035");
	check_image(DEX_IMAGE_COMPACT, "CompactDex");
	check_image(DEX_IMAGE_041, "041");
	check_refused();
	if (system("command -v dexdump smali >/dev/null"))
		skip(1, "no dexdump or smali here: packages dexdump, libsmali-java");
	else
		check_assembled();
	if (corpus && *corpus)
		check_corpus(corpus);
	return tap__done();
}
