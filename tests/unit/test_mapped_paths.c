/* SPDX-License-Identifier: GPL-2.0 */
/* The cache of paths: by process, by age, bounded. */
#include "procfs/filepath.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/tap.h"

static void test_keys(void)
{
	const struct file_number file = { 7, 1 }, other = { 8, 1 }, device = { 7, 2 };

	is_str(mapped_paths__get(5, &file, 0), NULL, "nothing yet");
	mapped_paths__put(5, &file, "/a", 0);
	is_str(mapped_paths__get(5, &file, 1), "/a", "kept");
	is_str(mapped_paths__get(6, &file, 1), NULL, "not for another process");
	is_str(mapped_paths__get(5, &other, 1), NULL, "not for another file");
	is_str(mapped_paths__get(5, &device, 1), NULL, "nor for another device");
	mapped_paths__put(5, &file, "/b", NS_PER_SEC);
	is_str(mapped_paths__get(5, &file, 60 * NS_PER_SEC), "/b", "the newest");
	is_str(mapped_paths__get(5, &file, 61 * NS_PER_SEC), NULL, "for a minute");
}

static void test_many(void)
{
	struct file_number file = { 0, 3 };
	bool all = true;
	char path[16];

	for (file.inode = 1; file.inode <= 100; file.inode++) {
		snprintf(path, sizeof(path), "/%d", (int)file.inode);
		mapped_paths__put(9, &file, path, NS_PER_SEC + file.inode);
	}
	for (file.inode = 85; file.inode <= 100; file.inode++) {
		const char *got = mapped_paths__get(9, &file, 2 * NS_PER_SEC);

		snprintf(path, sizeof(path), "/%d", (int)file.inode);
		all = all && got && !strcmp(got, path);
	}
	ok(all, "the last sixteen");
	file.inode = 84;
	is_str(mapped_paths__get(9, &file, 2 * NS_PER_SEC), NULL, "but no more");
}

int main(void)
{
	test_keys();
	test_many();
	return tap__done();
}
