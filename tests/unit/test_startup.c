/* SPDX-License-Identifier: GPL-2.0 */
/* Start-ups: their threshold, their evidence beside that of later dispatches, and first turns. */
#include <errno.h>
#include <sys/stat.h>

#include "model/first_turns.h"
#include "model/sample.h"
#include "session/startup_names.h"
#include "tests/tap.h"
#include "tests/unit/loops_fixture.h"

#define BEGIN	  (1000 * MS)
#define STARTUP	  (1000 * MS)
#define THRESHOLD (100 * MS)
#define TID	  11

static const struct host_info host = { .name = (char *)"box" };

static struct jank_rec_block startup(uint64_t ns)
{
	struct jank_rec_block rec = fixture__block(TID, BEGIN, ns);

	rec.ready_cnt = JANK_READY_STARTUP;
	return rec;
}

static void feed_span(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
		      uint64_t ns)
{
	struct fixture_stack stack = fixture__stack(tid, dispatch_ns, t_ns, ns);

	feed(loops, &stack);
}

/* Is the start-up of a program that has waited for this file a block? */
static bool is_block_by(uint64_t limit_ns, uint64_t ns, uint32_t mode, const char *name, int fd)
{
	struct judge judge = {
		.threshold_ns = THRESHOLD, .startup_ns = limit_ns, .fps = 60, .host = &host
	};
	struct jank_rec_waited waited = fixture__waited(TID, BEGIN, BEGIN + MS, 0);
	struct jank_rec_block rec = startup(ns);
	struct loops *loops = fresh();
	struct dispatch *dispatch;
	struct block *block = NULL;

	waited.hdr.flags = JANK_WAITED_FILE;
	waited.mode = mode;
	waited.fd = fd;
	strcpy(waited.name, name);
	feed(loops, &waited);
	feed_span(loops, TID, BEGIN, BEGIN + MS, 900 * MS);
	fixture__feed(loops, &rec, &dispatch);
	judge__dispatch(&judge, dispatch, NULL, &block);
	if (block && (!block__is_startup(block) || block->threshold_ns != limit_ns))
		ok(false, "a start-up's block says so");
	dispatch__free(dispatch);
	loops__free(loops);
	block__free(block);
	return block;
}

static bool is_block(uint64_t limit_ns, uint64_t ns, uint32_t mode, const char *name)
{
	return is_block_by(limit_ns, ns, mode, name, 7);
}

static void test_threshold(void)
{
	ok(!is_block(STARTUP, STARTUP, S_IFIFO, "fifo"), "at its own threshold: no block");
	ok(is_block(STARTUP, STARTUP + 1, S_IFIFO, "fifo"), "a nanosecond over it: a block");
	ok(!is_block(0, 30 * STARTUP, S_IFIFO, "fifo"), "switched off: none");
	ok(!is_block(STARTUP, STARTUP + 900 * MS, S_IFCHR, "tty"), "without its terminal: none");
	ok(!is_block(STARTUP, STARTUP + 900 * MS, S_IFCHR, "17"), "of devpts, too");
	ok(is_block(STARTUP, STARTUP + 901 * MS, S_IFCHR, "17"), "beside it: a block");
	ok(!is_block(STARTUP / 2, 1700 * MS, S_IFCHR, "17"), "it is most of it: none");
	ok(is_block(STARTUP, STARTUP + 900 * MS, S_IFCHR, "rtc0"), "another device counts");
	ok(is_block(STARTUP, STARTUP + 900 * MS, S_IFREG, "17"), "and so does a file");
	ok(!is_block_by(STARTUP, STARTUP + 900 * MS, S_IFIFO, "", 0), "its input is a pipe: none");
	ok(!is_block_by(STARTUP, STARTUP + 900 * MS, S_IFSOCK, "", 0), "a socket: none");
	ok(is_block_by(STARTUP, STARTUP + 900 * MS, S_IFREG, "17", 0), "a file: a block");
}

static struct dispatch *complete(struct loops *loops, struct jank_rec_block rec)
{
	struct dispatch *ret;

	is_int(fixture__feed(loops, &rec, &ret), 0, "a start-up is taken");
	return ret;
}

static size_t sample_cnt(struct dispatch *dispatch)
{
	size_t ret = dispatch ? dispatch->evidence.sample_cnt : 0;

	dispatch__free(dispatch);
	return ret;
}

static void test_continued(void)
{
	struct jank_rec_started started = { .hdr = fixture__hdr(JANK_REC_STARTED, sizeof(started),
								TID),
					    .begin_ns = BEGIN,
					    .end_ns = BEGIN + 3 * STARTUP,
					    .loop = JANK_LOOP_POLL };
	struct loops *loops = fresh();

	feed_span(loops, TID, BEGIN, BEGIN + MS, 10 * MS);
	is_uint(sample_cnt(complete(loops, startup(STARTUP))), 1, "with its evidence");
	feed_span(loops, TID, BEGIN + 2 * STARTUP, BEGIN + 2 * STARTUP, 10 * MS);
	is_uint(sample_cnt(complete(loops, startup(3 * STARTUP))), 2,
		"it lasted longer: also that of the dispatch on probation");
	feed_span(loops, TID, BEGIN + 4 * STARTUP, BEGIN + 4 * STARTUP, 10 * MS);
	is_uint(sample_cnt(complete(loops, startup(3 * STARTUP))), 2, "but not what came later");
	feed(loops, &started);
	is_uint(sample_cnt(complete(loops, startup(3 * STARTUP))), 0, "it is dropped at the end");
	loops__free(loops);
}

static void test_child(void)
{
	struct loops *loops = fresh();

	feed_span(loops, TID + 1, BEGIN, BEGIN + MS, 10 * MS);
	feed_span(loops, TID + 2, BEGIN + 1, BEGIN + MS, 10 * MS);
	is_uint(sample_cnt(complete(loops, startup(STARTUP))), 1, "a child has its parent's");
	feed_span(loops, TID + 1, BEGIN, BEGIN + MS, 10 * MS);
	loops__on_exit(loops, TID + 1, BEGIN);
	loops__rest(loops, BEGIN + 10 * STARTUP, 0);
	loops__free(loops);

	loops = fresh();
	feed_span(loops, TID + 1, BEGIN, BEGIN + MS, 10 * MS);
	loops__on_exit(loops, TID + 1, BEGIN);
	loops__rest(loops, BEGIN + MS, 0);
	is_uint(sample_cnt(complete(loops, startup(STARTUP))), 1, "also shortly after its end");
	feed_span(loops, TID + 1, BEGIN, BEGIN + MS, 10 * MS);
	loops__on_exit(loops, TID + 1, BEGIN);
	loops__rest(loops, BEGIN + 10 * STARTUP, 0);
	is_uint(sample_cnt(complete(loops, startup(STARTUP))), 1, "but not for long");
	loops__free(loops);
}

static void test_first_turns(void)
{
	struct first_turns *turns = first_turns__new();
	struct jank_rec_started rec = { .hdr = fixture__hdr(JANK_REC_STARTED, sizeof(rec), 12),
					.begin_ns = 5,
					.end_ns = 12,
					.loop = JANK_LOOP_EPOLL };

	is_uint(first_turns__of(turns, rec.hdr.tgid, JANK_LOOP_EPOLL), 0, "no first turn yet");
	is_int(first_turns__add(turns, &rec), 0, "of another thread");
	is_uint(first_turns__of(turns, rec.hdr.tgid, JANK_LOOP_EPOLL), 7, "it is known");
	is_uint(first_turns__of(turns, rec.hdr.tgid, JANK_LOOP_POLL), 0, "of this loop");
	rec.hdr.tid = rec.hdr.tgid;
	rec.end_ns = 25;
	first_turns__add(turns, &rec);
	is_uint(first_turns__of(turns, rec.hdr.tgid, JANK_LOOP_EPOLL), 20,
		"the main thread's comes first");
	rec.hdr.tid = 12;
	rec.end_ns = 35;
	first_turns__add(turns, &rec);
	is_uint(first_turns__of(turns, rec.hdr.tgid, JANK_LOOP_EPOLL), 20, "and stays");
	for (uint32_t pid = 100; pid < 100 + 4096; pid++) {
		rec.hdr.tgid = pid;
		first_turns__add(turns, &rec);
	}
	is_uint(first_turns__of(turns, 10, JANK_LOOP_EPOLL), 0, "of too many the oldest goes");
	is_uint(first_turns__of(turns, 4195, JANK_LOOP_EPOLL), 30, "not the newest");
	first_turns__free(turns);
	first_turns__free(NULL);
}

static void test_names(void)
{
	struct startup_names *names = startup_names__new();
	char cc1[JANK_COMM_SZ] = "cc1plus", full[JANK_COMM_SZ + 1] = "sixteen-bytes-xx";

	ok(!startup_names__skips(names, cc1), "a new name is watched");
	startup_names__add(names, cc1, false);
	startup_names__add(names, cc1, false);
	ok(!startup_names__skips(names, cc1), "two that reached no loop");
	startup_names__add(names, cc1, false);
	ok(startup_names__skips(names, cc1), "are enough with a third one");
	startup_names__add(names, cc1, true);
	ok(!startup_names__skips(names, cc1), "one that reaches a loop clears the name");
	for (int i = 0; i < 5; i++)
		startup_names__add(names, cc1, false);
	ok(!startup_names__skips(names, cc1), "for good");
	for (int i = 0; i < 3; i++)
		startup_names__add(names, full, false);
	ok(startup_names__skips(names, full), "a name without an end");
	startup_names__free(names);
	startup_names__free(NULL);
}

int main(void)
{
	test_threshold();
	test_continued();
	test_child();
	test_first_turns();
	test_names();
	return tap__done();
}
