/* SPDX-License-Identifier: GPL-2.0 */
/* The JSON writer: exact output, any bytes in strings, and assertions on misuse. */
#include "export/json/json.h"

#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define FFFD "\xef\xbf\xbd"

static struct strbuf out = STRBUF_INIT;
static struct jsonw w;

static struct jsonw *fresh(void)
{
	strbuf__reset(&out);
	memset(&w, 0xff, sizeof(w));
	jsonw__init(&w, &out);
	return &w;
}

static void test_nesting(void)
{
	jsonw__object(fresh());
	jsonw__object_end(&w);
	is_str(strbuf__str(&out), "{}", "an empty object");

	jsonw__array(fresh());
	jsonw__array_end(&w);
	is_str(strbuf__str(&out), "[]", "an empty array");

	jsonw__object(fresh());
	jsonw__key(&w, "a");
	jsonw__u64(&w, 1);
	jsonw__karray(&w, "b");
	jsonw__u64(&w, 2);
	jsonw__array(&w);
	jsonw__array_end(&w);
	jsonw__object(&w);
	jsonw__key(&w, "c");
	jsonw__bool(&w, true);
	jsonw__object_end(&w);
	jsonw__str(&w, "x");
	jsonw__array_end(&w);
	jsonw__key(&w, "d");
	jsonw__object(&w);
	jsonw__object_end(&w);
	jsonw__kstr(&w, "e", NULL);
	jsonw__kstr_known(&w, "f", NULL);
	jsonw__kstr_known(&w, "g", "y");
	jsonw__object_end(&w);
	is_str(strbuf__str(&out),
	       "{\"a\":1,\"b\":[2,[],{\"c\":true},\"x\"],\"d\":{},\"e\":null,\"g\":\"y\"}",
	       "commas, nesting, null");

	jsonw__array(fresh());
	for (int i = 0; i < 2; i++) {
		jsonw__array(&w);
		jsonw__u64(&w, 1);
		jsonw__u64(&w, 2);
		jsonw__array_end(&w);
	}
	jsonw__array_end(&w);
	is_str(strbuf__str(&out), "[[1,2],[1,2]]", "a sibling begins without a comma");
}

static void test_numbers(void)
{
	jsonw__array(fresh());
	jsonw__u64(&w, UINT64_MAX);
	jsonw__i64(&w, INT64_MIN);
	jsonw__i64(&w, -1);
	jsonw__bool(&w, false);
	jsonw__fixed(&w, 12.345, 1);
	jsonw__fixed(&w, -0.5, 2);
	jsonw__fixed(&w, 99.999, 2);
	jsonw__fixed(&w, 7, 0);
	jsonw__fixed(&w, 1, -3);
	jsonw__fixed(&w, NAN, 2);
	jsonw__fixed(&w, INFINITY, 2);
	jsonw__fixed(&w, -INFINITY, 2);
	jsonw__array_end(&w);
	is_str(strbuf__str(&out),
	       "[18446744073709551615,-9223372036854775808,-1,false,12.3,-0.50,100.00,7,1,null,"
	       "null,null]",
	       "limits, rounding, no number");
}

static void test_huge_numbers(void)
{
	jsonw__fixed(fresh(), -1.7976931348623157e308, 17);
	is_uint(out.len, 1 + 309 + 1 + 17, "the largest double, unabridged");
	jsonw__fixed(fresh(), 1, 1000000);
	is_str(strbuf__str(&out), "1.00000000000000000", "decimals are bounded");
}

/* Few machines have such a locale, so the test makes it. */
static bool set_comma_locale(void)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", scratch_dir);
	setenv("LOCPATH", scratch_dir, 1);
	return system(command) == 0 && setlocale(LC_NUMERIC, "de_DE.UTF-8");
}

static void test_locale(void)
{
	scratch__init();
	if (!set_comma_locale()) {
		skip(2, "cannot make a German locale: package locales is missing");
	} else {
		is_str(localeconv()->decimal_point, ",", "a locale with a decimal comma");
		jsonw__fixed(fresh(), -12.25, 2);
		is_str(strbuf__str(&out), "-12.25", "… and JSON keeps its point");
		setlocale(LC_NUMERIC, "C");
	}
}

static const struct {
	const char *in, *want, *what;
} strings[] = {
	{ "", "\"\"", "empty" },
	{ "say \"hi\"", "\"say \\\"hi\\\"\"", "quotes" },
	{ "C:\\x", "\"C:\\\\x\"", "backslash" },
	{ "/path", "\"/path\"", "no escape for a slash" },
	{ "a\nb\rc\td\be\ff", "\"a?b?c?d?e?f\"", "ends of lines, tab, backspace" },
	{ "a\xc2\x85\xe2\x80\xa8\xe2\x80\xa9z", "\"a???z\"", "Unicode's ends of lines" },
	{ "\x01\x1b\x1f", "\"???\"", "other control bytes" },
	{ "\x7f", "\"?\"", "DEL" },
	{ "\xc2\x80\xc2\x9b[2J\xc2\x9f", "\"??[2J?\"", "C1 control characters" },
	{ "a\u202eb\u2066c\u200fd\u061ce", "\"a?b?c?d?e\"", "changes of the writing direction" },
	{ "a\u200bb\ufeffc", "\"a?b?c\"", "characters without a width" },
	{ "\xc2\xa0\xc3\x80", "\"\xc2\xa0\xc3\x80\"", "and what is next to them" },
	{ "é→😀", "\"é→😀\"", "UTF-8 unchanged" },
	{ "\xff"
	  "a\xc3",
	  "\"" FFFD "a" FFFD "\"", "invalid bytes" },
	{ "\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"", "a surrogate" },
	{ "\xc0\xa2", "\"" FFFD FFFD "\"", "an overlong quote" },
	{ "\xe2\"", "\"" FFFD "\\\"\"", "a cut sequence does not swallow the quote" },
};

static void test_strings(void)
{
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		jsonw__str(fresh(), strings[i].in);
		is_str(strbuf__str(&out), strings[i].want, "string: %s", strings[i].what);
	}
	jsonw__object(fresh());
	jsonw__key(&w, "a\"b\n");
	jsonw__u64(&w, 1);
	jsonw__object_end(&w);
	is_str(strbuf__str(&out), "{\"a\\\"b?\":1}", "keys are escaped as well");
}

/* A strict parser of another project accepts our output for any bytes. */
static void test_random_strings(void)
{
	unsigned seed = 7, bad = 0;

	for (int run = 0; run < 5000; run++) {
		char in[25] = { 0 };
		json_t *json;

		for (int i = 0; i < 24; i++) {
			seed = seed * 1103515245 + 12345;
			in[i] = (char)((seed >> 16) % 255 + 1);
		}
		jsonw__array(fresh());
		jsonw__str(&w, in);
		jsonw__array_end(&w);
		json = json_loads(strbuf__str(&out), JSON_REJECT_DUPLICATES, NULL);
		bad += !json || strchr(strbuf__str(&out), '\n');
		json_decref(json);
	}
	is_uint(bad, 0, "jansson reads 5,000 random strings, each on one line");
}

static void test_depth(void)
{
	json_t *json;

	fresh();
	for (int i = 0; i < JSONW_DEPTH_MAX; i++)
		jsonw__array(&w);
	for (int i = 0; i < JSONW_DEPTH_MAX; i++)
		jsonw__array_end(&w);
	json = json_loads(strbuf__str(&out), 0, NULL);
	ok(json, "%d levels", JSONW_DEPTH_MAX);
	json_decref(json);
}

static void too_deep(void)
{
	for (int i = 0; i <= JSONW_DEPTH_MAX; i++)
		jsonw__array(&w);
}

static void value_without_key(void)
{
	jsonw__object(&w);
	jsonw__u64(&w, 1);
}

static void nested_without_key(void)
{
	jsonw__object(&w);
	jsonw__array(&w);
}

static void key_in_array(void)
{
	jsonw__array(&w);
	jsonw__key(&w, "a");
}

static void key_outside(void)
{
	jsonw__key(&w, "a");
}

static void two_keys(void)
{
	jsonw__object(&w);
	jsonw__key(&w, "a");
	jsonw__key(&w, "b");
}

static void key_without_value(void)
{
	jsonw__object(&w);
	jsonw__key(&w, "a");
	jsonw__object_end(&w);
}

static void wrong_end(void)
{
	jsonw__object(&w);
	jsonw__array_end(&w);
}

static void end_of_nothing(void)
{
	jsonw__object_end(&w);
}

static const struct {
	void (*misuse)(void);
	const char *what;
} misuses[] = {
	{ too_deep, "more than 32 levels" },
	{ value_without_key, "a value without a key" },
	{ nested_without_key, "an array without a key" },
	{ key_in_array, "a key in an array" },
	{ key_outside, "a key outside" },
	{ two_keys, "two keys in a row" },
	{ key_without_value, "a key without a value" },
	{ wrong_end, "the wrong end" },
	{ end_of_nothing, "an end of nothing" },
};

static bool aborts(void (*misuse)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		fclose(stderr);
		fresh();
		misuse();
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT;
}

static void test_misuse(void)
{
	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++)
		ok(aborts(misuses[i].misuse), "an assertion: %s", misuses[i].what);
}

int main(void)
{
	test_nesting();
	test_numbers();
	test_huge_numbers();
	test_locale();
	test_strings();
	test_random_strings();
	test_depth();
	test_misuse();
	strbuf__free(&out);
	return tap__done();
}
