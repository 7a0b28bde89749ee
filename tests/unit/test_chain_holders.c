/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who held the mutex that a dispatch waited for: before who unlocked it, and only where that is
 * sure.
 */
#include "model/chain/chain.h"

#include "model/loop.h"
#include "tests/chain_fixture.h"
#include "tests/tap.h"

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
	ok(link->role == LINK_HELD && link->task.tid == 12, "is to blame, not who woke us");
	is_uint(link->state, JANK_STATE_DISK, "for what it did");
	is_uint(link->part_ns[JANK_STATE_RUNNING], 0, "that it ran in the end nobody saw");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 13, 0x7000);
	d = block_woken_by(loops, 13);
	ok(d->chain.cnt == 1 && d->chain.links[0].role == LINK_HELD,
	   "a waker that held it held it, known before or not");
	is_str(d->chain.links[0].task.comm, "other", "by its name");
	done(loops, d);
}

/* What looks like an owner must be a thread of the same process. */
static void test_no_holder(void)
{
	static const struct {
		const char *why;
		uint32_t owner, word;
	} rows[] = { { "one that nobody ever saw", 18, 2 },
		     { "one of another process", 22, 2 },
		     { "none", 0, 2 },
		     { "ourselves", MAIN, 2 },
		     { "one of a word that is no mutex's", 12, 0 },
		     { "one of a word that counts", 12, 77 } };

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
		   "an owner that is %s is not believed", rows[i].why);
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
	} rows[] = { { "a word with waiters names its owner itself", 0x80000000u | 12, 0, 12 },
		     { "so does one that inherits priority", 12, 6 | 128, 12 },
		     { "any other number doesn't", 12, 0, 13 } };

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
 * We waited for the mutex at 0x7000 while 12 held it, then 13, which had waited for the one at this
 * address for longer.
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

	is_uint(d->chain.cnt, 2, "a mutex that was handed on has two holders");
	ok(links[0].task.tid == 13 && links[0].role == LINK_HELD, "who had it last");
	ok(links[0].part_ns[JANK_STATE_FUTEX] == 60 * MS &&
		   links[0].part_ns[JANK_STATE_RUNNING] == 40 * MS,
	   "waited for it itself, then ran");
	ok(links[1].task.tid == 12 && links[1].role == LINK_HELD, "who had it first");
	ok(links[1].ns == 60 * MS && links[1].state == JANK_STATE_DISK,
	   "is looked at until it gave it away");
	done(loops, d);
	loops = fresh();
	d = handed_over(loops, 0x8000);
	is_uint(d->chain.links[0].task.tid, 12, "another mutex of the waker's doesn't matter");
	done(loops, d);
}

/* One that waits for a mutex of this owner's. */
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
	   "in a hang the holder is known, and may have slept all the while");
	ok(d->chain.links[0].task.pid == 10 && d->chain.links[0].state == JANK_STATE_CNT,
	   "of which nothing else is known");
	dispatch__free(d);
	feed_other(loops, 12, BEGIN + MS, 300 * MS, JANK_STATE_DISK, 0);
	feed_wait(loops, BEGIN, 301 * MS, 12);
	d = block(loops);
	ok(d->chain.cnt == 1 && d->chain.links[0].state == JANK_STATE_DISK,
	   "at its end more is known");
	is_uint(d->chain.links[0].ns, 301 * MS, "of the whole wait");
	done(loops, d);
	loops = fresh();
	d = hang_held_by(loops, 5000000);
	is_uint(d->chain.cnt, 0, "a number that no thread can have is none");
	done(loops, d);
}

/* In a pid namespace of its own a process knows its threads by other numbers. */
static void test_unknown_owner(void)
{
	struct jank_rec_waited rec = fixture__waited(MAIN, START, BEGIN, 0);
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_mutex(loops, MAIN, START, BEGIN, 3, 0x7000);
	d = block_woken_by(loops, 13);
	ok(d->chain.cnt == 1 && d->chain.links[0].task.tid == 13 &&
		   d->chain.links[0].role == LINK_HELD,
	   "who wakes a thread that slept for glibc's lock had it");
	done(loops, d);
	loops = fresh();
	rec.hdr.flags = JANK_WAITED_ARGS;
	rec.args[2] = 2;
	feed(loops, &rec);
	d = block_woken_by(loops, 13);
	is_int(d->chain.links[0].role, LINK_HELD,
	       "even where only the system call is known, since the sleep began unobserved");
	done(loops, d);
	loops = fresh();
	feed_mutex(loops, MAIN, START, BEGIN, 3, 0x7000);
	d = block_woken_by(loops, 23);
	is_int(d->chain.links[0].role, LINK_WOKE, "but for another process's thread");
	done(loops, d);
}

static const struct other_task answer = { .pid = 10, .tid = 17, .comm = "indexer" };

/* A hang's block, whose holder is known by number only, once its owner was asked for. */
static struct block *settled(const struct other_task *owner)
{
	static const struct host_info host;
	const struct judge judge = { .host = &host };
	const struct machine_load load = { 0 };
	struct loops *loops = fresh();
	struct dispatch *d = hang_held_by(loops, 7);
	struct block *ret = NULL;

	judge__dispatch(&judge, d, NULL, &load, &ret);
	if (owner)
		ret->samples[0].waited->owner = *owner;
	chain__resolve_owners(ret);
	done(loops, d);
	return ret;
}

static void test_settle(void)
{
	struct block *b = settled(&answer);

	ok(b->chain_cnt == 1 && b->chain[0].task.tid == 17, "a holder gets its true number");
	is_str(b->chain[0].task.comm, "indexer", "and its name");
	block__free(b);
	b = settled(NULL);
	ok(!b->chain_cnt && !b->chain, "one that is no thread is dropped");
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
	ok(b.chain_cnt == 2 && links[0].role == LINK_HELD, "a waker that held it, held it");
	is_str(links[0].task.comm, "indexer", "and has its name from there, for want of another");
	ok(links[1].role == LINK_WOKE && links[1].task.tid == 18 && !*links[1].task.comm,
	   "another waker has not");
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
