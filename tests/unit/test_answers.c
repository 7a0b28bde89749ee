/* SPDX-License-Identifier: GPL-2.0 */
/* Answers that are written to a journal are read back unchanged. */
#include "journal/answers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/proto.h"
#include "journal/journal.h"
#include "tests/tap.h"

static char path[] = "/tmp/jank-answers-XXXXXX";

static struct journal_writer *writer(void)
{
	struct journal_writer *jw = NULL;

	unlink(path);
	if (journal_writer__new(journal__create(path, NULL), &jw, NULL))
		ok(false, "a journal is begun");
	return jw;
}

/* Ends the writing and reads all records back. */
static struct answers *answers_of(struct journal_writer *jw, unsigned *bad)
{
	struct answers *a = answers__new();
	struct journal_reader *jr = NULL;
	const struct jank_rec *rec;

	journal_writer__free(jw);
	*bad = 0;
	if (journal_reader__new(path, &jr, NULL))
		ok(false, "the journal is read");
	while (journal_reader__next(jr, &rec) > 0) {
		int res = answers__add(a, rec);

		*bad += res == -EBADMSG;
		if (res && res != -EBADMSG)
			ok(false, "a record gives %d", res);
	}
	journal_reader__free(jr);
	return a;
}

static void is_frame(const struct frame *got, const struct frame *want, const char *what)
{
	ok(got->address == want->address && got->offset == want->offset &&
		   got->start == want->start && got->line == want->line &&
		   got->kernel == want->kernel && got->inlined == want->inlined &&
		   got->app == want->app,
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
	const struct summary summary = {
		.elapsed_ns = 99,
		.lost = lost,
		.lost_cnt = 2,
		.over_share = { { { .uid = 7, .cnt = { 1, 2, 3 } },
				  { .uid = UID_UNKNOWN, .cnt = { 0, 4, 0 } } },
				2 },
	};
	struct over_shares over_share = { 0 };
	struct journal_writer *jw = writer();
	const struct answers_session *session;
	struct block_loss *got;
	struct answers *a;
	unsigned bad;
	size_t cnt;

	journal__add_session(jw, &judge, 5000);
	journal__add_end(jw, &summary);
	a = answers_of(jw, &bad);
	session = answers__session(a);
	ok(session->known && !bad, "a session comes back");
	ok(session->threshold_ns == 25 && session->hang_ns == 5000 && session->fps == 120 &&
		   session->real_offset_ns == -7 && session->elapsed_ns == 99,
	   "with its numbers");
	is_str(session->host.name, host.name, "and its host");
	is_str(session->host.boot_id, "boot", "and boot");
	is_int(answers__losses(a, &got, &cnt), 0, "its losses");
	ok(cnt == 2 && got[0].cnt == 3 && !strcmp(got[0].reason, "ring_full"), "come back, too");
	free(got);
	answers__over_share(a, &over_share);
	ok(over_share.cnt == 2 &&
		   !memcmp(&over_share.users, &summary.over_share.users, sizeof(over_share.users)),
	   "and the users over their share");
	answers__free(a);
}

static void test_process(void)
{
	const Jankbpf__Identity process = { .base = PROTOBUF_C_MESSAGE_INIT(
						    &jankbpf__identity__descriptor),
					    .has_pid = true,
					    .has_uid = true,
					    .has_names_uid = true,
					    .has_ns_pid = true,
					    .pid = 10,
					    .uid = 4294967294,
					    .name = (char *)"na\"me\x01",
					    .exe = (char *)"/usr/bin/\xff",
					    .cgroup = NULL,
					    .container = (char *)"c0ffee",
					    .pod = (char *)"p",
					    .unit = (char *)"u.service",
					    .names_uid = 1000,
					    .ns_pid = 3 };
	struct journal_writer *jw = writer();
	const Jankbpf__Identity *got;
	struct answers *a;
	unsigned bad;

	journal__add_process(jw, &process);
	a = answers_of(jw, &bad);
	got = answers__process(a, 10);
	ok(got && got->pid == 10 && got->uid == 4294967294, "a process comes back");
	is_str(got->name, "na\"me\x01", "with a name of any bytes");
	is_str(got->exe, "/usr/bin/\xff", "and a path, even with bytes that are no text");
	ok(!got->cgroup, "unknown values stay unknown");
	is_str(got->container, "c0ffee", "its container");
	is_str(got->pod, "p", "its pod");
	is_str(got->unit, "u.service", "its unit");
	is_uint(got->names_uid, 1000, "who could have invented them");
	is_uint(got->ns_pid, 3, "its own pid in its namespace");
	ok(!answers__process(a, 11), "another process has none");
	answers__free(a);
}

static struct block *block_of(enum block_type type, double pct)
{
	struct block *block = block__new();
	Jankbpf__Cpu *cpu = block->live->cpu;

	block->type = type;
	block->tid = 4294967295;
	block->start_ns = 77;
	block->real_offset_ns = -1234567890123456789;
	block->host.mem_total_kb = 9;
	block->host.mem_free_kb = 7;
	block->host.mem_available_kb = 8;
	cpu->has_total_pct = cpu->has_user_pct = cpu->has_system_pct = true;
	cpu->total_pct = pct;
	cpu->user_pct = 0.125;
	cpu->system_pct = 99.999;
	if (type == BLOCK_HANG)
		return block;
	block->live->frames = proto__new(&jankbpf__display__descriptor);
	block->live->frames->has_missed = block->live->frames->has_crtc = true;
	block->live->frames->has_refresh_hz = true;
	block->live->frames->missed = 12;
	block->live->frames->crtc = 3;
	block->live->frames->refresh_hz = 143.8125;
	return block;
}

/* A block as a replay makes it, with the answers for it. */
static struct block *answered(struct answers *a, enum block_type type, uint64_t start_ns)
{
	struct block *block = block__new();

	block->type = type;
	block->tid = 4294967295;
	block->start_ns = start_ns;
	is_int(answers__waited(a, block), 0, "answers are applied");
	return block;
}

static void check_live(struct answers *a)
{
	struct block *block = answered(a, BLOCK_JANK, 77), *hang = answered(a, BLOCK_HANG, 77);
	struct block *other = answered(a, BLOCK_HANG, 78);
	const Jankbpf__Cpu *cpu = block->live->cpu;
	const Jankbpf__Display *frames = block->live->frames;

	ok(cpu->total_pct == 93.7495 && cpu->user_pct == 0.125 && cpu->system_pct == 99.999,
	   "with its percentages");
	ok(!cpu->has_process_pct, "unknown values stay unknown");
	ok(frames && frames->missed == 12 && frames->crtc == 3 && frames->refresh_hz == 143.8125,
	   "and frames missed");
	ok(!hang->live->frames, "no missed frames if there were none");
	ok(hang->live->cpu->total_pct == 25, "the hang of the dispatch has its own answer");
	ok(!other->live->cpu->has_total_pct, "all values of another dispatch are unknown");
	ok(!other->live->frames, "missed frames, too");
	block__free(block);
	block__free(hang);
	block__free(other);
}

static void test_load(void)
{
	struct block *block = block_of(BLOCK_JANK, 93.7495), *hang = block_of(BLOCK_HANG, 25);
	struct jank_rec_block rec = { .hdr = { .kind = JANK_REC_BLOCK, .tid = 4294967295 },
				      .start_ns = 77 };
	struct journal_writer *jw = writer();
	struct answers_writer *w = answers_writer__new(jw);
	struct host_info memory = host;
	int64_t offset = 1;
	struct answers *a;
	unsigned bad;

	answers_writer__block(w, hang);
	answers_writer__block(w, block);
	answers_writer__free(w);
	block__free(hang);
	block__free(block);
	a = answers_of(jw, &bad);
	ok(answers__time(a, &rec, &memory, &offset), "a block's time comes back");
	ok(memory.mem_total_kb == 9 && memory.mem_free_kb == 7 && memory.mem_available_kb == 8,
	   "with the memory at that time");
	ok(offset == -1234567890123456789, "and the offset to wall time");
	rec.hdr.kind = JANK_REC_HANG;
	ok(answers__time(a, &rec, &memory, &offset), "the hang has its own");
	rec.start_ns++;
	offset = 5;
	ok(!answers__time(a, &rec, &memory, &offset) && offset == 5, "another dispatch has none");
	check_live(a);
	answers__free(a);
}

/* Writes the stack's names, reads them back, and names bare addresses by them. */
static struct stack renamed(const struct stack *stack, struct answers **a)
{
	struct journal_writer *jw = writer();
	struct answers_writer *w = answers_writer__new(jw);
	struct stack ret = { .addresses = stack->addresses,
			     .kernel_cnt = stack->kernel_cnt,
			     .user_cnt = stack->user_cnt };
	unsigned bad;

	is_int(answers_writer__stack(w, 10, stack), 0, "a stack is written");
	is_int(answers_writer__stack(w, 10, stack), 0, "a second write adds nothing");
	answers_writer__free(w);
	*a = answers_of(jw, &bad);
	is_uint(bad, 0, "every record is good");
	is_int(answers__name(*a, 10, &ret), 0, "its addresses get their names");
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
		{ .address = 0x2000, .offset = 0x56, .start = 0x50, .module = "/lib/x.so" },
		{ .address = 0x3000 },
	};
	struct stack stack = { .addresses = addresses,
			       .kernel_cnt = 1,
			       .user_cnt = 3,
			       .frames = frames,
			       .frame_cnt = 5 },
		     got;
	struct answers *a;

	got = renamed(&stack, &a);
	is_uint(got.frame_cnt, 5, "inlined frames are at their places");
	for (size_t i = 0; i < 5 && i < got.frame_cnt; i++)
		is_frame(&got.frames[i], &frames[i], "a frame");
	free(got.frames);
	got.frames = NULL;
	got.frame_cnt = 0;
	answers__name(a, 11, &got);
	is_uint(got.frame_cnt, 4, "in another process the addresses stay bare");
	is_str(got.frames[0].function, "schedule", "except the kernel's");
	ok(!got.frames[1].function && got.frames[1].address == 0x1000 && !got.frames[1].kernel,
	   "bare");
	free(got.frames);
	answers__free(a);
}

/* A recursive function has the same return address many times. */
static void test_recursion(void)
{
	uint64_t addresses[20];
	struct frame frames[20];
	struct stack stack = { .addresses = addresses,
			       .user_cnt = 20,
			       .frames = frames,
			       .frame_cnt = 20 },
		     got;
	struct answers *a;

	for (int i = 0; i < 20; i++) {
		addresses[i] = i < 19 ? 0x1000 : 0x2000;
		frames[i] = (struct frame){ .address = addresses[i],
					    .function = i < 19 ? "walk" : "main" };
	}
	got = renamed(&stack, &a);
	is_uint(got.frame_cnt, 20, "a recursion has its full depth");
	is_str(got.frames[19].function, "main", "and its start");
	free(got.frames);
	answers__free(a);
}

static void test_left_out(void)
{
	enum not_shown_reason reason;
	struct block *block = block_of(BLOCK_JANK, 1), *hang = block_of(BLOCK_HANG, 1);
	struct jank_rec_block rec = { .hdr = { .kind = JANK_REC_BLOCK, .tid = block->tid },
				      .start_ns = block->start_ns };
	struct journal_writer *jw = writer();
	struct answers_writer *w = answers_writer__new(jw);
	struct answers *a;
	unsigned bad;

	answers_writer__block(w, block);
	answers_writer__left_out(w, hang, NOT_SHOWN_LOOP);
	answers_writer__free(w);
	block__free(block);
	block__free(hang);
	a = answers_of(jw, &bad);
	ok(!bad && !answers__left_out(a, &rec, &reason),
	   "the answer says that the block was reported");
	rec.hdr.kind = JANK_REC_HANG;
	ok(answers__left_out(a, &rec, &reason) && reason == NOT_SHOWN_LOOP,
	   "and that its hang was not, with the reason");
	rec.hdr.tid--;
	ok(!answers__left_out(a, &rec, &reason) && reason == SHOWN, "another thread has no answer");
	answers__free(a);
}

/* Names of loops come at the end of a journal, for each process and kind. */
static void test_loops(void)
{
	struct loop_hist loops[] = {
		{ .pid = 10, .loop = 1, .loop_name = "libuv" },
		{ .pid = 11, .loop = 1 },
	};
	const struct summary summary = { .loops = loops, .loop_cnt = 2 };
	struct journal_writer *jw = writer();
	struct answers *a;
	unsigned bad;

	journal__add_end(jw, &summary);
	a = answers_of(jw, &bad);
	ok(answers__loop_of(a, 10, 1) && !strcmp(answers__loop_of(a, 10, 1), "libuv"),
	   "a loop's name comes back");
	ok(!answers__loop_of(a, 10, 2) && !answers__loop_of(a, 11, 1), "another loop has no name");
	answers__free(a);
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
	test_left_out();
	test_loops();
	unlink(path);
	return tap__done();
}
