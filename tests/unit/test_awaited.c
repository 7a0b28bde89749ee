/* SPDX-License-Identifier: GPL-2.0 */
/* Who holds the lock of a file, by the text of /proc/locks. */
#include "enrich/awaited.h"

#include "tests/tap.h"

static const char LOCKS[] = "1: POSIX  ADVISORY  WRITE 500 fe:00:900 0 EOF\n"
			    "2: FLOCK  ADVISORY  WRITE 612 fe:00:1234 0 EOF\n"
			    "2: -> FLOCK  ADVISORY  WRITE 700 fe:00:1234 0 EOF\n"
			    "2:  -> FLOCK  ADVISORY  READ  701 fe:00:1234 0 EOF\n"
			    "3: OFDLCK ADVISORY  WRITE -1 fe:00:1235 0 EOF\n"
			    "3: -> OFDLCK ADVISORY  WRITE 702 fe:00:1235 0 EOF\n"
			    "4: FLOCK  ADVISORY  WRITE 613 fe:00:1236 0 EOF\n"
			    "4: -> FLOCK  ADVISORY  WRITE 703 fe:00:1236 0 EOF\n"
			    "5: FLOCK  ADVISORY  WRITE 614 fe:00:1237 0 EOF\n"
			    "5: -> FLOCK  ADVISORY  WRITE 703 fe:00:1237 0 EOF\n";

int main(void)
{
	is_uint(file_locks__holder(LOCKS, 700), 612, "the holder of the lock");
	is_uint(file_locks__holder(LOCKS, 701), 612, "of one that waits behind another");
	is_uint(file_locks__holder(LOCKS, 612), 0, "a holder does not wait");
	is_uint(file_locks__holder(LOCKS, 500), 0, "nor does one of a lock without waiters");
	is_uint(file_locks__holder(LOCKS, 702), 0, "an open file's lock has no process");
	is_uint(file_locks__holder(LOCKS, 703), 0, "not one of two: threads of a process wait");
	is_uint(file_locks__holder(LOCKS, 704), 0, "a process without locks");
	is_uint(file_locks__holder("-> FLOCK\n2: FLOCK ADVISORY\n9: -> x", 700), 0, "not a line");
	is_uint(file_locks__holder("", 700), 0, "no text");
	is_uint(file_locks__holder(NULL, 700), 0, "none");
	return tap__done();
}
