/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile for `go tool pprof` and its relatives: wall time and number of samples by stack, with
 * labels for what the stack belongs to.
 */
#include "export/report/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/values.h"

#define LABEL_CNT 7

static const char *const label_keys[LABEL_CNT] = { "state", "signature", "process", "thread",
						   "loop",  "syscall",	 "kind" };

struct value {
	uint64_t cnt, ns;
};

struct pprof {
	struct report report;
	struct pprof_tables tables;
	struct intern *samples; /* keys: texts of the labels, then the locations */
	struct value *values;	/* of the sample number n: values[n - 1] */
	uint32_t value_cap;
	int64_t keys[LABEL_CNT];
	uint64_t *key; /* of the current sample, with room for key_cap locations */
	size_t key_cap;
	uint64_t first_ns, last_ns; /* wall time */
};

static int add_types(struct pprof *p)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__ValueType types[2], *list[2] = { &types[0], &types[1] };
	Perftools__Profiles__ValueType period = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;

	for (int i = 0; i < 2; i++)
		perftools__profiles__value_type__init(&types[i]);
	types[0].type = pprof__text(&p->tables, "samples");
	types[0].unit = pprof__text(&p->tables, "count");
	types[1].type = period.type = pprof__text(&p->tables, "wall");
	types[1].unit = period.unit = pprof__text(&p->tables, "nanoseconds");
	part.sample_type = list;
	part.n_sample_type = 2;
	part.period_type = &period;
	part.period = 1;
	part.default_sample_type = types[1].type;
	return pprof_tables__add(&p->tables, &part);
}

static int pprof__init(struct report *report)
{
	struct pprof *p = (struct pprof *)report;
	int res = pprof_tables__init(&p->tables, report->out);

	p->samples = intern__new();
	p->first_ns = UINT64_MAX;
	if (res || !p->samples)
		return -ENOMEM;
	for (int i = 0; i < LABEL_CNT; i++)
		p->keys[i] = pprof__text(&p->tables, label_keys[i]);
	return add_types(p);
}

static void pprof__free(struct report *report)
{
	struct pprof *p = (struct pprof *)report;

	pprof_tables__free(&p->tables);
	intern__free(p->samples);
	free(p->values);
	free(p->key);
}

/* Values are signed in the profile. */
static int64_t limited(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static int write_sample(struct pprof *p, const uint64_t *key, size_t len, const struct value *value)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT,
				    *list[1] = { &sample };
	Perftools__Profiles__Label labels[LABEL_CNT], *label_list[LABEL_CNT];
	int64_t values[2] = { limited(value->cnt), limited(value->ns) };

	for (size_t i = 0; i < LABEL_CNT; i++) {
		if (!key[i])
			continue;
		perftools__profiles__label__init(&labels[i]);
		labels[i].key = p->keys[i];
		labels[i].str = (int64_t)key[i];
		label_list[sample.n_label++] = &labels[i];
	}
	sample.label = label_list;
	sample.value = values;
	sample.n_value = 2;
	sample.location_id = (uint64_t *)key + LABEL_CNT;
	sample.n_location_id = len - LABEL_CNT;
	part.sample = list;
	part.n_sample = 1;
	return pprof_tables__add(&p->tables, &part);
}

static int write_samples(struct pprof *p)
{
	int res = 0;

	for (uint32_t nr = 1; !res && nr <= intern__cnt(p->samples); nr++) {
		size_t len;
		const void *bytes = intern__key(p->samples, nr, &len);

		/* Keys have no alignment in the table. */
		memcpy(p->key, bytes, len);
		res = write_sample(p, p->key, len / sizeof(*p->key), &p->values[nr - 1]);
	}
	intern__reset(p->samples);
	return res;
}

static int grow_values(struct pprof *p)
{
	uint32_t cap = p->value_cap ? p->value_cap * 2 : 1024;
	struct value *values = reallocarray(p->values, cap, sizeof(*values));

	if (!values)
		return -ENOMEM;
	p->values = values;
	p->value_cap = cap;
	return 0;
}

/* Samples may repeat, so a full table is written and begun again. */
static int count(struct pprof *p, size_t len, const struct weight *weight)
{
	bool is_new;
	uint32_t nr = intern__get(p->samples, p->key, len * sizeof(*p->key), &is_new);
	struct value *value;

	if (!nr) {
		const struct value alone = { weight->cnt, weight->ns };
		int res = write_sample(p, p->key, len, &alone);

		return res ? res : write_samples(p);
	}
	if (nr > p->value_cap && grow_values(p))
		return -ENOMEM;
	value = &p->values[nr - 1];
	if (is_new)
		*value = (struct value){};
	value->cnt += weight->cnt;
	if (__builtin_add_overflow(value->ns, weight->ns, &value->ns))
		value->ns = UINT64_MAX;
	return 0;
}

/* The labels that all samples of a block have, in the order of label_keys. */
static void set_labels(struct pprof *p, const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;

	p->key[1] = pprof__text(&p->tables, cause ? cause->signature : NULL);
	p->key[2] = pprof__text(&p->tables, block->process);
	p->key[3] = pprof__text(&p->tables, block->thread);
	p->key[4] = pprof__text(&p->tables, block->loop);
	p->key[6] = pprof__text(&p->tables, cause ? cause->kind : NULL);
}

static int make_room(struct pprof *p, const Jankbpf__Block *block)
{
	size_t longest = 1;
	uint64_t *key;

	for (size_t i = 0; i < block->n_samples; i++)
		if (block->samples[i]->n_stack > longest)
			longest = block->samples[i]->n_stack;
	if (LABEL_CNT + longest <= p->key_cap)
		return 0;
	key = reallocarray(p->key, LABEL_CNT + longest, sizeof(*key));
	if (!key)
		return -ENOMEM;
	p->key = key;
	p->key_cap = LABEL_CNT + longest;
	return 0;
}

static int add_weight(struct pprof *p, const struct weight *weight)
{
	const Jankbpf__Sample *sample = weight->sample;
	const char *missing = label__missing(weight);
	size_t len = LABEL_CNT;

	p->key[0] = pprof__text(&p->tables, value__state_word(weight->state));
	p->key[5] = pprof__text(&p->tables, sample ? sample->syscall : NULL);
	if (*missing)
		p->key[len++] = pprof__no_stack(&p->tables, missing);
	else
		len += pprof__locations(&p->tables, sample->stack + weight->first,
					sample->n_stack - weight->first, p->key + len);
	return count(p, len, weight);
}

static void note_time(struct pprof *p, const Jankbpf__Block *block)
{
	uint64_t real_ns;

	if (!block->start || !clock__read_rfc3339(block->start, &real_ns))
		return;
	if (real_ns < p->first_ns)
		p->first_ns = real_ns;
	if (block->duration_ns < UINT64_MAX - real_ns && real_ns + block->duration_ns > p->last_ns)
		p->last_ns = real_ns + block->duration_ns;
}

static int pprof__record(struct report *report, const Jankbpf__Record *record)
{
	struct pprof *p = (struct pprof *)report;
	const Jankbpf__Block *block = report__block(record);
	struct weight *weights;
	size_t cnt;
	int res;

	if (!block)
		return 0;
	res = make_room(p, block);
	if (!res)
		res = weights__of(block, &weights, &cnt);
	if (res)
		return res;
	if (!intern__cnt(p->tables.mappings))
		pprof__main_mapping(&p->tables, block);
	set_labels(p, block);
	note_time(p, block);
	for (size_t i = 0; !res && i < cnt; i++)
		res = add_weight(p, &weights[i]);
	free(weights);
	report->cut_cnt = p->tables.cut_cnt;
	return res;
}

static int pprof__finish(struct report *report)
{
	struct pprof *p = (struct pprof *)report;
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	int res = write_samples(p);

	if (p->first_ns < p->last_ns) {
		part.time_nanos = limited(p->first_ns);
		part.duration_nanos = limited(p->last_ns - p->first_ns);
		res = res ?: pprof_tables__add(&p->tables, &part);
	}
	return res ?: pprof_tables__end(&p->tables);
}

const struct report_ops report_pprof = {
	.name = "pprof",
	.is_binary = true,
	.size = sizeof(struct pprof),
	.init = pprof__init,
	.record = pprof__record,
	.finish = pprof__finish,
	.free = pprof__free,
};
