/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verifier's statistics of the probes. Loads them as the loader would with all features of this
 * kernel, and with each optional feature switched off. Prints for each program how many
 * instructions the verifier walked, and the size of the machine code. Exit status 77: this user or
 * kernel cannot.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "probes/features.h"
#include "probes/loader.h"

#define PROGRAM_MAX    64
#define RECORD_ENTRIES 1024 /* of --record; their number does not change the programs */

static struct catalogue *catalogue; /* for the marks */
static struct kernel_types *types;

struct set {
	const char *name;
	struct features features;
	bool uprobe_waits, one_process, record;
};

struct program {
	char name[32];
	__u32 insns, jited; /* in the first set that has it */
	__u32 most;	    /* instructions in any set */
	const char *most_set;
};

struct report {
	const char *set;
	struct program programs[PROGRAM_MAX];
	size_t cnt;
	/* instructions in the set that has most: each start of a trace waits for these */
	__u64 total;
	const char *total_set;
};

/* The figures of one set. */
struct tally {
	struct report *report;
	__u64 total;
};

static struct program *find(struct report *report, const char *name)
{
	struct program *program = report->programs;

	for (size_t i = 0; i < report->cnt; i++, program++)
		if (!strcmp(program->name, name))
			return program;
	if (report->cnt == PROGRAM_MAX)
		return NULL;
	snprintf(program->name, sizeof(program->name), "%s", name);
	report->cnt++;
	return program;
}

static void note(void *ctx, const char *name, int fd)
{
	struct tally *tally = ctx;
	struct report *report = tally->report;
	struct program *program = find(report, name);
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (!program || bpf_obj_get_info_by_fd(fd, &info, &len))
		return;
	tally->total += info.verified_insns;
	if (!program->insns) {
		program->insns = info.verified_insns;
		program->jited = info.jited_prog_len;
	}
	if (info.verified_insns > program->most) {
		program->most = info.verified_insns;
		program->most_set = report->set;
	}
}

/* Programs are sampled only if the session samples them: see can_sample there. */
static unsigned frequency(const struct features *feats)
{
	bool clock =
		features__has(feats, FEATURE_CPU_CLOCK) || features__has(feats, FEATURE_HW_CYCLES);

	return clock && features__has(feats, FEATURE_PERF_EVENT) ? 99 : 0;
}

static int try_set(struct report *report, const struct set *set)
{
	const struct loader_opts opts = {
		.features = &set->features,
		.types = types,
		.threshold_ns = 100 * NS_PER_MS,
		.hang_ns = 5 * NS_PER_SEC,
		.catalogue = catalogue,
		.own_waits = true,
		.only_pid = set->one_process ? getpid() : 0,
		.uprobe_waits = set->uprobe_waits,
		.frequency_hz = frequency(&set->features),
		.stack_sz = JANK_COPY_SZ,
		.history = { set->record ? RECORD_ENTRIES : 0, 1 },
	};
	struct tally tally = { .report = report };
	struct loader *loader = NULL;
	struct err err = {};
	int res = loader__new(&opts, &loader, &err);

	report->set = set->name;
	if (res)
		fprintf(stderr, "veristat: %s: %s\n", set->name, err.msg);
	else
		loader__each_program(loader, note, &tally);
	loader__free(loader);
	if (tally.total > report->total) {
		report->total = tally.total;
		report->total_set = set->name;
	}
	return res;
}

/* The loader's criteria for its programs and their configuration (loader_open.c). */
static unsigned choice(const struct features *feats)
{
	static const enum feature asked[] = { FEATURE_SWITCH_STATE,  FEATURE_SYSCALL_TRACEPOINTS,
					      FEATURE_RAW_SYSCALLS,  FEATURE_UPROBE,
					      FEATURE_ATTACH_COOKIE, FEATURE_FILE_FAULT,
					      FEATURE_VBLANK,	     FEATURE_TAIL_CALLS };
	unsigned bits = 0;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		bits |= features__has(feats, asked[i]) << i;
	bits |= features__typed(feats) << 16;
	bits |= features__can_look(feats) << 17;
	bits |= (frequency(feats) > 0) << 18;
	return bits;
}

static bool is_new(const struct set *sets, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (sets[i].one_process && !sets[i].uprobe_waits &&
		    choice(&sets[i].features) == choice(&sets[cnt].features))
			return false;
	return true;
}

/*
 * All features, then each optional one off if that changes what is loaded, then each option that
 * does.
 */
static size_t make_sets(const struct features *all, struct set sets[FEATURE_CNT + 5])
{
	static char names[FEATURE_CNT][48];
	size_t cnt = 0;

	sets[cnt++] = (struct set){ "one process", *all, false, true, false };
	sets[cnt++] = (struct set){ "many processes", *all, false, false, false };
	sets[cnt++] = (struct set){ "--backend uprobe", *all, true, true, false };
	for (int i = 0; i < FEATURE_CNT; i++) {
		if (feature__info(i)->need == FEATURE_REQUIRED || !features__has(all, i))
			continue;
		snprintf(names[i], sizeof(names[i]), "without %s", feature__info(i)->name);
		sets[cnt] = (struct set){ names[i], *all, false, true, false };
		sets[cnt].features.has &= ~(1u << i);
		cnt += is_new(sets, cnt);
	}
	if (!features__has(all, FEATURE_ARRAY_MMAP))
		return cnt;
	sets[cnt++] = (struct set){ "--record", *all, false, true, true };
	sets[cnt] = (struct set){ "--record without btf", *all, false, true, true };
	sets[cnt++].features.has &= ~(1u << FEATURE_BTF);
	return cnt;
}

static void print(const struct report *report, size_t sets)
{
	printf("  verifier: %zu programs load in %zu sets of features; instructions walked (limit "
	       "1000000), bytes of code\n",
	       report->cnt, sets);
	for (size_t i = 0; i < report->cnt; i++) {
		const struct program *program = &report->programs[i];

		printf("    %-20s %7u %6u", program->name, program->insns, program->jited);
		if (program->most > program->insns)
			printf("   %u %s", program->most, program->most_set);
		printf("\n");
	}
	printf("    %-20s %7llu          in the set that has most (%s): a start waits for them\n",
	       "all", (unsigned long long)report->total, report->total_set);
}

int main(void)
{
	struct set sets[FEATURE_CNT + 5];
	struct report report = { 0 };
	struct features feats;
	struct err err = {};
	size_t cnt;
	int failed = 0;

	if (geteuid()) {
		fprintf(stderr, "veristat: needs root\n");
		return JANK_EXIT_CANNOT;
	}
	types = kernel_types__read();
	if (features__probe(types, NULL, 0, &feats, &err) || features__require(&feats, &err)) {
		fprintf(stderr, "veristat: %s\n", err.msg);
		return JANK_EXIT_CANNOT;
	}
	if (catalogue__open(NULL, 0, &catalogue, &err)) {
		fprintf(stderr, "veristat: %s\n", err.msg);
		return JANK_EXIT_FAILED;
	}
	cnt = make_sets(&feats, sets);
	for (size_t i = 0; i < cnt; i++)
		failed |= try_set(&report, &sets[i]);
	print(&report, cnt);
	return failed ? JANK_EXIT_FAILED : JANK_EXIT_OK;
}
