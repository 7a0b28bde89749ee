/* SPDX-License-Identifier: GPL-2.0 */
/* Which lock of a file a process waits for, by the text of /proc/locks. */
#include "enrich/awaited.h"

#include "tests/tap.h"

static const char LOCKS[] = "1: POSIX  ADVISORY  WRITE 500 fe:00:900 0 EOF\n"
			    "2: FLOCK  ADVISORY  WRITE 612 fe:00:1234 0 EOF\n"
			    "2: -> FLOCK  ADVISORY  WRITE 700 fe:00:1234 0 EOF\n"
			    "2:  -> FLOCK  ADVISORY  READ  701 fe:00:1234 0 EOF\n"
			    "3: OFDLCK ADVISORY  WRITE -1 fe:00:1235 0 EOF\n"
			    "3: -> OFDLCK ADVISORY  WRITE -1 fe:00:1235 0 EOF\n"
			    "4: FLOCK  ADVISORY  WRITE 613 fe:00:1236 0 EOF\n"
			    "4: -> FLOCK  ADVISORY  WRITE 703 fe:00:1236 0 EOF\n"
			    "5: FLOCK  ADVISORY  WRITE 614 fe:00:1237 0 EOF\n"
			    "5: -> FLOCK  ADVISORY  WRITE 703 fe:00:1237 0 EOF\n"
			    "6: OFDLCK ADVISORY  WRITE -1 fe:00:1238 0 9\n"
			    "6: -> OFDLCK ADVISORY  WRITE -1 fe:00:1238 0 EOF\n"
			    "7: OFDLCK ADVISORY  WRITE -1 fe:00:1238 10 19\n"
			    "7: -> OFDLCK ADVISORY  WRITE -1 fe:00:1238 10 EOF\n";

static char lock[FILE_LOCK_SZ];

static const char *blocker(const char *text, int64_t pid, const char *file)
{
	return file_locks__blocker(text, pid, file, lock) ? lock : "";
}

int main(void)
{
	is_str(blocker(LOCKS, 700, NULL), "FLOCK  ADVISORY  WRITE 612 fe:00:1234 0 EOF",
	       "the lock that it waits for");
	is_str(blocker(LOCKS, 701, NULL), lock, "of one that waits behind another");
	is_str(blocker(LOCKS, 700, "fe:00:1235"), "", "not of another file");
	is_str(blocker(LOCKS, 612, NULL), "", "a holder does not wait");
	is_str(blocker(LOCKS, 500, NULL), "", "nor does one of a lock without waiters");
	is_str(blocker(LOCKS, -1, "fe:00:1235"), "OFDLCK ADVISORY  WRITE -1 fe:00:1235 0 EOF",
	       "of an open file");
	is_str(blocker(LOCKS, -1, "fe:00:1238"), "", "not one of two of its ranges");
	is_str(blocker(LOCKS, 703, NULL), "", "not one of two: threads of a process wait");
	is_str(blocker(LOCKS, 703, "fe:00:1237"), "FLOCK  ADVISORY  WRITE 614 fe:00:1237 0 EOF",
	       "the one of the file");
	is_str(blocker(LOCKS, 704, NULL), "", "a process without locks");
	is_str(blocker("-> FLOCK\n2: FLOCK ADVISORY\n9: -> x", 700, NULL), "", "not a line");
	is_str(blocker("", 700, NULL), "", "no text");
	is_str(blocker(NULL, 700, NULL), "", "none");
	return tap__done();
}
