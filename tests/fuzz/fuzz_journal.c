/* SPDX-License-Identifier: GPL-2.0 */
/* The kept journal, damaged, through a whole replay: it ends by itself, and what it says is well-formed. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/replay.h"
#include "base/file.h"
#include "base/log.h"
#include "intake/journal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define FIXTURE	   "tests/replay/simjank.journal"
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

static bool load_fixture(void)
{
	size_t at = HEADER_SZ;

	if (file__read(FIXTURE, 1 << 20, &run.journal))
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

/* Changes a JSON text within its bounds: a token for another of the same or a smaller length. */
static void damage_json(char *text, size_t len)
{
	static const char *const tokens[] = {
		"-1",
		"1e999",
		"{}",
		"[]",
		"null",
		"true",
		"\"\"",
		"99999999999999999999",
		"\\u0000",
		"\xff",
		"9223372036854775807",
		"-9223372036854775808",
		"\"",
		"\\",
		"{",
		"}",
		"4294967295",
		"1.5",
	};
	const char *token = tokens[fuzz__below(&run.fuzz, sizeof(tokens) / sizeof(tokens[0]))];
	size_t place = fuzz__below(&run.fuzz, len), size = strlen(token);
	char *value = memchr(text + place, ':', len - place);

	if (value && (size_t)(value + 1 - text) + size < len)
		memcpy(value + 1, token, size);
}

static void damage(char *rec, size_t len)
{
	struct jank_rec hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	if (hdr.kind >= JOURNAL_SESSION && !fuzz__chance(&run.fuzz, 4)) {
		damage_json(rec + sizeof(hdr), len - sizeof(hdr));
		return;
	}
	/* A damaged size ends the reading: seldom. */
	if (fuzz__chance(&run.fuzz, 20))
		fuzz__damage(&run.fuzz, rec, len);
	else
		fuzz__damage(&run.fuzz, rec + 8, len - 8);
}

/* A journal of the fixture's records: most as they were; some damaged, twice, gone or elsewhere. */
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
			damage(ret->data + begin, len);
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
	promise(summary == !status, "a replay that does well ends in a summary");
}

static void check_text(const struct strbuf *out)
{
	for (size_t i = 0; i < out->len; i++)
		promise((unsigned char)out->data[i] >= ' ' || out->data[i] == '\n',
			"text has no control bytes");
}

/* Replays what is in run.in; stdout goes to run.out. */
static int replay(bool json)
{
	char journal[32];
	struct options opts = { .command = CMD_REPLAY,
				.json = json,
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
	status = replay__run(&opts, &err);
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
	int status;

	make(bytes);
	put(run.in, bytes);
	status = replay(json);
	run.done++;
	run.refused += status != 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", run.out);
	strbuf__reset(bytes);
	promise(!file__read(path, OUTPUT_MAX, bytes), "the output is within reason");
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
	run.fuzz = fuzz__begin();
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
	   "most were read, and blocks came of them");
	return tap__done();
}
