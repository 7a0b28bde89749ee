/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/log.h"
#include "procfs/cgroup.h"

void limits__raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

#define RAISE_FILES  "raise the hard limit, such as by `ulimit -Hn 4096`"
#define FILES_ENOUGH 256 /* a start with all else on has some 120 */

int limits__explain(int res, struct err *err)
{
	const struct err why = *err;
	struct rlimit limit;

	if (!res || getrlimit(RLIMIT_NOFILE, &limit))
		return res;
	if (res == -EMFILE)
		return err__set(err, EMFILE,
				"%llu files may be open at once, which is too few: " RAISE_FILES,
				(unsigned long long)limit.rlim_max);
	if (limit.rlim_max >= FILES_ENOUGH)
		return res;
	return err__set_exit(
		err, why.exit, -res,
		"%s. Perhaps because only %llu files may be open at once: " RAISE_FILES, why.msg,
		(unsigned long long)limit.rlim_max);
}

#define START_MEMORY_MB 56  /* the verifier needs most of that */
#define LOAD_MEMORY_MB	128 /* a thread that loads programs takes some 10 */
#define LOAD_THREADS	3

unsigned limits__load_threads(void)
{
	uint64_t left = cgroup_memory__left("/sys/fs/cgroup", "/proc/self/cgroup") >> 20;
	unsigned others;
	cpu_set_t cpus;

	if (left < START_MEMORY_MB)
		log__warn("this process's cgroup may take %" PRIu64 " MB of memory, and a start "
			  "takes some %d: if the kernel kills jankbpf, raise the cgroup's "
			  "memory.max",
			  left, START_MEMORY_MB);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) || left < LOAD_MEMORY_MB)
		return 0;
	others = CPU_COUNT(&cpus) - 1;
	return others < LOAD_THREADS ? others : LOAD_THREADS;
}
