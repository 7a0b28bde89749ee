/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file for speedscope: one profile for each fault (signature), the largest first, its distinct
 * stacks with their wall time. The first frames are process and thread, the last one is the state.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/json/json.h"
#include "export/report/report.h"
#include "export/values.h"

#define SCHEMA	   "https://www.speedscope.app/file-format-schema.json"
#define NUMBER_MAX (1ull << 53) /* integers above are not exact in JavaScript */
#define CUT_FRAME  0		/* index of the frame for what found no room */

/* A stack of a profile. Its key: number of the profile, then frames, innermost first. */
struct total {
	uint64_t ns;
	uint32_t next; /* the profile's next stack; 0: none */
};

struct profile {
	char *label;	      /* the cause of its first block */
	uint32_t first, last; /* stacks, by number */
	uint64_t ns;
	uint64_t cut_ns; /* of stacks that found no room */
};

struct speedscope {
	struct report report;
	struct intern *frames;	 /* keys: line (4 bytes), file, NUL, name */
	struct intern *profiles; /* keys: signatures */
	struct intern *stacks;
	struct total *totals;	   /* of the stack number n: totals[n - 1] */
	struct profile *by_number; /* likewise */
	uint32_t total_cap, profile_cap;
	struct strbuf key, stack, name;
};

static uint32_t get_frame(struct speedscope *s, const char *name, const char *file, uint32_t line);

static int speedscope__init(struct report *report)
{
	struct speedscope *s = (struct speedscope *)report;

	s->frames = intern__new();
	s->profiles = intern__new();
	s->stacks = intern__new();
	if (!s->frames || !s->profiles || !s->stacks)
		return -ENOMEM;
	get_frame(s, "[cut]", NULL, 0);
	return 0;
}

static void speedscope__free(struct report *report)
{
	struct speedscope *s = (struct speedscope *)report;

	for (uint32_t i = 0; i < s->profile_cap; i++)
		free(s->by_number[i].label);
	intern__free(s->frames);
	intern__free(s->profiles);
	intern__free(s->stacks);
	free(s->totals);
	free(s->by_number);
	strbuf__free(&s->key);
	strbuf__free(&s->stack);
	strbuf__free(&s->name);
}

/* Grows an array so that it has an element for nr. */
static int make_room(void **array, uint32_t *cap, uint32_t nr, size_t size)
{
	uint32_t want = *cap ? *cap : 256;
	void *longer;

	if (nr <= *cap)
		return 0;
	while (want < nr)
		want *= 2;
	longer = reallocarray(*array, want, size);
	if (!longer)
		return -ENOMEM;
	memset((char *)longer + *cap * size, 0, (want - *cap) * size);
	*array = longer;
	*cap = want;
	return 0;
}

/* --- tables */

/* Index into the file's frames, which begin at 0. */
static uint32_t get_frame(struct speedscope *s, const char *name, const char *file, uint32_t line)
{
	bool is_new;
	uint32_t nr;

	strbuf__reset(&s->key);
	strbuf__add(&s->key, &line, sizeof(line));
	strbuf__adds(&s->key, file ?: "");
	strbuf__addc(&s->key, '\0');
	strbuf__adds(&s->key, name && *name ? name : "?");
	nr = intern__get(s->frames, s->key.data, s->key.len, &is_new);
	s->report.cut_cnt += !nr;
	return nr ? nr - 1 : CUT_FRAME;
}

static void push(struct speedscope *s, uint32_t frame)
{
	strbuf__add(&s->stack, &frame, sizeof(frame));
}

/* Pushes frames outermost first, as the file has them. */
static void push_stack(struct speedscope *s, const struct weight *weight)
{
	for (size_t i = weight->sample->n_stack; i-- > weight->first;) {
		const Jankbpf__Frame *frame = weight->sample->stack[i];

		strbuf__reset(&s->name);
		frame__add_place(&s->name, frame, false);
		push(s, get_frame(s, strbuf__str(&s->name), frame->file, frame->line));
	}
}

static void make_stack(struct speedscope *s, const Jankbpf__Block *block, uint32_t profile,
		       const struct weight *weight)
{
	const char *missing = label__missing(weight);

	strbuf__reset(&s->stack);
	push(s, profile);
	push(s, get_frame(s, block->process, NULL, 0));
	push(s, get_frame(s, block->thread, NULL, 0));
	if (*missing)
		push(s, get_frame(s, missing, NULL, 0));
	else
		push_stack(s, weight);
	strbuf__reset(&s->name);
	strbuf__addf(&s->name, "[%s]", value__state_word(weight->state));
	push(s, get_frame(s, strbuf__str(&s->name), NULL, 0));
}

/* The number of the block's profile; 0: no room. */
static uint32_t get_profile(struct speedscope *s, const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;
	bool is_new;
	uint32_t nr;

	strbuf__reset(&s->key);
	strbuf__adds(&s->key, cause && cause->signature ? cause->signature : "no signature");
	nr = intern__get(s->profiles, s->key.data, s->key.len, &is_new);
	s->report.cut_cnt += !nr;
	return nr;
}

static void add_ns(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum) || *sum > NUMBER_MAX)
		*sum = NUMBER_MAX;
}

static int count(struct speedscope *s, uint32_t profile, uint64_t ns)
{
	struct profile *of = &s->by_number[profile - 1];
	bool is_new;
	uint32_t nr = intern__get(s->stacks, s->stack.data, s->stack.len, &is_new);

	if (s->stack.failed || s->key.failed || s->name.failed)
		return -ENOMEM;
	add_ns(&of->ns, ns);
	if (!nr) {
		s->report.cut_cnt++;
		add_ns(&of->cut_ns, ns);
		return 0;
	}
	if (make_room((void **)&s->totals, &s->total_cap, nr, sizeof(*s->totals)))
		return -ENOMEM;
	if (is_new && of->last)
		s->totals[of->last - 1].next = nr;
	else if (is_new)
		of->first = nr;
	if (is_new)
		of->last = nr;
	add_ns(&s->totals[nr - 1].ns, ns);
	return 0;
}

/* "futex mutex in on_query" */
static int set_label(struct speedscope *s, struct profile *profile, const Jankbpf__Block *block)
{
	if (profile->label)
		return 0;
	strbuf__reset(&s->name);
	label__add_cause(&s->name, block->cause);
	profile->label = s->name.failed ? NULL : strdup(strbuf__str(&s->name));
	return profile->label ? 0 : -ENOMEM;
}

static int speedscope__record(struct report *report, const Jankbpf__Record *record)
{
	struct speedscope *s = (struct speedscope *)report;
	const Jankbpf__Block *block = report__block(record);
	struct weight *weights;
	uint32_t profile;
	size_t cnt;
	int res;

	profile = block ? get_profile(s, block) : 0;
	if (!profile)
		return 0;
	res = make_room((void **)&s->by_number, &s->profile_cap, profile, sizeof(*s->by_number));
	if (!res)
		res = set_label(s, &s->by_number[profile - 1], block);
	if (!res)
		res = weights__of(block, &weights, &cnt);
	if (res)
		return res;
	for (size_t i = 0; !res && i < cnt; i++) {
		make_stack(s, block, profile, &weights[i]);
		res = count(s, profile, weights[i].ns);
	}
	free(weights);
	return res;
}

/* --- the file */

static int write_frames(struct speedscope *s, struct jsonw *w)
{
	int res = 0;

	jsonw__key(w, "shared");
	jsonw__object(w);
	jsonw__karray(w, "frames");
	for (uint32_t nr = 1; !res && nr <= intern__cnt(s->frames); nr++) {
		size_t len;
		const char *key = intern__key(s->frames, nr, &len);
		const char *file = key + sizeof(uint32_t), *name = file + strlen(file) + 1;
		uint32_t line;

		memcpy(&line, key, sizeof(line));
		strbuf__reset(&s->name);
		strbuf__add(&s->name, name, len - (size_t)(name - key));
		jsonw__object(w);
		jsonw__kstr(w, "name", strbuf__str(&s->name));
		jsonw__kstr_known(w, "file", *file ? file : NULL);
		if (line)
			jsonw__ku64(w, "line", line);
		jsonw__object_end(w);
		res = report_out__added(s->report.out);
	}
	jsonw__array_end(w);
	jsonw__object_end(w);
	return res;
}

static int write_samples(struct speedscope *s, struct jsonw *w, const struct profile *profile)
{
	int res = 0;

	jsonw__karray(w, "samples");
	for (uint32_t nr = profile->first; !res && nr; nr = s->totals[nr - 1].next) {
		size_t len;
		const char *key = intern__key(s->stacks, nr, &len);

		jsonw__array(w);
		for (size_t at = sizeof(uint32_t); at < len; at += sizeof(uint32_t)) {
			uint32_t frame;

			memcpy(&frame, key + at, sizeof(frame));
			jsonw__u64(w, frame);
		}
		jsonw__array_end(w);
		res = report_out__added(s->report.out);
	}
	if (profile->cut_ns) {
		jsonw__array(w);
		jsonw__u64(w, CUT_FRAME);
		jsonw__array_end(w);
	}
	jsonw__array_end(w);
	return res;
}

static int write_weights(struct speedscope *s, struct jsonw *w, const struct profile *profile)
{
	int res = 0;

	jsonw__karray(w, "weights");
	for (uint32_t nr = profile->first; !res && nr; nr = s->totals[nr - 1].next) {
		jsonw__u64(w, s->totals[nr - 1].ns);
		res = report_out__added(s->report.out);
	}
	if (profile->cut_ns)
		jsonw__u64(w, profile->cut_ns);
	jsonw__array_end(w);
	return res;
}

static int write_profile(struct speedscope *s, struct jsonw *w, uint32_t nr)
{
	const struct profile *profile = &s->by_number[nr - 1];
	size_t len;
	const char *name = intern__key(s->profiles, nr, &len);
	int res;

	strbuf__reset(&s->name);
	strbuf__add(&s->name, name, len);
	strbuf__addf(&s->name, " %s", profile->label);
	jsonw__object(w);
	jsonw__kstr(w, "type", "sampled");
	jsonw__kstr(w, "name", strbuf__str(&s->name));
	jsonw__kstr(w, "unit", "nanoseconds");
	jsonw__ku64(w, "startValue", 0);
	jsonw__ku64(w, "endValue", profile->ns);
	res = write_samples(s, w, profile) ?: write_weights(s, w, profile);
	jsonw__object_end(w);
	return res;
}

struct rank {
	uint32_t nr; /* of a profile */
	uint64_t ns;
};

/* The largest first; of equal ones, the one that came first. */
static int by_size(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->nr > b->nr) - (a->nr < b->nr);
}

/* speedscope opens the first one. */
static int write_profiles(struct speedscope *s, struct jsonw *w)
{
	uint32_t cnt = intern__cnt(s->profiles);
	struct rank *ranks = calloc(cnt + 1, sizeof(*ranks));
	int res = 0;

	if (!ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		ranks[i] = (struct rank){ i + 1, s->by_number[i].ns };
	qsort(ranks, cnt, sizeof(*ranks), by_size);
	jsonw__karray(w, "profiles");
	for (uint32_t i = 0; !res && i < cnt; i++)
		res = write_profile(s, w, ranks[i].nr);
	jsonw__array_end(w);
	free(ranks);
	return res;
}

static int speedscope__finish(struct report *report)
{
	struct speedscope *s = (struct speedscope *)report;
	struct report_out *out = report->out;
	struct jsonw w;
	int res;

	jsonw__init(&w, &out->bytes);
	jsonw__object(&w);
	jsonw__kstr(&w, "$schema", SCHEMA);
	jsonw__kstr(&w, "exporter", "jankbpf " JANK_VERSION);
	jsonw__kstr(&w, "name", "jankbpf");
	res = write_frames(s, &w) ?: write_profiles(s, &w);
	jsonw__object_end(&w);
	strbuf__addc(&out->bytes, '\n');
	return res ?: report_out__added(out);
}

const struct report_ops report_speedscope = {
	.name = "speedscope",
	.size = sizeof(struct speedscope),
	.init = speedscope__init,
	.record = speedscope__record,
	.finish = speedscope__finish,
	.free = speedscope__free,
};
