/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kept journal, damaged, through a whole replay: the replay ends by itself, and its output is
 * well-formed.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "files/file.h"
#include "journal/journal.h"
#include "schema/journal.pb-c.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/message.h"
#include "tests/tap.h"

#define FIXTURE	   "tests/replay/simjank.journal"
#define CONVERT	   "python3 tests/lib/journal_v1.py " FIXTURE
#define HEADER_SZ  16
#define RECORD_MAX 4096
#define OUTPUT_MAX (256 << 20)

static struct {
	struct fuzz fuzz;
	struct strbuf journal;
	size_t at[RECORD_MAX + 1]; /* where each record begins; the last: the end */
	size_t cnt;
	int in, out; /* memory files */
	uint64_t done, refused, blocks;
	const char *broken;
} run;

static void promise(bool kept, const char *what)
{
	if (!kept && !run.broken)
		run.broken = what;
}

/* Converted to today's version. */
static bool read_fixture(void)
{
	FILE *pipe = popen(CONVERT, "r");
	char chunk[4096];
	size_t n;

	while (pipe && (n = fread(chunk, 1, sizeof(chunk), pipe)))
		strbuf__add(&run.journal, chunk, n);
	return pipe && !pclose(pipe);
}

static bool load_fixture(void)
{
	size_t at = HEADER_SZ;

	if (!read_fixture())
		return false;
	while (at < run.journal.len && run.cnt < RECORD_MAX) {
		struct jank_rec rec;

		memcpy(&rec, run.journal.data + at, sizeof(rec));
		run.at[run.cnt++] = at;
		at += rec.size;
	}
	run.at[run.cnt] = at;
	return at == run.journal.len;
}

static const ProtobufCMessageDescriptor *descriptor_of(uint16_t kind)
{
	switch (kind) {
	case JOURNAL_SESSION:
		return &jankbpf__journal_session__descriptor;
	case JOURNAL_PROCESS:
		return &jankbpf__identity__descriptor;
	case JOURNAL_FRAMES:
		return &jankbpf__journal_frames__descriptor;
	case JOURNAL_CALLERS:
		return &jankbpf__journal_callers__descriptor;
	case JOURNAL_ANSWERS:
		return &jankbpf__journal_answers__descriptor;
	default:
		return &jankbpf__journal_end__descriptor;
	}
}

/* A record, aligned. */
static struct jank_rec *copy_of(const char *bytes)
{
	uint32_t size;
	struct jank_rec *ret;

	memcpy(&size, bytes, sizeof(size));
	ret = malloc(size);
	return ret ? memcpy(ret, bytes, size) : NULL;
}

/*
 * Replaces the record of a message at the journal's end: some fields change, its bytes may be
 * damaged.
 */
static void damage_message(struct strbuf *journal, size_t begin)
{
	struct jank_rec *rec = copy_of(journal->data + begin);
	ProtobufCMessage *message = journal__message(rec, descriptor_of(rec->kind));
	size_t len, pad;
	uint8_t *bytes;

	if (!message)
		abort();
	for (size_t i = fuzz__below(&run.fuzz, 9); i; i--)
		fuzz__message(&run.fuzz, message);
	len = protobuf_c_message_get_packed_size(message);
	pad = -len % 8;
	bytes = calloc(1, len + pad + 1);
	protobuf_c_message_pack(message, bytes);
	protobuf_c_message_free_unpacked(message, NULL);
	if (fuzz__chance(&run.fuzz, 3))
		fuzz__encoded(&run.fuzz, bytes, len);
	rec->size = sizeof(*rec) + len + pad;
	rec->flags = fuzz__chance(&run.fuzz, 20) ? fuzz__below(&run.fuzz, 99) : pad;
	journal->len = begin;
	strbuf__add(journal, rec, sizeof(*rec));
	strbuf__add(journal, bytes, len + pad);
	free(bytes);
	free(rec);
}

static void damage(struct strbuf *journal, size_t begin)
{
	char *rec = journal->data + begin;
	size_t len = journal->len - begin;
	struct jank_rec hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	if (hdr.kind >= JOURNAL_SESSION && !fuzz__chance(&run.fuzz, 4)) {
		damage_message(journal, begin);
		return;
	}
	/* Rarely: a damaged size ends the reading. */
	if (fuzz__chance(&run.fuzz, 20))
		fuzz__damage(&run.fuzz, rec, len);
	else
		fuzz__damage(&run.fuzz, rec + 8, len - 8);
}

/* A journal of the fixture's records: most unchanged; some damaged, repeated, missing or moved. */
static void make(struct strbuf *ret)
{
	struct fuzz *f = &run.fuzz;
	size_t rate = 1 + fuzz__below(f, 60);

	strbuf__reset(ret);
	strbuf__add(ret, run.journal.data, HEADER_SZ);
	for (size_t i = 0; i < run.cnt; i++) {
		size_t from = fuzz__chance(f, 50) ? fuzz__below(f, run.cnt) : i;
		size_t len = run.at[from + 1] - run.at[from], begin = ret->len;

		if (fuzz__chance(f, 50))
			continue;
		strbuf__add(ret, run.journal.data + run.at[from], len);
		if (fuzz__chance(f, rate))
			damage(ret, begin);
	}
	if (fuzz__chance(f, 10))
		ret->len = fuzz__below(f, ret->len);
	if (fuzz__chance(f, 50) && ret->len)
		fuzz__damage(f, ret->data, ret->len < HEADER_SZ ? ret->len : HEADER_SZ);
}

static void put(int fd, const struct strbuf *bytes)
{
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) ||
	    file__write_all(fd, bytes->data, bytes->len))
		abort();
}

static void check_json(const struct strbuf *out, int status)
{
	bool summary = false;
	char *line = out->data, *end;

	for (; line && *line; line = end + 1) {
		json_error_t error = { 0 };
		json_t *record;
		const char *type;

		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		record = json_loads(line, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
		if (!record)
			fprintf(stderr, "# %s at %d: %.60s\n", error.text, error.position,
				line + (error.position > 40 ? error.position - 40 : 0));
		type = json_string_value(json_object_get(record, "type"));
		promise(end && type && !summary, "each line is a record, the summary the last");
		summary = type && !strcmp(type, "summary");
		run.blocks += !summary;
		json_decref(record);
		if (!end)
			return;
	}
	promise(summary == !status, "a successful replay ends in a summary");
}

static void check_text(const struct strbuf *out)
{
	for (size_t i = 0; i < out->len; i++)
		promise((unsigned char)out->data[i] >= ' ' || out->data[i] == '\n',
			"text has no control bytes");
}

/* Replays what is in run.in; stdout goes to run.out. */
static int replay(enum format format)
{
	char journal[32];
	struct options opts = { .command = CMD_REPLAY,
				.format = format,
				.journal = journal,
				.verbosity = fuzz__below(&run.fuzz, 3) };
	struct err err = { 0 };
	int saved = dup(STDOUT_FILENO), status;

	snprintf(journal, sizeof(journal), "/proc/self/fd/%d", run.in);
	opts.threshold_given = fuzz__chance(&run.fuzz, 4);
	opts.threshold_ns = fuzz__number(&run.fuzz) >> fuzz__below(&run.fuzz, 64);
	opts.debugging = fuzz__chance(&run.fuzz, 2);
	opts.count = fuzz__chance(&run.fuzz, 8);
	if (ftruncate(run.out, 0) || lseek(run.out, 0, SEEK_SET) ||
	    dup2(run.out, STDOUT_FILENO) < 0)
		abort();
	status = cmd_replay__run(&opts, &err);
	if (dup2(saved, STDOUT_FILENO) < 0)
		abort();
	close(saved);
	promise(!status || (status == JANK_EXIT_FAILED && err.msg[0]), "a failure has its message");
	return status;
}

static void one_round(struct strbuf *bytes)
{
	bool json = fuzz__chance(&run.fuzz, 2);
	char path[32];
	size_t len;
	int status;

	make(bytes);
	put(run.in, bytes);
	len = bytes->len;
	status = replay(json ? FORMAT_JSON : FORMAT_TEXT);
	cost__end(&run.fuzz.cost, len);
	run.done++;
	run.refused += status != 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", run.out);
	strbuf__reset(bytes);
	promise(!file__read(path, OUTPUT_MAX, bytes), "the output is not too long");
	if (json)
		check_json(bytes, status);
	else
		check_text(bytes);
}

int main(void)
{
	struct strbuf bytes = STRBUF_INIT;

	if (!ok(load_fixture(), "%s is a journal", FIXTURE))
		return tap__done();
	run.in = memfd_create("in", MFD_CLOEXEC);
	run.out = memfd_create("out", MFD_CLOEXEC);
	run.fuzz = fuzz__begin(150);
	log__set_level(LOG_QUIET);
	while (!run.broken && fuzz__goes_on(&run.fuzz))
		one_round(&bytes);
	strbuf__free(&bytes);
	strbuf__free(&run.journal);
	diag("%llu journals, %llu refused, %llu blocks", (unsigned long long)run.done,
	     (unsigned long long)run.refused, (unsigned long long)run.blocks);
	ok(!run.broken, "damaged journals break no promise%s%s (round %llu)",
	   run.broken ? ": " : "", run.broken ? run.broken : "",
	   (unsigned long long)run.fuzz.round);
	ok(run.done > 10 && run.blocks > run.done && run.refused < run.done / 4,
	   "most were read and gave blocks");
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
