/* SPDX-License-Identifier: GPL-2.0 */
/* Each format of a report, of blocks with everything and of hostile ones; tests/replay/report.t
 * decodes reports of real records. */
#include <jansson.h>
#include <zlib.h>

#include "base/text.h"
#include "export/report/report.h"
#include "schema/perfetto.pb-c.h"
#include "schema/pprof.pb-c.h"
#include "tests/unit/export_run.h"

static const struct report_ops *const formats[] = { &report_folded,   &report_pprof,
						    &report_perfetto, &report_speedscope,
						    &report_md,	      &report_html };

/* The report of one fixture, or of all if name is NULL. */
static void make(struct strbuf *bytes, const struct report_ops *ops, const char *name)
{
	char path[256];
	struct report_out out = {};
	struct report *report = report__new(ops, &out);

	snprintf(path, sizeof(path), "%s/report", scratch_dir);
	out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block;

		if (name && strcmp(fixtures[i].name, name))
			continue;
		block = fixtures[i].make();
		is_int(ops->record(report, fixture__record(block)), 0, "%s: %s is taken", ops->name,
		       fixtures[i].name);
		block__free(block);
	}
	is_int(ops->finish(report) ?: report_out__flush(&out), 0, "%s: finished", ops->name);
	is_uint(report->cut_cnt, 0, "nothing was cut");
	report__free(report);
	strbuf__free(&out.bytes);
	close(out.fd);
	slurp(path, bytes);
}

static uint64_t duration_of(const char *name)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();

		ns += !name || !strcmp(fixtures[i].name, name) ? block->duration_ns : 0;
		block__free(block);
	}
	return ns;
}

static void test_folded(void)
{
	struct strbuf text = STRBUF_INIT;

	make(&text, &report_folded, "chain");
	is_str(strbuf__str(&text),
	       "indexd;indexd;main;on_query;index_lock;pthread_mutex_lock;__lll_lock_wait;"
	       "futex_wait_queue_[k];[futex] 150000\n"
	       "indexd;indexd;main;ask_speller;recv;unix_stream_read_generic_[k];[socket] 40000\n"
	       "indexd;indexd;[no stack];[running] 10000\n",
	       "folded stacks: outermost first, state last, in µs");
	make(&text, &report_folded, "cpu");
	has_str(strbuf__str(&text), ";luaV_gettable_[i];luaH_getnum;[running] 270000\n",
		"inlined functions are marked");
	strbuf__free(&text);
}

/* Lines of hostile names: each has its time, and no control character. */
static void test_folded_hostile(void)
{
	struct strbuf text = STRBUF_INIT;
	uint64_t us = 0;
	unsigned odd = 0;

	make(&text, &report_folded, "hostile");
	for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n")) {
		char *space = strrchr(line, ' '), *end;

		odd += !space || !space[1];
		us += space ? strtoull(space + 1, &end, 10) : 0;
		odd += space && *end;
		for (; *line; line++)
			odd += (unsigned char)*line < ' ' || *line == 0x7f;
	}
	is_uint(odd, 0, "each line is a stack and a number");
	is_uint(us, 150000, "and they have all of the time");
	strbuf__free(&text);
}

static void unzip(const struct strbuf *from, struct strbuf *to)
{
	z_stream zip = { .next_in = (unsigned char *)from->data, .avail_in = (unsigned)from->len };
	unsigned char chunk[4096];
	int res = inflateInit2(&zip, 15 + 16);

	strbuf__reset(to);
	while (res == Z_OK) {
		zip.next_out = chunk;
		zip.avail_out = sizeof(chunk);
		res = inflate(&zip, Z_NO_FLUSH);
		strbuf__add(to, chunk, sizeof(chunk) - zip.avail_out);
	}
	is_int(res, Z_STREAM_END, "the gzip file is whole");
	inflateEnd(&zip);
}

static void check_samples(const Perftools__Profiles__Profile *profile)
{
	unsigned odd = 0;

	for (size_t i = 0; i < profile->n_sample; i++) {
		const Perftools__Profiles__Sample *sample = profile->sample[i];

		odd += sample->n_value != 2 || !sample->n_location_id;
		for (size_t j = 0; j < sample->n_location_id; j++)
			odd += !sample->location_id[j] ||
			       sample->location_id[j] > profile->n_location;
		for (size_t j = 0; j < sample->n_label; j++)
			odd += sample->label[j]->str <= 0 ||
			       (size_t)sample->label[j]->str >= profile->n_string_table;
	}
	is_uint(odd, 0, "each sample has two values, locations, and labels of the table");
}

static void check_locations(const Perftools__Profiles__Profile *profile)
{
	unsigned odd = 0, lines = 0;

	for (size_t i = 0; i < profile->n_location; i++) {
		const Perftools__Profiles__Location *location = profile->location[i];

		odd += location->id != i + 1 || !location->n_line ||
		       location->mapping_id > profile->n_mapping;
		for (size_t j = 0; j < location->n_line; j++)
			odd += location->line[j]->function_id - 1 >= profile->n_function;
		lines += location->n_line > 1;
	}
	is_uint(odd, 0, "each location has functions of the table");
	ok(lines, "an inlined function is a line of its caller's location");
	odd = 0;
	for (size_t i = 0; i < profile->n_string_table; i++)
		odd += !text__is_clean(profile->string_table[i]);
	is_uint(odd, 0, "all texts can be shown");
}

static void test_pprof(void)
{
	struct strbuf bytes = STRBUF_INIT, plain = STRBUF_INIT;
	Perftools__Profiles__Profile *profile;
	uint64_t ns = 0;

	make(&bytes, &report_pprof, NULL);
	unzip(&bytes, &plain);
	profile =
		perftools__profiles__profile__unpack(NULL, plain.len, (const uint8_t *)plain.data);
	if (!ok(profile, "it is a profile"))
		return;
	is_str(profile->string_table[0], "", "the first text is empty");
	is_str(profile->string_table[profile->sample_type[1]->type], "wall", "the time's type");
	for (size_t i = 0; i < profile->n_sample; i++)
		ns += (uint64_t)profile->sample[i]->value[1];
	is_uint(ns, duration_of(NULL), "the samples have the time of all blocks");
	check_samples(profile);
	check_locations(profile);
	perftools__profiles__profile__free_unpacked(profile, NULL);
	strbuf__free(&bytes);
	strbuf__free(&plain);
}

static void test_perfetto(void)
{
	struct strbuf bytes = STRBUF_INIT;
	Perfetto__Protos__Trace *trace;
	int depth = 0, least = 0;
	unsigned odd = 0;

	make(&bytes, &report_perfetto, NULL);
	trace = perfetto__protos__trace__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
	if (!ok(trace && trace->n_packet, "it is a trace"))
		return;
	ok(trace->packet[0]->clock_snapshot && trace->packet[0]->sequence_flags == 3,
	   "it begins with the clocks, and clears the sequence");
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__Protos__TrackEvent *event = trace->packet[i]->track_event;

		odd += trace->packet[i]->trusted_packet_sequence_id != 1;
		odd += event && (!trace->packet[i]->has_timestamp || !event->track_uuid);
		if (event && event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN)
			depth++;
		if (event && event->type == PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END)
			depth--;
		least = depth < least ? depth : least;
		odd += event && event->name && !text__is_clean(event->name);
	}
	is_uint(odd, 0, "each event has time, track, and a name that can be shown");
	ok(!depth && !least, "each slice that begins has an end");
	perfetto__protos__trace__free_unpacked(trace, NULL);
	strbuf__free(&bytes);
}

static uint64_t check_profile(const json_t *profile, size_t frame_cnt)
{
	const json_t *samples = json_object_get(profile, "samples");
	const json_t *weights = json_object_get(profile, "weights");
	uint64_t ns = 0;
	unsigned odd = json_array_size(samples) != json_array_size(weights);

	for (size_t i = 0; i < json_array_size(weights); i++) {
		const json_t *stack = json_array_get(samples, i);

		ns += (uint64_t)json_integer_value(json_array_get(weights, i));
		odd += !json_array_size(stack);
		for (size_t j = 0; j < json_array_size(stack); j++)
			odd += (size_t)json_integer_value(json_array_get(stack, j)) >= frame_cnt;
	}
	is_uint(odd, 0, "each stack has a weight and frames of the table");
	is_uint((uint64_t)json_integer_value(json_object_get(profile, "endValue")), ns,
		"the profile ends at its sum");
	return ns;
}

static void test_speedscope(void)
{
	struct strbuf bytes = STRBUF_INIT;
	const json_t *profiles;
	uint64_t ns = 0, before = UINT64_MAX;
	size_t frame_cnt;
	json_t *file;

	make(&bytes, &report_speedscope, NULL);
	file = json_loadb(bytes.data, bytes.len, 0, NULL);
	if (!ok(file, "it is JSON"))
		return;
	frame_cnt = json_array_size(json_object_get(json_object_get(file, "shared"), "frames"));
	profiles = json_object_get(file, "profiles");
	for (size_t i = 0; i < json_array_size(profiles); i++) {
		uint64_t own = check_profile(json_array_get(profiles, i), frame_cnt);

		ok(own <= before, "profile %zu is no larger than the one before", i);
		before = own;
		ns += own;
	}
	is_uint(ns, duration_of(NULL), "the profiles have the time of all blocks");
	json_decref(file);
	strbuf__free(&bytes);
}

/* A report without blocks is whole; one whose output is full says so. */
static void test_edges(void)
{
	struct strbuf bytes = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct report_out out = { .fd = open("/dev/full", O_WRONLY) };
		struct report *report = report__new(formats[i], &out);

		make(&bytes, formats[i], "none of them");
		ok(i == 0 || bytes.len, "%s: a report without blocks", formats[i]->name);
		is_int(formats[i]->finish(report), 0, "%s: finished", formats[i]->name);
		is_int(report_out__flush(&out), i ? -ENOSPC : 0, "a full disk is an error");
		report__free(report);
		strbuf__free(&out.bytes);
		close(out.fd);
	}
	strbuf__free(&bytes);
}

int main(void)
{
	scratch__init();
	test_folded();
	test_folded_hostile();
	test_pprof();
	test_perfetto();
	test_speedscope();
	test_edges();
	return tap__done();
}
