/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged records through the encoder of OTLP: a body is a message whose text is UTF-8, as a
 * backend would refuse the whole request otherwise; and the work is in proportion to the records.
 */
#include <stdio.h>

#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"
#include "tests/unit/otlp_fixture.h"

#define STEPS	4000 /* a byte: a record is packed and walked by each part */
#define DAMAGES 12

static struct {
	struct fuzz fuzz;
	uint8_t *packed[FIXTURE_CNT + 1]; /* the last is an interval's */
	size_t len[FIXTURE_CNT + 1];
	uint64_t bodies, refused;
	const char *broken;
} run;

static void keep(size_t nr, const Jankbpf__Record *record)
{
	run.len[nr] = jankbpf__record__get_packed_size(record);
	run.packed[nr] = malloc(run.len[nr]);
	jankbpf__record__pack(record, run.packed[nr]);
}

static void keep_all(void)
{
	struct summary summary = fixture__summary();
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Interval interval = JANKBPF__INTERVAL__INIT;
	const Jankbpf__Summary *counts = fixture__summary_record(&summary)->summary;

	record.type_case = JANKBPF__RECORD__TYPE_INTERVAL;
	record.interval = &interval;
	interval.start = (char *)"2026-05-04T10:20:30.000000000+00:00";
	interval.has_elapsed_ns = true;
	interval.elapsed_ns = 10000 * FIXTURE_MS;
	interval.loops = counts->loops;
	interval.n_loops = counts->n_loops;
	interval.lost = counts->lost;
	interval.cost = counts->cost;
	keep(FIXTURE_CNT, &record);
	summary__free(&summary);
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();

		keep(i, fixture__record(block));
		block__free(block);
	}
}

/* NULL: damaged so that it is none. */
static Jankbpf__Record *damaged(size_t nr)
{
	uint8_t *bytes = malloc(run.len[nr]);
	Jankbpf__Record *ret;

	memcpy(bytes, run.packed[nr], run.len[nr]);
	for (size_t n = fuzz__below(&run.fuzz, DAMAGES); n; n--) {
		size_t at = fuzz__below(&run.fuzz, run.len[nr]);

		/* Mostly texts and numbers, so that most records can be read. */
		if (bytes[at] >= 0x20 && !fuzz__chance(&run.fuzz, 20))
			bytes[at] = 0x80 | (uint8_t)fuzz__any(&run.fuzz);
		else
			fuzz__damage(&run.fuzz, bytes, run.len[nr]);
	}
	ret = jankbpf__record__unpack(NULL, run.len[nr], bytes);
	free(bytes);
	return ret;
}

static void check(struct otlp_batch *b, const char *part,
		  const ProtobufCMessageDescriptor *descriptor)
{
	int res = otlp__encode_part(b, part);
	ProtobufCMessage *message;

	if (res == -ENODATA)
		return;
	if (res) {
		run.broken = "a body is refused";
		return;
	}
	message = protobuf_c_message_unpack(descriptor, NULL, b->body.len, (uint8_t *)b->body.data);
	if (!message || !otlp__is_valid(message))
		run.broken = "a body is no message, or has text that is not UTF-8";
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
	run.bodies++;
}

int main(void)
{
	run.fuzz = fuzz__begin(STEPS);
	keep_all();
	while (!run.broken && fuzz__goes_on(&run.fuzz)) {
		struct otlp_batch b = {};
		size_t bytes = 0;

		for (size_t n = 1 + fuzz__below(&run.fuzz, 6); n; n--) {
			size_t nr = fuzz__below(&run.fuzz, FIXTURE_CNT + 1);
			Jankbpf__Record *record = damaged(nr);

			bytes += run.len[nr];
			if (record)
				b.records[b.cnt++] = record;
			run.refused += !record;
		}
		check(&b, "logs", &otlp__export_logs_service_request__descriptor);
		check(&b, "metrics", &otlp__export_metrics_service_request__descriptor);
		check(&b, "profiles", &otlp__export_profiles_service_request__descriptor);
		cost__end(&run.fuzz.cost, bytes);
		otlp__empty(&b);
	}
	ok(!run.broken, "round %llu of seed %llu: %s", (unsigned long long)run.fuzz.round,
	   (unsigned long long)fuzz__env("FUZZ_SEED", 1), run.broken ?: "all promises are kept");
	ok(run.bodies && run.refused, "%llu bodies were made, %llu records were none",
	   (unsigned long long)run.bodies, (unsigned long long)run.refused);
	cost__ok(&run.fuzz.cost);
	fuzz__report(&run.fuzz);
	for (size_t i = 0; i <= FIXTURE_CNT; i++)
		free(run.packed[i]);
	return tap__done();
}
