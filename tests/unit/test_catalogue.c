/* SPDX-License-Identifier: GPL-2.0 */
/* The catalogue: built-in rows, and look-ups of the loop of a file and of a wait. */
#include <stdint.h>

#include "catalogue/catalogue.h"
#include "tests/tap.h"
#include "tests/unit/catalogue_fixture.h"

static void test_builtin(void)
{
	struct err err = { 0 };
	struct catalogue *cat;

	if (!is_int(catalogue__open(NULL, 0, &cat, &err), 0, "the built-in rows are valid: %s",
		    err.msg))
		return;
	ok(catalogue__row_cnt(cat) >= 19, "there are %zu", catalogue__row_cnt(cat));
	for (size_t i = 0; i < catalogue__row_cnt(cat); i++) {
		const struct catalogue_row *row = catalogue__row(cat, i);

		ok(*row->about && *row->note && row->is_builtin && row->waits,
		   "[%s] has all it needs", row->id);
		for (unsigned j = 0; j < row->mark_cnt; j++)
			ok(catalogue__mark(cat, row->mark_first + j)->row == row,
			   "[%s] has mark %u", row->id, j);
	}
	ok(fixture__row(cat, "go") && fixture__row(cat, "go")->is_off, "Go is off by default");
	ok(fixture__row(cat, "android-java")->is_untested, "Java's Looper is marked untested");
	ok(fixture__row(cat, "qt") && fixture__row(cat, "qt5"), "a row is found by name and by id");
	ok(!fixture__row(cat, "no-such"), "and others are not");
	catalogue__close(cat);
	catalogue__close(NULL);
}

static const struct {
	const char *path;
	bool is_exe;
	const char *id; /* names of the best row; NULL: none */
	bool has_probes;
} files[] = {
	{ "/usr/lib/x86_64-linux-gnu/libQt5Core.so.5.15.8", false, "qt5", true },
	{ "/usr/lib/x86_64-linux-gnu/libQt6Core.so.6.4.2", false, "qt6", true },
	{ "/data/app/x/base.apk!/lib/arm64-v8a/libuv.so.1", false, "libuv", true },
	{ "/usr/bin/redis-server", true, "redis", true },
	{ "/usr/bin/redis-server", false, NULL, false },
	{ "/usr/bin/nginx", true, "nginx", false },
	{ "/usr/bin/python3.11", true, "python", false },
	{ "libglib-2.0.so.0.7400.6", false, "glib", false },
	{ "/usr/lib/systemd/libsystemd-shared-252.so", false, "sd-event", false },
	{ "/system/framework/arm64/boot-framework.oat", false, "android-java", true },
	{ "/usr/bin/hello", true, "tokio", false },
	{ "/usr/lib/libhello.so", false, NULL, false },
	{ "", false, NULL, false },
};

static void test_files(void)
{
	const struct catalogue_row *rows[8];
	struct catalogue *cat;

	if (catalogue__open(NULL, 0, &cat, NULL))
		return;
	for (size_t i = 0; i < LEN(files); i++) {
		struct catalogue_file file = { .path = files[i].path, .is_exe = files[i].is_exe };
		size_t cnt = catalogue__rows_of_file(cat, &file, rows, LEN(rows));
		bool probes = false;

		is_str(cnt ? rows[0]->id : NULL, files[i].id, "\"%s\" is the row", files[i].path);
		/* Before its ELF is read the file may be Go's, but Go has no probes. */
		probes = catalogue__has_probes(cat, &file);
		is_int(probes, files[i].has_probes, "… and is worth opening");
	}
	ok(catalogue__polls(cat, &(struct catalogue_file){ .path = "/lib/libglib-2.0.so.0" }),
	   "GLib polls");
	ok(!catalogue__polls(cat, &(struct catalogue_file){ .path = "/lib/libuv.so.1.0.0" }),
	   "libuv does not");
	catalogue__close(cat);
}

#define EXE(path, function)                                                                        \
	{                                                                                          \
		{ path, true, NULL }, function                                                     \
	}
#define LIB(path, function)                                                                        \
	{                                                                                          \
		{ path, false, NULL }, function                                                    \
	}

static const struct {
	const char *what;
	uint32_t loop;
	const char *name;
	size_t cnt;
	struct catalogue_frame frames[5];
} waits[] = {
	{ "libuv",
	  JANK_LOOP_EPOLL,
	  "libuv",
	  2,
	  { LIB("/lib/libc.so.6", "epoll_pwait"), LIB("/lib/libuv.so.1.0.0", NULL) } },
	{ "node with a shared libuv",
	  JANK_LOOP_EPOLL,
	  "node",
	  4,
	  { LIB("/lib/libc.so.6", "epoll_pwait"), LIB("/lib/libuv.so.1.0.0", NULL),
	    LIB("/lib/libuv.so.1.0.0", "uv_run"), LIB("/lib/libnode.so.108", NULL) } },
	{ "node with a built-in libuv",
	  JANK_LOOP_EPOLL,
	  "node",
	  2,
	  { LIB("/lib/libc.so.6", "epoll_pwait"), EXE("/usr/bin/node", "uv__io_poll") } },
	{ "a program on libuv",
	  JANK_LOOP_EPOLL,
	  "libuv",
	  3,
	  { LIB("/lib/libc.so.6", NULL), LIB("/lib/libuv.so.1.0.0", NULL),
	    EXE("/usr/bin/neovim", NULL) } },
	{ "Qt on GLib",
	  JANK_LOOP_POLL,
	  "qt",
	  4,
	  { LIB("libc.so.6", "poll"), LIB("libglib-2.0.so.0.7400.6", NULL),
	    LIB("libglib-2.0.so.0.7400.6", "g_main_context_iteration"),
	    LIB("libQt5Core.so.5.15.8", NULL) } },
	{ "Qt by itself",
	  JANK_LOOP_POLL,
	  "qt",
	  2,
	  { LIB("libc.so.6", "ppoll"), LIB("libQt6Core.so.6.4.2", NULL) } },
	{ "GLib",
	  JANK_LOOP_POLL,
	  "glib",
	  3,
	  { LIB("libc.so.6", "poll"), LIB("libglib-2.0.so.0", NULL), EXE("app", "main") } },
	{ "a library without a row, in a program with one",
	  JANK_LOOP_EPOLL,
	  "epoll",
	  3,
	  { LIB("libc.so.6", NULL), LIB("libown.so", NULL), EXE("redis-server", NULL) } },
	{ "a row for another wait",
	  JANK_LOOP_POLL,
	  "poll",
	  2,
	  { LIB("libc.so.6", NULL), EXE("redis-server", NULL) } },
	{ "a caller by its name",
	  JANK_LOOP_EPOLL,
	  "tokio",
	  3,
	  { LIB("libc.so.6", NULL), EXE("app", NULL),
	    EXE("app", "_ZN3mio4poll4Poll4poll17h0123456789abcdefE") } },
	{ "a caller beyond another file",
	  JANK_LOOP_EPOLL,
	  "epoll",
	  3,
	  { EXE("app", NULL), LIB("libown.so", NULL), EXE("app", "_ZN3mio4poll") } },
	{ "another caller", JANK_LOOP_EPOLL, "epoll", 2, { EXE("app", "x"), EXE("app", NULL) } },
	{ "musl and static programs",
	  JANK_LOOP_EPOLL,
	  "nginx",
	  2,
	  { LIB("/lib/ld-musl-x86_64.so.1", NULL), EXE("nginx", NULL) } },
	{ "only the C library", JANK_LOOP_EPOLL, "epoll", 1, { LIB("libc.so.6", NULL) } },
	{ "no frame", JANK_LOOP_ANDROID_LOOPER, "android-looper", 0, { LIB("", NULL) } },
};

static void test_waits(void)
{
	struct catalogue *cat;

	if (catalogue__open(NULL, 0, &cat, NULL))
		return;
	for (size_t i = 0; i < LEN(waits); i++) {
		const struct catalogue_row *row =
			catalogue__row_of_wait(cat, waits[i].loop, waits[i].frames, waits[i].cnt);

		is_str(catalogue__name_of_wait(row, waits[i].loop), waits[i].name, "%s",
		       waits[i].what);
	}
	catalogue__close(cat);
}

#define GLIB   "/lib/libglib-2.0.so.0.7400.6"
#define QT     "/lib/libQt5Core.so.5.15.8"
#define EXEC   "_ZN10QEventLoop4execE6QFlagsINS_17ProcessEventsFlagEE"
#define NOTIFY "_ZN16QCoreApplication15notifyInternal2EP7QObjectP6QEvent"

/* handler: index of its outermost frame; none: the number of frames. */
static const struct {
	const char *what;
	bool may_rest;
	size_t handler, cnt;
	struct catalogue_frame frames[8];
} stacks[] = {
	{ "GLib waits",
	  true,
	  4,
	  4,
	  { LIB("libc.so.6", NULL), LIB(GLIB, NULL), LIB(GLIB, "g_main_loop_run"),
	    EXE("app", NULL) } },
	{ "a handler's own poll",
	  true,
	  2,
	  7,
	  { LIB("libc.so.6", NULL), LIB("libxcb.so.1", NULL), EXE("app", NULL), LIB(GLIB, NULL),
	    LIB(GLIB, "g_main_context_dispatch"), LIB(GLIB, "g_main_loop_run"),
	    EXE("app", NULL) } },
	{ "a handler in a dialog's loop",
	  true,
	  8,
	  8,
	  { LIB("libc.so.6", NULL), LIB(GLIB, NULL), LIB(GLIB, "g_main_loop_run"),
	    LIB("libgtk-3.so.0", NULL), EXE("app", NULL), LIB(GLIB, "g_main_context_dispatch"),
	    LIB(GLIB, "g_main_context_iteration"), EXE("app", NULL) } },
	{ "a program's own function that polls for GLib",
	  true,
	  5,
	  5,
	  { LIB("libc.so.6", NULL), LIB("libxul.so", NULL), LIB(GLIB, NULL),
	    LIB(GLIB, "g_main_context_iteration"), EXE("app", NULL) } },
	{ "a function of the loop without a name that calls a handler",
	  false,
	  1,
	  4,
	  { LIB("libc.so.6", NULL), EXE("app", NULL), LIB(GLIB, NULL),
	    LIB(GLIB, "g_main_loop_run") } },
	{ "Qt on GLib: the whole handler",
	  false,
	  2,
	  8,
	  { LIB("libc.so.6", NULL), EXE("app", NULL), LIB("/lib/libQt5Widgets.so.5", NULL),
	    LIB(QT, NOTIFY), LIB(QT, NULL), LIB(GLIB, "g_main_context_dispatch"),
	    LIB(GLIB, "g_main_context_iteration"), LIB(QT, EXEC) } },
	{ "a tail call from Qt",
	  false,
	  1,
	  4,
	  { LIB("libc.so.6", NULL), LIB(QT, NULL), LIB(QT, NOTIFY), LIB(QT, EXEC) } },
	{ "an event that Qt sends before its loop",
	  false,
	  4,
	  4,
	  { LIB("libc.so.6", NULL), EXE("app", NULL), LIB(QT, NOTIFY), EXE("app", NULL) } },
	{ "no loop", false, 2, 2, { LIB("libc.so.6", NULL), EXE("app", NULL) } },
};

static void test_handlers(void)
{
	const struct catalogue_row *row;
	struct catalogue *cat;

	if (catalogue__open(NULL, 0, &cat, NULL))
		return;
	for (size_t i = 0; i < LEN(stacks); i++) {
		size_t handler = catalogue__handler(cat, stacks[i].frames, stacks[i].cnt,
						    stacks[i].may_rest, &row);

		is_int(handler, stacks[i].handler, "handler: %s", stacks[i].what);
	}
	catalogue__close(cat);
}

static void test_threads(void)
{
	const struct catalogue_row *row;
	struct catalogue *cat;

	if (catalogue__open(NULL, 0, &cat, NULL))
		return;
	row = catalogue__row_of_thread(cat, "AWT-EventQueue-");
	is_str(row ? row->id : NULL, "awt", "Swing's thread, with the name as the kernel cuts it");
	ok(!catalogue__row_of_thread(cat, "AWT-XAWT"), "another one of Swing's is not");
	catalogue__close(cat);
}

int main(void)
{
	test_builtin();
	test_files();
	test_waits();
	test_handlers();
	test_threads();
	return tap__done();
}
