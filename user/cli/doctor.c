/* SPDX-License-Identifier: GPL-2.0 */
/* The report: its look, and the kernel's features. Who runs it and where is in doctor_system.c. */
#include "cli/doctor.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "probes/btf_source.h"
#include "probes/features.h"
#include "probes/preflight.h"
#include "session/output.h"

void doctor__line(struct doctor *doc, enum verdict verdict, const char *name, const char *fmt, ...)
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

/* What trace would mount is mounted here too, but where nobody else sees it: a look changes nothing. */
static void mount_in_private(void)
{
	if (!preflight__has_tracefs() && !unshare(CLONE_NEWNS) &&
	    !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		preflight__mount_tracefs(NULL);
}

/* Why a feature is absent, and what to do where that is not the feature's own remedy. */
struct absence {
	int why; /* -errno; 0 ends the list */
	const char *reason, *remedy;
};

static const struct absence absences[] = {
	{ -ECANCELED, "switched off by --disable-feature", "leave the option out" },
	{ -EPERM, "refused", "see User and System above" },
	{ -EACCES, "refused", "see User and System above" },
	{ -ENODATA, "not to be told without btf", "see btf" },
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
	/* Each alone is a loss that can be borne; all of them are not. */
	if (!features__has(feats, FEATURE_SYSCALL_TRACEPOINTS) &&
	    !features__has(feats, FEATURE_RAW_SYSCALLS) && !features__has(feats, FEATURE_UPROBE))
		doctor__line(
			doc, VERDICT_MISSING, "waits",
			"none of syscall_tracepoints, raw_syscalls and uprobe: no loop is seen");
}

/* Which of the two builds of the probes it comes to, and whose types they are given. */
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

int doctor__run(const struct options *opts)
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
