/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The truth's file. The kind follows from the measured shares, not from the scenario: if a busy
 * neighbour takes the CPU from a handler that only wanted to sleep, `runnable` is the truth.
 */
#include "simjank_truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simjank_options.h"

#define STOP_MAX 65536

/* Two shares this close are a tie: a tracer may choose either. */
#define TIE_NS (2 * NS_PER_MS)

enum share { SHARE_CPU, SHARE_RUNNABLE, SHARE_STOPPED, SHARE_OFF, SHARE_CNT };

struct span {
	uint64_t begin_ns, end_ns;
};

static struct span stops[STOP_MAX];
static size_t stop_cnt;

int truth__open(struct truth *truth, size_t cap, uint64_t min_ns)
{
	void *map = mmap(NULL, (cap + 1) * sizeof(*truth->records), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (map == MAP_FAILED)
		return -errno;
	truth->records = map;
	truth->cap = cap;
	truth->min_ns = min_ns;
	truth->tid = gettid();
	truth->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	return truth->schedstat_fd < 0 ? -errno : 0;
}

void truth__add_stop(uint64_t begin_ns, uint64_t end_ns)
{
	size_t at = __atomic_fetch_add(&stop_cnt, 1, __ATOMIC_RELAXED);

	if (at < STOP_MAX)
		stops[at] = (struct span){ begin_ns, end_ns };
}

static int span__compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

/* Sorts the stops and joins overlapping ones, which two loops may have. */
static size_t stops__resolve_all(void)
{
	size_t cnt = stop_cnt < STOP_MAX ? stop_cnt : STOP_MAX, kept = 0;

	qsort(stops, cnt, sizeof(stops[0]), span__compare);
	for (size_t i = 0; i < cnt; i++) {
		if (kept && stops[i].begin_ns <= stops[kept - 1].end_ns) {
			if (stops[i].end_ns > stops[kept - 1].end_ns)
				stops[kept - 1].end_ns = stops[i].end_ns;
		} else {
			stops[kept++] = stops[i];
		}
	}
	return kept;
}

/* Records are in order of time, so *at only grows. */
static uint64_t stops__within(size_t cnt, size_t *at, const struct record *record)
{
	uint64_t ns = 0;

	while (*at < cnt && stops[*at].end_ns <= record->begin_ns)
		(*at)++;
	for (size_t i = *at; i < cnt && stops[i].begin_ns < record->end_ns; i++) {
		uint64_t begin_ns = stops[i].begin_ns, end_ns = stops[i].end_ns;

		if (begin_ns < record->begin_ns)
			begin_ns = record->begin_ns;
		if (end_ns > record->end_ns)
			end_ns = record->end_ns;
		ns += end_ns - begin_ns;
	}
	return ns;
}

/* The rest of the duration, so that no share is counted twice. */
static uint64_t share__take(uint64_t *left_ns, uint64_t ns)
{
	uint64_t taken = ns < *left_ns ? ns : *left_ns;

	*left_ns -= taken;
	return taken;
}

struct verdict {
	const char *kinds[SHARE_CNT]; /* the first is the kind, the others are as good */
	size_t cnt;
	uint64_t stopped_ns;
};

static void verdict__make(struct verdict *v, const struct record *record, uint64_t stopped_ns)
{
	const struct scenario *scenario = &scenarios[record->scenario];
	const char *names[SHARE_CNT] = { scenario->cpu_kind, "runnable", "stopped",
					 scenario->off_kind };
	uint64_t left_ns = record->end_ns - record->begin_ns, shares[SHARE_CNT];
	int top = SHARE_CPU;

	shares[SHARE_CPU] = share__take(&left_ns, record->cpu_ns);
	shares[SHARE_RUNNABLE] = share__take(&left_ns, record->run_delay_ns);
	shares[SHARE_STOPPED] = share__take(&left_ns, stopped_ns);
	shares[SHARE_OFF] = left_ns;
	for (int i = 0; i < SHARE_CNT; i++)
		if (shares[i] > shares[top])
			top = i;
	v->stopped_ns = stopped_ns;
	v->kinds[0] = names[top];
	v->cnt = 1;
	for (int i = 0; i < SHARE_CNT; i++)
		if (strcmp(names[i], names[top]) != 0 && shares[i] + TIE_NS > shares[top])
			v->kinds[v->cnt++] = names[i];
}

/* The words are ours: none needs escaping. */
static void words__print(FILE *out, const char *key, const char *const *words, size_t cnt)
{
	fprintf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < cnt; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", words[i]);
	fputc(']', out);
}

static void record__print(FILE *out, const struct truth_info *info, const struct truth *truth,
			  const struct record *r, const struct verdict *v)
{
	const struct scenario *scenario = &scenarios[r->scenario];
	const char *functions[] = { scenario->handler, scenario->inner };

	fprintf(out, "{\"type\":\"dispatch\",\"pid\":%d,\"tid\":%d,\"loop\":\"%s\"", getpid(),
		truth->tid, info->loop);
	if (info->forms)
		fprintf(out, ",\"form\":\"%s\"", info->forms[r->form]);
	fprintf(out, ",\"scenario\":\"%s\",\"kind\":\"%s\"", scenario->name, v->kinds[0]);
	words__print(out, "also", v->kinds + 1, v->cnt - 1);
	fprintf(out, ",\"function\":\"%s\"", scenario->handler);
	words__print(out, "functions", functions, *scenario->inner ? 2 : 1);
	fprintf(out, ",\"begin_ns\":%ju,\"end_ns\":%ju,\"duration_ns\":%ju", (uintmax_t)r->begin_ns,
		(uintmax_t)r->end_ns, (uintmax_t)(r->end_ns - r->begin_ns));
	fprintf(out, ",\"wanted_ns\":%ju,\"cpu_ns\":%ju,\"run_delay_ns\":%ju,\"stopped_ns\":%ju",
		(uintmax_t)r->wanted_ns, (uintmax_t)r->cpu_ns, (uintmax_t)r->run_delay_ns,
		(uintmax_t)v->stopped_ns);
	if (v->cnt == 1 && !strcmp(v->kinds[0], scenario->blame.kind)) {
		fputs(",\"meant\":true", out);
		actors__print(out, truth->cast, scenario, r->late_tid);
	}
	fputs("}\n", out);
}

/* How often each word was seen; words are static strings. */
struct tally {
	struct {
		const char *word;
		uint64_t cnt;
	} rows[SCENARIO_CNT];
	size_t row_cnt;
};

static void tally__add(struct tally *tally, const char *word, uint64_t cnt)
{
	size_t i = 0;

	while (i < tally->row_cnt && strcmp(tally->rows[i].word, word) != 0)
		i++;
	if (!cnt || i == sizeof(tally->rows) / sizeof(tally->rows[0]))
		return;
	if (i == tally->row_cnt) {
		tally->rows[i].word = word;
		tally->row_cnt++;
	}
	tally->rows[i].cnt += cnt;
}

static uint64_t tally__print(FILE *out, const char *key, const struct tally *tally)
{
	uint64_t sum = 0;

	fprintf(out, ",\"%s\":{", key);
	for (size_t i = 0; i < tally->row_cnt; i++) {
		fprintf(out, "%s\"%s\":%ju", i ? "," : "", tally->rows[i].word,
			(uintmax_t)tally->rows[i].cnt);
		sum += tally->rows[i].cnt;
	}
	fputc('}', out);
	return sum;
}

static void truth__print(FILE *out, const struct truth_info *info, const struct truth *truth,
			 size_t stop_kept, struct tally *kinds)
{
	size_t stop_at = 0;

	for (size_t i = 0; i < truth->cnt; i++) {
		const struct record *record = &truth->records[i];
		struct verdict v;

		verdict__make(&v, record, stops__within(stop_kept, &stop_at, record));
		tally__add(kinds, v.kinds[0], 1);
		record__print(out, info, truth, record, &v);
	}
}

static void summary__print(FILE *out, const struct truth_info *info, struct truth *const *truths,
			   size_t cnt, const struct tally *kinds)
{
	struct tally done = { 0 };
	uint64_t lost = stop_cnt > STOP_MAX ? stop_cnt - STOP_MAX : 0, dispatch_cnt, kept;

	for (size_t i = 0; i < cnt; i++) {
		lost += truths[i]->lost_cnt;
		for (int s = 0; s < SCENARIO_CNT; s++)
			tally__add(&done, scenarios[s].name, truths[i]->dispatch_cnt[s]);
	}
	fprintf(out, "{\"type\":\"summary\",\"pid\":%d,\"loop\":\"%s\",\"threads\":%zu", getpid(),
		info->loop, cnt);
	fprintf(out, ",\"start_ns\":%ju,\"end_ns\":%ju,\"truth_min_ns\":%ju,\"lost\":%ju",
		(uintmax_t)info->start_ns, (uintmax_t)info->end_ns, (uintmax_t)truths[0]->min_ns,
		(uintmax_t)lost);
	dispatch_cnt = tally__print(out, "scenarios", &done);
	kept = tally__print(out, "kinds", kinds);
	fputs(",\"left_out\":[", out);
	for (size_t i = 0; i < info->opt->left_out_cnt; i++)
		fprintf(out, "%s\"%s\"", i ? "," : "", info->opt->left_out[i]->name);
	fprintf(out, "],\"dispatches\":%ju,\"kept\":%ju}\n", (uintmax_t)dispatch_cnt,
		(uintmax_t)kept);
}

int truth__write(const char *path, const struct truth_info *info, struct truth *const *truths,
		 size_t cnt)
{
	FILE *out = strcmp(path, "-") ? fopen(path, "we") : stdout;
	size_t stop_kept = stops__resolve_all();
	struct tally kinds = { 0 };
	int err;

	if (!out)
		return -errno;
	for (size_t i = 0; i < cnt; i++)
		truth__print(out, info, truths[i], stop_kept, &kinds);
	summary__print(out, info, truths, cnt, &kinds);
	err = ferror(out) ? -EIO : 0;
	if ((out == stdout ? fflush(out) : fclose(out)) && !err)
		err = -errno;
	return err;
}
