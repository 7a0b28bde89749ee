/* SPDX-License-Identifier: GPL-2.0 */
/* What the recorder writes comes back as it was; what somebody made up costs no more than its record. */
#include "app/recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/recorder.h"
#include "base/strbuf.h"
#include "intake/journal.h"
#include "tests/tap.h"

#define INLINED_MAX 64

static char path[] = "/tmp/jank-recorded-XXXXXX";

static struct journal_writer *writer(void)
{
	struct journal_writer *jw = NULL;

	unlink(path);
	if (journal_writer__new(path, &jw, NULL))
		ok(false, "a journal is begun");
	return jw;
}

/* Ends the writing; everything that was written, read again. */
static struct recorded *recorded_of(struct journal_writer *jw, unsigned *bad)
{
	struct recorded *r = recorded__new();
	struct journal_reader *jr = NULL;
	const struct jank_rec *rec;

	journal_writer__free(jw);
	*bad = 0;
	if (journal_reader__new(path, &jr, NULL))
		ok(false, "the journal is read");
	while (journal_reader__next(jr, &rec) > 0) {
		int res = recorded__add(r, rec);

		*bad += res == -EBADMSG;
		if (res && res != -EBADMSG)
			ok(false, "a record gives %d", res);
	}
	journal_reader__free(jr);
	return r;
}

static void is_frame(const struct frame *got, const struct frame *want, const char *what)
{
	ok(got->address == want->address && got->offset == want->offset &&
		   got->line == want->line && got->kernel == want->kernel &&
		   got->inlined == want->inlined && got->app == want->app,
	   "%s: its numbers", what);
	is_str(got->language, want->language, "%s: its language", what);
	is_str(got->function, want->function, "%s: its function", what);
	is_str(got->module, want->module, "%s: its module", what);
	is_str(got->build_id, want->build_id, "%s: its build id", what);
	is_str(got->file, want->file, "%s: its file", what);
}

static const struct host_info host = { .name = (char *)"box \"1\"\n",
				       .kernel = (char *)"6.18",
				       .arch = (char *)"x86_64",
				       .boot_id = (char *)"boot",
				       .cpus = 4 };

static void test_session(void)
{
	const struct judge judge = {
		.threshold_ns = 25, .fps = 120, .host = &host, .real_offset_ns = -7
	};
	struct block_loss lost[] = { { "ring_full", 3 }, { "out_of_memory", 1 } };
	const struct summary summary = { .elapsed_ns = 99, .lost = lost, .lost_cnt = 2 };
	struct journal_writer *jw = writer();
	const struct recorded_session *session;
	struct block_loss *got;
	struct recorded *r;
	unsigned bad;
	size_t cnt;

	journal__add_session(jw, &judge, 5000);
	journal__add_end(jw, &summary);
	r = recorded_of(jw, &bad);
	session = recorded__session(r);
	ok(session->known && !bad, "a session comes back");
	ok(session->threshold_ns == 25 && session->hang_ns == 5000 && session->fps == 120 &&
		   session->real_offset_ns == -7 && session->elapsed_ns == 99,
	   "with its numbers");
	is_str(session->host.name, host.name, "and its host");
	is_str(session->host.boot_id, "boot", "and boot");
	is_int(recorded__losses(r, &got, &cnt), 0, "its losses");
	ok(cnt == 2 && got[0].cnt == 3 && !strcmp(got[0].reason, "ring_full"), "come back, too");
	free(got);
	recorded__free(r);
}

static void test_process(void)
{
	const struct identity process = { .pid = 10,
					  .uid = 4294967294,
					  .name = (char *)"na\"me\x01",
					  .exe = (char *)"/usr/bin/\xff",
					  .cgroup = NULL,
					  .container = (char *)"c0ffee",
					  .pod = (char *)"p",
					  .unit = (char *)"u.service",
					  .ns_pid = 3 };
	struct journal_writer *jw = writer();
	const struct identity *got;
	struct recorded *r;
	unsigned bad;

	journal__add_process(jw, &process);
	r = recorded_of(jw, &bad);
	got = recorded__process(r, 10);
	ok(got && got->pid == 10 && got->uid == 4294967294, "a process comes back");
	is_str(got->name, "na\"me\x01", "with a name of any bytes");
	is_str(got->exe, "/usr/bin/\xef\xbf\xbd", "but for those that are no text");
	ok(!got->cgroup, "what was not known still isn't");
	is_str(got->container, "c0ffee", "its container");
	is_str(got->pod, "p", "its pod");
	is_str(got->unit, "u.service", "its unit");
	is_uint(got->ns_pid, 3, "what it calls itself");
	ok(!recorded__process(r, 11), "nor is another process");
	recorded__free(r);
}

static struct block block_of(enum block_type type, double pct)
{
	return (struct block){
		.type = type,
		.tid = 4294967295,
		.start_ns = 77,
		.real_offset_ns = -1234567890123456789,
		.load = { pct, -1, 0.125, 99.999, 0, false },
		.frames = { type == BLOCK_HANG ? 0 : 12, 3, 143.8125 },
		.host = { .mem_total_kb = 9, .mem_free_kb = 7, .mem_available_kb = 8 },
	};
}

static void test_load(void)
{
	const struct block block = block_of(BLOCK_JANK, 93.7495), hang = block_of(BLOCK_HANG, 25);
	struct jank_rec_block rec = { .hdr = { .kind = JANK_REC_BLOCK, .tid = 4294967295 },
				      .start_ns = 77 };
	struct journal_writer *jw = writer();
	struct recorder *recorder = recorder__new(jw);
	struct missed_frames frames;
	struct machine_load load;
	struct host_info memory = host;
	int64_t offset = 1;
	struct recorded *r;
	unsigned bad;

	recorder__block(recorder, &hang);
	recorder__block(recorder, &block);
	recorder__free(recorder);
	r = recorded_of(jw, &bad);
	ok(recorded__load(r, &rec, &load, &memory, &offset), "a block's load comes back");
	ok(load.total_pct == 93.7495 && load.user_pct == 0.125 && load.system_pct == 99.999,
	   "with its percentages");
	ok(load.process_pct == -1, "what was not known still isn't");
	ok(memory.mem_total_kb == 9 && memory.mem_free_kb == 7 && memory.mem_available_kb == 8,
	   "with the memory then");
	ok(offset == -1234567890123456789, "and what makes its wall time");
	recorded__frames(r, &rec, &frames);
	ok(frames.missed == 12 && frames.crtc == 3 && frames.hz == 143.8125, "and frames missed");
	rec.hdr.kind = JANK_REC_HANG;
	recorded__frames(r, &rec, &frames);
	ok(!frames.missed, "none where none were");
	ok(recorded__load(r, &rec, &load, &memory, &offset) && load.total_pct == 25,
	   "a hang's is another");
	rec.start_ns++;
	offset = 5;
	ok(!recorded__load(r, &rec, &load, &memory, &offset), "another dispatch has none");
	ok(load.total_pct < 0 && offset == 5, "which leaves all unknown");
	frames.missed = 1;
	recorded__frames(r, &rec, &frames);
	ok(!frames.missed, "frames, too");
	recorded__free(r);
}

/* Writes the stack's names, reads them, and names its bare addresses again. */
static struct stack renamed(const struct stack *stack, struct recorded **r)
{
	struct journal_writer *jw = writer();
	struct recorder *recorder = recorder__new(jw);
	struct stack ret = { .addresses = stack->addresses,
			     .kernel_cnt = stack->kernel_cnt,
			     .user_cnt = stack->user_cnt };
	unsigned bad;

	is_int(recorder__stack(recorder, 10, stack), 0, "a stack is written");
	is_int(recorder__stack(recorder, 10, stack), 0, "again, which adds nothing");
	recorder__free(recorder);
	*r = recorded_of(jw, &bad);
	is_uint(bad, 0, "all of it is good");
	is_int(recorded__name(*r, 10, &ret), 0, "its addresses get their names");
	return ret;
}

static void test_frames(void)
{
	uint64_t addresses[] = { UINT64_MAX - 5, 0x1000, 0x2000, 0x3000 };
	struct frame frames[] = {
		{ .address = UINT64_MAX - 5,
		  .function = "schedule",
		  .module = "vmlinux",
		  .kernel = true },
		{ .address = 0x1000,
		  .function = "inner<int>(char const*, \"\xc3\xa9\")",
		  .offset = 0x12,
		  .module = "/usr/bin/a b",
		  .build_id = "00ff",
		  .file = "a.c",
		  .line = 7,
		  .language = "java",
		  .inlined = true,
		  .app = true },
		{ .address = 0x1000, .function = "outer", .offset = 0x34, .app = true },
		{ .address = 0x2000, .offset = 0x56, .module = "/lib/x.so" },
		{ .address = 0x3000 },
	};
	struct stack stack = { .addresses = addresses,
			       .kernel_cnt = 1,
			       .user_cnt = 3,
			       .frames = frames,
			       .frame_cnt = 5 },
		     got;
	struct recorded *r;

	got = renamed(&stack, &r);
	is_uint(got.frame_cnt, 5, "inlined frames come back where they were");
	for (size_t i = 0; i < 5 && i < got.frame_cnt; i++)
		is_frame(&got.frames[i], &frames[i], "a frame");
	free(got.frames);
	got.frames = NULL;
	got.frame_cnt = 0;
	recorded__name(r, 11, &got);
	is_uint(got.frame_cnt, 4, "in another process the addresses stay bare");
	is_str(got.frames[0].function, "schedule", "but for the kernel's");
	ok(!got.frames[1].function && got.frames[1].address == 0x1000 && !got.frames[1].kernel,
	   "bare");
	free(got.frames);
	recorded__free(r);
}

/* A function that calls itself has the same return address again and again. */
static void test_recursion(void)
{
	uint64_t addresses[20];
	struct frame frames[20];
	struct stack stack = { .addresses = addresses,
			       .user_cnt = 20,
			       .frames = frames,
			       .frame_cnt = 20 },
		     got;
	struct recorded *r;

	for (int i = 0; i < 20; i++) {
		addresses[i] = i < 19 ? 0x1000 : 0x2000;
		frames[i] = (struct frame){ .address = addresses[i],
					    .function = i < 19 ? "walk" : "main" };
	}
	got = renamed(&stack, &r);
	is_uint(got.frame_cnt, 20, "a recursion comes back as deep as it was");
	is_str(got.frames[19].function, "main", "down to its start");
	free(got.frames);
	recorded__free(r);
}

static int add_text(struct recorded *r, uint16_t kind, const char *text)
{
	size_t len = sizeof(struct jank_rec) + (strlen(text) + 8) / 8 * 8;
	struct jank_rec *rec = calloc(1, len);
	int res;

	*rec = (struct jank_rec){ .size = len, .kind = kind };
	memcpy(rec + 1, text, strlen(text));
	res = recorded__add(r, rec);
	free(rec);
	return res;
}

static void test_bad_json(void)
{
	static const char *const texts[] = {
		"",
		"{",
		"nonsense",
		"[]",
		"7",
		"null",
		"\"text\"",
		"{\"pid\":}",
		"{\"pid\":1}trailing",
		"{\"pid\":99999999999999999999999}",
		"{\"name\":\"\xff\xfe\"}",
		"{\"name\":\"\\ud800\"}",
		"{\"name\":\"a\\u0000b\"}",
	};
	struct strbuf deep = STRBUF_INIT;
	struct recorded *r = recorded__new();

	for (uint16_t kind = JOURNAL_SESSION; kind <= JOURNAL_END; kind++)
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
			is_int(add_text(r, kind, texts[i]), -EBADMSG, "kind %x: %.20s is bad", kind,
			       texts[i]);
	for (int i = 0; i < 100000; i++)
		strbuf__adds(&deep, "{\"a\":");
	is_int(add_text(r, JOURNAL_PROCESS, strbuf__str(&deep)), -EBADMSG, "a depth beyond reason");
	ok(!recorded__session(r)->known && !recorded__process(r, 1), "nothing of it is known");
	is_int(add_text(r, JANK_REC_BLOCK, "{"), 0, "the kernel's records are none of ours");
	is_int(add_text(r, 0x8fff, "{"), 0, "nor are those of a later version");
	strbuf__free(&deep);
	recorded__free(r);
	recorded__free(NULL);
}

/* Well-formed, but every member is of another type. */
static void test_wrong_types(void)
{
	struct jank_rec_block rec = { .start_ns = 0 };
	uint64_t address = 0x10;
	struct stack stack = { .addresses = &address, .user_cnt = 1 };
	struct recorded *r = recorded__new();
	struct host_info memory = host;
	struct machine_load load;
	struct block_loss *lost;
	int64_t offset;
	size_t cnt;

	is_int(add_text(r, JOURNAL_SESSION,
			"{\"threshold_ns\":\"1\",\"fps\":-1.5,\"name\":3,\"arch\":[]}"),
	       0, "a session");
	ok(!recorded__session(r)->threshold_ns && !recorded__session(r)->host.name, "says nothing");
	is_int(add_text(r, JOURNAL_PROCESS, "{\"pid\":\"1\",\"name\":{}}"), 0, "a process");
	ok(recorded__process(r, 0) && !recorded__process(r, 0)->name, "is number 0 without a name");
	is_int(add_text(r, JOURNAL_LOAD, "{\"tid\":{},\"total_pct\":\"9\",\"hang\":1}"), 0,
	       "a load");
	ok(recorded__load(r, &rec, &load, &memory, &offset) && load.total_pct == -1, "is unknown");
	is_int(add_text(r, JOURNAL_FRAMES, "{\"pid\":1,\"address\":7,\"frames\":[]}"), -EBADMSG,
	       "frames of no address are bad");
	is_int(add_text(r, JOURNAL_FRAMES, "{\"pid\":1,\"address\":\"10\",\"frames\":{}}"),
	       -EBADMSG, "frames that are no list, too");
	is_int(add_text(r, JOURNAL_FRAMES,
			"{\"pid\":1,\"address\":\"10\",\"frames\":[1,[],{\"function\":[],\"line\":"
			"\"x\"}]}"),
	       0, "frames that are no frames");
	is_int(recorded__name(r, 1, &stack), 0, "name an address");
	ok(stack.frame_cnt == 3 && !stack.frames[2].function && stack.frames[0].address == 0x10,
	   "by nothing");
	is_int(add_text(r, JOURNAL_END,
			"{\"elapsed_ns\":[],\"lost\":{\"a\":\"x\",\"b\":-3,\"c\":2}}"),
	       0, "an end");
	recorded__losses(r, &lost, &cnt);
	ok(cnt == 1 && lost[0].cnt == 2, "counts what are counts");
	free(lost);
	is_int(add_text(r, JOURNAL_END, "{\"lost\":[1,2]}"), 0, "another end");
	recorded__losses(r, &lost, &cnt);
	ok(!cnt && !lost, "without");
	free(stack.frames);
	recorded__free(r);
}

static void test_bounds(void)
{
	struct strbuf text = STRBUF_INIT;
	uint64_t addresses[] = { 0x10, 0x20 };
	struct stack stack = { .addresses = addresses, .user_cnt = 2 };
	struct recorded *r = recorded__new();

	strbuf__adds(&text, "{\"pid\":1,\"address\":\"10\",\"frames\":[{}");
	for (int i = 0; i < 10000; i++)
		strbuf__adds(&text, ",{}");
	strbuf__adds(&text, "]}");
	is_int(add_text(r, JOURNAL_FRAMES, strbuf__str(&text)), 0, "10001 frames at one address");
	add_text(r, JOURNAL_FRAMES, "{\"pid\":1,\"address\":\"20\",\"frames\":[]}");
	recorded__name(r, 1, &stack);
	is_uint(stack.frame_cnt, INLINED_MAX + 1, "become %d; none become the bare address",
		INLINED_MAX);
	free(stack.frames);
	strbuf__free(&text);
	recorded__free(r);
}

/* The last of one kind counts, and what the former ones said is not used any more. */
static void test_repeated(void)
{
	struct recorded *r = recorded__new();

	for (int i = 0; i < 3; i++) {
		add_text(r, JOURNAL_SESSION, i < 2 ? "{\"name\":\"old\"}" : "{\"name\":\"new\"}");
		add_text(r, JOURNAL_PROCESS,
			 i < 2 ? "{\"pid\":1,\"name\":\"old\"}" : "{\"pid\":1,\"name\":\"new\"}");
	}
	is_str(recorded__session(r)->host.name, "new", "the last session counts");
	is_str(recorded__process(r, 1)->name, "new", "the last of a process, too");
	recorded__free(r);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	test_session();
	test_process();
	test_load();
	test_frames();
	test_recursion();
	test_bad_json();
	test_wrong_types();
	test_bounds();
	test_repeated();
	unlink(path);
	return tap__done();
}
