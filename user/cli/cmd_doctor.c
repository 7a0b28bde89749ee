/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The `doctor` report: user, system settings, kernel features. */
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
#include "deliver/sinks.h"
#include "files/file.h"
#include "probes/btf.h"
#include "probes/features.h"
#include "probes/preflight.h"
#include "probes/privileges.h"

enum verdict { VERDICT_OK, VERDICT_DEGRADED, VERDICT_MISSING, VERDICT_CNT };

struct doctor {
	bool color;
	unsigned cnt[VERDICT_CNT];
};

static void doctor__line(struct doctor *doc, enum verdict verdict, const char *name,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* --- user: capabilities, namespaces */

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

/* Names what a trace keeps after its start. */
static void doctor__check_kept(struct doctor *doc)
{
	puts("\nKept by a trace (it drops all other capabilities and sets no_new_privs)");
	for (size_t i = 0; i < kept_cap_cnt; i++)
		doctor__line(doc, VERDICT_OK, kept_caps[i].name, "%s", kept_caps[i].reason);
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

static void doctor__check_user(struct doctor *doc)
{
	printf("\nUser (uid %u)\n", geteuid());
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

/* "none [integrity] confidentiality": the bracketed value is active. */
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

static void check_filter(struct doctor *doc)
{
	if (syscall_filter__is_available())
		doctor__line(doc, VERDICT_OK, "seccomp",
			     "the tracer and its processes make listed system calls only");
	else
		doctor__line(doc, VERDICT_DEGRADED, "seccomp",
			     "the tracer and its processes may make all system calls: build with "
			     "libseccomp-dev, for a kernel with CONFIG_SECCOMP_FILTER");
}

static void doctor__check_system(struct doctor *doc)
{
	puts("\nSystem");
	check_arch(doc);
	check_lockdown(doc);
	check_paranoid(doc);
	check_kptr(doc);
	check_memlock(doc);
	check_filesystems(doc);
	check_filter(doc);
}

/* Prints a finding: the name of the examined item and its consequence. */
static void doctor__line(struct doctor *doc, enum verdict verdict, const char *name,
			 const char *fmt, ...)
{
	static const struct {
		const char *word, *color;
	} looks[] = {
		[VERDICT_OK] = { "ok", "\033[32m" },
		[VERDICT_DEGRADED] = { "degraded", "\033[33m" },
		[VERDICT_MISSING] = { "missing", "\033[31m" },
	};
	va_list ap;

	doc->cnt[verdict]++;
	printf("  %s%-8s%s  %-20s ", doc->color ? looks[verdict].color : "", looks[verdict].word,
	       doc->color ? "\033[0m" : "", name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
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

static void check_feature(struct doctor *doc, const struct features *feats, enum feature feature)
{
	const struct feature_info *info = feature__info(feature);
	const struct absence *absence = find_absence(feats->why[feature]);

	if (features__has(feats, feature))
		doctor__line(doc, VERDICT_OK, info->name, "%s", info->purpose);
	else
		doctor__line(
			doc, info->need == FEATURE_REQUIRED ? VERDICT_MISSING : VERDICT_DEGRADED,
			info->name, "%s: %s; %s", absence->reason ?: strerror(-feats->why[feature]),
			info->without, absence->remedy ?: info->remedy);
}

static void check_features(struct doctor *doc, const struct features *feats)
{
	puts("\nKernel (names are those of --disable-feature)");
	for (int i = 0; i < FEATURE_CNT; i++)
		check_feature(doc, feats, i);
	/* Each one alone is a tolerable loss; without all of them no loop is seen. */
	if (!features__has(feats, FEATURE_SYSCALL_TRACEPOINTS) &&
	    !features__has(feats, FEATURE_RAW_SYSCALLS) && !features__has(feats, FEATURE_UPROBE))
		doctor__line(
			doc, VERDICT_MISSING, "waits",
			"none of syscall_tracepoints, raw_syscalls and uprobe: no loop is seen");
}

/* Prints the chosen build of the probes and the source of its kernel types. */
static void check_probes(struct doctor *doc, const struct options *opts,
			 const struct features *feats)
{
	struct btf_source types;
	struct err err;

	if (btf_source__open(opts->btf_path, features__has(feats, FEATURE_BTF), &types, &err))
		doctor__line(doc, VERDICT_MISSING, "types", "%s", err.msg);
	else
		doctor__line(doc, VERDICT_OK, "types", "%s", types.what);
	btf_source__close(&types);
	if (features__typed(feats))
		doctor__line(doc, VERDICT_OK, "probes", "typed");
	else
		doctor__line(doc, VERDICT_DEGRADED, "probes",
			     "plain: each event costs more, nothing is lost by it");
}

static void print_head(void)
{
	struct utsname uts;

	uname(&uts);
	printf("jankbpf %s on %s %s, %s, %ld CPUs\n", JANK_VERSION, uts.sysname, uts.release,
	       uts.machine, sysconf(_SC_NPROCESSORS_ONLN));
}

static void print_verdict(const struct doctor *doc)
{
	if (doc->cnt[VERDICT_MISSING])
		printf("\nTracing is not possible: see what is missing above.\n");
	else if (doc->cnt[VERDICT_DEGRADED])
		printf("\nTracing is possible, less what is degraded above.\n");
	else
		printf("\nTracing is possible, with everything.\n");
}

int cmd_doctor__run(const struct options *opts)
{
	struct doctor doc = { .color = output__wants_color(STDOUT_FILENO) };
	struct features feats;
	struct err err;
	uint64_t start;

	mount_in_private();
	start = clock__mono_ns();
	if (features__probe(opts->disabled, opts->disabled_cnt, &feats, &err)) {
		log__error("%s", err.msg);
		return err.exit;
	}
	log__verbose("the kernel answered in %.1f ms", (clock__mono_ns() - start) / 1e6);
	print_head();
	doctor__check_user(&doc);
	doctor__check_kept(&doc);
	doctor__check_system(&doc);
	check_features(&doc, &feats);
	check_probes(&doc, opts, &feats);
	print_verdict(&doc);
	if (fflush(stdout) || ferror(stdout)) {
		log__error("the report cannot be written to stdout");
		return JANK_EXIT_FAILED;
	}
	return doc.cnt[VERDICT_MISSING] ? JANK_EXIT_CANNOT : JANK_EXIT_OK;
}
