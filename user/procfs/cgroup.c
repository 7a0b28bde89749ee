/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses "HIERARCHY:CONTROLLERS:PATH" lines. A version 1 hierarchy may have several controllers. */
#include "procfs/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "files/file.h"

#define TEXT_MAX   (64u << 10)
#define NUMBER_MAX 128

/* Rank of a line's controllers as the source of CPU time; 0: none. */
static int rank(const char *controllers, size_t len)
{
	for (const char *at = controllers; at < controllers + len; at += strcspn(at, ",:") + 1)
		if (!strncmp(at, "cpu", 3) && (at[3] == ',' || at[3] == ':'))
			return 4;
	if (!len)
		return 3; /* version 2 */
	if (!strncmp(controllers, "name=systemd:", strlen("name=systemd:")))
		return 2;
	return !strncmp(controllers, "memory:", strlen("memory:"));
}

const char *cgroup_cpu__parse(char *text)
{
	const char *ret = NULL;
	char *save = NULL;
	int best = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		int value;

		if (!path || path[1] != '/')
			continue;
		value = rank(controllers + 1, (size_t)(path - controllers - 1));
		if (value && path[2])
			value += 4; /* prefer any path to the root */
		if (value <= best)
			continue;
		best = value;
		ret = path + 1;
	}
	return ret;
}

int cgroup_cpu__path(const char *proc, uint32_t pid, uint32_t tid, char **ret)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	const char *found;
	int res = 0;

	*ret = NULL;
	snprintf(path, sizeof(path), "%s/%u/task/%u/cgroup", proc, pid, tid);
	if (!file__read(path, TEXT_MAX, &sb) && sb.len) {
		found = cgroup_cpu__parse(sb.data);
		*ret = found ? strdup(found) : NULL;
		res = found && !*ret ? -ENOMEM : 0;
	}
	strbuf__free(&sb);
	return res;
}

int cgroup__read_numbers(const char *dir, const char *name, unsigned long long ret[2])
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	int cnt = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!file__read(path, NUMBER_MAX, &sb) && !strchr(strbuf__str(&sb), '-'))
		cnt = sscanf(strbuf__str(&sb), "%llu %llu", &ret[0], &ret[1]);
	strbuf__free(&sb);
	return cnt;
}

static bool read_quota(const char *dir, struct cgroup_quota *ret)
{
	unsigned long long us[2], period_us[2];

	if (cgroup__read_numbers(dir, "cpu.max", us) != 2) {
		if (cgroup__read_numbers(dir, "cpu.cfs_quota_us", us) != 1 ||
		    cgroup__read_numbers(dir, "cpu.cfs_period_us", period_us) != 1)
			return false;
		us[1] = period_us[0];
	}
	if (!us[0] || !us[1] || us[0] > UINT64_MAX / NS_PER_US || us[1] > UINT64_MAX / NS_PER_US)
		return false;
	*ret = (struct cgroup_quota){ us[0] * NS_PER_US, us[1] * NS_PER_US };
	return true;
}

/* Tries all hierarchies: only the one that controls CPU time has these files. */
static bool quota_of(const char *mount, const char *path, struct cgroup_quota *ret)
{
	static const char *const hierarchies[] = { "/cpu", "/cpu,cpuacct", "/cpuacct,cpu", "",
						   "/unified" };
	char dir[PATH_MAX];

	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies); i++) {
		snprintf(dir, sizeof(dir), "%s%s%s", mount, hierarchies[i], path);
		if (read_quota(dir, ret))
			return true;
	}
	return false;
}

static double share(const struct cgroup_quota *quota)
{
	return (double)quota->quota_ns / (double)quota->period_ns;
}

bool cgroup_cpu__quota(const char *mount, char *path, struct cgroup_quota *ret)
{
	char at[PATH_MAX], *slash;
	struct cgroup_quota quota;
	bool found = false;
	size_t len = 0;

	/* A path outside our own cgroup namespace begins with "/..". */
	if (strlen(path) >= sizeof(at) || strstr(path, "/../"))
		return false;
	strcpy(at, path);
	for (; (slash = strrchr(at, '/')) && slash[1]; *slash = 0) {
		if (!quota_of(mount, at, &quota) || (found && share(&quota) >= share(ret)))
			continue;
		found = true;
		*ret = quota;
		len = strlen(at);
	}
	if (found)
		path[len] = 0;
	return found;
}

/* --- names: the parts of a path, one by one. Of nested containers the innermost one counts. */

#define ID_LEN	 64
#define UUID_LEN 36
#define HASH_LEN 32 /* uid of a static pod */

/* A part of the path, without the slashes. */
struct part {
	const char *at;
	size_t len;
};

static bool starts(struct part part, const char *with)
{
	return part.len >= strlen(with) && !strncmp(part.at, with, strlen(with));
}

static bool ends(struct part part, const char *with)
{
	size_t len = strlen(with);

	return part.len >= len && !strncmp(part.at + part.len - len, with, len);
}

static struct part cut(struct part part, size_t front, size_t back)
{
	return (struct part){ part.at + front, part.len - front - back };
}

static void copy(char *ret, size_t size, struct part part)
{
	snprintf(ret, size, "%.*s", (int)part.len, part.at);
}

static bool is_hex(struct part part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!isdigit((unsigned char)part.at[i]) && (part.at[i] < 'a' || part.at[i] > 'f'))
			return false;
	return true;
}

/* systemd escapes bytes that have a meaning in unit names, as "\x2d". */
static void copy_unescaped(char *ret, size_t size, struct part part)
{
	size_t len = 0;

	for (size_t i = 0; i < part.len && len + 1 < size; i++) {
		unsigned byte;

		if (part.len - i >= 4 && sscanf(part.at + i, "\\x%2x", &byte) == 1) {
			ret[len++] = byte;
			i += 3;
		} else {
			ret[len++] = part.at[i];
		}
	}
	ret[len] = '\0';
}

/*
 * Matches "ID", "docker-ID.scope", "cri-containerd-ID.scope", "libpod-ID", …: Docker, containerd,
 * Podman, CRI-O, nerdctl, with systemd's driver or cgroupfs, and "….slice:cri-containerd:ID" where
 * the two are mixed. conmon is excluded: it monitors a container from outside.
 */
static bool by_id(struct part part, struct cgroup_names *ret)
{
	struct part id, before;

	if (ends(part, ".scope"))
		part = cut(part, 0, strlen(".scope"));
	if (part.len < ID_LEN)
		return false;
	id = cut(part, part.len - ID_LEN, 0);
	before = cut(part, 0, ID_LEN);
	if (!is_hex(id) || (before.len && !ends(before, "-") && !ends(before, ":")) ||
	    ends(before, "conmon-") || ends(before, "_pod_"))
		return false;
	copy(ret->container, sizeof(ret->container), id);
	return true;
}

/*
 * Matches "systemd-nspawn@NAME.service", and scopes that systemd-machined registers, except virtual
 * machines.
 */
static bool by_machine(struct part part, struct cgroup_names *ret)
{
	static const char nspawn[] = "systemd-nspawn@", machine[] = "machine-";

	if (starts(part, nspawn) && ends(part, ".service"))
		part = cut(part, strlen(nspawn), strlen(".service"));
	else if (starts(part, machine) && ends(part, ".scope") &&
		 !starts(part, "machine-qemu\\x2d"))
		part = cut(part, strlen(machine), strlen(".scope"));
	else
		return false;
	if (!part.len)
		return false;
	copy_unescaped(ret->container, sizeof(ret->container), part);
	return true;
}

/* Matches "lxc.payload.NAME", and the older "lxc.payload/NAME" and "lxc/NAME". */
static bool by_lxc(struct part parent, struct part part, struct cgroup_names *ret)
{
	static const char payload[] = "lxc.payload.";

	if (starts(part, payload) && part.len > strlen(payload))
		part = cut(part, strlen(payload), 0);
	else if (!(parent.len == 3 && starts(parent, "lxc")) &&
		 !(parent.len == 11 && starts(parent, "lxc.payload")))
		return false;
	copy(ret->container, sizeof(ret->container), part);
	return true;
}

/* The text after the last "pod" at the start of a word, up to a dot or colon. */
static struct part pod_uid(struct part part)
{
	struct part ret = { part.at, 0 };

	for (size_t i = 0; i + 3 < part.len; i++) {
		if (strncmp(part.at + i, "pod", 3) || (i && part.at[i - 1] != '-'))
			continue;
		ret = cut(part, i + 3, 0);
		for (size_t j = 0; j < ret.len; j++)
			if (ret.at[j] == '.' || ret.at[j] == ':')
				ret.len = j;
	}
	return ret;
}

/*
 * Matches "podUID" and "kubepods-burstable-podUID.slice" with '_' for '-', optionally followed by
 * ":cri-containerd:…".
 */
static bool find_pod(struct part part, struct cgroup_names *ret)
{
	struct part uid = pod_uid(part);
	char text[sizeof(ret->pod)];
	size_t digits = 0, dashes = 0;

	if (uid.len != UUID_LEN && uid.len != HASH_LEN)
		return false;
	copy(text, sizeof(text), uid);
	for (char *c = text; *c; c++) {
		if (*c == '_')
			*c = '-';
		digits += isxdigit((unsigned char)*c) != 0;
		dashes += *c == '-';
	}
	if (digits != HASH_LEN || dashes != uid.len - HASH_LEN)
		return false;
	memcpy(ret->pod, text, sizeof(text));
	return true;
}

/* systemd prefixes a '_' to names that could be confused with the kernel's own files. */
static bool find_unit(struct part part, struct cgroup_names *ret)
{
	if (starts(part, "_"))
		part = cut(part, 1, 0);
	if (!ends(part, ".service") && !ends(part, ".scope") && !ends(part, ".socket") &&
	    !ends(part, ".mount") && !ends(part, ".swap"))
		return false;
	copy(ret->unit, sizeof(ret->unit), part);
	return true;
}

void cgroup__names(const char *path, struct cgroup_names *ret)
{
	struct part parent = { path, 0 };
	const char *begin = path;

	*ret = (struct cgroup_names){};
	while (*path) {
		struct part part = { path, strcspn(path, "/") };

		if (part.len) {
			bool named = by_id(part, ret) || by_machine(part, ret) ||
				     by_lxc(parent, part, ret);

			named |= find_pod(part, ret);
			named |= find_unit(part, ret);
			if (named)
				ret->parent_len = (size_t)(path - begin);
			parent = part;
		}
		path += part.len + (path[part.len] == '/');
	}
}

/* --- who chose the names */

/* The first owner other than root along the path, below its first byte; 0: none. */
static uid_t owner_along(const char *hierarchy, const char *path, size_t len)
{
	char dir[2 * PATH_MAX];
	uid_t ret = 0;

	for (size_t end = 1; !ret && end <= len; end++) {
		struct stat st;

		if (path[end - 1] == '/' || (end < len && path[end] != '/'))
			continue;
		snprintf(dir, sizeof(dir), "%s%.*s", hierarchy, (int)end, path);
		ret = stat(dir, &st) ? 0 : st.st_uid;
	}
	return ret;
}

/* The path may be that of any hierarchy (procinfo__parse_cgroup). */
uid_t cgroup__names_uid(const char *mount, const char *path, const struct cgroup_names *names)
{
	static const char *const hierarchies[] = { "",	      "/unified",     "/systemd",
						   "/memory", "/cpu,cpuacct", "/cpu" };
	char hierarchy[PATH_MAX];
	uid_t ret = 0;

	if (strlen(mount) + strlen(path) + 32 > PATH_MAX || strstr(path, "/../"))
		return 0;
	for (size_t i = 0; !ret && i < sizeof(hierarchies) / sizeof(*hierarchies); i++) {
		snprintf(hierarchy, sizeof(hierarchy), "%s%s", mount, hierarchies[i]);
		ret = owner_along(hierarchy, path, names->parent_len);
	}
	return ret;
}
