/* SPDX-License-Identifier: GPL-2.0 */
/* struct err on its way up: return value, exit status, message, its bound. */
#include "base/err.h"

#include <errno.h>

#include "tests/tap.h"

int main(void)
{
	struct err err;
	char long_text[2000];

	memset(&err, 0xaa, sizeof(err));
	is_int(err__set(&err, ENOENT, "'%s': %d", "a b", 7), -ENOENT, "returns -code");
	is_str(err.msg, "'a b': 7", "formats the message");
	is_int(err.exit, JANK_EXIT_FAILED, "exit status: failed");

	is_int(err__set_exit(&err, JANK_EXIT_CANNOT, EPERM, "no"), -EPERM,
	       "set_exit returns -code");
	is_int(err.exit, JANK_EXIT_CANNOT, "… and keeps the exit status");
	is_int(err__set(&err, EIO, "%s", "again"), -EIO, "a later error");
	is_int(err.exit, JANK_EXIT_FAILED, "… replaces the exit status");
	is_str(err.msg, "again", "… and the message");

	is_int(err__set(NULL, EIO, "%d", 1), -EIO, "NULL: only the return value");
	is_int(err__set_exit(NULL, 2, EINVAL, "%d", 1), -EINVAL, "… of set_exit too");

	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	err__set(&err, EIO, "%s", long_text);
	is_uint(strlen(err.msg), sizeof(err.msg) - 1, "a long message is cut to the field");
	return tap__done();
}
