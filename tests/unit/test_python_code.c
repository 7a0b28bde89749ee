/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Location tables of CPython 3.11 and 3.13, compared with their own co_lines(); and invalid tables.
 */
#include "symbol/languages/python.h"
#include "tests/tap.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const uint8_t table_311[] = {
	128, 0,	  224, 8,   9,	 128, 65,  216, 9,   10,  224, 9,   10,	 216, 9,   10, 241, 3,	1,
	10,  11,  241, 5,   3,	 10,  11,  128, 65,  245, 8,   0,   14,	 19,  144, 49, 137, 88, 140,
	88,  240, 0,   4,   5,	 18,  240, 0,	4,   5,	  18,  136, 1,	 224, 13,  14, 144, 33, 137,
	86,  136, 81,  136, 81,	 248, 221, 15,	25,  240, 0,   1,   9,	 18,  240, 0,  1,   9,	18,
	240, 0,	  1,   9,   18,	 216, 16,  17,	144, 1,	  144, 1,   144, 1,   144, 1,  144, 1,	248,
	248, 248, 248, 240, 3,	 1,   9,   18,	248, 248, 248, 240, 4,	 2,   12,  17, 240, 0,	2,
	12,  17,  216, 13,  14,	 216, 13,  14,	240, 3,	  1,   13,  16,	 240, 3,   2,  12,  17, 241,
	0,   2,	  12,  17,  244, 0,   2,   12,	17,  240, 0,   2,   5,	 17,
};
static const uint32_t lines_311[] = {
	2,  4,	4,  5,	7,  8,	7,  7,	5,  5,	5,  9,	9,  9,	9,  9,	9,  9,
	9,  9,	9,  9,	9,  9,	9,  9,	9,  9,	11, 11, 11, 11, 11, 11, 0,  12,
	12, 12, 12, 12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 13, 0,  0,	0,  0,
	12, 0,	0,  0,	14, 14, 15, 16, 15, 14, 14, 14, 14, 14, 14, 14, 14, 14,
};

static const uint8_t table_313[] = {
	128, 0,	  224, 8,   9,	128, 65,  216, 9,   10,	 224, 9,  10,  216, 9,	 10,  241, 3,
	1,   10,  11,  241, 5,	3,   10,  11,  128, 65,	 244, 8,  0,   14,  19,	 144, 49,  142,
	88,  136, 1,   224, 13, 14,  137, 86,  138, 81,	 241, 5,  0,   14,  22,	 240, 12,  0,
	14,  15,  216, 13,  14, 241, 3,	  1,   13,  16,	 243, 3,  2,   12,  17,	 241, 2,   1,
	13,  16,  240, 3,   0,	19,  20,  138, 65,  241, 2,   1,  13,  16,  241, 3,   2,   12,
	17,  240, 0,   2,   5,	17,  248, 244, 5,   0,	 16,  26, 243, 0,   1,	 9,   18,  222,
	16,  17,  251, 240, 3,	1,   9,	  18,  252, 242, 4,   2,  12,  17,
};
static const uint32_t lines_313[] = {
	2,  4,	4,  5,	7,  8,	7,  7,	5,  5,	5,  9,	9,  9,	9,  9,	9,  9,	9,  9,	9,
	9,  9,	9,  9,	11, 11, 11, 11, 11, 11, 9,  9,	15, 16, 15, 15, 14, 14, 14, 14, 15,
	15, 14, 14, 14, 14, 15, 15, 14, 14, 14, 0,  12, 12, 12, 12, 12, 12, 12, 12, 12, 13,
	13, 13, 13, 13, 13, 13, 0,  0,	0,  0,	12, 0,	0,  0,	0,  0,	14, 14, 14,
};

static void check_table(const char *what, const uint8_t *table, size_t size, const uint32_t *lines,
			size_t cnt)
{
	size_t wrong = 0;

	for (size_t i = 0; i < cnt; i++)
		if (python_line__at(table, size, 2, i) != lines[i]) {
			diag("unit %zu: %u, not %u", i, python_line__at(table, size, 2, i),
			     lines[i]);
			wrong++;
		}
	is_uint(wrong, 0, "%s: the line of each of %zu units", what, cnt);
	is_uint(python_line__at(table, size, 2, cnt), 0, "%s: no line after the last", what);
	is_uint(python_line__at(table, size, 2, UINT64_MAX), 0, "%s: nor far beyond", what);
}

static void check_broken(void)
{
	static const uint8_t truncated[] = { 0xf0, 0x40 },
			     endless[] = { 0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f },
			     begins_wrong[] = { 8, 9 }, before_the_file[] = { 0xe8, 0x0d },
			     interrupted[] = { 0xe0, 0xe0, 1, 2 };

	is_uint(python_line__at(NULL, 0, 7, 0), 0, "no table");
	is_uint(python_line__at(truncated, sizeof(truncated), 7, 0), 0, "truncated in a number");
	is_uint(python_line__at(endless, sizeof(endless), 7, 0), 0, "a number without end");
	is_uint(python_line__at(begins_wrong, 2, 7, 0), 0, "no entry at its begin");
	is_uint(python_line__at(before_the_file, 2, 2, 0), 0, "a line before the first");
	is_uint(python_line__at(interrupted, 4, 7, 0), 0, "an entry within an entry");
}

static void check_forms(void)
{
	/* 1 unit each: no columns, 20 lines back and 100 on; none; one line on; short */
	static const uint8_t table[] = { 0xe8,	   41,	 0xe8, 0x40 | (200 & 63),
					 200 >> 6, 0xf8, 0xd8, 1,
					 2,	   0x80, 0 };
	static const uint32_t lines[] = { 30, 130, 0, 131, 131 };

	for (size_t i = 0; i < LEN(lines); i++)
		is_uint(python_line__at(table, sizeof(table), 50, i), lines[i], "form %zu", i);
}

int main(void)
{
	check_table("3.11", table_311, sizeof(table_311), lines_311, LEN(lines_311));
	check_table("3.13", table_313, sizeof(table_313), lines_313, LEN(lines_313));
	check_broken();
	check_forms();
	return tap__done();
}
