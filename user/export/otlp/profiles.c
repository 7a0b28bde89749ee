/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block as a profile of wall time: its stacks with the time spent in each, which sum to the
 * duration. A hang is none: its block follows, with all of its time.
 */
#include "export/otlp/profiles.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/clock.h"
#include "export/report/report.h"
#include "export/values.h"

#define SAMPLE_ATTRIBUTES  2
#define PROFILE_ATTRIBUTES 8

struct indices {
	int32_t *at;
	size_t cnt;
};

static void add_index(struct indices *list, int32_t index)
{
	if (index)
		list->at[list->cnt++] = index;
}

static Otlp__ProfileSample *sample_of(struct dictionary *d, const struct merged *merged)
{
	Otlp__ProfileSample *ret = OTLP_NEW(d->o, profile_sample);
	struct arena *arena = &d->o->arena;
	const Jankbpf__Sample *sample = merged->sample;
	struct indices list = { arena__take(arena, SAMPLE_ATTRIBUTES * sizeof(int32_t)), 0 };
	const struct weight weight = { .sample = sample };

	ret->stack_index = dictionary__stack(d, sample ? sample->stack : NULL,
					     sample ? sample->n_stack : 0, label__missing(&weight));
	add_index(&list,
		  dictionary__attribute(d, "jankbpf.state", value__state_word(merged->state)));
	add_index(&list,
		  dictionary__attribute(d, "jankbpf.syscall", sample ? sample->syscall : NULL));
	ret->attribute_indices = list.at;
	ret->n_attribute_indices = list.cnt;
	ret->values = arena__take(arena, sizeof(*ret->values));
	ret->values[0] = otlp__int(merged->ns);
	ret->n_values = 1;
	return ret;
}

static void set_attributes(struct dictionary *d, Otlp__Profile *profile,
			   const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;
	struct indices list = { arena__take(&d->o->arena, PROFILE_ATTRIBUTES * sizeof(int32_t)),
				0 };

	add_index(&list, dictionary__attribute(d, "jankbpf.block.id", block->id));
	add_index(&list, dictionary__attribute(d, "jankbpf.loop", block->loop));
	add_index(&list, dictionary__attribute(d, "thread.name", block->thread));
	if (cause) {
		add_index(&list, dictionary__attribute(d, "jankbpf.signature", cause->signature));
		add_index(&list, dictionary__attribute(d, "jankbpf.cause.kind", cause->kind));
	}
	profile->attribute_indices = list.at;
	profile->n_attribute_indices = list.cnt;
}

/* The same block has the same id, so that a backend can recognize what is sent again. */
static void set_id(struct otlp *o, Otlp__Profile *profile, const char *block_id)
{
	XXH128_canonical_t *id = arena__take(&o->arena, sizeof(*id));

	if (!block_id || !*block_id)
		return;
	XXH128_canonicalFromHash(id, XXH3_128bits(block_id, strlen(block_id)));
	profile->profile_id.data = id->digest;
	profile->profile_id.len = sizeof(id->digest);
}

/*
 * Merged stacks are not of the arena, so that they are taken over and freed before anything can run
 * out of memory.
 */
static const struct merged *take_merged(struct otlp *o, const Jankbpf__Block *block, size_t *cnt)
{
	struct merged *merged;
	struct strbuf *copy = arena__words(&o->arena);

	if (merged__of(block, &merged, cnt))
		longjmp(o->arena.out_of_memory, 1);
	strbuf__add(copy, merged, *cnt * sizeof(*merged));
	free(merged);
	return (const struct merged *)arena__take_words(&o->arena);
}

static Otlp__Profile *profile_of(struct dictionary *d, const Jankbpf__Block *block)
{
	Otlp__Profile *ret = OTLP_NEW(d->o, profile);
	struct list samples = {};
	size_t cnt;
	const struct merged *merged = take_merged(d->o, block, &cnt);

	ret->sample_type = OTLP_NEW(d->o, value_type);
	ret->sample_type->type_strindex = dictionary__text(d, "wall");
	ret->sample_type->unit_strindex = dictionary__text(d, "nanoseconds");
	for (size_t i = 0; i < cnt; i++)
		list__add(d->o, &samples, sample_of(d, &merged[i]));
	ret->samples = (Otlp__ProfileSample **)samples.at;
	ret->n_samples = samples.cnt;
	if (block->start)
		clock__read_rfc3339(block->start, &ret->time_unix_nano);
	ret->duration_nano = block->duration_ns;
	set_id(d->o, ret, block->id);
	set_attributes(d, ret, block);
	return ret;
}

static Otlp__ResourceProfiles *resource_profiles(struct otlp *o, const struct group *group)
{
	Otlp__ResourceProfiles *ret = OTLP_NEW(o, resource_profiles);
	Otlp__ScopeProfiles *scope = OTLP_NEW(o, scope_profiles);

	scope->scope = otlp__scope(o);
	scope->profiles = (Otlp__Profile **)group->lists[0].at;
	scope->n_profiles = group->lists[0].cnt;
	ret->resource = group->resource;
	ret->scope_profiles = arena__take(&o->arena, sizeof(scope));
	ret->scope_profiles[0] = scope;
	ret->n_scope_profiles = 1;
	return ret;
}

static ProtobufCMessage *make(struct otlp *o)
{
	Otlp__ExportProfilesServiceRequest *ret = OTLP_NEW(o, export_profiles_service_request);
	struct dictionary d;
	struct list list = {};

	dictionary__init(&d, o);
	for (size_t i = 0; i < o->batch->record_cnt; i++) {
		const Jankbpf__Record *record = o->batch->records[i];
		struct origin origin;
		struct group *group;

		if (record->type_case != JANKBPF__RECORD__TYPE_BLOCK || !record->block)
			continue;
		origin = origin__of_block(record->block);
		group = otlp__group(o, &origin);
		list__add(o, &group->lists[0], profile_of(&d, record->block));
	}
	for (size_t i = 0; i < o->groups.cnt; i++)
		list__add(o, &list, resource_profiles(o, o->groups.at[i]));
	ret->resource_profiles = (Otlp__ResourceProfiles **)list.at;
	ret->n_resource_profiles = list.cnt;
	ret->dictionary = dictionary__message(&d);
	return list.cnt ? &ret->base : NULL;
}

int otlp__profiles(const struct batch *batch, struct strbuf *ret)
{
	return otlp__encode(batch, make, ret);
}
