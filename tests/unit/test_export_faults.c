/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults: blocks are numbered and grouped, hangs that did not end are among them, limits are
 * counted; and the text of a fault: its later blocks in a line, the table of the summary, at most
 * 25 lines a block, and no character beyond ASCII where the terminal has none.
 */
#include "export/record/faults.h"
#include "tests/tap.h"
#include "tests/unit/export_run.h"

#define MS FIXTURE_MS

static struct strbuf out = STRBUF_INIT;
static char path[256];

/* A block of a record as a file has it. */
struct made {
	Jankbpf__Block block;
	Jankbpf__Cause cause;
	Jankbpf__Message message;
	char id[32], signature[32];
};

static struct made *make(struct made *made, unsigned id, unsigned fault, uint64_t ms)
{
	*made = (struct made){ .block = JANKBPF__BLOCK__INIT,
			       .cause = JANKBPF__CAUSE__INIT,
			       .message = JANKBPF__MESSAGE__INIT };
	snprintf(made->id, sizeof(made->id), "id-%u", id);
	snprintf(made->signature, sizeof(made->signature), "%08x00000000", fault);
	made->cause.kind = (char *)"sleep";
	made->cause.signature = made->signature;
	made->cause.summary = (char *)(ms > 500 ? "slept long" : "slept");
	made->message.fd_target = (char *)"tcp 10.0.0.1:80->10.0.0.7:41322";
	made->block.id = made->id;
	made->block.process = (char *)(fault % 2 ? "odd" : "even");
	made->block.loop = (char *)"epoll";
	made->block.has_pid = true;
	made->block.pid = 77;
	made->block.cause = &made->cause;
	made->block.message = &made->message;
	made->block.has_duration_ns = true;
	made->block.duration_ns = ms * MS;
	made->block.behind = 2;
	made->block.start = (char *)"2026-01-02T03:04:05.000000006+00:00";
	return made;
}

static uint64_t add(struct faults *faults, unsigned id, unsigned fault, uint64_t ms)
{
	struct made made;

	if (faults__add(faults, &make(&made, id, fault, ms)->block))
		abort();
	return made.block.occurrence;
}

static void test_groups(void)
{
	struct faults *faults = faults__new(FAULT_GROUP_SIGNATURE);
	Jankbpf__Fault **list;
	struct made made;
	size_t cnt;

	is_uint(add(faults, 1, 1, 100), 1, "the first block of a fault");
	is_uint(add(faults, 2, 2, 700), 1, "the first one of another");
	is_uint(add(faults, 3, 1, 300), 2, "the second of the first");
	is_uint(add(faults, 4, 1, 200), 3, "the third");
	make(&made, 5, 3, 900);
	is_int(faults__add_hang(faults, &made.block), 0, "a hang");
	make(&made, 5, 3, 950);
	is_int(faults__add_hang(faults, &made.block), 0, "… still lasts");
	make(&made, 6, 2, 400);
	is_int(faults__add_hang(faults, &made.block), 0, "another one");
	is_uint(add(faults, 6, 2, 800), 2, "… ends: it is a block");
	is_int(faults__list(faults, FAULT_ORDER_TOTAL, &list, &cnt), 0, "the list");
	is_uint(cnt, 3, "three faults");
	is_uint(list[0]->total_ns, 1500 * MS, "the one with the most time is first");
	is_uint(list[0]->hangs, 0, "its hang has ended");
	is_uint(list[1]->blocks, 3, "then that of three blocks");
	is_uint(list[1]->max_ns, 300 * MS, "the longest of them");
	is_str(list[1]->id, "id-3", "… with its id");
	ok(list[1]->p50_ns >= 196 * MS && list[1]->p50_ns <= 204 * MS, "the median, within 2 %%");
	is_uint(list[1]->behind, 6, "descriptors behind, in all");
	is_uint(list[2]->blocks, 0, "a hang that did not end is no block");
	is_uint(list[2]->hangs, 1, "but counts once");
	is_uint(list[2]->max_ns, 950 * MS, "for as long as it was seen");
	is_str(list[0]->summary, "slept long", "the sentence of the longest block");
	free(list);
	is_int(faults__list(faults, FAULT_ORDER_BLOCKS, &list, &cnt), 0, "by number of blocks");
	is_uint(list[0]->blocks, 3, "most first");
	free(list);
	is_int(faults__list(faults, FAULT_ORDER_MAX, &list, &cnt), 0, "by the longest block");
	is_uint(list[0]->max_ns, 950 * MS, "longest first");
	free(list);
	faults__free(faults);
}

/* A hang that is longer than all blocks of its fault, and did not end. */
static void test_longest_hang(void)
{
	struct faults *faults = faults__new(FAULT_GROUP_SIGNATURE);
	Jankbpf__Fault **list;
	struct made made;
	size_t cnt;

	add(faults, 1, 1, 100);
	make(&made, 2, 1, 5000);
	is_int(faults__add_hang(faults, &made.block), 0, "a long hang");
	is_int(faults__list(faults, FAULT_ORDER_MAX, &list, &cnt), 0, "the list");
	is_uint(cnt, 1, "it belongs to the fault of a block");
	is_uint(list[0]->blocks, 1, "… which has one block");
	is_uint(list[0]->hangs, 1, "… and one hang");
	is_uint(list[0]->max_ns, 5000 * MS, "the hang is the longest");
	is_str(list[0]->id, "id-2", "… with its id");
	free(list);
	faults__free(faults);
}

static void test_keys(void)
{
	static const struct {
		enum fault_group by;
		size_t cnt;
		const char *word, *key;
	} groups[] = {
		{ FAULT_GROUP_PROCESS, 2, "process", "odd" },
		{ FAULT_GROUP_LOOP, 1, "loop", "epoll" },
		{ FAULT_GROUP_MESSAGE, 1, "message", "tcp" },
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		struct faults *faults = faults__new(groups[i].by);
		Jankbpf__Fault **list;
		size_t cnt;

		add(faults, 1, 1, 100);
		add(faults, 2, 3, 100);
		is_uint(add(faults, 3, 3, 100), 2, "%s: blocks are still numbered by signature",
			groups[i].word);
		add(faults, 4, 2, 100);
		is_int(faults__list(faults, FAULT_ORDER_TOTAL, &list, &cnt), 0, "%s: the list",
		       groups[i].word);
		is_uint(cnt, groups[i].cnt, "%s: groups", groups[i].word);
		is_str(list[0]->key, groups[i].key, "%s: its key", groups[i].word);
		is_str(faults__grouped_by(faults), groups[i].word, "%s: its word", groups[i].word);
		free(list);
		faults__free(faults);
	}
}

static void test_limits(void)
{
	struct faults *faults = faults__new(FAULT_GROUP_SIGNATURE);
	Jankbpf__Fault **list;
	uint64_t last = 0;
	size_t cnt;

	for (unsigned i = 0; i < FAULTS_MAX + 5; i++)
		last = add(faults, i, i, 1);
	is_uint(last, 1, "blocks beyond the groups are still numbered");
	for (unsigned i = FAULTS_MAX + 5; i <= SIGNATURES_MAX; i++)
		last = add(faults, i, i, 1);
	is_uint(last, 0, "beyond the limit of signatures no more");
	is_int(faults__list(faults, FAULT_ORDER_LAST, &list, &cnt), 0, "the list");
	is_uint(cnt, FAULTS_MAX, "at most %d groups", FAULTS_MAX);
	is_uint(faults__more(faults), SIGNATURES_MAX + 1 - FAULTS_MAX,
		"the other blocks are counted");
	free(list);
	faults__free(faults);
}

/* --- text */

static const char *text_of(const struct sink_text_opts *opts, const Jankbpf__Record *record)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct sink *sink = sink_text__new(fd, opts);

	if (sink->ops->record(sink, record))
		abort();
	sink->ops->free(sink);
	close(fd);
	slurp(path, &out);
	return strbuf__str(&out);
}

static size_t lines_of(const char *text)
{
	size_t cnt = 0;

	for (; *text; text++)
		cnt += *text == '\n';
	return cnt;
}

static void test_repeated(void)
{
	struct sink_text_opts opts = { .stacks = 2 };
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	struct made made;

	make(&made, 1, 0x28caa125, 204);
	record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	record.block = &made.block;
	made.block.has_occurrence = true;
	made.block.occurrence = 1;
	ok(lines_of(text_of(&opts, &record)) > 3, "the first block of a fault in full");
	has_str(strbuf__str(&out), "· fault 28caa125\n", "… with the signature");
	made.block.occurrence = 7;
	has_str(text_of(&opts, &record), "  204 ms ×7  28caa125  odd (77)  slept\n",
		"a later one: time, delay, number, signature, process, cause");
	is_uint(lines_of(strbuf__str(&out)), 1, "… in one line");
	opts.each = true;
	ok(lines_of(text_of(&opts, &record)) > 3, "--each: in full");
	opts = (struct sink_text_opts){ .verbosity = 1 };
	ok(lines_of(text_of(&opts, &record)) > 3, "-v: in full");
	opts = (struct sink_text_opts){ .ascii = true };
	has_str(text_of(&opts, &record), "  204 ms x7  28caa125  ", "in ASCII");
	made.block.cause = NULL;
	ok(lines_of(text_of(&opts, &record)) > 1, "without a cause: in full");
}

static void test_length(void)
{
	const struct sink_text_opts opts = { .stacks = 2 }, ascii = { .stacks = 2, .ascii = true };

	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct block *block = fixtures[i].make();
		const Jankbpf__Record *record = fixture__record(block);
		size_t lines = lines_of(text_of(&opts, record)), beyond = 0;

		ok(lines <= 25, "%s: %zu lines", fixtures[i].name, lines);
		for (const char *c = text_of(&ascii, record); *c; c++)
			beyond += (unsigned char)*c >= 0x80;
		is_uint(beyond, 0, "%s: nothing but ASCII", fixtures[i].name);
		is_uint(lines_of(strbuf__str(&out)), lines, "… in as many lines");
		block__free(block);
	}
}

static void test_table(void)
{
	struct faults *faults = faults__new(FAULT_GROUP_SIGNATURE);
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	struct sink_text_opts opts = { .top = 1, .width = 60 };

	add(faults, 1, 0xaaaa0001, 600);
	add(faults, 2, 0xaaaa0001, 600);
	add(faults, 3, 0xbbbb0002, 100);
	if (faults__list(faults, FAULT_ORDER_TOTAL, &summary.faults, &summary.n_faults))
		abort();
	summary.grouped_by = (char *)faults__grouped_by(faults);
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	has_str(text_of(&opts, &record), "━━ 2 faults ━", "the table of faults");
	has_str(strbuf__str(&out),
		"1.20 s    598 ms    600 ms         4  aaaa0001\n      odd (77) · epoll\n",
		"blocks, total, p50, max, behind, signature, process");
	has_str(strbuf__str(&out), "\n      slept long\n", "its sentence");
	lacks_str(strbuf__str(&out), "bbbb0002", "--top 1: the first one");
	has_str(strbuf__str(&out), "\n   1 block of further faults; --top 0 shows all\n",
		"… and how many blocks are left out");
	opts.top = 0;
	has_str(text_of(&opts, &record), "bbbb0002", "--top 0: all");
	opts.verbosity = -1;
	lacks_str(text_of(&opts, &record), "faults", "-q: none");
	free(summary.faults);
	faults__free(faults);
}

int main(void)
{
	scratch__init();
	snprintf(path, sizeof(path), "%s", scratch__path("text"));
	test_groups();
	test_longest_hang();
	test_keys();
	test_limits();
	test_repeated();
	test_length();
	test_table();
	strbuf__free(&out);
	return tap__done();
}
