/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks of blocks as OTLP's profiles: sums, references, shared tables. */
#include "tests/tap.h"
#include "tests/unit/otlp_fixture.h"

static Otlp__ExportProfilesServiceRequest *profiles_of(struct otlp_batch *b)
{
	Otlp__ExportProfilesServiceRequest *ret;

	is_int(otlp__encode_part(b, "profiles"), 0, "profiles of %zu records are made", b->cnt);
	ret = otlp__export_profiles_service_request__unpack(NULL, b->body.len,
							    (uint8_t *)b->body.data);
	if (!ok(ret && otlp__is_valid(&ret->base), "they are a request, and UTF-8"))
		exit(1);
	return ret;
}

static void free_profiles(Otlp__ExportProfilesServiceRequest *profiles)
{
	otlp__export_profiles_service_request__free_unpacked(profiles, NULL);
}

static bool are_below(const int32_t *indices, size_t cnt, size_t limit)
{
	for (size_t i = 0; i < cnt; i++)
		if (indices[i] <= 0 || (size_t)indices[i] >= limit)
			return false;
	return true;
}

static bool location_fits(const Otlp__ProfilesDictionary *d, const Otlp__Location *location)
{
	for (size_t i = 0; i < location->n_lines; i++)
		if (!are_below(&location->lines[i]->function_index, 1, d->n_function_table))
			return false;
	return (size_t)location->mapping_index < d->n_mapping_table &&
	       are_below(location->attribute_indices, location->n_attribute_indices,
			 d->n_attribute_table);
}

/* Each reference leads to an entry, and entry 0 of each table is empty. */
static bool tables_fit(const Otlp__ProfilesDictionary *d)
{
	bool ret = !*d->string_table[0] && !d->location_table[0]->n_lines &&
		   !d->stack_table[0]->n_location_indices && !d->attribute_table[0]->key_strindex &&
		   !d->function_table[0]->name_strindex &&
		   !d->mapping_table[0]->filename_strindex && d->n_link_table == 1 &&
		   d->link_table[0]->trace_id.len == 16;

	for (size_t i = 1; i < d->n_location_table; i++)
		ret = ret && location_fits(d, d->location_table[i]);
	for (size_t i = 1; i < d->n_stack_table; i++)
		ret = ret && d->stack_table[i]->n_location_indices &&
		      are_below(d->stack_table[i]->location_indices,
				d->stack_table[i]->n_location_indices, d->n_location_table);
	for (size_t i = 1; i < d->n_function_table; i++)
		ret = ret && are_below(&d->function_table[i]->name_strindex, 1, d->n_string_table);
	for (size_t i = 1; i < d->n_mapping_table; i++)
		ret = ret &&
		      are_below(&d->mapping_table[i]->filename_strindex, 1, d->n_string_table);
	return ret;
}

static void check_profile(const Otlp__ProfilesDictionary *d, const Otlp__Profile *profile,
			  const Jankbpf__Block *block)
{
	uint64_t sum_ns = 0;
	bool fits = true;

	for (size_t i = 0; i < profile->n_samples; i++) {
		const Otlp__ProfileSample *sample = profile->samples[i];

		fits = fits && sample->n_values == 1 &&
		       are_below(&sample->stack_index, 1, d->n_stack_table) &&
		       are_below(sample->attribute_indices, sample->n_attribute_indices,
				 d->n_attribute_table);
		sum_ns += fits ? (uint64_t)sample->values[0] : 0;
	}
	ok(fits, "samples have a stack, attributes and a value");
	is_uint(sum_ns, block->duration_ns, "they sum to the duration");
	is_uint(profile->duration_nano, block->duration_ns, "which the profile has, too");
	is_uint(profile->profile_id.len, 16, "it has an id");
	is_str(d->string_table[profile->sample_type->unit_strindex], "nanoseconds", "unit");
}

static void test_each(void)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct otlp_batch b = {};
		const Jankbpf__Block *block = otlp__add_block(&b, fixtures[i].name);
		Otlp__ExportProfilesServiceRequest *profiles;

		diag("%s", fixtures[i].name);
		if (b.records[0]->type_case == JANKBPF__RECORD__TYPE_HANG) {
			is_int(otlp__encode_part(&b, "profiles"), -ENODATA, "a hang is none");
			otlp__empty(&b);
			continue;
		}
		profiles = profiles_of(&b);
		ok(tables_fit(profiles->dictionary), "its tables refer to each other");
		check_profile(profiles->dictionary,
			      profiles->resource_profiles[0]->scope_profiles[0]->profiles[0],
			      block);
		free_profiles(profiles);
		otlp__empty(&b);
	}
}

/* The same block twice costs no further entry of a table. */
static void test_shared(void)
{
	struct otlp_batch b = {};
	struct strbuf first = STRBUF_INIT;
	Otlp__ExportProfilesServiceRequest *one, *two;

	otlp__add_block(&b, "lock");
	one = profiles_of(&b);
	otlp__add_block(&b, "lock");
	two = profiles_of(&b);
	is_uint(two->dictionary->n_stack_table, one->dictionary->n_stack_table,
		"stacks are shared");
	is_uint(two->dictionary->n_string_table, one->dictionary->n_string_table, "as are texts");
	is_uint(two->resource_profiles[0]->scope_profiles[0]->n_profiles, 2, "by two profiles");
	free_profiles(one);
	free_profiles(two);
	strbuf__add(&first, b.body.data, b.body.len);
	otlp__encode_part(&b, "profiles");
	ok(first.len == b.body.len && !memcmp(first.data, b.body.data, first.len),
	   "the same batch has the same bytes");
	strbuf__free(&first);
	otlp__empty(&b);
}

static bool has_text(const Otlp__ProfilesDictionary *d, const char *text)
{
	for (size_t i = 0; i < d->n_string_table; i++)
		if (!strcmp(d->string_table[i], text))
			return true;
	return false;
}

static void test_frames(void)
{
	struct otlp_batch b = {};
	Jankbpf__Block *block = otlp__add_block(&b, "lock");
	Jankbpf__Frame *frame = block->samples[0]->stack[0];
	Otlp__ExportProfilesServiceRequest *profiles;

	otlp__set(&frame->function, "\xff", 1 << 20);
	otlp__set(&frame->language, "javascript", 10);
	frame->kernel = false;
	profiles = profiles_of(&b);
	ok(tables_fit(profiles->dictionary), "hostile names have entries");
	ok(has_text(profiles->dictionary, "v8js"), "a language has the word of the conventions");
	ok(has_text(profiles->dictionary, "profile.frame.type"), "as a frame's attribute");
	free_profiles(profiles);
	otlp__empty(&b);
}

int main(void)
{
	test_each();
	test_shared();
	test_frames();
	return tap__done();
}
