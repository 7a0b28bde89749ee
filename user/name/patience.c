/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name/patience.h"

#include <stdio.h>
#include <string.h>

#include "files/file.h"

#define STAT_MAX 4096

bool patience__tick(struct patience *patience, uint64_t now_ns, uint64_t cpu_ns, bool wants_cpu,
		    uint64_t limit_ns)
{
	if (!patience->begin_ns) {
		patience->begin_ns = now_ns;
		patience->begin_cpu_ns = patience->cpu_ns = cpu_ns;
		return false;
	}
	patience->asleep_cnt += !wants_cpu && cpu_ns - patience->cpu_ns < PATIENCE_RAN_NS;
	patience->cpu_ns = cpu_ns;
	return cpu_ns - patience->begin_cpu_ns > limit_ns ||
	       patience->asleep_cnt * PATIENCE_TICK_NS >= limit_ns ||
	       now_ns - patience->begin_ns > PATIENCE_STARVED * limit_ns;
}

/* True if it has a CPU, or waits for one. */
static bool wants_cpu(pid_t pid)
{
	struct strbuf text = STRBUF_INIT;
	const char *comm_end;
	char path[32];
	bool ret;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file__read(path, STAT_MAX, &text);
	comm_end = strrchr(strbuf__str(&text), ')');
	ret = comm_end && !strncmp(comm_end, ") R", 3);
	strbuf__free(&text);
	return ret;
}

bool patience__ends(struct patience *patience, pid_t pid, uint64_t limit_ns)
{
	uint64_t ns;

	return patience__tick(patience, clock__mono_ns(), clock__process_ns(pid, &ns) ? 0 : ns,
			      wants_cpu(pid), limit_ns);
}
