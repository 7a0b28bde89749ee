/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The holder of the mutex that a dispatch waited for. It comes before the thread that unlocked it,
 * and only if it is certain.
 */
#include "model/chain/chain.h"

#include "model/loop.h"
#include "tests/tap.h"
#include "tests/unit/chain_fixture.h"

static void test_holder(void)
{
	struct loops *loops = fresh();
	const struct link *link;
	struct dispatch *d;

	feed_other(loops, 12, BEGIN + 10 * MS, 60 * MS, JANK_STATE_DISK, 0);
	feed_mutex(loops, MAIN, START, BEGIN, 12, 0x7000);
	d = block_woken_by(loops, 13);
	is_uint(d->chain.cnt, 1, "the mutex's holder");
	link = d->chain.links;
	ok(link->role == LINK_HELD && link->task.tid == 12,
	   "the holder is to blame, not the waker");
	is_uint(link->state, JANK_STATE_DISK, "for its own wait");
	is_uint(link->part_ns[JANK_STATE_RUNNING], 0, "its running at the end was not seen");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 13, 0x7000);
	d = block_woken_by(loops, 13);
	ok(d->chain.cnt == 1 && d->chain.links[0].role == LINK_HELD,
	   "a waker that held it is the holder, known before or not");
	is_str(d->chain.links[0].task.comm, "other", "by its name");
	done(loops, d);
}

/* An owner must be a thread of the same process. */
static void test_no_holder(void)
{
	static const struct {
		const char *why;
		uint32_t owner, word;
	} rows[] = { { "a thread that was never seen", 18, 2 },
		     { "a thread of another process", 22, 2 },
		     { "none", 0, 2 },
		     { "ourselves", MAIN, 2 },
		     { "the owner in a word that is no mutex", 12, 0 },
		     { "the owner in a word that is a counter", 12, 77 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct loops *loops = fresh();
		struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, rows[i].owner);
		struct dispatch *d;

		rec.futex_word = rows[i].word;
		feed_other(loops, 12, BEGIN, MS, JANK_STATE_DISK, 0);
		feed_other(loops, 22, BEGIN, MS, JANK_STATE_DISK, 0);
		feed(loops, &rec);
		d = block_woken_by(loops, 13);
		ok(d->chain.cnt == 1 && d->chain.links[0].role == LINK_WOKE &&
			   d->chain.links[0].task.tid == 13,
		   "an owner is not believed: %s", rows[i].why);
		done(loops, d);
	}
}

static void test_owner_in_word(void)
{
	static const struct {
		const char *what;
		uint32_t word;
		uint64_t op;
		uint32_t owner;
	} rows[] = { { "a word with waiters contains its owner", 0x80000000u | 12, 0, 12 },
		     { "so does one with priority inheritance", 12, 6 | 128, 12 },
		     { "another number does not", 12, 0, 13 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct loops *loops = fresh();
		struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, 99);
		struct dispatch *d;

		rec.hdr.flags |= JANK_WAITED_ARGS;
		rec.futex_word = rows[i].word;
		rec.args[1] = rows[i].op;
		feed_other(loops, 12, BEGIN, MS, JANK_STATE_DISK, 0);
		feed(loops, &rec);
		d = block_woken_by(loops, 13);
		is_uint(d->chain.links[0].task.tid, rows[i].owner, "%s", rows[i].what);
		done(loops, d);
	}
}

/*
 * We waited for the mutex at 0x7000. Thread 12 held it, then 13, which had waited for it longer
 * than we did.
 */
static struct dispatch *handed_over(struct loops *loops, uint64_t address)
{
	feed_other(loops, 12, BEGIN + 5 * MS, 50 * MS, JANK_STATE_DISK, 0);
	feed_mutex(loops, 13, 0, BEGIN - 5 * MS, 12, address);
	feed_other(loops, 13, BEGIN - 5 * MS, 65 * MS, JANK_STATE_FUTEX, 12);
	feed_mutex(loops, MAIN, START, BEGIN, 12, 0x7000);
	return block_woken_by(loops, 13);
}

static void test_handed_over(void)
{
	struct loops *loops = fresh();
	struct dispatch *d = handed_over(loops, 0x7000);
	const struct link *links = d->chain.links;

	is_uint(d->chain.cnt, 2, "a mutex that was passed on has two holders");
	ok(links[0].task.tid == 13 && links[0].role == LINK_HELD, "the last holder");
	ok(links[0].part_ns[JANK_STATE_FUTEX] == 60 * MS &&
		   links[0].part_ns[JANK_STATE_RUNNING] == 40 * MS,
	   "waited for it first, then ran");
	ok(links[1].task.tid == 12 && links[1].role == LINK_HELD, "the first holder");
	ok(links[1].ns == 60 * MS && links[1].state == JANK_STATE_DISK,
	   "is accounted until it passed the mutex on");
	done(loops, d);
	loops = fresh();
	d = handed_over(loops, 0x8000);
	is_uint(d->chain.links[0].task.tid, 12, "another mutex of the waker does not matter");
	done(loops, d);
}

/* A wait for a mutex with this owner. */
static struct dispatch *hang_held_by(struct loops *loops, uint32_t owner)
{
	struct fixture_stack open = wait_of_main(BEGIN, NS, 0);

	open.rec.hdr.flags = JANK_STACK_OPEN;
	feed_mutex(loops, MAIN, START, BEGIN, owner, 0x7000);
	feed(loops, &open);
	return complete(loops, fixture__hang(MAIN, START, 500 * MS));
}

static void test_hang(void)
{
	struct loops *loops = fresh();
	struct dispatch *d = hang_held_by(loops, 12);

	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 12,
	   "in a hang the holder is known, although it may have slept all the time");
	ok(d->chain.links[0].task.pid == 10 && d->chain.links[0].state == JANK_STATE_CNT,
	   "nothing else of it is known");
	dispatch__free(d);
	feed_other(loops, 12, BEGIN + MS, 300 * MS, JANK_STATE_DISK, 0);
	feed_wait(loops, BEGIN, 301 * MS, 12);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.links[0].state == JANK_STATE_DISK,
	   "at the hang's end more is known");
	is_uint(d->chain.links[0].ns, 301 * MS, "of the whole wait");
	done(loops, d);
	loops = fresh();
	d = hang_held_by(loops, 5000000);
	is_uint(d->chain.cnt, 0, "a number that no thread can have is no owner");
	done(loops, d);
}

/* In its own pid namespace a process knows its threads by other numbers. */
static void test_unknown_owner(void)
{
	struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, 0);
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_mutex(loops, MAIN, START, BEGIN, 3, 0x7000);
	d = block_woken_by(loops, 13);
	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 13 &&
		   d->chain.links[0].role == LINK_HELD,
	   "the waker of a thread that waited for glibc's lock was the holder");
	done(loops, d);
	loops = fresh();
	rec.hdr.flags = JANK_WAITED_ARGS;
	rec.args[2] = 2;
	feed(loops, &rec);
	d = block_woken_by(loops, 13);
	is_int(d->chain.links[0].role, LINK_HELD,
	       "even if only the system call is known, because the sleep began unobserved");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 3, 0x7000);
	d = block_woken_by(loops, 23);
	is_int(d->chain.links[0].role, LINK_WOKE, "but not if it is in another process");
	done(loops, d);
}

static const struct other_task answer = { .pid = 10, .tid = 17, .comm = "indexer" };

/* The block of a hang whose holder is known only by its number, after the owner was resolved. */
static struct block *settled(const struct other_task *owner)
{
	static const struct host_info host;
	struct judge judge = { .host = &host };
	struct loops *loops = fresh();
	struct dispatch *d = hang_held_by(loops, 7);
	struct block *ret = NULL;

	judge__dispatch(&judge, d, NULL, &ret);
	if (owner)
		ret->samples[0].waited->owner = *owner;
	chain__resolve_owners(ret);
	done(loops, d);
	return ret;
}

static void test_settle(void)
{
	struct block *b = settled(&answer);

	ok(b->chain_cnt == 1 && b->chain[0].task.tid == 17, "the holder gets its true number");
	is_str(b->chain[0].task.comm, "indexer", "and its name");
	block__free(b);
	b = settled(NULL);
	ok(!b->chain_cnt && !b->chain, "a holder that is no thread is dropped");
	block__free(b);
}

static void test_settle_known(void)
{
	struct wait_object first = { .owner = answer }, second = { .owner = answer };
	struct link links[2] = { { .role = LINK_WOKE, .task = { .tid = 17 }, .waited = &second },
				 { .role = LINK_WOKE, .task = { .tid = 18 } } };
	struct sample sample = { .waited = &first };
	struct block b = { .samples = &sample, .sample_cnt = 1, .chain = links, .chain_cnt = 2 };

	chain__resolve_owners(&b);
	ok(b.chain_cnt == 2 && links[0].role == LINK_HELD,
	   "a waker that held the mutex is the holder");
	is_str(links[0].task.comm, "indexer", "and gets the owner's name if it has none");
	ok(links[1].role == LINK_WOKE && links[1].task.tid == 18 && !*links[1].task.comm,
	   "another waker is not");
}

int main(void)
{
	test_holder();
	test_no_holder();
	test_owner_in_word();
	test_handed_over();
	test_hang();
	test_unknown_owner();
	test_settle();
	test_settle_known();
	return tap__done();
}
