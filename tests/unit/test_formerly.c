/* SPDX-License-Identifier: GPL-2.0 */
/* What was not watched for a part of the run. */
#include "session/formerly.h"

#include <string.h>

#include "base/clock.h"
#include "catalogue/catalogue.h"
#include "tests/tap.h"

#define PID   7
#define START (100 * NS_PER_SEC)

struct fixture {
	struct process_entry process;
	struct catalogue *catalogue;
	struct losses losses;
	struct unwatched_list list;
};

static void start(struct fixture *f)
{
	struct err err = {};

	*f = (struct fixture){ .process.pid = PID };
	if (catalogue__open(NULL, 0, &f->catalogue, &err))
		abort();
}

/* A loop is confirmed at `ms` after the start, `held_ms` after the begin of its probation. */
static void confirm(struct fixture *f, uint32_t tid, const char *comm, uint16_t trial, uint32_t ms,
		    uint32_t held_ms)
{
	struct jank_rec_wait rec = {
		.hdr = { .tgid = PID, .tid = tid, .flags = trial, .ts_ns = START + ms * NS_PER_MS },
		.loop = JANK_LOOP_PARK,
		.turn_cnt = 3,
		.fd_cnt = held_ms,
	};
	uint64_t *ns = tid == PID ? &f->process.main_ns : &f->process.loop_ns;

	snprintf(rec.comm, sizeof(rec.comm), "%s", comm);
	*ns = *ns ? *ns : rec.hdr.ts_ns; /* its LOOP record came first */
	formerly__on_wait(&f->process, f->catalogue, &rec, START, &f->losses);
}

static void keep(struct fixture *f, enum unwatched_reason reason)
{
	const struct unwatched item = { .reason = reason, .pid = PID };

	formerly__keep(&f->process, &item, &f->losses);
}

/* The entries at the end of the run. */
static const struct unwatched *list(struct fixture *f, size_t at)
{
	unwatched__free(&f->list);
	if (formerly__add(&f->process, "java", START, &f->list))
		abort();
	return at < f->list.cnt ? &f->list.items[at] : NULL;
}

static void end(struct fixture *f)
{
	unwatched__free(&f->list);
	unwatched__free(&f->process.formerly);
	catalogue__close(f->catalogue);
}

static void test_late(void)
{
	const struct unwatched *item;
	struct fixture f;

	start(&f);
	confirm(&f, PID, "java", 1, 20000, 9000);
	ok(!list(&f, 0) && f.process.main_ns == START,
	   "the first place turned out to be the loop's: watched from the start on");
	end(&f);
	start(&f);
	confirm(&f, 9, "AWT-EventQueue-0", 4, 3500, 1400);
	item = list(&f, 0);
	ok(item && item->reason == UNWATCHED_LATE && item->tid == 9 &&
		   item->until_ns == 2100 * NS_PER_MS && item->late_ns == item->until_ns,
	   "another place came first: late, up to the begin of its probation");
	is_str(item->thread, "AWT-EventQueue-", "with the thread's name");
	confirm(&f, 9, "AWT-EventQueue-0", 5, 9000, 0);
	ok(list(&f, 0)->until_ns == 2100 * NS_PER_MS && f.list.cnt == 1, "once");
	confirm(&f, PID, "java", 2, 4000, 100);
	ok(list(&f, 1) && f.list.items[1].tid == PID && !f.list.items[1].thread[0],
	   "the main thread has an entry of its own");
	confirm(&f, 11, "pool-1-thread-1", 2, 4000, 100);
	is_uint((list(&f, 0), f.list.cnt), 2, "a worker of a pool has none");
	end(&f);
	start(&f);
	confirm(&f, PID, "java", 3, 900, 0);
	ok(!list(&f, 0), "in the first second is not late");
	confirm(&f, PID, "java", 1, 100000, 90000);
	item = list(&f, 0);
	ok(item && item->until_ns == 40 * NS_PER_SEC, "blocks are kept on probation for a minute");
	end(&f);
}

static void test_former(void)
{
	const struct unwatched *item;
	struct fixture f;

	start(&f);
	keep(&f, UNWATCHED_NO_LOOP);
	keep(&f, UNWATCHED_ZOMBIE);
	ok(!list(&f, 0), "what still holds is said by the last look");
	f.process.loop_ns = START + 3 * NS_PER_SEC;
	item = list(&f, 0);
	ok(item && item->reason == UNWATCHED_NO_LOOP && item->until_ns == 3 * NS_PER_SEC &&
		   !strcmp(item->comm, "java") && f.list.cnt == 1,
	   "what held until a loop was known keeps its time");
	is_uint(formerly__from_ns(&f.process,
				  &(struct unwatched){ .reason = UNWATCHED_MAIN_THREAD }, START),
		3 * NS_PER_SEC, "from then on the main thread is not watched");
	confirm(&f, 9, "AWT-EventQueue-0", 4, 3000, 0);
	ok(list(&f, 0)->reason == UNWATCHED_LATE && f.list.cnt == 1,
	   "the entry of the late thread says the same");
	end(&f);
	start(&f);
	keep(&f, UNWATCHED_FEW_TURNS);
	f.process.loop_ns = START + 3 * NS_PER_SEC;
	ok(!list(&f, 0), "another thread's loop does not change what the main thread does");
	f.process.main_ns = START + 5 * NS_PER_SEC;
	ok(list(&f, 0)->until_ns == 5 * NS_PER_SEC, "its own does");
	end(&f);
}

int main(void)
{
	test_late();
	test_former();
	return tap__done();
}
