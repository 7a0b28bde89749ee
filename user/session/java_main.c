/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/java_main.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "bpf/jank_abi.h"
#include "procfs/futex_wait.h"
#include "procfs/procinfo.h"

static bool is_launcher(uint32_t pid)
{
	char path[64], program[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	len = readlink(path, program, sizeof(program) - 1);
	if (len < 0)
		return false;
	program[len] = 0;
	return !strcmp(text__base_name(program), "java");
}

uint32_t java_main__find(uint32_t pid)
{
	struct blocked_call call;

	if (!is_launcher(pid) || blocked_call__read("/proc", pid, pid, &call))
		return 0;
	return joined_thread__find("/proc", pid, &call);
}

/* As the kernel keeps them, cut to 15 bytes; of JDK 11 to 24. */
bool java_main__is_hotspot(uint32_t pid, uint32_t tid)
{
	static const char *const begins[] = {
		"VM Thread",	   "VM Periodic Tas", "GC Thread#",	 "G1 ",
		"ParGC Thread#",   "Shenandoah ",     "ZWorker",	 "ZDirector",
		"ZDriver",	   "ZStat",	      "C1 CompilerThre", "C2 CompilerThre",
		"Sweeper thread",  "Service Thread",  "Monitor Deflati", "Signal Dispatch",
		"Reference Handl", "Finalizer",	      "Notification Th", "Common-Cleaner",
		"Attach Listener",
	};
	char name[JANK_COMM_SZ + 1];

	if (threadname__read("/proc", pid, tid, name))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (text__begins(name, begins[i]))
			return true;
	return false;
}
