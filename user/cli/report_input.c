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
#include "export/json/json.h"
#include "export/record_file.h"
#include "export/sink.h"
#include "journal/journal.h"

static int give(struct report_input *in, const Jankbpf__Record *record)
{
	in->record_cnt++;
	return in->take(in->ctx, record);
}

/* The same of a record that is not judged again. */
static int give_own(struct report_input *in, Jankbpf__Record *record)
{
	int res = in->mapping ? record_frames__retrace(record, in->mapping) : 0;

	return res < 0 ? res : give(in, record);
}

/* --- JSON Lines */

/* Lines of a file that are no records. */
struct odd_lines {
	uint64_t cnt, first;
};

static void tell_odd(struct report_input *in, const char *path, const struct odd_lines *odd,
		     uint64_t line_cnt)
{
	if (!odd->cnt)
		return;
	in->odd_cnt += odd->cnt;
	log__warn("'%s': line %" PRIu64 "%s no record of jankbpf: %" PRIu64 " of %" PRIu64
		  " lines were left out",
		  path, odd->first, odd->cnt > 1 ? " and others are" : " is", odd->cnt, line_cnt);
}

static int give_line(struct report_input *in, const struct strbuf *line)
{
	Jankbpf__Record *record;
	uint64_t unknown_cnt;
	int res = json__read_record(line->data, line->len, &record, &unknown_cnt, NULL);

	if (res)
		return res;
	res = give_own(in, record);
	jankbpf__record__free_unpacked(record, NULL);
	return res;
}

static int read_lines(struct report_input *in, const char *path, FILE *file)
{
	struct strbuf line = STRBUF_INIT;
	struct odd_lines odd = {};
	bool inside = false; /* a line that is longer than a record is read in parts */
	uint64_t nr = 0;
	int res = 0, got;

	while (!res && (got = stream__read_line(file, &line))) {
		nr += !inside;
		if (got == 1 && !inside)
			res = give_line(in, &line);
		else if (got == -EFBIG || inside)
			res = inside ? 0 : -EBADMSG;
		else
			res = got;
		inside = got == -EFBIG;
		if (res == -EBADMSG) {
			odd.first = odd.cnt++ ? odd.first : nr;
			res = 0;
		}
	}
	strbuf__free(&line);
	tell_odd(in, path, &odd, nr);
	return res;
}

/* --- protobuf */

static int give_message(struct report_input *in, const struct strbuf *bytes, size_t head)
{
	Jankbpf__Record *record = jankbpf__record__unpack(NULL, bytes->len - head,
							  (const uint8_t *)bytes->data + head);
	int res = -EBADMSG;

	if (!record)
		return res;
	if (record->type_case != JANKBPF__RECORD__TYPE__NOT_SET)
		res = give_own(in, record);
	jankbpf__record__free_unpacked(record, NULL);
	return res;
}

static int read_messages(struct report_input *in, const char *path, FILE *file)
{
	struct strbuf bytes = STRBUF_INIT;
	uint64_t at = 0, odd_at = 0, odd_cnt = 0;
	size_t head;
	int res;

	while ((res = stream__read(file, &bytes, &head)) > 0) {
		res = give_message(in, &bytes, head);
		if (res == -EBADMSG)
			odd_at = odd_cnt++ ? odd_at : at;
		else if (res)
			break;
		at += bytes.len;
	}
	if (odd_cnt)
		log__warn("'%s': the message at byte %" PRIu64 " is no record of jankbpf: %" PRIu64
			  " messages were left out",
			  path, odd_at, odd_cnt);
	if (res == -EBADMSG) {
		log__warn("'%s': torn at byte %" PRIu64
			  ": the rest is no whole record and was left out",
			  path, at);
		odd_cnt++;
		res = 0;
	}
	in->odd_cnt += odd_cnt;
	strbuf__free(&bytes);
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
	else if (stream__is_binary(file))
		res = read_messages(in, path, file);
	else
		res = read_lines(in, path, file);
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
