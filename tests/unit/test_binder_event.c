/* SPDX-License-Identifier: GPL-2.0 */
/* The record of binder's tracepoint, as tracefs describes it. */
#include <errno.h>
#include <string.h>

#include "probes/binder_event.h"
#include "tests/tap.h"

/* Of Debian's 7.3.4, x86-64. */
#define COMMON                                                                                     \
	"name: binder_transaction\nID: 1633\nformat:\n"                                            \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELDS                                                                                     \
	"\tfield:int debug_id;\toffset:8;\tsize:4;\tsigned:1;\n"                                   \
	"\tfield:int target_node;\toffset:12;\tsize:4;\tsigned:1;\n"                               \
	"\tfield:int to_proc;\toffset:16;\tsize:4;\tsigned:1;\n"                                   \
	"\tfield:int to_thread;\toffset:20;\tsize:4;\tsigned:1;\n"                                 \
	"\tfield:int reply;\toffset:24;\tsize:4;\tsigned:1;\n"                                     \
	"\tfield:unsigned int code;\toffset:28;\tsize:4;\tsigned:0;\n"                             \
	"\tfield:unsigned int flags;\toffset:32;\tsize:4;\tsigned:0;\n"
/* A vendor's kernel with namespaces of devices has a pointer before them. */
#define MOVED                                                                                      \
	"\tfield:const char* dev_ns;\toffset:8;\tsize:8;\tsigned:0;\n"                             \
	"\tfield:int debug_id;\toffset:16;\tsize:4;\tsigned:1;\n"                                  \
	"\tfield:int target_node;\toffset:20;\tsize:4;\tsigned:1;\n"                               \
	"\tfield:int to_proc;\toffset:24;\tsize:4;\tsigned:1;\n"                                   \
	"\tfield:int reply;\toffset:32;\tsize:4;\tsigned:1;\n"                                     \
	"\tfield:unsigned int code;\toffset:36;\tsize:4;\tsigned:0;\n"                             \
	"\tfield:unsigned int flags;\toffset:40;\tsize:4;\tsigned:0;\n"

int main(void)
{
	is_int(binder_event__check(COMMON FIELDS), 0, "the record of the kernel");
	is_int(binder_event__check(COMMON MOVED), -EOPNOTSUPP, "a vendor's is not read");
	is_int(binder_event__check(COMMON), -EOPNOTSUPP, "nor one without fields");
	is_int(binder_event__find("no_such_driver"), -ENOENT, "a driver that is not there");
	return tap__done();
}
