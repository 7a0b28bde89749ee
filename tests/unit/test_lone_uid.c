/* SPDX-License-Identifier: GPL-2.0 */
/* A user id that nobody else has. */
#include "files/lone_uid.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static void is_range(const char *map, uid_t first, uid_t last, const char *what)
{
	struct uid_range range = lone_uid__range(map);

	ok(range.first == first && range.last == last, "%s: %u to %u", what, range.first,
	   range.last);
}

static void is_none(const char *map, const char *what)
{
	struct uid_range range = lone_uid__range(map);

	ok(range.last < range.first, "%s: none", what);
}

/* The user may be taken, and then this process alone has it. */
static int take(uid_t uid)
{
	return setresuid(uid, uid, uid) || getuid() != uid;
}

static void test_taken(void)
{
	uid_t one = lone_uid__find(), other = lone_uid__find();
	pid_t pid;
	int status;

	ok(one != UID_NOBODY && one != other, "two draws differ: %u, %u", one, other);
	if (geteuid())
		return skip(1, "needs root");
	pid = fork();
	if (!pid)
		_exit(take(one));
	waitpid(pid, &status, 0);
	is_int(status, 0, "a process can have it");
}

int main(void)
{
	is_range("         0          0 4294967295\n", 2010000000, 2147000000, "all numbers");
	is_range("         0     100000      65536\n", 20000, 60000, "a container");
	is_range("0 1000 1\n1 100000 65536\n", 20000, 60000, "one of a user");
	is_range("0 100000 30000\n", 20000, 29999, "a small one");
	is_none("0 1000 1\n", "one user");
	is_none("", "no map");
	is_none("garbage", "another text");
	is_none("0 0 0\n", "an empty range");
	test_taken();
	return tap__done();
}
