/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads uname, the boot id and the number of CPUs. Memory figures are read again for each block. */
#include "procfs/host.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"

static char *boot_id(void)
{
	struct strbuf sb = STRBUF_INIT;
	char *ret = NULL;

	if (!file__read("/proc/sys/kernel/random/boot_id", 256, &sb) && sb.len)
		ret = strndup(sb.data, strcspn(sb.data, "\n"));
	strbuf__free(&sb);
	return ret ? ret : strdup("unknown");
}

int host__read(struct host_info *ret, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname name;

	if (uname(&name))
		return err__set(err, errno, "uname: %s", strerror(errno));
	*ret = (struct host_info){
		.name = strdup(name.nodename),
		.kernel = strdup(name.release),
		.arch = strdup(name.machine),
		.boot_id = boot_id(),
		.cpus = cpus > 0 ? cpus : 1,
	};
	if (ret->name && ret->kernel && ret->arch && ret->boot_id)
		return 0;
	host__free(ret);
	return err__set(err, ENOMEM, "out of memory");
}

void host__free(struct host_info *host)
{
	free(host->name);
	free(host->kernel);
	free(host->arch);
	free(host->boot_id);
	host->name = host->kernel = host->arch = host->boot_id = NULL;
}

/* --- CPUs: one number per file */

#define NUMBER_MAX 64

/* 0 if there is no file or no number: an offline CPU shows "<unknown>". */
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
