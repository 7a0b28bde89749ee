/* SPDX-License-Identifier: GPL-2.0 */
/* The catalogue: rows built in, rows of a user's file, what is refused and how that is said, look-ups. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/catalogue.h"
#include "kernel/catalogue_data.h"
#include "tests/tap.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* Opens the catalogue with one file of that text. */
static int open_text_len(const char *text, size_t len, struct catalogue **ret, struct err *err)
{
	char path[] = "/tmp/jank-loop-XXXXXX";
	const char *files[] = { path };
	int fd = mkstemp(path), code;

	*err = (struct err){ 0 };
	if (fd < 0 || file__write_all(fd, text, len))
		abort();
	close(fd);
	code = catalogue__open(files, 1, ret, err);
	unlink(path);
	return code;
}

static int open_text(const char *text, struct catalogue **ret, struct err *err)
{
	return open_text_len(text, strlen(text), ret, err);
}

static const struct catalogue_row *row_named(const struct catalogue *cat, const char *name)
{
	size_t at = 0;

	return catalogue__named(cat, name, &at);
}

static void test_builtin(void)
{
	struct err err = { 0 };
	struct catalogue *cat;

	if (!is_int(catalogue__open(NULL, 0, &cat, &err), 0, "the built-in rows are right: %s",
		    err.msg))
		return;
	ok(catalogue__row_cnt(cat) >= 19, "there are %zu", catalogue__row_cnt(cat));
	for (size_t i = 0; i < catalogue__row_cnt(cat); i++) {
		const struct catalogue_row *row = catalogue__row(cat, i);

		ok(*row->about && *row->note && row->is_builtin && row->waits, "[%s] says enough",
		   row->id);
		for (unsigned j = 0; j < row->mark_cnt; j++)
			ok(catalogue__mark(cat, row->mark_first + j)->row == row,
			   "[%s] has mark %u", row->id, j);
	}
	ok(row_named(cat, "go") && row_named(cat, "go")->is_off, "Go is off by default");
	ok(row_named(cat, "android-java")->is_untested, "Java's Looper is said to be untested");
	ok(row_named(cat, "qt") && row_named(cat, "qt5"), "a row is found by name and by id");
	ok(!row_named(cat, "no-such"), "and others are not");
	catalogue__close(cat);
	catalogue__close(NULL);
}

static const struct {
	const char *path;
	bool is_exe;
	const char *id; /* of the best row; NULL: none */
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
		struct catalogue_file file = { files[i].path, files[i].is_exe, NULL };
		size_t cnt = catalogue__rows_of_file(cat, &file, rows, LEN(rows));
		bool probes = false;

		is_str(cnt ? rows[0]->id : NULL, files[i].id, "\"%s\" is of", files[i].path);
		/* Without its ELF the file may be Go's, but Go has no probes. */
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
	{ "node over libuv",
	  JANK_LOOP_EPOLL,
	  "node",
	  4,
	  { LIB("/lib/libc.so.6", "epoll_pwait"), LIB("/lib/libuv.so.1.0.0", NULL),
	    LIB("/lib/libuv.so.1.0.0", "uv_run"), LIB("/lib/libnode.so.108", NULL) } },
	{ "a node with libuv in it",
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
	{ "a row of another wait",
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
	{ "not that caller", JANK_LOOP_EPOLL, "epoll", 2, { EXE("app", "x"), EXE("app", NULL) } },
	{ "musl and static programs",
	  JANK_LOOP_EPOLL,
	  "nginx",
	  2,
	  { LIB("/lib/ld-musl-x86_64.so.1", NULL), EXE("nginx", NULL) } },
	{ "nothing but the C library", JANK_LOOP_EPOLL, "epoll", 1, { LIB("libc.so.6", NULL) } },
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

#define ROW "[a]\nlibrary = x\nwait = epoll\n"

static const struct {
	const char *text, *fault;
} faults[] = {
	{ "x = 1\n", ":1: a [SECTION], not indented, must come first" },
	{ "[a]\n", ":1: a section without any key" },
	{ "[a]\n[b]\nwait = epoll\n", ":1: a section without any key" },
	{ "[a\nwait = epoll\n", ":1: a [SECTION] without its ]" },
	{ "[A b]\nwait = epoll\n", ":1: a section is [enum NAME], or [NAME]" },
	{ ROW "\n[a]\nwait = poll\n", ":5: the section stands here twice" },
	{ ROW "[b]\nwait = poll\nlibrary = y\n" ROW, ":7: the section stands here twice" },
	{ "[a]\nwait = epoll\n", ":1: the row lacks library" },
	{ "[a]\nlibrary = x\n", ":1: the row lacks wait" },
	{ "[a]\nwait = kqueue\n", ":2: \"kqueue\": should be epoll, poll, android-looper" },
	{ "[a]\nwait = custom\n", ":2: \"custom\": should be" },
	{ "[a]\nwait = offset zz\n", ":2: \"zz\": should be an address as nm" },
	{ "[a]\nwait = offset 0\n", ":2: \"0\": should be an address" },
	{ "[a]\nwait = symbol a b\n", ":2: \"a b\": should be one symbol" },
	{ "[a]\nwait = symbol a\n\tsymbol b\n", ":3: \"symbol b\": should be given once" },
	{ "[a]\nlibrary = /usr/lib/x.so\n", ":2: \"/usr/lib/x.so\": should be the name of a file" },
	{ "[a]\nlibrary = exe:\n", ":2: \"\": should be the name of a file" },
	{ ROW "colour = red\n", ":4: not a key of a row: name, about" },
	{ ROW "just words\n", ":4: neither [SECTION] nor KEY = VALUE" },
	{ "[a]\n\tindented\n", ":2: " },
	{ ROW "name = A\n", ":4: \"A\": should be one name of at most 31" },
	{ ROW "traced = maybe\n", ":4: \"maybe\": should be yes or no" },
	{ ROW "over = b\n", ":1: over = b: there is no other row [b]" },
	{ ROW "over = a\n", ":1: over = a: there is no other row [a]" },
	{ ROW "about = x\nabout = y\n", ":5: \"y\": should be on an indented line" },
	{ ROW "mark = f g\n", ":4: \"f g\": should be one symbol" },
	{ ROW "mark = f\n\tcolour = arg0\n", ":5: \"colour\": should be what, handler" },
	{ ROW "mark = f\n\twhat\n", ":5: \"what\": should be FIELD = " },
	{ ROW "mark = f\n\twhat = arg0\n\twhat = arg1\n", ":6: \"what\": should be given once" },
	{ ROW "mark = f\n\twhat = text(arg0)\n\tsource = text(arg1)\n",
	  ":6: \"source\": should be no text" },
	{ ROW "mark = f\n\tqueued = arg0\n", ":5: \"queued\": should be queued = clock_ms" },
	{ ROW "mark = f\n\twhat = clock_ms(arg0)\n", ":5: \"what\": should be queued =" },
	{ ROW "mark = f\n\tfd = symbol(arg0)\n", ":5: \"fd\": should be fd = a number" },
	{ ROW "mark = f\n\twhat = arg0\n\tfd = arg1\n\thandler = arg2\n\tcheck = arg0 == arg1\n",
	  ":8: \"check = arg0 == arg1\": should be left out: a mark reads at most 4" },
	{ ROW "mark = f\n\twhat = enum(x, arg0)\n", "should be the name of an [enum NAME] above" },
	{ "[enum e]\nx = y\n", ":2: an enum's line is NUMBER = NAME" },
	{ "[enum e]\n1 = a\n\tb\n", ":3: an enum's line is NUMBER = NAME" },
	{ "[enum]\n1 = a\n", ":2: not a key" },
	{ "[enum E]\n1 = a\n", ":1: an [enum NAME] has a name of" },
	{ "[enum e]\n1 = a\n[enum e]\n2 = b\n", ":3: the section stands here twice" },
};

/* Which file it was is a random name; its line stands behind it. */
static void test_faults(void)
{
	for (size_t i = 0; i < LEN(faults); i++) {
		struct catalogue *cat = NULL;
		struct err err;
		int code = open_text(faults[i].text, &cat, &err);

		ok(code < 0 && err.exit == JANK_EXIT_USAGE, "refused: %s", faults[i].text);
		has_str(err.msg, faults[i].fault, "… and said why");
	}
}

static void test_bytes(void)
{
	char text[4096] = ROW "about = ";
	struct catalogue *cat;
	struct err err;

	memset(text + strlen(text), 'x', 300);
	ok(open_text(text, &cat, &err) < 0, "a line of 300 bytes is refused");
	has_str(err.msg, ":4: the line is too long", "… and said why");
	ok(open_text_len("[a]\nx\0y = 1\n", 12, &cat, &err) < 0, "so is a zero byte");
	has_str(err.msg, ":2: a zero byte", "… and said why");
	is_int(open_text("\xef\xbb\xbf" ROW, &cat, &err), 0, "a byte-order mark is none of both");
	catalogue__close(cat);
	is_int(open_text("[a]\r\nlibrary = x\r\nwait = epoll\r\n", &cat, &err), 0, "nor are CRs");
	catalogue__close(cat);
	is_int(open_text("", &cat, &err), 0, "an empty file adds nothing");
	catalogue__close(cat);
	ok(catalogue__open((const char *[]){ "/no/such.loop" }, 1, &cat, &err) < 0 &&
		   strstr(err.msg, "--loop-file /no/such.loop: No such file"),
	   "a file that isn't there: %s", err.msg);
	ok(catalogue__open((const char *[]){ "/dev/zero" }, 1, &cat, &err) < 0 &&
		   strstr(err.msg, "longer than 256 KiB"),
	   "a file without end: %s", err.msg);
}

static const char whole[] = "; a comment\n"
			    "[enum verb]\n"
			    "7 = stop ; why not\n"
			    "-1 = fail\n"
			    "0x10 = go\n"
			    "[own]\n"
			    "name = engine\n"
			    "about = one line\n"
			    "\tand another\n"
			    "library = libown.so.* exe:own\n"
			    "\tlibother.so\n"
			    "wait = poll\n"
			    "wait = symbol own_wait\n"
			    "caller = own_* their_poll\n"
			    "traced = yes\n"
			    "mark = own_handle\n"
			    "\t# the message\n"
			    "\twhat = enum(verb, s16 *(arg1 + 8))\n"
			    "\tcallback = symbol(*(arg0 + 0x18))\n"
			    "\tsource = text(*(*arg0 - 4) + 2)\n"
			    "\tfd = s32 arg2\n"
			    "mark = offset 0x1F40\n"
			    "\tqueued = clock_us(u64 *arg4)\n"
			    "\tcheck = u32 *(*(*(*(arg0+1)+2)+3)+4) == u32 arg1\n"
			    "[redis]\n"
			    "library = exe:redis-server\n"
			    "wait = epoll\n";

static void check_row(const struct catalogue *cat, const struct catalogue_row *row)
{
	is_str(row->name, "engine", "a row's name");
	is_str(row->about, "one line and another", "text over lines");
	is_uint(row->library_cnt, 3, "libraries");
	ok(!row->libraries[0].is_exe && row->libraries[1].is_exe && !row->libraries[2].is_exe,
	   "of which one is a program");
	is_str(row->libraries[1].glob, "own", "… with this name");
	is_uint(row->caller_cnt, 2, "callers");
	is_uint(row->waits, 1u << JANK_LOOP_POLL | 1u << JANK_LOOP_CUSTOM, "waits");
	is_str(row->wait_symbol, "own_wait", "a wait of its own");
	is_uint(row->mark_cnt, 2, "marks");
	ok(!row->is_builtin && !row->is_off && !row->is_untested, "nothing else is said");
	is_uint(catalogue__mark(cat, 1)->address, 0x1f40, "an address");
}

static void check_spec(const struct jank_mark_field *spec, unsigned reg, unsigned size,
		       unsigned derefs, int32_t first, int32_t last, const char *what)
{
	ok(spec->reg == reg && spec->size == size && spec->deref_cnt == derefs &&
		   spec->offset[0] == first && spec->offset[derefs] == last,
	   "%s: arg%u size %u derefs %u offsets %d … %d", what, spec->reg, spec->size,
	   spec->deref_cnt, spec->offset[0], spec->offset[spec->deref_cnt]);
}

static void check_fields(const struct catalogue_mark *mark, const struct catalogue_mark *second)
{
	const struct jank_mark_field *spec = mark->spec.fields;

	check_spec(&spec[0], 1, 2, 0, 8, 8, "a number behind a pointer");
	check_spec(&spec[1], 0, 8, 0, 24, 24, "a pointer");
	check_spec(&spec[2], 0, JANK_MARK_TEXT, 2, 0, 2, "a text");
	is_int(spec[2].offset[1], -4, "… by way of");
	check_spec(&spec[3], 2, 0, 0, 0, 0, "an argument itself");
	check_spec(&second->spec.fields[0], 4, 8, 0, 0, 0, "a clock");
	check_spec(&second->spec.fields[1], 0, 4, 3, 1, 4, "four reads");
	is_int(mark->fields[0].role, ROLE_WHAT, "roles in the file's order");
	is_int(mark->fields[2].view, VIEW_TEXT, "and views");
	is_uint(second->fields[0].unit_ns, 1000, "a unit of time");
}

static void check_values(const struct catalogue_mark *mark, const struct catalogue_mark *second)
{
	uint64_t same[JANK_MARK_FIELD_MAX] = { 0, 0xf00000007, 7 },
		 other[JANK_MARK_FIELD_MAX] = { 0, 7, 8 };

	is_str(catalogue_field__enum_name(&mark->fields[0], 7), "stop", "a name");
	is_str(catalogue_field__enum_name(&mark->fields[0], 0x5ffff), "fail", "a negative one's");
	is_str(catalogue_field__enum_name(&mark->fields[0], 16), "go", "a hexadecimal one's");
	is_str(catalogue_field__enum_name(&mark->fields[0], 8), NULL, "none");
	is_str(catalogue_field__enum_name(&mark->fields[3], 7), NULL, "not of a plain number");
	is_int(catalogue_field__number(&mark->fields[3], 0x7ffffffff), -1, "32 bits with a sign");
	is_int(catalogue_field__number(&second->fields[1], 0x7ffffffff), UINT32_MAX, "without");
	ok(catalogue_mark__holds(second, 7, same), "the same 32 bits: it holds");
	ok(!catalogue_mark__holds(second, 7, other), "other values: it does not");
	ok(!catalogue_mark__holds(second, 5, same), "nor when one was not read");
	ok(catalogue_mark__holds(mark, 0, same), "a mark without check always does");
}

static const struct {
	const char *what;
	uint16_t utf16[JANK_MESSAGE_TEXT_SZ / 2];
	const char *utf8;
} texts[] = {
	{ "plain", { 'j', 'a', 'n', 'k' }, "jank" },
	{ "two, three and four bytes", { 0xe4, 0x20ac, 0xd83d, 0xde00 }, "ä€😀" },
	{ "half a pair",
	  { 'a', 0xdc00, 0xd800, 'b' },
	  "a\xef\xbf\xbd\xef\xbf\xbd"
	  "b" },
	{ "a pair cut off", { 'a', 0xd83d }, "a" },
	{ "nothing", { 0 }, "" },
};

static void test_texts(void)
{
	struct catalogue_field wide = { .view = VIEW_TEXT, .bits = 16 };
	struct catalogue_field narrow = { .view = VIEW_TEXT, .bits = 8 };
	char raw[JANK_MESSAGE_TEXT_SZ], text[CATALOGUE_TEXT_SZ];

	for (size_t i = 0; i < LEN(texts); i++) {
		catalogue_field__text(&wide, (const char *)texts[i].utf16, text);
		is_str(text, texts[i].utf8, "UTF-16, %s", texts[i].what);
	}
	memset(raw, 0xff, sizeof(raw));
	catalogue_field__text(&wide, raw, text);
	is_uint(strlen(text), sizeof(text) - 1, "as long as can be");
	memset(raw, 'x', sizeof(raw));
	catalogue_field__text(&narrow, raw, text);
	is_uint(strlen(text), sizeof(raw), "a text without its end");
}

static void test_user_rows(void)
{
	struct catalogue *cat, *builtin;
	struct err err;
	size_t at = 0;

	if (!is_int(open_text(whole, &cat, &err), 0, "a file with all that there is: %s", err.msg))
		return;
	check_row(cat, row_named(cat, "own"));
	check_fields(catalogue__mark(cat, 0), catalogue__mark(cat, 1));
	check_values(catalogue__mark(cat, 0), catalogue__mark(cat, 1));
	ok(!row_named(cat, "redis")->is_builtin, "a row of the same name");
	catalogue__named(cat, "redis", &at);
	ok(!catalogue__named(cat, "redis", &at), "… takes the place of the built-in one");
	if (!catalogue__open(NULL, 0, &builtin, NULL)) {
		is_uint(catalogue__row_cnt(cat), catalogue__row_cnt(builtin) + 1, "rows");
		is_uint(catalogue__mark_cnt(cat),
			catalogue__mark_cnt(builtin) + 2 - row_named(builtin, "redis")->mark_cnt,
			"marks, without those of the row replaced");
		catalogue__close(builtin);
	}
	for (unsigned i = 0; i < catalogue__mark_cnt(cat); i++) {
		const struct catalogue_row *row = catalogue__mark(cat, i)->row;

		if (i < row->mark_first || i >= row->mark_first + row->mark_cnt)
			ok(false, "mark %u is within its row's", i);
	}
	catalogue__close(cat);
}

static const struct {
	const char *view, *fault; /* NULL: right */
} views[] = {
	{ "arg0", NULL },
	{ " u8  *( arg4+0x10 ) ", NULL },
	{ "***(arg0)", NULL },
	{ "****arg0", NULL },
	{ "symbol(**(arg0 + 8 - 16))", NULL },
	{ "text(arg0 + 8)", NULL },
	{ "text(***arg0)", NULL },
	{ "text16(*(arg0 + 8) + 24)", NULL },
	{ "*****arg0", "at most 4 reads" },
	{ "text(****arg0)", "at most 3 reads" },
	{ "arg5", "an argument (arg0 to arg4), * or (" },
	{ "arg", "an argument" },
	{ "arg00", "an argument" },
	{ "", "an argument" },
	{ "*", "an argument" },
	{ "0x10", "an argument" },
	{ "arg0 + 8", "a read around the sum" },
	{ "u32 *arg0 + 8", "a read around the sum" },
	{ "*(arg0 + arg1)", "an offset in bytes" },
	{ "*(arg0 +)", "an offset in bytes" },
	{ "*(arg0 + 8", "at its end there should be )" },
	{ "*(arg0 + 2000000)", "an offset of at most" },
	{ "*(arg0 + 1000000 + 1000000)", "an offset of at most" },
	{ "*(arg0 + 99999999999999999999)", "an offset of at most" },
	{ "u24 arg0", "an argument" },
	{ "u32arg0", "an argument" },
	{ "symbol arg0", "there should be (" },
	{ "symbol(u32 arg0)", "an argument" },
	{ "symbol(arg0", "there should be )" },
	{ "colour(arg0)", "an argument" },
	{ "arg0 arg1", "at \"arg1\" there should be nothing more" },
	{ "enum(e)", "the name of an [enum NAME]" },
	{ "((((((((((((((((((arg0))))))))))))))))))", "fewer levels" },
	{ "*((((((((((((((((arg0", "fewer levels" },
};

static void test_views(void)
{
	for (size_t i = 0; i < LEN(views); i++) {
		struct catalogue *cat = NULL;
		char text[400];
		struct err err;
		int code;

		snprintf(text, sizeof(text), ROW "mark = f\n\twhat = %s\n", views[i].view);
		code = open_text(text, &cat, &err);
		if (views[i].fault)
			has_str(code ? err.msg : "(taken)", views[i].fault, "refused: %s",
				views[i].view);
		else
			is_int(code, 0, "taken: %s %s", views[i].view, err.msg);
		if (!code)
			catalogue__close(cat);
	}
}

/* More than there is room for. */
static void test_limits(void)
{
	struct strbuf text = STRBUF_INIT;
	struct catalogue *cat;
	struct err err;

	strbuf__adds(&text, ROW);
	for (int i = 0; i <= JANK_MARK_MAX; i++)
		strbuf__addf(&text, "mark = f%d\n", i);
	ok(open_text(strbuf__str(&text), &cat, &err) < 0, "257 marks are refused");
	has_str(err.msg, ":260: \"f256\": should be left out", "… with the one too many");
	strbuf__reset(&text);
	for (int i = 0; i <= CATALOGUE_ROW_MAX; i++)
		strbuf__addf(&text, "[r%d]\nlibrary = x\nwait = epoll\n", i);
	ok(open_text(strbuf__str(&text), &cat, &err) < 0, "129 rows are refused");
	has_str(err.msg, ":385: more than 128 rows", "… with the one too many");
	strbuf__reset(&text);
	for (int i = 0; i <= CATALOGUE_ENUM_MAX; i++)
		strbuf__addf(&text, "[enum e%d]\n1 = x\n", i);
	ok(open_text(strbuf__str(&text), &cat, &err) < 0, "65 enums are refused");
	strbuf__reset(&text);
	strbuf__adds(&text, "[a]\nwait = epoll\nlibrary = x\n");
	for (int i = 0; i < CATALOGUE_PATTERNS_MAX; i++)
		strbuf__addf(&text, "\tx%d\n", i);
	ok(open_text(strbuf__str(&text), &cat, &err) < 0, "65 libraries are refused");
	has_str(err.msg, ":67: more than 64 of library", "… with the one too many");
	strbuf__free(&text);
}

int main(void)
{
	test_builtin();
	test_files();
	test_waits();
	test_faults();
	test_bytes();
	test_texts();
	test_user_rows();
	test_views();
	test_limits();
	return tap__done();
}
