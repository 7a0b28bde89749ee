/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads uname, the boot id and the number of CPUs. Memory figures are read again for each block. */
#include "procfs/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "files/file.h"

static char *boot_id(void)
{
	struct strbuf sb = STRBUF_INIT;
	char *ret = NULL;

	if (!file__read("/proc/sys/kernel/random/boot_id", 256, &sb) && sb.len)
		ret = strndup(sb.data, strcspn(sb.data, "\n"));
	strbuf__free(&sb);
	return ret ? ret : strdup("unknown");
}

int host__read(const char *name, struct host_info *ret, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname uts;

	if (uname(&uts))
		return err__set(err, errno, "uname: %s", strerror(errno));
	*ret = (struct host_info){
		.name = strdup(name ? name : uts.nodename),
		.kernel = strdup(uts.release),
		.arch = strdup(uts.machine),
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

/*
 * --- throttling: opens packages first, then cores, then cooling devices, up to the limit: a
 * package's heat affects every core.
 */

#define CPU_MAX		   4096
#define COOLING_MAX	   64
#define TEXT_MAX	   4096
#define THERMAL_NUMBER_MAX 32

enum about {
	ABOUT_CORE,    /* the CPU `id` */
	ABOUT_PACKAGE, /* the CPUs of the package `id` */
	ABOUT_POLICY,  /* CPUs that share the frequency of CPU `id` */
	ABOUT_ALL,     /* all processors: the device does not say which */
};

struct source {
	enum about about;
	uint32_t id;
	bool counts; /* true: number of events; false: current level */
	int fd;
};

struct thermal {
	char *sys;
	struct source sources[THROTTLE_MAX];
	uint32_t cnt;
};
_Static_assert(THROTTLE_MAX <= 32, "a bit each");

/* Reads a sysfs file. False: not readable. */
static bool text_of(const char *path, char *ret, size_t size)
{
	struct strbuf sb = STRBUF_INIT;
	bool found = !file__read(path, TEXT_MAX, &sb) && sb.len && sb.len < size;

	if (found)
		snprintf(ret, size, "%s", strbuf__str(&sb));
	strbuf__free(&sb);
	return found;
}

static uint32_t parse(const char *text)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	return end == text || *text == '-' || number >= THROTTLE_UNKNOWN ? THROTTLE_UNKNOWN
									 : (uint32_t)number;
}

/* False: the limit is reached. */
static bool add(struct thermal *throttle, const char *path, struct source source)
{
	if (throttle->cnt == THROTTLE_MAX)
		return false;
	source.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (source.fd >= 0)
		throttle->sources[throttle->cnt++] = source;
	return true;
}

static uint32_t package_of(const char *sys, uint32_t cpu)
{
	char path[PATH_MAX], text[THERMAL_NUMBER_MAX];

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/physical_package_id",
		 sys, cpu);
	return text_of(path, text, sizeof(text)) ? parse(text) : THROTTLE_UNKNOWN;
}

static bool has_package(const struct thermal *throttle, uint32_t id)
{
	for (uint32_t i = 0; i < throttle->cnt; i++)
		if (throttle->sources[i].about == ABOUT_PACKAGE && throttle->sources[i].id == id)
			return true;
	return false;
}

static bool exists(const char *sys, uint32_t cpu, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/devices/system/cpu/cpu%u/thermal_throttle", sys, cpu);
	return !access(path, R_OK);
}

static void add_packages(struct thermal *throttle)
{
	char path[PATH_MAX];

	for (uint32_t cpu = 0; cpu < CPU_MAX && exists(throttle->sys, cpu, path); cpu++) {
		struct source source = { ABOUT_PACKAGE, package_of(throttle->sys, cpu), true, -1 };

		if (source.id == THROTTLE_UNKNOWN || has_package(throttle, source.id))
			continue;
		strncat(path, "/package_throttle_count", PATH_MAX - strlen(path) - 1);
		if (!add(throttle, path, source))
			return;
	}
}

static void add_cores(struct thermal *throttle)
{
	char path[PATH_MAX];

	for (uint32_t cpu = 0; cpu < CPU_MAX && exists(throttle->sys, cpu, path); cpu++) {
		const struct source source = { ABOUT_CORE, cpu, true, -1 };

		strncat(path, "/core_throttle_count", PATH_MAX - strlen(path) - 1);
		if (!add(throttle, path, source))
			return;
	}
}

/*
 * True for a cooling device of CPUs. The ACPI driver calls it "Processor", cpufreq "cpufreq-cpu4"
 * or, earlier, "thermal-cpufreq-1".
 */
static bool cools_cpus(const char *type, struct source *ret)
{
	*ret = (struct source){ ABOUT_ALL, 0, false, -1 };
	if (!strncmp(type, "cpufreq-cpu", strlen("cpufreq-cpu"))) {
		ret->about = ABOUT_POLICY;
		ret->id = parse(type + strlen("cpufreq-cpu"));
		return ret->id != THROTTLE_UNKNOWN;
	}
	return !strncmp(type, "thermal-cpufreq-", strlen("thermal-cpufreq-")) ||
	       !strcmp(type, "Processor\n");
}

static void add_cooling(struct thermal *throttle)
{
	char path[PATH_MAX], type[64];

	for (uint32_t i = 0; i < COOLING_MAX; i++) {
		struct source source;

		snprintf(path, sizeof(path), "%s/class/thermal/cooling_device%u/type",
			 throttle->sys, i);
		if (!text_of(path, type, sizeof(type)))
			continue;
		snprintf(path, sizeof(path), "%s/class/thermal/cooling_device%u/cur_state",
			 throttle->sys, i);
		if (cools_cpus(type, &source) && !add(throttle, path, source))
			return;
	}
}

struct thermal *thermal__open(const char *sys)
{
	struct thermal *throttle = calloc(1, sizeof(*throttle));

	if (!throttle)
		return NULL;
	throttle->sys = strdup(sys);
	if (throttle->sys) {
		add_packages(throttle);
		add_cores(throttle);
		add_cooling(throttle);
	}
	if (throttle->cnt)
		return throttle;
	thermal__close(throttle);
	return NULL;
}

void thermal__close(struct thermal *throttle)
{
	if (!throttle)
		return;
	while (throttle->cnt)
		close(throttle->sources[--throttle->cnt].fd);
	free(throttle->sys);
	free(throttle);
}

void thermal__read(const struct thermal *throttle, uint32_t ret[THROTTLE_MAX])
{
	for (uint32_t i = 0; i < THROTTLE_MAX; i++)
		ret[i] = THROTTLE_UNKNOWN;
	for (uint32_t i = 0; throttle && i < throttle->cnt; i++) {
		char text[THERMAL_NUMBER_MAX] = "";

		if (pread(throttle->sources[i].fd, text, sizeof(text) - 1, 0) > 0)
			ret[i] = parse(text);
	}
}

static bool is_active(const struct source *source, uint32_t before, uint32_t after)
{
	bool known = before != THROTTLE_UNKNOWN && after != THROTTLE_UNKNOWN;

	if (source->counts)
		return known && after > before;
	return (before && before != THROTTLE_UNKNOWN) || (after && after != THROTTLE_UNKNOWN);
}

uint32_t thermal__active(const struct thermal *throttle, const uint32_t *before,
			 const uint32_t *after)
{
	uint32_t ret = 0;

	for (uint32_t i = 0; throttle && i < throttle->cnt; i++)
		if (is_active(&throttle->sources[i], before[i], after[i]))
			ret |= 1u << i;
	return ret;
}

/* True if the CPU belongs to the policy of `other`; related_cpus is "0 1 2 3". */
static bool shares_policy(const char *sys, uint32_t cpu, uint32_t other)
{
	char path[PATH_MAX], text[TEXT_MAX], *save = NULL;

	if (cpu == other)
		return true;
	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/cpufreq/related_cpus", sys, cpu);
	if (!text_of(path, text, sizeof(text)))
		return false;
	for (char *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
		if (parse(word) == other)
			return true;
	return false;
}

static bool is_about(const struct thermal *throttle, const struct source *source, uint32_t cpu)
{
	switch (source->about) {
	case ABOUT_CORE:
		return source->id == cpu;
	case ABOUT_PACKAGE:
		return source->id == package_of(throttle->sys, cpu);
	case ABOUT_POLICY:
		return shares_policy(throttle->sys, cpu, source->id);
	case ABOUT_ALL:
		return true;
	}
	return false;
}

uint32_t thermal__of(const struct thermal *throttle, uint32_t cpu)
{
	uint32_t ret = 0;

	for (uint32_t i = 0; throttle && i < throttle->cnt; i++)
		if (is_about(throttle, &throttle->sources[i], cpu))
			ret |= 1u << i;
	return ret;
}
