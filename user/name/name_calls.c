/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name/name.h"

#include <fcntl.h>
#include <stddef.h>

#define INT UINT32_MAX /* the kernel ignores the upper half of such an argument */

/*
 * Only of open files: with AT_EMPTY_PATH. A filter cannot see that the path is empty; so it can
 * still be asked whether a file exists that anybody may find.
 */
static const struct syscall_rule rules[] = { { "newfstatat",
					       { { 3, AT_EMPTY_PATH, AT_EMPTY_PATH } } },
					     { "statx", { { 2, AT_EMPTY_PATH, AT_EMPTY_PATH } } },
					     { "fcntl", { { 1, INT, F_GETFL } } },
					     { "fcntl", { { 1, INT, F_DUPFD_CLOEXEC } } },
					     {} };

const struct syscall_list name_calls = {
	/* the sockets to the tracer */
	"recvfrom sendmsg recvmsg"
	/* files that it got */
	" close fstat pread64 read lseek"
	/* stderr */
	" write writev"
	/* abort(), so that its end is not taken for a forbidden call; nobody else has its user */
	" rt_sigprocmask getpid gettid tgkill",
	rules,
};

/* libdw: the name of a file, a file of split DWARF or of dwz. */
const char name_failing_calls[] = "openat readlink readlinkat";
