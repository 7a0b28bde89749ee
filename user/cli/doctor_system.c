/* SPDX-License-Identifier: GPL-2.0 */
/* Who runs jankbpf, with what powers, and what the system's settings allow. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "cli/doctor.h"
#include "probes/preflight.h"

#define BPF_FS_MAGIC_NR 0xcafe4a11
#define SETTING_MAX	256

static void check_caps(struct doctor *doc)
{
	for (size_t i = 0; i < preflight_cap_cnt; i++) {
		const struct capability *cap = &preflight_caps[i];

		if (preflight__has_cap(cap))
			doctor__line(doc, VERDICT_OK, cap->name, "%s", cap->purpose);
		else
			doctor__line(doc, cap->required ? VERDICT_MISSING : VERDICT_DEGRADED,
				     cap->name, "%s; run as root, by sudo for example",
				     cap->without);
	}
}

static void check_namespaces(struct doctor *doc)
{
	if (preflight__in_initial_ns("user"))
		doctor__line(doc, VERDICT_OK, "user namespace", "the machine's own");
	else
		doctor__line(doc, VERDICT_MISSING, "user namespace",
			     "root here has no power over the kernel's tracing; run it outside");
	if (preflight__in_initial_ns("pid"))
		doctor__line(doc, VERDICT_OK, "pid namespace", "the machine's own");
	else
		doctor__line(doc, VERDICT_MISSING, "pid namespace",
			     "the kernel's events carry other process ids than those here; run it "
			     "outside, or with --pid=host");
}

void doctor__check_user(struct doctor *doc)
{
	printf("\nUser (uid %u)\n", geteuid());
	check_caps(doc);
	check_namespaces(doc);
}

/* --- the system */

/* A setting's first line in sb; -errno when it cannot be read. */
static int read_setting(const char *path, struct strbuf *sb)
{
	int code = file__read(path, SETTING_MAX, sb);

	if (!code && sb->len && sb->data[sb->len - 1] == '\n')
		sb->data[--sb->len] = '\0';
	return code;
}

static void check_arch(struct doctor *doc)
{
	struct utsname uts;

	uname(&uts);
	if (!strcmp(uts.machine, "x86_64") || !strcmp(uts.machine, "aarch64"))
		doctor__line(doc, VERDICT_OK, "architecture", "%s", uts.machine);
	else
		doctor__line(
			doc, VERDICT_DEGRADED, "architecture",
			"%s: not among those that jankbpf knows (x86_64, aarch64); uprobes go to "
			"a function's entry",
			uts.machine);
}

/* "none [integrity] confidentiality": the one in brackets holds. */
static void check_lockdown(struct doctor *doc)
{
	struct strbuf sb = STRBUF_INIT;

	if (read_setting("/sys/kernel/security/lockdown", &sb))
		doctor__line(doc, VERDICT_OK, "lockdown", "none, or not to be seen");
	else if (strstr(strbuf__str(&sb), "[confidentiality]"))
		doctor__line(
			doc, VERDICT_MISSING, "lockdown",
			"confidentiality: the kernel refuses tracing to everyone; boot without "
			"it, or with lockdown=integrity");
	else
		doctor__line(doc, VERDICT_OK, "lockdown", "%s: refuses nothing that is needed",
			     strbuf__str(&sb));
	strbuf__free(&sb);
}

static void check_paranoid(struct doctor *doc)
{
	struct strbuf sb = STRBUF_INIT;
	bool perfmon = false;

	for (size_t i = 0; i < preflight_cap_cnt; i++)
		if (!strcmp(preflight_caps[i].name, "CAP_PERFMON"))
			perfmon = preflight__has_cap(&preflight_caps[i]);
	if (read_setting("/proc/sys/kernel/perf_event_paranoid", &sb))
		doctor__line(
			doc, VERDICT_DEGRADED, "perf_event_paranoid",
			"not to be read: the kernel may lack perf events, so no stacks of time "
			"on the CPU");
	else if (perfmon || atoi(strbuf__str(&sb)) < 0)
		doctor__line(doc, VERDICT_OK, "perf_event_paranoid", "%s%s", strbuf__str(&sb),
			     perfmon ? ", no matter with CAP_PERFMON" : "");
	else
		doctor__line(doc, VERDICT_DEGRADED, "perf_event_paranoid",
			     "%s: no sampler for this user; run as root", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void check_kptr(struct doctor *doc)
{
	struct strbuf sb = STRBUF_INIT;
	int code = read_setting("/proc/sys/kernel/kptr_restrict", &sb);

	if (!code && atoi(strbuf__str(&sb)) < 2)
		doctor__line(doc, VERDICT_OK, "kptr_restrict", "%s: root sees kernel addresses",
			     strbuf__str(&sb));
	else
		doctor__line(doc, VERDICT_DEGRADED, "kptr_restrict",
			     "%s: kernel frames have no names; sysctl kernel.kptr_restrict=1",
			     code ? strerror(-code) : strbuf__str(&sb));
	strbuf__free(&sb);
}

static void check_memlock(struct doctor *doc)
{
	struct rlimit lim = { 0, 0 };

	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (lim.rlim_cur == RLIM_INFINITY)
		doctor__line(doc, VERDICT_OK, "RLIMIT_MEMLOCK", "unlimited");
	else
		doctor__line(doc, VERDICT_OK, "RLIMIT_MEMLOCK",
			     "%" PRIu64
			     " kB: no limit for maps, which from 5.11 on are counted as the "
			     "cgroup's memory",
			     (uint64_t)lim.rlim_cur >> 10);
}

static void check_filesystems(struct doctor *doc)
{
	struct statfs fs;
	bool bpffs = !statfs("/sys/fs/bpf", &fs) && (unsigned)fs.f_type == BPF_FS_MAGIC_NR;

	if (preflight__has_tracefs())
		doctor__line(doc, VERDICT_OK, "tracefs", "mounted, or trace mounts it");
	else
		doctor__line(doc, VERDICT_DEGRADED, "tracefs",
			     "not mounted: no syscall_tracepoints; mount -t tracefs tracefs "
			     "/sys/kernel/tracing");
	doctor__line(doc, VERDICT_OK, "bpffs", "%smounted; nothing is pinned, so it is not needed",
		     bpffs ? "" : "not ");
}

void doctor__check_system(struct doctor *doc)
{
	puts("\nSystem");
	check_arch(doc);
	check_lockdown(doc);
	check_paranoid(doc);
	check_kptr(doc);
	check_memlock(doc);
	check_filesystems(doc);
}
