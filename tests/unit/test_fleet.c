/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Questions of `jankbpf fleet`: values are literals, whatever they hold; sums are compared as
 * records are.
 */
#include "fleet/fleet.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "tests/tap.h"

static void test_literals(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "''" },
		{ "redis", "'redis'" },
		{ "it's", "'it\\'s'" },
		{ "\\", "'\\\\'" },
		{ "\\' OR 1=1 --", "'\\\\\\' OR 1=1 --'" },
		{ "a\nb\x01", "'a\\x0Ab\\x01'" },
		{ "{limit}", "'{limit}'" },
		{ "\xc3\xa4\xff", "'\xc3\xa4\xff'" },
	};
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		strbuf__reset(&sb);
		literal__add(&sb, cases[i].text);
		is_str(strbuf__str(&sb), cases[i].want, "a literal");
	}
	strbuf__reset(&sb);
	literal__add_to_list(&sb, "a");
	literal__add_to_list(&sb, "b'");
	is_str(strbuf__str(&sb), "'a', 'b\\''", "a list of them");
	strbuf__reset(&sb);
	number__add_to_list(&sb, "18446744073709551615");
	number__add_to_list(&sb, "1) OR (1");
	number__add_to_list(&sb, "");
	number__add_to_list(&sb, "2");
	is_str(strbuf__str(&sb), "18446744073709551615, 2", "a list of numbers, of nothing else");
	strbuf__free(&sb);
}

static void test_filter(void)
{
	struct fleet_filter filter = {};

	ok(!fleet_filter__add(&filter, "unit", NULL) && !fleet_filter__add(&filter, "unit", "") &&
		   !filter.conditions,
	   "no condition");
	ok(!fleet_filter__add(&filter, "unit", "a'b") &&
		   !fleet_filter__add(&filter, "version_key", "1.0"),
	   "two conditions");
	is_str(filter.conditions, " AND unit = 'a\\'b' AND version_key = cityHash64('1.0')",
	       "in SQL");
	free(filter.conditions);
}

static void test_questions(void)
{
	const struct fleet_filter filter = { 1, 2, NULL };
	const struct fleet_value all[] = {
		FLEET_VALUES(&filter),
		{ .name = "by", .raw = "unit" },
		{ .name = "limit", .number = 10 },
		{ .name = "keys", .raw = "'k'" },
		{ .name = "signature", .text = "it's {since} -- ;" },
		{ .name = "part", .raw = "0" },
		{ .name = "every", .number = 1 },
		{ .name = "hosts", .number = 20 },
		{ .name = "rows", .number = 100 },
		{ .name = "cluster", .text = "c" },
		{ .name = "database", .text = "d" },
		{ .name = "table", .raw = "t" },
		{ .name = "partition", .raw = "20260101" },
	};
	struct strbuf sb = STRBUF_INIT;
	DIR *dir = opendir("deploy/clickhouse/queries");
	struct dirent *entry;
	unsigned cnt = 0;

	while (dir && (entry = readdir(dir))) {
		char name[256];
		char *dot;

		snprintf(name, sizeof(name), "%s", entry->d_name);
		dot = strstr(name, ".sql");
		if (!dot || dot[4])
			continue;
		*dot = '\0';
		strbuf__reset(&sb);
		is_int(query__add(&sb, name, all, sizeof(all) / sizeof(*all)), 0,
		       "%s is built in, and all its values are known", name);
		ok(!strstr(strbuf__str(&sb), "{limit}") && sb.len, "and put in");
		cnt++;
	}
	closedir(dir);
	ok(cnt > 15, "%u questions", cnt);
	strbuf__reset(&sb);
	query__add(&sb, "worst", all, sizeof(all) / sizeof(*all));
	has_str(strbuf__str(&sb), "signature = 'it\\'s {since} -- ;' AND record",
		"a value is not looked at again");
	lacks_str(strbuf__str(&sb), "Parameters", "comments are left out");
	strbuf__reset(&sb);
	is_int(query__add(&sb, "top", all, 1), -EINVAL, "a value is missing");
	is_int(query__add(&sb, "nothing", all, 1), -EINVAL, "no such question");
	strbuf__free(&sb);
}

/* Both sides by sums: one fault five times as often in B, one equal. */
static void test_sums(void)
{
	struct diff diff;
	struct diff_findings findings;
	const uint64_t ends[] = { NS_PER_MS, 20 * NS_PER_MS };
	bool found = false, alike = true;

	diff__init(&diff);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		for (uint64_t part = 0; part < 16; part++) {
			const uint64_t counts[] = { 90000, 10000 };

			diff__add_dispatches(&diff, side, "1", "redis", "epoll", part, 100000);
			diff__add_histogram(&diff, side, "1", part, ends, counts, 2);
			diff__add_fault_blocks(&diff, side, "1", "11", part, 20 + part % 3);
			diff__add_fault_blocks(&diff, side, "1", "22", part,
					       (side ? 50 : 10) + part % 4);
			diff__add_fault_blocks(&diff, side, "9", "33", part, 1000);
		}
		for (uint64_t i = 0; i < 100; i++)
			diff__add_delays(&diff, side, "1", "11", &(uint64_t){ 100 + i }, 1);
	}
	ok(!diff__compare(&diff, &findings), "compared");
	for (size_t i = 0; i < findings.cnt; i++) {
		const struct diff_finding *f = &findings.list[i];
		const char *key = f->fault ? f->fault->key : "";

		if (!strcmp(key, "22") && f->kind == DIFF_FAULT)
			found = diff_finding__is_worse(f) && f->ratio > 4 && f->ratio < 5;
		else if (*key || !f->fault)
			alike &= !f->notable;
	}
	ok(found, "the fault with more blocks is worse");
	ok(alike, "nothing else is notable");
	ok(findings.cnt >= 6, "rates, delays and quantiles are compared");
	is_uint(diff.inputs[0].dispatch_cnt, 1600000, "dispatches are summed");
	ok(!diff__name_fault((struct diff_fault *)findings.list[0].fault, "abc", "It slept."),
	   "a fault is named");
	is_str(findings.list[0].fault->summary, "It slept.", "by its sentence");
	free(findings.list);
	diff__free(&diff);
}

int main(void)
{
	test_literals();
	test_filter();
	test_questions();
	test_sums();
	return tap__done();
}
