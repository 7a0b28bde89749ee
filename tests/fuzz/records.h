/* SPDX-License-Identifier: GPL-2.0 */
/* Records of a recorded run as inputs. */
#ifndef JANK_FUZZ_RECORDS_H
#define JANK_FUZZ_RECORDS_H

#include "export/json/json.h"
#include "export/sink.h"
#include "tests/fuzz/corpus.h"

#define RECORDS_FIXTURE "tests/replay/simjank.jsonl"

/* Adds the records whose line has at most line_max bytes: each as JSON and as protobuf. */
static inline void corpus__add_records(struct corpus *c, size_t line_max)
{
	FILE *file = fopen(RECORDS_FIXTURE, "r");
	struct strbuf line = STRBUF_INIT, proto = STRBUF_INIT;
	Jankbpf__Record *record;
	uint64_t unknown_cnt;

	while (file && stream__read_line(file, &line) > 0) {
		if (line.len > line_max ||
		    json__read_record(line.data, line.len, &record, &unknown_cnt, NULL))
			continue;
		strbuf__reset(&proto);
		stream__add(&proto, RECORD_PROTO, record);
		jankbpf__record__free_unpacked(record, NULL);
		corpus__add(c, line.data, line.len);
		corpus__add(c, proto.data, proto.len);
	}
	if (file)
		fclose(file);
	strbuf__free(&line);
	strbuf__free(&proto);
}

#endif
