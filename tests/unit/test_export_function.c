/* SPDX-License-Identifier: GPL-2.0 */
/* Short names of functions, and the widths of names. */
#include "base/strbuf.h"
#include "base/text.h"
#include "export/values.h"
#include "tests/tap.h"

static const struct {
	const char *full, *text, *plain;
} names[] = {
	{ "main", "main", "main" },
	{ "void ns::foo<int, bar(baz)>(std::string const&) const [clone .isra.0]", "ns::foo<…>",
	  "ns::foo" },
	{ "(anonymous namespace)::f(int)", "{anonymous}::f", "anonymous::f" },
	{ "Foo::operator()(int) const", "Foo::operator()", "Foo::operator" },
	{ "Foo::operator unsigned long() const", "Foo::operator unsigned long",
	  "Foo::operator unsigned long" },
	{ "operator new(unsigned long)", "operator new", "operator new" },
	{ "Foo::operator->() const", "Foo::operator->", "Foo::operator->" },
	{ "Foo::operator<(Foo const&)", "Foo::operator<", "Foo::operator<" },
	{ "foo(int)::{lambda(int)#1}::operator()(int) const", "foo::{lambda#1}::operator()",
	  "foo::{lambda#1}::operator" },
	{ "core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<…>",
	  "core::ptr::drop_in_place" },
	{ "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", "alloc::vec::Vec<…>::fmt",
	  "alloc::vec::Vec::fmt" },
	{ "core::fmt::num::<impl core::fmt::Debug for usize>::fmt", "core::fmt::num::usize::fmt",
	  "core::fmt::num::usize::fmt" },
	{ "a::f::<u8>::g", "a::f::<…>::g", "a::f::g" },
	{ "main.(*Server).handle", "main.(*Server).handle", "main.*Server.handle" },
	{ "java.util.Foo.<init>", "java.util.Foo.<init>", "java.util.Foo.init" },
	{ "LazyCompile:~<anonymous> /x/y.js:1:2", "LazyCompile:~<anonymous> /x/y.js:1:2",
	  "LazyCompile:~anonymous /x/y.js:1:2" },
	{ "std::__cxx11::basic_string<char, std::char_traits<char> >::_M_append(char const*)",
	  "std::__cxx11::basic_string<…>::_M_append", "std::__cxx11::basic_string::_M_append" },
	{ "std::vector<int> make<int>(int)", "make<…>", "make" },
	{ "decltype(auto) f<int>(int)", "f<…>", "f" },
	{ "f[abi:cxx11](int)", "f", "f" },
	{ "vtable for Foo", "vtable for Foo", "vtable for Foo" },
	{ "foo((((((", "foo", "foo" },
	{ "foo<<<<<", "foo", "foo" },
	{ "(((", "(((", "(((" },
	{ "<", "<", "<" },
	{ "[[[[", "[[[[", "[[[[" },
	{ "", "", "" },
};

static void test_names(void)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		strbuf__reset(&sb);
		strbuf__adds(&sb, "+"); /* the text before stays */
		function__add_short(&sb, names[i].full, "<…>", false);
		is_str(strbuf__str(&sb) + 1, names[i].text, "%s", names[i].full);
		strbuf__reset(&sb);
		function__add_short(&sb, names[i].full, "", true);
		is_str(strbuf__str(&sb), names[i].plain, "%s, plain", names[i].full);
	}
	strbuf__free(&sb);
}

/* A name of any length and nesting costs little and terminates. */
static void test_hostile(void)
{
	static const char *const patterns[] = {
		"<",	    "(",      "{",  "[abi:", "<a as ", "<impl ",
		"operator", "a<b>::", ".(", ") (",   "::<",    " "
	};
	static char name[1 << 20];
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		size_t len = strlen(patterns[i]);

		for (size_t at = 0; at + len < sizeof(name); at += len)
			memcpy(name + at, patterns[i], len + 1);
		strbuf__reset(&sb);
		function__add_short(&sb, name, "<…>", i % 2);
		ok(!sb.failed && sb.len < 16384, "a megabyte of '%s'", patterns[i]);
	}
	strbuf__free(&sb);
}

static const struct {
	const char *str;
	unsigned max;
	const char *want;
	unsigned width;
} cuts[] = {
	{ "hello", 5, "hello", 5 },
	{ "hello", 4, "hel…", 4 },
	{ "hello", 1, "…", 1 },
	{ "hello", 0, "", 0 },
	{ "", 5, "", 0 },
	{ "日本語", 6, "日本語", 6 },
	{ "日本語", 5, "日本…", 5 },
	{ "日本語", 4, "日…", 3 },
	{ "a\xff"
	  "b",
	  9,
	  "a\xef\xbf\xbd"
	  "b",
	  3 },
	{ "\033[31m\n", 9, "?[31m?", 6 },
	{ "a\u202eb", 9, "a?b", 3 },
	{ "\xc2\x9b"
	  "1m",
	  9, "?1m", 3 },
};

static void test_cells(void)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		strbuf__reset(&sb);
		is_int(cells__add(&sb, cuts[i].str, cuts[i].max), cuts[i].width,
		       "columns of cut %zu", i);
		is_str(strbuf__str(&sb), cuts[i].want, "text of cut %zu", i);
	}
	is_int(cells__width("a日\xff"), 4, "width");
	strbuf__free(&sb);
}

int main(void)
{
	test_names();
	test_hostile();
	test_cells();
	is_str(module__base("/usr/lib/libc.so.6"), "libc.so.6", "base name of a path");
	is_str(module__base("[vdso]"), "[vdso]", "base name of a name without a slash");
	is_str(module__base("d/"), "d/", "base name of a directory");
	is_str(module__base(NULL), "", "base name of nothing");
	return tap__done();
}
