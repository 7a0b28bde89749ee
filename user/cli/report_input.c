/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the inputs of a report, whatever their form, and says where they are damaged. */
#include "cli/report_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "cli/commands.h"
#include "cli/record_frames.h"
#include "export/record_file.h"
#include "export/record_reader.h"
#include "export/sink.h"
#include "journal/journal.h"

static int give(struct report_input *in, const Jankbpf__Record *record)
{
	in->record_cnt++;
	return in->take(in->ctx, record);
}

/* --- JSON Lines, protobuf */

/* Lines or messages of a file that are no records. */
struct odd {
	uint64_t cnt;
	uint64_t first; /* number of the line, or byte of the message */
};

static void tell_odd(struct report_input *in, const char *path, const struct odd *odd,
		     const struct record_reader *reader)
{
	in->odd_cnt += odd->cnt;
	if (odd->cnt && reader->format == RECORD_JSON)
		log__warn("'%s': line %" PRIu64 "%s no record of jankbpf: %" PRIu64 " of %" PRIu64
			  " lines were left out",
			  path, odd->first, odd->cnt > 1 ? " and others are" : " is", odd->cnt,
			  reader->line_cnt);
	else if (odd->cnt)
		log__warn("'%s': the message at byte %" PRIu64 " is no record of jankbpf: %" PRIu64
			  " messages were left out",
			  path, odd->first, odd->cnt);
}

/* Of a record that is not judged again. -EBADMSG: of a later version. */
static int give_own(struct report_input *in, Jankbpf__Record *record)
{
	int res = record->type_case == JANKBPF__RECORD__TYPE__NOT_SET ? -EBADMSG : 0;

	if (!res && in->mapping)
		res = record_frames__retrace(record, in->mapping);
	return res < 0 ? res : give(in, record);
}

static int read_records(struct report_input *in, const char *path, FILE *file)
{
	struct record_reader reader;
	Jankbpf__Record *record;
	struct odd odd = {};
	int res = 0, item = READ_ODD;

	record_reader__init(&reader, file);
	while (!res && item != READ_TORN && (item = record_reader__next(&reader, &record))) {
		if (item == READ_RECORD) {
			res = give_own(in, record);
			jankbpf__record__free_unpacked(record, NULL);
		} else if (item == READ_ODD || item == READ_LONG) {
			res = -EBADMSG;
		} else if (item < 0) {
			res = item;
		}
		if (res == -EBADMSG) {
			uint64_t at = reader.format == RECORD_JSON ? reader.line_cnt : reader.at;

			odd.first = odd.cnt++ ? odd.first : at;
			res = 0;
		}
	}
	tell_odd(in, path, &odd, &reader);
	if (item == READ_TORN) {
		log__warn("'%s': torn at byte %" PRIu64
			  ": the rest is no whole record and was left out",
			  path, reader.at);
		in->odd_cnt++;
	}
	record_reader__free(&reader);
	return res;
}

/* --- journals: judged as by replay */

struct journal_sink {
	struct sink sink;
	struct report_input *in;
	int res; /* of take; replay counts a failed record and goes on */
};

static int journal_sink__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct journal_sink *j = (struct journal_sink *)sink;

	if (!j->res)
		j->res = give(j->in, record);
	return j->res ? -EPIPE : 0;
}

static const struct sink_ops journal_sink_ops = {
	.name = "report",
	.record = journal_sink__record,
};

static int read_journal(struct report_input *in, const char *path, struct err *err)
{
	struct journal_sink sink = { .sink.ops = &journal_sink_ops, .in = in };
	struct options replay = *in->opts;
	int status;

	replay.command = CMD_REPLAY;
	replay.journal = path;
	replay.output_dir = NULL;
	replay.sig = NULL; /* take() looks for it */
	replay.sink = &sink.sink;
	status = cmd_replay__run(&replay, err);
	return sink.res ? sink.res : status ? -EIO : 0;
}

/* --- one argument */

/* Reads nothing from a pipe. */
static bool is_journal(FILE *file)
{
	static const char magic[] = JOURNAL_MAGIC;
	char head[sizeof(magic)];

	return pread(fileno(file), head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head, magic, sizeof(head));
}

static int read_file(struct report_input *in, const char *path, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int res;

	if (!file)
		return err__set(err, errno, "'%s': %s", path, strerror(errno));
	if (!is_stdin && is_journal(file))
		res = read_journal(in, path, err);
	else
		res = read_records(in, path, file);
	if (!res && ferror(file))
		res = err__set(err, errno, "'%s': cannot read: %s", path, strerror(errno));
	if (!is_stdin)
		fclose(file);
	return res;
}

/* A rotated file is the older one. */
static int read_dir(struct report_input *in, const char *dir, struct err *err)
{
	struct strbuf path = STRBUF_INIT;
	unsigned found = 0;
	int res = 0;

	for (int i = 0; !res && i < 4; i++) {
		const struct record_file file = { .format = i / 2 ? RECORD_PROTO : RECORD_JSON };
		struct stat st;

		strbuf__reset(&path);
		strbuf__addf(&path, "%s/%s", dir,
			     i % 2 ? record_file__name(&file) : record_file__old_name(&file));
		if (stat(strbuf__str(&path), &st) && errno == ENOENT)
			continue;
		found++;
		res = read_file(in, strbuf__str(&path), err);
	}
	strbuf__free(&path);
	if (!found)
		log__warn("'%s': no blocks.jsonl and no blocks.pb in it; give the DIR of -o", dir);
	return res;
}

int report_input__read(struct report_input *in, const char *path, struct err *err)
{
	struct stat st;

	if (strcmp(path, "-") && stat(path, &st))
		return err__set(err, errno, "'%s': %s", path, strerror(errno));
	if (strcmp(path, "-") && S_ISDIR(st.st_mode))
		return read_dir(in, path, err);
	return read_file(in, path, err);
}
