/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The places of marks in ELF files: compiled here, in the form of Android's .oat (symbols only in
 * .gnu_debugdata), damaged, and the real libraries that are installed.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"
#include "uprobes/sites.h"

static bool sh(const char *command)
{
	return !system(command);
}

/* The same three functions in each: exported, static, and with a name like ART's. */
static const char source[] =
	"int own_shown(void *a, void *b) { return a > b; }\n"
	"__attribute__((noinline, used)) static int own_hidden(int *a) { return *a + 1; }\n"
	"__attribute__((noinline, used)) static int message(void *m, void *h, int *s)\n"
	"	__asm__(\"android.os.Handler.dispatchMessage\");\n"
	"__attribute__((noinline, used)) static int message(void *m, void *h, int *s)\n"
	"{ return *s; }\n";

static const char loop_file[] = "[own]\n"
				"library = libown*.so broken*\n"
				"wait = epoll\n"
				"wait = symbol own_shown\n"
				"mark = own_shown\n"
				"\twhat = arg1\n"
				"mark = own_hidden\n"
				"\tfd = s32 *arg0\n"
				"mark = own_absent\n"
				"mark = offset 0x10\n"
				"[own-again]\n"
				"library = libown.so\n"
				"wait = symbol own_hidden\n"
				"mark = own_shown\n";

static bool build(void)
{
	scratch__write_text("own.c", source);
	scratch__write_text("own.loop", loop_file);
	return sh("cd $D && cc -O1 -shared -fPIC -o libown.so own.c && strip -o libown-bare.so "
		  "libown.so && objcopy --only-keep-debug libown.so mini && xz -k mini && objcopy "
		  "--add-section .gnu_debugdata=mini.xz libown-bare.so boot-framework.oat && "
		  "head -c 300 mini.xz > cut.xz && objcopy --add-section .gnu_debugdata=cut.xz "
		  "libown-bare.so libown-cut.so");
}

struct loops_report {
	struct mark_site *sites;
	size_t cnt;
	int err;
};

static struct loops_report find(const struct catalogue *cat, const char *name, bool is_exe)
{
	struct catalogue_file file = { .path = name, .is_exe = is_exe };
	struct loops_report found = { 0 };
	struct elffunc elf;
	const char *path = *name == '/' ? name : scratch__path(name);

	found.err = elffunc__open(open(path, O_RDONLY | O_CLOEXEC), &elf);
	if (found.err)
		return found;
	file.elf = &elf;
	found.err = mark_sites__find(cat, &file, &found.sites, &found.cnt);
	elffunc__close(&elf);
	return found;
}

/*
 * What nm says of a function's place. Code is at its link address in a library's file, or close to
 * it.
 */
static unsigned long linked_at(const char *library, const char *symbol)
{
	unsigned long at = 0;
	char command[256];
	FILE *nm;

	snprintf(command, sizeof(command), "nm $D/%s | sed -n 's/ . %s$//p'", library, symbol);
	nm = popen(command, "r");
	if (!nm || fscanf(nm, "%lx", &at) != 1)
		diag("nm does not know %s", symbol);
	if (nm)
		pclose(nm);
	return at;
}

static void is_absent(const struct mark_site *site, enum mark_absence absence, const char *what)
{
	is_str(mark_absence__text(site->absence), mark_absence__text(absence), "%s", what);
}

static void is_at(const struct mark_site *site, const char *symbol, const char *what)
{
	unsigned long at = linked_at("libown.so", symbol);

	ok(site->absence == MARK_THERE && site->file_offset >= at && site->file_offset < at + 64,
	   "%s: 0x%llx, linked at 0x%lx", what, (unsigned long long)site->file_offset, at);
}

static void test_own(const struct catalogue *cat)
{
	struct loops_report found = find(cat, "libown.so", false);

	if (is_int(found.err, 0, "a library") && is_uint(found.cnt, 7, "its sites")) {
		ok(found.sites[0].mark == MARK_SITE_WAIT, "the wait comes first");
		is_at(&found.sites[0], "own_shown", "an exported function");
		is_at(&found.sites[1], "own_shown", "as a mark, too");
		is_at(&found.sites[2], "own_hidden", "a static one");
		is_absent(&found.sites[3], MARK_NO_SYMBOL, "a missing one");
		is_absent(&found.sites[4], MARK_NO_CODE, "an address without code");
		is_at(&found.sites[5], "own_hidden", "another row's wait at a mark's place");
		is_absent(&found.sites[6], MARK_TAKEN, "another row's mark at a mark's place");
		is_uint(found.sites[2].mark, 1, "marks are counted over all rows");
	}
	free(found.sites);
	found = find(cat, "libown-bare.so", false);
	if (is_uint(found.cnt, 5, "a stripped library")) {
		is_at(&found.sites[1], "own_shown", "what is exported");
		is_absent(&found.sites[2], MARK_NO_SYMBOL, "what was static");
	}
	free(found.sites);
	found = find(cat, "libown-cut.so", false);
	is_int(found.err, 0, "a broken .gnu_debugdata");
	if (is_uint(found.cnt, 5, "… does not hide"))
		is_at(&found.sites[1], "own_shown", "… what is exported");
	free(found.sites);
}

static void test_oat(const struct catalogue *cat)
{
	struct loops_report found = find(cat, "boot-framework.oat", false);

	if (is_uint(found.cnt, 1, "an .oat's mark")) {
		const struct catalogue_mark *mark = catalogue__mark(cat, found.sites[0].mark);

		is_str(mark->symbol, "android.os.Handler.dispatchMessage", "Java's");
		is_at(&found.sites[0], mark->symbol, "by .gnu_debugdata");
	}
	free(found.sites);
}

/* Damages every 16 bytes of the headers in turn. */
static void test_damage(const struct catalogue *cat)
{
	struct strbuf bytes = STRBUF_INIT;
	size_t tried = 0;

	if (file__read(scratch__path("boot-framework.oat"), 1 << 20, &bytes))
		abort();
	for (size_t at = 0; at + 16 < bytes.len; at += at < 1024 ? 16 : 256, tried++) {
		memset(bytes.data + at, 0xff, 7);
		scratch__write("broken", bytes.data, bytes.len - at % 3 * 500);
		free(find(cat, "broken", false).sites);
	}
	ok(tried > 50, "damaged files: %zu", tried);
	strbuf__free(&bytes);
}

static const struct {
	const char *glob;
	bool is_exe;
	unsigned there; /* at least this many marks */
} real[] = {
	{ "/usr/lib/*/libQt5Core.so.5.*.*", false, 1 },
	{ "/usr/lib/*/libQt6Core.so.6.*.*", false, 1 },
	{ "/usr/bin/redis-server", true, 6 },
	{ "/usr/lib/*/libuv.so.1.0.0", false, 0 },
};

/* A mark must be cheap: in real libraries none may need an instruction that is single-stepped. */
static void test_real(const struct catalogue *cat)
{
	for (size_t i = 0; i < sizeof(real) / sizeof(*real); i++) {
		unsigned there = 0, dear = 0;
		struct loops_report found;
		glob_t paths;

		if (glob(real[i].glob, 0, NULL, &paths) || !paths.gl_pathc) {
			skip(2, "%s is not installed", real[i].glob);
			continue;
		}
		found = find(cat, paths.gl_pathv[0], real[i].is_exe);
		for (size_t j = 0; j < found.cnt; j++) {
			there += found.sites[j].absence == MARK_THERE;
			dear += found.sites[j].absence == MARK_THERE &&
				found.sites[j].cost == SITE_STEPPED;
		}
		ok(found.cnt && there >= real[i].there, "%s: %u of %zu marks", paths.gl_pathv[0],
		   there, found.cnt);
		is_uint(dear, 0, "none of them is expensive");
		free(found.sites);
		globfree(&paths);
	}
}

int main(void)
{
	struct catalogue *cat;
	const char *path;
	struct err err = { 0 };

	scratch__init();
	if (!build())
		skip_all("cc, objcopy or xz is missing");
	path = scratch__path("own.loop");
	if (!is_int(catalogue__open(&path, 1, &cat, &err), 0, "%s", err.msg))
		return tap__done();
	test_own(cat);
	test_oat(cat);
	test_damage(cat);
	test_real(cat);
	catalogue__close(cat);
	return tap__done();
}
