/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two versions or times, compared as `jankbpf diff` compares two sets of records. ClickHouse sums
 * by parts: groups of hosts, or for a loop on few hosts groups of hosts and times. Their
 * differences say how much counts vary by themselves.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread.h"
#include "fleet/fleet.h"

#define HOSTS_MIN      20 /* of a loop on each side; with fewer, its parts are also times */
#define SLOTS	       64 /* of the time of a side */
#define SLOT_INTERVALS 3  /* at least: blocks have times, dispatches only intervals */
#define PARTS	       16
#define LIST_MAX       4096
#define LOOPS_MAX      10000
#define FAULTS_MAX     100000

/*
 * A side while its answers are read. Each has a thread: the server works on one while we read the
 * other.
 */
struct side {
	struct diff *diff; /* of both, under the lock */
	pthread_mutex_t *lock;
	unsigned nr;
	struct fleet fleet; /* with a client of its own */
	const struct fleet_filter *filter;
	const char *name;
	uint64_t host_parts; /* of 240; about the number of hosts if that is small */
	uint64_t interval_s;
	struct strbuf few_hosts;   /* list of loops on fewer than HOSTS_MIN hosts */
	const char *by_time;	   /* list of loops whose parts are also times, on any side */
	uint64_t recorded_cnt;	   /* blocks with a record */
	fleet_row_fn *take;	   /* of the question under way */
	unsigned row_cnt, row_max; /* of its answer; row_max 0: no limit */
	int (*what)(struct side *side, struct err *err);
	int res;
	struct err err;
};

static int no_memory(struct err *err)
{
	return err__set(err, ENOMEM, "out of memory");
}

static int checked(int res, struct err *err)
{
	return res ? no_memory(err) : 0;
}

/*
 * Reads numbers of a text such as "[1,2]" into list; jansson would allocate each. Returns how many.
 */
static size_t read_list(const json_t *row, const char *name, uint64_t *list)
{
	const char *at = row__str(row, name);
	size_t cnt = 0;

	for (char *end; cnt < LIST_MAX && *at; at = end) {
		at += strcspn(at, "0123456789");
		list[cnt] = strtoull(at, &end, 10);
		if (end == at)
			break;
		cnt++;
	}
	return cnt;
}

/* --- answers */

static int take_side(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;
	struct diff_input *input = &side->diff->inputs[side->nr];

	side->host_parts = row__u64(row, "host_parts");
	side->interval_s = row__u64(row, "interval_s");
	input->interval_cnt = (size_t)row__u64(row, "intervals");
	input->elapsed_ns = row__u64(row, "seconds") * NS_PER_SEC;
	return 0;
}

static int take_version(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;

	diff__add_signature_version(side->diff, side->nr, row__u64(row, "signature_version"));
	return 0;
}

static int take_few_hosts(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;

	number__add_to_list(&side->few_hosts, row__str(row, "loop_key"));
	return side->few_hosts.failed ? no_memory(err) : 0;
}

static int take_loop(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;

	return checked(diff__add_dispatches(side->diff, side->nr, row__str(row, "loop_key"),
					    row__str(row, "process_name"),
					    row__str(row, "loop_name"), row__u64(row, "part"),
					    row__u64(row, "dispatches")),
		       err);
}

static int take_buckets(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;
	uint64_t ends[LIST_MAX], counts[LIST_MAX];
	size_t cnt = read_list(row, "places", ends);

	if (read_list(row, "sums", counts) != cnt)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		ends[i] = ends[i] < JANK_HIST_BUCKETS ? durations__lower((unsigned)ends[i] + 1) - 1
						      : UINT64_MAX;
	return checked(diff__add_histogram(side->diff, side->nr, row__str(row, "loop_key"),
					   row__u64(row, "part"), ends, counts, cnt),
		       err);
}

static int take_faults(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;
	uint64_t parts[LIST_MAX], counts[LIST_MAX];
	size_t cnt = read_list(row, "parts", parts);
	int res = 0;

	if (read_list(row, "totals", counts) != cnt)
		return 0;
	for (size_t i = 0; i < cnt && !res; i++)
		res = diff__add_fault_blocks(side->diff, side->nr, row__str(row, "loop_key"),
					     row__str(row, "fault"), parts[i], counts[i]);
	if (!res)
		diff__add_recorded(side->diff, side->nr, row__str(row, "loop_key"),
				   row__str(row, "fault"), row__u64(row, "recorded"));
	side->recorded_cnt += row__u64(row, "recorded");
	return checked(res, err);
}

static int take_delays(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;
	uint64_t delays[LIST_MAX];
	size_t cnt = read_list(row, "delays", delays);

	for (size_t i = 0; i < cnt; i++)
		delays[i] *= NS_PER_US;
	return checked(diff__add_delays(side->diff, side->nr, row__str(row, "loop_key"),
					row__str(row, "fault"), delays, cnt),
		       err);
}

/* --- a side */

#define SAMPLED_MAX 500000 /* delays that are read of a side, besides those of rare faults */
#define RARE_PART   100	   /* sampled blocks of a fault that are not too few */

/* Takes a row under the lock. */
static int take_locked(void *ctx, const json_t *row, struct err *err)
{
	struct side *side = ctx;
	int res;

	if (side->row_max && ++side->row_cnt > side->row_max)
		return fleet__too_many(err, side->row_max,
				       side->take == take_faults ? "faults"
								 : "loops or their parts");
	pthread_mutex_lock(side->lock);
	res = side->take(side, row, err);
	pthread_mutex_unlock(side->lock);
	return res;
}

/* row_max: of the answer; the question asks for one more. 0: it has no such limit. */
static int ask(struct side *side, const char *name, const struct fleet_value *values,
	       size_t value_cnt, unsigned row_max, fleet_row_fn *take, struct err *err)
{
	side->take = take;
	side->row_cnt = 0;
	side->row_max = row_max;
	return fleet__ask(&side->fleet, name, values, value_cnt, take_locked, side, err);
}

/*
 * Faults of which a sample of one in `every` recorded blocks would have too few; what limits left
 * out has no delays. 0 alone matches none.
 */
static int list_rare(struct side *side, struct strbuf *ret, uint64_t *ret_every)
{
	const struct diff *diff = side->diff;
	struct diff_loop *loop;
	struct diff_fault *fault;

	pthread_mutex_lock(side->lock);
	*ret_every = 1 + side->recorded_cnt / SAMPLED_MAX;
	strbuf__adds(ret, "0");
	if (*ret_every > 1)
		GROUPS_EACH(&diff->loops, loop)
	GROUPS_EACH(&loop->faults, fault)
	if (fault->sides[side->nr].recorded_cnt < RARE_PART * *ret_every)
		number__add_to_list(ret, fault->key);
	pthread_mutex_unlock(side->lock);
	return ret->failed ? -ENOMEM : 0;
}

static int ask_delays(struct side *side, struct err *err)
{
	struct strbuf keys = STRBUF_INIT;
	uint64_t every;
	int res = checked(list_rare(side, &keys, &every), err);
	const struct fleet_value values[] = {
		FLEET_VALUES(side->filter),
		{ .name = "every", .number = every },
		{ .name = "keys", .raw = strbuf__str(&keys) },
	};

	if (!res)
		res = ask(side, "diff_delays", values, sizeof(values) / sizeof(*values), 0,
			  take_delays, err);
	strbuf__free(&keys);
	return res;
}

/* The length of a slot of time, by the span of the side's data. */
static uint64_t slot_of(const struct side *side)
{
	uint64_t slot_s = side->diff->inputs[side->nr].elapsed_ns / NS_PER_SEC / SLOTS;
	uint64_t least_s = SLOT_INTERVALS * side->interval_s;

	return (slot_s > least_s ? slot_s : least_s) ?: 1;
}

/* The group of a row, in SQL. */
static void add_part(struct strbuf *sb, const struct side *side)
{
	strbuf__addf(sb, "toUInt8((host_part + if(loop_key IN (%s), ", side->by_time);
	strbuf__addf(sb, "cityHash64(intDiv(toUInt32(time), %llu)), toUInt64(0))) %% %d)",
		     (unsigned long long)slot_of(side), PARTS);
}

static int read_side(struct side *side, struct err *err)
{
	static const struct {
		const char *name;
		unsigned row_max;
		fleet_row_fn *take;
	} questions[] = {
		{ "diff_loops", LOOPS_MAX * PARTS, take_loop },
		{ "diff_buckets", LOOPS_MAX * PARTS, take_buckets },
		{ "diff_faults", FAULTS_MAX, take_faults },
	};
	struct strbuf part = STRBUF_INIT;
	int res = 0;

	add_part(&part, side);
	if (part.failed)
		res = no_memory(err);
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions) && !res; i++) {
		const struct fleet_value values[] = {
			FLEET_VALUES(side->filter),
			{ .name = "part", .raw = strbuf__str(&part) },
			{ .name = "rows", .number = questions[i].row_max + 1 },
		};

		res = ask(side, questions[i].name, values, sizeof(values) / sizeof(*values),
			  questions[i].row_max, questions[i].take, err);
	}
	strbuf__free(&part);
	return res ?: ask_delays(side, err);
}

static int ask_few_hosts(struct side *side, struct err *err)
{
	const struct fleet_value values[] = {
		FLEET_VALUES(side->filter),
		{ .name = "hosts", .number = HOSTS_MIN },
		{ .name = "rows", .number = LOOPS_MAX + 1 },
	};

	return ask(side, "diff_hosts", values, sizeof(values) / sizeof(*values), LOOPS_MAX,
		   take_few_hosts, err);
}

static int measure_side(struct side *side, struct err *err)
{
	const struct fleet_value values[] = { FLEET_VALUES(side->filter) };
	int res =
		ask(side, "diff_side", values, sizeof(values) / sizeof(*values), 0, take_side, err);

	if (!res && !side->host_parts)
		res = err__set(
			err, ENODATA,
			"%c: no dispatches of '%.64s' in this time: give another version, or "
			"a time by --since; jankbpf fleet top --by version lists them",
			side->nr == DIFF_A ? 'A' : 'B', side->name);
	res = res ?: ask_few_hosts(side, err);
	if (res)
		return res;
	return ask(side, "diff_versions", values, sizeof(values) / sizeof(*values), 0, take_version,
		   err);
}

/* --- names of faults */

static int take_name(void *ctx, const json_t *row, struct err *err)
{
	const struct diff_findings *findings = ctx;
	int res = 0;

	for (size_t i = 0; i < findings->cnt && !res; i++) {
		const struct diff_fault *fault = findings->list[i].fault;

		if (fault && !strcmp(fault->key, row__str(row, "fault")))
			res = diff__name_fault((struct diff_fault *)fault,
					       row__str(row, "signature"),
					       row__str(row, "sentence"));
	}
	return checked(res, err);
}

static int name_faults(struct fleet *fleet, const struct fleet_filter sides[DIFF_SIDES], bool all,
		       struct diff_findings *findings, struct err *err)
{
	const struct fleet_filter *a = &sides[DIFF_A], *b = &sides[DIFF_B];
	struct fleet_value values[] = {
		{ .name = "since", .number = a->since_s < b->since_s ? a->since_s : b->since_s },
		{ .name = "until", .number = a->until_s > b->until_s ? a->until_s : b->until_s },
		{ .name = "keys" },
	};
	struct strbuf keys = STRBUF_INIT;
	int res = 0;

	for (size_t i = 0; i < findings->cnt; i++) {
		const struct diff_finding *finding = &findings->list[i];

		if (finding->fault && *finding->fault->key && (all || finding->notable))
			number__add_to_list(&keys, finding->fault->key);
	}
	values[2].raw = strbuf__str(&keys);
	if (keys.failed)
		res = no_memory(err);
	else if (keys.len)
		res = fleet__ask(fleet, "diff_names", values, sizeof(values) / sizeof(*values),
				 take_name, findings, err);
	strbuf__free(&keys);
	return res;
}

/* --- both sides */

static void *run_side(void *arg)
{
	struct side *side = arg;

	side->res = side->what(side, &side->err);
	return NULL;
}

/* Does it for both, each in its thread, and waits. */
static int on_both(struct side *sides, int (*what)(struct side *side, struct err *err),
		   struct err *err)
{
	struct side *a = &sides[DIFF_A], *b = &sides[DIFF_B];
	pthread_t thread;
	int started;

	a->what = b->what = what;
	started = thread__start(&thread, "fleet-b", run_side, b);
	run_side(a);
	if (started)
		run_side(b);
	else
		pthread_join(thread, NULL);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		if (sides[i].res)
			return err__set(err, -sides[i].res, "%s", sides[i].err.msg);
	return 0;
}

static int read_both(struct side *sides, struct err *err)
{
	struct strbuf by_time = STRBUF_INIT;
	int res = on_both(sides, measure_side, err);

	strbuf__adds(&by_time, "0"); /* that alone is no loop */
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		if (sides[i].few_hosts.len)
			strbuf__addf(&by_time, ", %s", strbuf__str(&sides[i].few_hosts));
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		sides[i].by_time = strbuf__str(&by_time);
	if (!res && by_time.failed)
		res = no_memory(err);
	if (!res)
		res = on_both(sides, read_side, err);
	strbuf__free(&by_time);
	return res;
}

int fleet__compare(struct fleet *fleet, const struct fleet_filter filters[DIFF_SIDES],
		   const char *const names[DIFF_SIDES], bool all, struct diff *diff,
		   struct diff_findings *findings, struct err *err)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct side sides[DIFF_SIDES];
	int res;

	for (unsigned i = 0; i < DIFF_SIDES; i++)
		sides[i] = (struct side){ .diff = diff,
					  .lock = &lock,
					  .nr = i,
					  .fleet = *fleet,
					  .filter = &filters[i],
					  .name = names[i],
					  .few_hosts = STRBUF_INIT };
	res = http__new(&sides[DIFF_B].fleet.http, err);
	if (res)
		return res;
	res = read_both(sides, err) ?: checked(diff__compare(diff, findings), err);
	http__free(sides[DIFF_B].fleet.http);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		strbuf__free(&sides[i].few_hosts);
	return res ?: name_faults(fleet, filters, all, findings, err);
}
