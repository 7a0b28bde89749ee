/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads records one by one, from JSON Lines or a stream of messages, and writes the same form. A
 * record without new names is written unchanged.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/record_names.h"
#include "export/json/json.h"
#include "export/sink.h"
#include "session/event_loop.h"

struct symbolizing {
	struct record_names names;
	const char *path;
	uint64_t odd_cnt;     /* lines and messages that are not records */
	uint64_t long_cnt;    /* lines that are longer than a record */
	uint64_t unknown_cnt; /* unknown members of records */
};

static int write_bytes(const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, stdout) == len ? 0 : -errno;
}

/* Takes ownership of the record. Returns 1: written; 0: no new name; or -errno. */
static int put_record(struct symbolizing *c, Jankbpf__Record *record, enum record_format format)
{
	struct strbuf bytes = STRBUF_INIT;
	int ret = record_names__fill(&c->names, record);

	if (ret > 0) {
		int res = stream__add(&bytes, format, record);

		ret = res ? res : write_bytes(bytes.data, bytes.len);
		ret = ret ? ret : 1;
	}
	strbuf__free(&bytes);
	jankbpf__record__free_unpacked(record, NULL);
	return ret;
}

static int write_line(const char *line, size_t len)
{
	bool ended = len && line[len - 1] == '\n';
	int res = write_bytes(line, len);

	return res || ended || putchar('\n') != EOF ? res : -errno;
}

static int put_line(struct symbolizing *c, const char *line, size_t len)
{
	Jankbpf__Record *record;
	uint64_t unknown_cnt;
	int res = json__read_record(line, len, &record, &unknown_cnt, NULL);

	if (res == -EBADMSG) {
		c->odd_cnt++;
		return write_line(line, len);
	}
	if (!res)
		res = put_record(c, record, RECORD_JSON);
	if (res == 1)
		c->unknown_cnt += unknown_cnt;
	return res ? (res < 0 ? res : 0) : write_line(line, len);
}

static int put_lines(struct symbolizing *c, FILE *file)
{
	struct strbuf line = STRBUF_INIT;
	bool inside = false; /* a line that is written in parts */
	int res = 0, got;

	while (!res && (got = stream__read_line(file, &line))) {
		if (got == -EFBIG) {
			c->long_cnt += !inside;
			res = write_bytes(line.data, line.len);
		} else if (got < 0) {
			res = got;
		} else {
			res = inside ? write_line(line.data, line.len)
				     : put_line(c, line.data, line.len);
		}
		inside = got == -EFBIG;
	}
	strbuf__free(&line);
	return res;
}

static int put_message(struct symbolizing *c, const struct strbuf *bytes, size_t head)
{
	Jankbpf__Record *record = jankbpf__record__unpack(NULL, bytes->len - head,
							  (const uint8_t *)bytes->data + head);
	int res;

	c->odd_cnt += !record;
	res = record ? put_record(c, record, RECORD_PROTO) : 0;
	return res ? (res < 0 ? res : 0) : write_bytes(bytes->data, bytes->len);
}

static int put_messages(struct symbolizing *c, FILE *file)
{
	struct strbuf bytes = STRBUF_INIT;
	size_t head;
	int res;

	while ((res = stream__read(file, &bytes, &head)) > 0) {
		res = put_message(c, &bytes, head);
		if (res)
			break;
	}
	if (res == -EBADMSG) {
		log__warn("'%s': the last record is torn or longer than %d MiB, or this is no "
			  "stream of records; the rest was left out",
			  c->path, STREAM_RECORD_MAX >> 20);
		res = 0;
	}
	strbuf__free(&bytes);
	return res;
}

static int put_file(struct symbolizing *c, FILE *file, struct err *err)
{
	int res = stream__is_binary(file) ? put_messages(c, file) : put_lines(c, file);

	if (ferror(file))
		return err__set(err, errno, "cannot read '%s': %s", c->path, strerror(errno));
	if (res && res != -EPIPE)
		err__set(err, -res, "cannot write to stdout: %s", strerror(-res));
	return res;
}

static int put_path(struct symbolizing *c, const char *path, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int res;

	c->path = path;
	if (!file)
		return err__set(err, errno, "cannot open '%s': %s", path, strerror(errno));
	res = put_file(c, file, err);
	if (!is_stdin)
		fclose(file);
	return res;
}

static void report(const struct symbolizing *c)
{
	const struct record_names *names = &c->names;

	log__info("%llu of %llu frames without a name have one now",
		  (unsigned long long)names->named_cnt, (unsigned long long)names->nameless_cnt);
	if (c->odd_cnt)
		log__warn(
			"%llu lines are no records and were left as they are: symbolize reads what "
			"--format and -o write",
			(unsigned long long)c->odd_cnt);
	if (c->long_cnt)
		log__warn("%llu lines are longer than %d MiB and were left as they are: no record "
			  "with stacks is so long",
			  (unsigned long long)c->long_cnt, STREAM_RECORD_MAX >> 20);
	if (c->unknown_cnt)
		log__warn("%llu members that this version does not know were left out: use the "
			  "jankbpf that wrote the records",
			  (unsigned long long)c->unknown_cnt);
	for (const struct missing_module *m = names->missing; m; m = m->hh.next) {
		if (m->found)
			log__warn("%s: %llu frames stay without a name: the file of build id %s "
				  "that was "
				  "found has none for them; its debug file would",
				  m->module, (unsigned long long)m->cnt, m->build_id);
		else
			log__warn("%s: %llu frames stay without a name: there is no file of build "
				  "id %s; "
				  "give the directory of the program or its debug file by "
				  "--debug-dir",
				  m->module, (unsigned long long)m->cnt, m->build_id);
	}
	if (offline__refused(names->offline))
		log__warn("%s", offline__refused(names->offline));
	if (names->no_build_id_cnt)
		log__warn("%llu frames have no build id, so their files are not known",
			  (unsigned long long)names->no_build_id_cnt);
}

int cmd_symbolize__run(const struct options *opts, struct err *err)
{
	struct symbolizing c = {};
	int res = offline__new(opts->debug_dirs, opts->debug_dir_cnt, &c.names.offline, err);

	signals__write_errors();
	for (size_t i = 0; !res && i < opts->file_cnt; i++)
		res = put_path(&c, opts->files[i], err);
	if (!res)
		report(&c);
	record_names__free(&c.names);
	return !res || res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
