/* SPDX-License-Identifier: GPL-2.0 */
/* A number a file. */
#include "procfs/cpuinfo.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

#define NUMBER_MAX 64

/* 0 where there is none, or no number: a CPU that is off says "<unknown>". */
static uint32_t number_in(const char *sys, uint32_t cpu, const char *name)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long long number = 0;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/%s", sys, cpu, name);
	if (!file__read(path, NUMBER_MAX, &sb) && strbuf__str(&sb)[0] != '-')
		number = strtoull(strbuf__str(&sb), NULL, 10);
	strbuf__free(&sb);
	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

void cpuinfo__read(const char *sys, uint32_t cpu, struct cpu_info *ret)
{
	ret->khz = number_in(sys, cpu, "cpufreq/scaling_cur_freq");
	ret->capacity = number_in(sys, cpu, "cpu_capacity");
	ret->max_khz = number_in(sys, cpu, "cpufreq/cpuinfo_max_freq");
}

bool cpuinfo__node(const char *sys, uint32_t cpu, uint32_t *ret)
{
	const struct dirent *entry;
	char path[PATH_MAX], end;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u", sys, cpu);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = sscanf(entry->d_name, "node%u%c", ret, &end) == 1;
	if (dir)
		closedir(dir);
	return found;
}
