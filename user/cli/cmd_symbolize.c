/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads records one by one, from JSON Lines or a stream of messages, and writes the same form. A
 * record without new names is written unchanged.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "cli/record_frames.h"
#include "export/record_reader.h"
#include "session/event_loop.h"
#include "symbol/modules/offline.h"

/* --- names for the frames of a record that have only module, build id and offset */

/* A build id with frames that have no name. */
struct missing_module {
	UT_hash_handle hh;
	uint64_t cnt;
	bool found; /* a file with that build id exists */
	char *module;
	char build_id[];
};

struct record_names {
	struct offline *offline;    /* owned */
	struct r8_mapping *mapping; /* owned; NULL: none */
	uint64_t nameless_cnt, named_cnt;
	uint64_t no_build_id_cnt; /* of the nameless */
	struct missing_module *missing;
	const Jankbpf__Record *record; /* the record being filled */
};

static bool is_nameless(const Jankbpf__Frame *frame)
{
	return frame->module && frame->has_offset && !frame->function && !frame->kernel;
}

static void record_missing(struct record_names *names, const char *module, const char *build_id)
{
	size_t len = strlen(build_id);
	struct missing_module *m;

	HASH_FIND(hh, names->missing, build_id, len, m);
	if (!m) {
		m = calloc(1, sizeof(*m) + len + 1);
		if (!m)
			return;
		memcpy(m->build_id, build_id, len);
		m->found = offline__knows(names->offline, build_id);
		HASH_ADD_KEYPTR(hh, names->missing, m->build_id, len, m);
		if (!m)
			return;
		m->module = strdup(module);
		if (!m->module) {
			HASH_DEL(names->missing, m);
			free(m);
			return;
		}
	}
	m->cnt++;
}

/* Returns the number of frames at the address; 0: no name. */
static size_t look_up(struct record_names *names, const Jankbpf__Frame *frame, bool exact,
		      struct frame ret[OFFLINE_FRAMES_MAX])
{
	size_t cnt;

	names->nameless_cnt++;
	if (!frame->build_id) {
		names->no_build_id_cnt += frame->module[0] == '/';
		return 0;
	}
	offline__archive(names->offline, frame->build_id, frame->module);
	cnt = offline__name(names->offline, frame->build_id, frame->offset, exact, ret);
	if (cnt)
		names->named_cnt++;
	else
		record_missing(names, frame->module, frame->build_id);
	return cnt;
}

/* NULL: out of memory. */
static Jankbpf__Frame *make_frame(const Jankbpf__Frame *from, const struct frame *name)
{
	Jankbpf__Frame *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	jankbpf__frame__init(ret);
	ret->function = strdup(name->function);
	ret->has_offset = true;
	ret->offset = name->offset;
	ret->module = strdup(from->module);
	ret->build_id = strdup(from->build_id);
	ret->file = name->file ? strdup(name->file) : NULL;
	ret->has_line = name->file && name->line;
	ret->line = name->line;
	ret->has_inlined = ret->inlined = name->inlined;
	ret->has_app = ret->app = from->app && !name->inlined;
	if (ret->function && ret->module && ret->build_id && (ret->file || !name->file))
		return ret;
	jankbpf__frame__free_unpacked(ret, NULL);
	return NULL;
}

/* Replaces one frame by cnt frames. Returns 0, or -ENOMEM with the stack unchanged. */
static int replace(Jankbpf__Frame ***stack, size_t *stack_cnt, size_t at, const struct frame *names,
		   size_t cnt)
{
	Jankbpf__Frame *old = (*stack)[at], *made[OFFLINE_FRAMES_MAX];
	Jankbpf__Frame **larger = realloc(*stack, (*stack_cnt + cnt) * sizeof(*larger));
	size_t i;

	if (!larger)
		return -ENOMEM;
	*stack = larger;
	for (i = 0; i < cnt && (made[i] = make_frame(old, &names[i])); i++)
		;
	if (i < cnt) {
		while (i)
			jankbpf__frame__free_unpacked(made[--i], NULL);
		return -ENOMEM;
	}
	memmove(larger + at + cnt, larger + at + 1, (*stack_cnt - at - 1) * sizeof(*larger));
	memcpy(larger + at, made, cnt * sizeof(*larger));
	*stack_cnt += cnt - 1;
	jankbpf__frame__free_unpacked(old, NULL);
	return 0;
}

/* The first user frame is the thread's position; the others are return addresses. */
static int fill_stack(void *ctx, Jankbpf__Frame ***stack, size_t *stack_cnt)
{
	struct record_names *names = ctx;
	struct frame found[OFFLINE_FRAMES_MAX];
	bool exact = true;
	int ret = 0;

	for (size_t i = 0; i < *stack_cnt; i++) {
		const Jankbpf__Frame *frame = (*stack)[i];
		size_t cnt = is_nameless(frame) ? look_up(names, frame, exact, found) : 0;

		if (!frame->kernel && !frame->inlined)
			exact = false;
		if (!cnt)
			continue;
		ret = replace(stack, stack_cnt, i, found, cnt) ? -ENOMEM : 1;
		if (ret < 0)
			return ret;
		i += cnt - 1;
	}
	return ret;
}

static bool same_place(const Jankbpf__Frame *a, const Jankbpf__Frame *b)
{
	return is_nameless(a) && is_nameless(b) && a->offset == b->offset &&
	       !strcmp(a->module, b->module) && a->build_id && b->build_id &&
	       !strcmp(a->build_id, b->build_id);
}

/*
 * True if frame is the position of a sampled thread. The fields before the samples are filled
 * first.
 */
static bool is_leaf(const Jankbpf__Record *record, const Jankbpf__Frame *frame)
{
	for (size_t i = 0; i < record->block->n_samples; i++) {
		const Jankbpf__Sample *sample = record->block->samples[i];
		size_t leaf = 0;

		while (leaf < sample->n_stack && sample->stack[leaf]->kernel)
			leaf++;
		if (leaf < sample->n_stack && same_place(sample->stack[leaf], frame))
			return true;
	}
	return false;
}

/* A single frame, such as a cause's, gets the name of its function, not of an inlined one. */
static int fill_frame(void *ctx, Jankbpf__Frame **frame)
{
	struct record_names *names = ctx;
	struct frame found[OFFLINE_FRAMES_MAX];
	Jankbpf__Frame *made;
	size_t cnt;

	if (!is_nameless(*frame))
		return 0;
	cnt = look_up(names, *frame, is_leaf(names->record, *frame), found);
	if (!cnt)
		return 0;
	made = make_frame(*frame, &found[cnt - 1]);
	if (!made)
		return -ENOMEM;
	jankbpf__frame__free_unpacked(*frame, NULL);
	*frame = made;
	return 1;
}

/*
 * Names the frames of a record that was unpacked or read from JSON; its memory is malloc's. Returns
 * 1 if a frame got a name, 0 if none did, or -ENOMEM.
 */
static int fill_record(struct record_names *names, Jankbpf__Record *record)
{
	static const struct record_frames_ops ops = { fill_stack, fill_frame };
	int named, retraced;

	names->record = record;
	named = record_frames__each(record, &ops, names);
	if (named < 0 || !names->mapping)
		return named;
	retraced = record_frames__retrace(record, names->mapping);
	return retraced < 0 ? retraced : named | retraced;
}

/* Frees the contents, not names. */
static void free_names(struct record_names *names)
{
	struct missing_module *m, *next;

	HASH_ITER (hh, names->missing, m, next) {
		HASH_DEL(names->missing, m);
		free(m->module);
		free(m);
	}
	offline__free(names->offline);
	r8_mapping__free(names->mapping);
}

/* --- records, read and written */

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
	int ret = fill_record(&c->names, record);

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

/* What gets no new name is written as it was. Takes ownership of the record. */
static int put_item(struct symbolizing *c, const struct record_reader *reader, int item,
		    Jankbpf__Record *record)
{
	const struct strbuf *raw = &reader->raw;
	int res = item == READ_RECORD ? put_record(c, record, reader->format) : 0;

	if (res < 0)
		return res;
	if (res) {
		c->unknown_cnt += reader->unknown_cnt;
		return 0;
	}
	c->odd_cnt += item == READ_ODD;
	c->long_cnt += item == READ_LONG;
	if (reader->format == RECORD_PROTO || reader->goes_on)
		return write_bytes(raw->data, raw->len);
	return write_line(raw->data, raw->len);
}

static int put_records(struct symbolizing *c, FILE *file)
{
	struct record_reader reader;
	Jankbpf__Record *record;
	int res = 0, item;

	record_reader__init(&reader, file);
	while (!res && (item = record_reader__next(&reader, &record)) && item != READ_TORN)
		res = item < 0 ? item : put_item(c, &reader, item, record);
	if (!res && item == READ_TORN)
		log__warn("'%s': the last record is torn or longer than %d MiB, or this is no "
			  "stream of records; the rest was left out",
			  c->path, STREAM_RECORD_MAX >> 20);
	record_reader__free(&reader);
	return res;
}

static int put_file(struct symbolizing *c, FILE *file, struct err *err)
{
	int res = put_records(c, file);

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

	if (!res && opts->mapping)
		res = r8_mapping__open(opts->mapping, &c.names.mapping, err);
	signals__write_errors();
	for (size_t i = 0; !res && i < opts->file_cnt; i++)
		res = put_path(&c, opts->files[i], err);
	if (!res)
		report(&c);
	free_names(&c.names);
	return !res || res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
