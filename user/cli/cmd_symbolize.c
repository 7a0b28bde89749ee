/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads records one by one, from JSON Lines or a stream of messages, and writes the same form. A
 * record without new names is written unchanged.
 */
#include "cli/cmd_symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/record_names.h"
#include "export/json/json.h"
#include "export/stream.h"
#include "session/event_loop.h"

#define RECORD_MAX_SZ (256 << 20)

struct symbolizing {
	struct record_names names;
	const char *path;
	uint64_t odd_cnt;     /* lines and messages that are not records */
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
	int res = -EBADMSG;

	if (len < RECORD_MAX_SZ)
		res = json__read_record(line, len, &record, &unknown_cnt, NULL);
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
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int res = 0;

	while (!res && (len = getline(&line, &cap, file)) > 0)
		res = put_line(c, line, len);
	free(line);
	return res;
}

/*
 * Reads a message, with its length in front, from the file. Returns 1; 0 at the end; -EBADMSG:
 * torn, or not such a stream.
 */
static int read_message(FILE *file, struct strbuf *ret, size_t *ret_head)
{
	char head[STREAM_VARINT_MAX];
	uint64_t len;
	int head_len = 0, c;

	strbuf__reset(ret);
	for (size_t n = 0; head_len == 0 && (c = getc(file)) != EOF;) {
		head[n++] = (char)c;
		head_len = stream__length(head, n, &len);
	}
	if (head_len == 0)
		return 0;
	if (head_len < 0 || len > RECORD_MAX_SZ)
		return -EBADMSG;
	*ret_head = (size_t)head_len;
	strbuf__add(ret, head, (size_t)head_len);
	for (char chunk[4096]; len;) {
		size_t n = fread(chunk, 1, len < sizeof(chunk) ? len : sizeof(chunk), file);

		if (!n)
			return -EBADMSG;
		strbuf__add(ret, chunk, n);
		len -= n;
	}
	return ret->failed ? -ENOMEM : 1;
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

	while ((res = read_message(file, &bytes, &head)) > 0) {
		res = put_message(c, &bytes, head);
		if (res)
			break;
	}
	if (res == -EBADMSG) {
		log__warn("'%s': the last record is torn, or this is no stream of records; it was "
			  "left out",
			  c->path);
		res = 0;
	}
	strbuf__free(&bytes);
	return res;
}

/* A message begins with its length and the tag of field 1, the schema; JSON begins with a brace. */
static bool is_messages(FILE *file)
{
	int first = getc(file), second = first == EOF ? EOF : getc(file);

	if (second != EOF)
		ungetc(second, file);
	if (first != EOF)
		ungetc(first, file);
	return first != EOF && (first & 0x80 || second == 0x0a) && first != '\n';
}

static int put_file(struct symbolizing *c, FILE *file, struct err *err)
{
	int res = is_messages(file) ? put_messages(c, file) : put_lines(c, file);

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

static void tell(const struct symbolizing *c)
{
	const struct record_names *names = &c->names;

	log__info("%llu of %llu frames without a name have one now",
		  (unsigned long long)names->named_cnt, (unsigned long long)names->nameless_cnt);
	if (c->odd_cnt)
		log__warn(
			"%llu lines are no records and were left as they are: symbolize reads what "
			"--format and -o write",
			(unsigned long long)c->odd_cnt);
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
		log__warn("%llu frames have no build id, so that no file can be known as theirs",
			  (unsigned long long)names->no_build_id_cnt);
}

int symbolize__run(const struct options *opts, struct err *err)
{
	struct symbolizing c = {};
	int res = offline__new(opts->debug_dirs, opts->debug_dir_cnt, &c.names.offline, err);

	signals__write_errors();
	for (size_t i = 0; !res && i < opts->file_cnt; i++)
		res = put_path(&c, opts->files[i], err);
	if (!res)
		tell(&c);
	record_names__free(&c.names);
	return !res || res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
