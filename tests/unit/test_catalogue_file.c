/* SPDX-License-Identifier: GPL-2.0 */
/* Loop files: what they may contain, what is refused, and the words of the refusal. */
#include <stdint.h>

#include "base/strbuf.h"
#include "catalogue/catalogue.h"
#include "catalogue/catalogue_data.h"
#include "tests/tap.h"
#include "tests/unit/catalogue_fixture.h"

#define LAYOUT "\tcheck = u32 *arg0 == u64 arg1\n"

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
	{ "[a]\nlibrary = x\npark = y\n", ":1: the row lacks wait" },
	{ "[a]\nlibrary = x\nwait = epoll\nthrough = y\n", ":1: through = is of parks" },
	{ "[a]\nthread = x\n", ":1: the row lacks library" },
	{ "[a]\nthread = a*b\n", ":2: \"a*b\": should be names of threads" },
	{ "[a]\nthread = *\n", ":2: \"*\": should be names of threads" },
	{ "[a]\nthread = a-name-of-16-byt\n", ":2: \"a-name-of-16-byt\": should be names" },
	{ "[a]\nwait = kqueue\n", ":2: \"kqueue\": should be epoll, poll, android-looper" },
	{ "[a]\nwait = custom\n", ":2: \"custom\": should be" },
	{ "[a]\nwait = park\n", ":2: \"park\": should be" },
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
	{ ROW "mark = f\n\twhat = arg0\n\tor\n",
	  ":6: \"or\": should be behind a layout with check" },
	{ ROW "mark = f\n" LAYOUT "\tor\n" LAYOUT "\tor\n" LAYOUT "\tor\n",
	  ":10: \"or\": should be left out: a mark has at most 3 layouts" },
	{ ROW "mark = f\n\twhat = enum(x, arg0)\n", "should be the name of an [enum NAME] above" },
	{ "[enum e]\nx = y\n", ":2: an enum's line is NUMBER = NAME" },
	{ "[enum e]\n1 = a\n\tb\n", ":3: an enum's line is NUMBER = NAME" },
	{ "[enum]\n1 = a\n", ":2: not a key" },
	{ "[enum E]\n1 = a\n", ":1: an [enum NAME] has a name of" },
	{ "[enum e]\n1 = a\n[enum e]\n2 = b\n", ":3: the section stands here twice" },
};

/* The name of the file is random; the line number comes after it. */
static void test_faults(void)
{
	for (size_t i = 0; i < LEN(faults); i++) {
		struct catalogue *cat = NULL;
		struct err err;
		int code = fixture__open(faults[i].text, &cat, &err);

		ok(code < 0 && err.exit == JANK_EXIT_USAGE, "refused: %s", faults[i].text);
		has_str(err.msg, faults[i].fault, "… with the right message");
	}
}

static void test_bytes(void)
{
	char text[4096] = ROW "about = ";
	struct catalogue *cat;
	struct err err;

	memset(text + strlen(text), 'x', 300);
	ok(fixture__open(text, &cat, &err) < 0, "a line of 300 bytes is refused");
	has_str(err.msg, ":4: the line is too long", "… with the right message");
	ok(fixture__open_len("[a]\nx\0y = 1\n", 12, &cat, &err) < 0, "so is a zero byte");
	has_str(err.msg, ":2: a zero byte", "… with the right message");
	is_int(fixture__open("\xef\xbb\xbf" ROW, &cat, &err), 0, "a byte-order mark is no error");
	catalogue__close(cat);
	is_int(fixture__open("[a]\r\nlibrary = x\r\nwait = epoll\r\n", &cat, &err), 0,
	       "nor is CR LF");
	catalogue__close(cat);
	is_int(fixture__open("", &cat, &err), 0, "an empty file adds nothing");
	catalogue__close(cat);
	ok(catalogue__open((const char *[]){ "/no/such.loop" }, 1, &cat, &err) < 0 &&
		   strstr(err.msg, "--loop-file /no/such.loop: No such file"),
	   "a missing file: %s", err.msg);
	ok(catalogue__open((const char *[]){ "/dev/zero" }, 1, &cat, &err) < 0 &&
		   strstr(err.msg, "longer than 256 KiB"),
	   "an endless file: %s", err.msg);
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
			    "park = own_park\n"
			    "\town_yield?\n"
			    "through = own_cond*\n"
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
	is_uint(row->callers.cnt, 2, "callers");
	ok(row->parks.cnt == 2 && !strcmp(row->parks.globs[1], "own_yield?"), "parks");
	ok(row->through.cnt == 1 && !strcmp(row->through.globs[0], "own_cond*"),
	   "callers that may be between them and the wait");
	is_uint(row->waits, 1u << JANK_LOOP_POLL | 1u << JANK_LOOP_CUSTOM | 1u << JANK_LOOP_PARK,
		"waits");
	is_str(row->wait_symbol, "own_wait", "its own wait");
	is_uint(row->mark_cnt, 2, "marks");
	ok(!row->is_builtin && !row->is_off && !row->is_untested, "no flag is set");
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
	is_int(spec[2].offset[1], -4, "… through a negative offset");
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
	is_str(catalogue_field__enum_name(&mark->fields[0], 0x5ffff), "fail",
	       "a negative value's name");
	is_str(catalogue_field__enum_name(&mark->fields[0], 16), "go",
	       "a hexadecimal value's name");
	is_str(catalogue_field__enum_name(&mark->fields[0], 8), NULL, "none");
	is_str(catalogue_field__enum_name(&mark->fields[3], 7), NULL, "a plain number has none");
	is_int(catalogue_field__number(&mark->fields[3], 0x7ffffffff), -1, "32 bits with a sign");
	is_int(catalogue_field__number(&second->fields[1], 0x7ffffffff), UINT32_MAX, "without");
	ok(catalogue_mark__holds(second, 7, same), "the same 32 bits: the check holds");
	ok(!catalogue_mark__holds(second, 7, other), "other values: it does not");
	ok(!catalogue_mark__holds(second, 5, same), "nor if one was not read");
	ok(catalogue_mark__holds(mark, 0, same), "a mark without a check always holds");
}

static void test_user_rows(void)
{
	struct catalogue *cat, *builtin;
	struct err err;
	size_t at = 0;

	if (!is_int(fixture__open(whole, &cat, &err), 0, "a file with every key: %s", err.msg))
		return;
	check_row(cat, fixture__row(cat, "own"));
	check_fields(catalogue__mark(cat, 0), catalogue__mark(cat, 1));
	check_values(catalogue__mark(cat, 0), catalogue__mark(cat, 1));
	ok(!fixture__row(cat, "redis")->is_builtin, "a row of the same name");
	catalogue__named(cat, "redis", &at);
	ok(!catalogue__named(cat, "redis", &at), "… replaces the built-in one");
	if (!catalogue__open(NULL, 0, &builtin, NULL)) {
		is_uint(catalogue__row_cnt(cat), catalogue__row_cnt(builtin) + 1, "rows");
		is_uint(catalogue__mark_cnt(cat),
			catalogue__mark_cnt(builtin) + 2 - fixture__row(builtin, "redis")->mark_cnt,
			"all marks except those of the replaced row");
		catalogue__close(builtin);
	}
	for (unsigned i = 0; i < catalogue__mark_cnt(cat); i++) {
		const struct catalogue_row *row = catalogue__mark(cat, i)->row;

		if (i < row->mark_first || i >= row->mark_first + row->mark_cnt)
			ok(false, "mark %u belongs to its row", i);
	}
	catalogue__close(cat);
}

static void test_layouts(void)
{
	const struct catalogue_mark *mark;
	struct catalogue *cat;
	struct err err;

	if (!is_int(fixture__open(ROW "mark = f\n\twhat = arg2\n" LAYOUT
				      "\tor\n\twhat = arg3\nmark = g\n",
				  &cat, &err),
		    0, "two layouts of a mark: %s", err.msg))
		return;
	mark = catalogue__mark(cat, fixture__row(cat, "a")->mark_first);
	is_uint(fixture__row(cat, "a")->mark_cnt, 3, "are two of the row's marks");
	ok(!mark[0].is_layout && mark[1].is_layout && !mark[2].is_layout, "of one function");
	is_str(mark[1].symbol, "f", "with its name");
	ok(mark[0].spec.has_next && !mark[1].spec.has_next, "the probe goes on from the first");
	is_uint(mark[0].spec.check, 1, "by the check's fields");
	is_uint(mark[0].spec.check_shl, 32, "in their common bits");
	catalogue__close(cat);
}

/* More of each than there is room for. */
static void test_limits(void)
{
	struct strbuf text = STRBUF_INIT;
	struct catalogue *cat;
	struct err err;

	strbuf__adds(&text, ROW);
	for (int i = 0; i <= JANK_MARK_MAX; i++)
		strbuf__addf(&text, "mark = f%d\n", i);
	ok(fixture__open(strbuf__str(&text), &cat, &err) < 0, "257 marks are refused");
	has_str(err.msg, ":260: \"f256\": should be left out",
		"… the message names the one too many");
	strbuf__reset(&text);
	for (int i = 0; i <= CATALOGUE_ROW_MAX; i++)
		strbuf__addf(&text, "[r%d]\nlibrary = x\nwait = epoll\n", i);
	ok(fixture__open(strbuf__str(&text), &cat, &err) < 0, "129 rows are refused");
	has_str(err.msg, ":385: more than 128 rows", "… the message names the one too many");
	strbuf__reset(&text);
	for (int i = 0; i <= CATALOGUE_ENUM_MAX; i++)
		strbuf__addf(&text, "[enum e%d]\n1 = x\n", i);
	ok(fixture__open(strbuf__str(&text), &cat, &err) < 0, "65 enums are refused");
	strbuf__reset(&text);
	strbuf__adds(&text, "[a]\nwait = epoll\nlibrary = x\n");
	for (int i = 0; i < CATALOGUE_PATTERNS_MAX; i++)
		strbuf__addf(&text, "\tx%d\n", i);
	ok(fixture__open(strbuf__str(&text), &cat, &err) < 0, "65 libraries are refused");
	has_str(err.msg, ":67: more than 64 of library", "… the message names the one too many");
	strbuf__free(&text);
}

int main(void)
{
	test_faults();
	test_bytes();
	test_user_rows();
	test_layouts();
	test_limits();
	return tap__done();
}
