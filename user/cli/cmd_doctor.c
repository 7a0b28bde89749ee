/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of `doctor`: user, system settings, kernel features. doctor_report.c prints them. */
#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/syscall_filter.h"
#include "cli/doctor_report.h"
#include "deliver/sinks.h"
#include "files/file.h"
#include "probes/btf.h"
#include "probes/features.h"
#include "probes/kernel_types.h"
#include "probes/preflight.h"
#include "probes/privileges.h"

/* --- user: capabilities, namespaces */

#define BPF_FS_MAGIC_NR 0xcafe4a11
#define SETTING_MAX	256

static void check_caps(struct doctor_report *doc)
{
	for (size_t i = 0; i < preflight_cap_cnt; i++) {
		const struct capability *cap = &preflight_caps[i];

		if (preflight__has_cap(cap))
			doctor_report__add(doc, FINDING_OK, cap->name, NULL, "%s", cap->purpose);
		else
			doctor_report__add(doc, cap->required ? FINDING_MISSING : FINDING_DEGRADED,
					   cap->name, "run as root, by sudo for example", "%s",
					   cap->without);
	}
}

/* Names what a trace keeps after its start. */
static void doctor__check_kept(struct doctor_report *doc)
{
	doc->part = PART_KEPT;
	for (size_t i = 0; i < kept_cap_cnt; i++)
		doctor_report__add(doc, FINDING_OK, kept_caps[i].name, NULL, "%s",
				   kept_caps[i].reason);
}

static void check_namespaces(struct doctor_report *doc)
{
	if (preflight__in_initial_ns("user"))
		doctor_report__add(doc, FINDING_OK, "user namespace", NULL, "the machine's own");
	else
		doctor_report__add(doc, FINDING_MISSING, "user namespace", "run it outside",
				   "root here has no power over the kernel's tracing");
	if (!preflight__has_own_proc())
		doctor_report__add(doc, FINDING_MISSING, "pid namespace",
				   "mount it again (mount -t proc proc /proc), run it outside, or "
				   "with --pid=host",
				   "/proc shows another one than this process is in");
	else if (preflight__in_initial_ns("pid"))
		doctor_report__add(doc, FINDING_OK, "pid namespace", NULL, "the machine's own");
	else
		doctor_report__add(doc, FINDING_DEGRADED, "pid namespace",
				   "run it outside, or with --pid=host",
				   "only processes of this container are traced; outside of it, "
				   "process N of the machine is %u + N, with its name only",
				   JANK_PID_OUTSIDE);
}

static void doctor__check_user(struct doctor_report *doc)
{
	doc->part = PART_USER;
	check_caps(doc);
	check_namespaces(doc);
}

/* --- system */

/* Reads the first line of a setting into sb; -errno if it cannot be read. */
static int read_setting(const char *path, struct strbuf *sb)
{
	int code = file__read(path, SETTING_MAX, sb);

	if (!code && sb->len && sb->data[sb->len - 1] == '\n')
		sb->data[--sb->len] = '\0';
	return code;
}

static void check_arch(struct doctor_report *doc)
{
	struct utsname uts;

	uname(&uts);
	if (!strcmp(uts.machine, "x86_64") || !strcmp(uts.machine, "aarch64"))
		doctor_report__add(doc, FINDING_OK, "architecture", NULL, "%s", uts.machine);
	else
		doctor_report__add(
			doc, FINDING_DEGRADED, "architecture", NULL,
			"%s: not among those that jankbpf knows (x86_64, aarch64); uprobes go to "
			"a function's entry",
			uts.machine);
}

/* "none [integrity] confidentiality": the bracketed value is active. */
static void check_lockdown(struct doctor_report *doc)
{
	struct strbuf sb = STRBUF_INIT;

	if (read_setting("/sys/kernel/security/lockdown", &sb))
		doctor_report__add(doc, FINDING_OK, "lockdown", NULL, "none, or not to be seen");
	else if (strstr(strbuf__str(&sb), "[confidentiality]"))
		doctor_report__add(doc, FINDING_MISSING, "lockdown",
				   "boot without it, or with lockdown=integrity",
				   "confidentiality: the kernel refuses tracing to everyone");
	else
		doctor_report__add(doc, FINDING_OK, "lockdown", NULL,
				   "%s: refuses nothing that is needed", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void check_paranoid(struct doctor_report *doc)
{
	struct strbuf sb = STRBUF_INIT;
	bool perfmon = false;

	for (size_t i = 0; i < preflight_cap_cnt; i++)
		if (!strcmp(preflight_caps[i].name, "CAP_PERFMON"))
			perfmon = preflight__has_cap(&preflight_caps[i]);
	if (read_setting("/proc/sys/kernel/perf_event_paranoid", &sb))
		doctor_report__add(
			doc, FINDING_DEGRADED, "perf_event_paranoid", NULL,
			"not to be read: the kernel may lack perf events, so no stacks of time "
			"on the CPU");
	else if (perfmon || atoi(strbuf__str(&sb)) < 0)
		doctor_report__add(doc, FINDING_OK, "perf_event_paranoid", NULL, "%s%s",
				   strbuf__str(&sb), perfmon ? ", no matter with CAP_PERFMON" : "");
	else
		doctor_report__add(doc, FINDING_DEGRADED, "perf_event_paranoid", "run as root",
				   "%s: no sampler for this user", strbuf__str(&sb));
	strbuf__free(&sb);
}

static void check_kptr(struct doctor_report *doc)
{
	struct strbuf sb = STRBUF_INIT;
	int code = read_setting("/proc/sys/kernel/kptr_restrict", &sb);

	if (!code && atoi(strbuf__str(&sb)) < 2 && !preflight__sees_kernel_addresses())
		doctor_report__add(doc, FINDING_DEGRADED, "kallsyms",
				   "run it as root, outside of the container or service that "
				   "hides /proc/kallsyms",
				   "shows no addresses: kernel frames have no names");
	else if (!code && atoi(strbuf__str(&sb)) < 2)
		doctor_report__add(doc, FINDING_OK, "kptr_restrict", NULL,
				   "%s: root sees kernel addresses", strbuf__str(&sb));
	else
		doctor_report__add(doc, FINDING_DEGRADED, "kptr_restrict",
				   "sysctl kernel.kptr_restrict=1",
				   "%s: kernel frames have no names",
				   code ? strerror(-code) : strbuf__str(&sb));
	strbuf__free(&sb);
}

static void check_memlock(struct doctor_report *doc)
{
	struct rlimit lim = { 0, 0 };

	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (lim.rlim_cur == RLIM_INFINITY)
		doctor_report__add(doc, FINDING_OK, "RLIMIT_MEMLOCK", NULL, "unlimited");
	else
		doctor_report__add(doc, FINDING_OK, "RLIMIT_MEMLOCK", NULL,
				   "%" PRIu64
				   " kB: no limit for maps, which from 5.11 on are counted as the "
				   "cgroup's memory",
				   (uint64_t)lim.rlim_cur >> 10);
}

static void check_filesystems(struct doctor_report *doc)
{
	struct statfs fs;
	bool bpffs = !statfs("/sys/fs/bpf", &fs) && (unsigned)fs.f_type == BPF_FS_MAGIC_NR;

	if (preflight__has_tracefs())
		doctor_report__add(doc, FINDING_OK, "tracefs", NULL, "mounted, or trace mounts it");
	else
		doctor_report__add(doc, FINDING_DEGRADED, "tracefs",
				   "mount -t tracefs tracefs /sys/kernel/tracing",
				   "not mounted: no syscall_tracepoints");
	doctor_report__add(doc, FINDING_OK, "bpffs", NULL,
			   "%smounted; nothing is pinned, so it is not needed",
			   bpffs ? "" : "not ");
}

static void check_filter(struct doctor_report *doc)
{
	if (syscall_filter__is_available())
		doctor_report__add(doc, FINDING_OK, "seccomp", NULL,
				   "the tracer and its processes make listed system calls only");
	else
		doctor_report__add(
			doc, FINDING_DEGRADED, "seccomp",
			"build with libseccomp-dev, for a kernel with CONFIG_SECCOMP_FILTER",
			"the tracer and its processes may make all system calls");
}

static void doctor__check_system(struct doctor_report *doc)
{
	doc->part = PART_SYSTEM;
	check_arch(doc);
	check_lockdown(doc);
	check_paranoid(doc);
	check_kptr(doc);
	check_memlock(doc);
	check_filesystems(doc);
	check_filter(doc);
}

/* Mount what trace would mount, but in a private mount namespace: doctor changes nothing. */
static void mount_in_private(void)
{
	if (!preflight__has_tracefs() && !unshare(CLONE_NEWNS) &&
	    !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		preflight__mount_tracefs(NULL);
}

/* Why a feature is absent, and the remedy if it differs from the feature's own. */
struct absence {
	int why; /* -errno; 0 ends the list */
	const char *reason, *remedy;
};

static const struct absence absences[] = {
	{ -ECANCELED, "switched off by --disable-feature", "leave the option out" },
	{ -EPERM, "refused", "see User and System above" },
	{ -EACCES, "refused", "see User and System above" },
	{ -ENODATA, "not known without btf", "see btf" },
	{ -EOPNOTSUPP, "not there", NULL },
	{ -ENOENT, "not there", NULL },
	{ -EINVAL, "not there", NULL },
	{ 0, NULL, NULL },
};

static const struct absence *find_absence(int why)
{
	const struct absence *absence = absences;

	while (absence->why && absence->why != why)
		absence++;
	return absence;
}

static void check_feature(struct doctor_report *doc, const struct features *feats,
			  enum feature feature)
{
	const struct feature_info *info = feature__info(feature);
	const struct absence *absence = find_absence(feats->why[feature]);

	if (features__has(feats, feature))
		doctor_report__add(doc, FINDING_OK, info->name, NULL, "%s", info->purpose);
	else
		doctor_report__add(
			doc, info->need == FEATURE_REQUIRED ? FINDING_MISSING : FINDING_DEGRADED,
			info->name, absence->remedy ?: info->remedy, "%s: %s",
			absence->reason ?: strerror(-feats->why[feature]), info->without);
}

static void check_features(struct doctor_report *doc, const struct features *feats)
{
	doc->part = PART_KERNEL;
	for (int i = 0; i < FEATURE_CNT; i++)
		check_feature(doc, feats, i);
	/* Each one alone is a tolerable loss; without all of them no loop is seen. */
	if (!features__has(feats, FEATURE_SYSCALL_TRACEPOINTS) &&
	    !features__has(feats, FEATURE_RAW_SYSCALLS) && !features__has(feats, FEATURE_UPROBE))
		doctor_report__add(
			doc, FINDING_MISSING, "waits", NULL,
			"none of syscall_tracepoints, raw_syscalls and uprobe: no loop is seen");
}

/* Prints the chosen build of the probes and the source of its kernel types. */
static void check_probes(struct doctor_report *doc, const struct options *opts,
			 const struct features *feats)
{
	struct btf_source types;
	struct err err;

	if (btf_source__open(opts->btf_path, features__has(feats, FEATURE_BTF), &types, &err))
		doctor_report__add(doc, FINDING_MISSING, "types", NULL, "%s", err.msg);
	else
		doctor_report__add(doc, FINDING_OK, "types", NULL, "%s", types.what);
	btf_source__close(&types);
	if (features__typed(feats))
		doctor_report__add(doc, FINDING_OK, "probes", NULL, "typed");
	else
		doctor_report__add(doc, FINDING_DEGRADED, "probes", NULL,
				   "plain: each event costs more, nothing is lost by it");
}

static int print_report(const struct doctor_report *report, const struct options *opts)
{
	if (report->failed) {
		log__error("out of memory");
		return JANK_EXIT_FAILED;
	}
	if (opts->format == FORMAT_TEXT) {
		doctor_report__print_text(report, output__wants_color(STDOUT_FILENO));
	} else if (doctor_report__print_json(report)) {
		log__error("out of memory");
		return JANK_EXIT_FAILED;
	}
	if (fflush(stdout) || ferror(stdout)) {
		log__error("the report cannot be written to stdout");
		return JANK_EXIT_FAILED;
	}
	return report->status_cnt[FINDING_MISSING] ? JANK_EXIT_CANNOT : JANK_EXIT_OK;
}

int cmd_doctor__run(const struct options *opts)
{
	struct doctor_report report = {};
	struct kernel_types *types;
	struct features feats;
	struct err err;
	uint64_t start;
	int status;

	mount_in_private();
	start = clock__mono_ns();
	types = kernel_types__read();
	status = features__probe(types, opts->disabled, opts->disabled_cnt, &feats, &err);
	kernel_types__free(types);
	if (status) {
		log__error("%s", err.msg);
		return err.exit;
	}
	log__verbose("the kernel answered in %.1f ms", (clock__mono_ns() - start) / 1e6);
	doctor__check_user(&report);
	doctor__check_kept(&report);
	doctor__check_system(&report);
	check_features(&report, &feats);
	check_probes(&report, opts, &feats);
	status = print_report(&report, opts);
	doctor_report__free(&report);
	return status;
}
