/* SPDX-License-Identifier: GPL-2.0 */
/* Which other threads synced files of the device while a dispatch waited in fsync. */
#include "model/chain/chain.h"

#include <sys/syscall.h>

#include "model/loop.h"
#include "tests/tap.h"
#include "tests/unit/chain_fixture.h"

#define VDA (254u << 20)
#define VDB (254u << 20 | 16)

static void feed_file(struct loops *loops, uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
		      uint32_t dev)
{
	struct jank_rec_waited rec = fixture__waited(tid, dispatch_ns, t_ns, 0);

	rec.hdr.flags = JANK_WAITED_FILE;
	rec.dev = dev;
	feed(loops, &rec);
}

static void feed_sync(struct loops *loops, uint32_t tid, uint64_t begin, uint64_t ns, long nr,
		      uint32_t dev)
{
	struct fixture_stack rec = fixture__other(tid, begin, ns, JANK_STATE_DISK);

	rec.rec.syscall = (int32_t)nr;
	feed_file(loops, tid, 0, begin, dev);
	feed(loops, &rec);
}

/* Ends the dispatch, after its own call from BEGIN to END. */
static struct dispatch *block_of(struct loops *loops, long nr)
{
	struct fixture_stack rec = wait_of_main(BEGIN, NS, 0);

	rec.rec.state = JANK_STATE_DISK;
	rec.rec.syscall = (int32_t)nr;
	feed_file(loops, MAIN, START, BEGIN, VDA);
	feed(loops, &rec);
	return block(loops);
}

static void test_found(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_sync(loops, 12, BEGIN - 5 * MS, 45 * MS, SYS_fsync, VDA);
	feed_sync(loops, 12, BEGIN + 50 * MS, 20 * MS, SYS_fdatasync, VDA);
	feed_sync(loops, 13, BEGIN + 1 * MS, 70 * MS, SYS_syncfs, VDA);
	feed_sync(loops, 14, BEGIN + 1 * MS, 9 * MS, SYS_fsync, VDA);
	d = block_of(loops, SYS_fsync);
	is_uint(d->chain.syncer_cnt, 2, "threads that synced for a tenth of the wait");
	ok(d->chain.syncers[0].tid == 13 && d->chain.syncers[0].ns == 70 * MS, "the longest first");
	ok(d->chain.syncers[1].tid == 12 && d->chain.syncers[1].ns == 60 * MS,
	   "several calls, without what was before the wait");
	done(loops, d);
}

static void test_others(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	feed_sync(loops, 12, BEGIN, 80 * MS, SYS_fsync, VDB);
	feed_sync(loops, 13, BEGIN, 80 * MS, SYS_read, VDA);
	feed_sync(loops, 14, BEGIN - 9 * MS, 9 * MS, SYS_fsync, VDA);
	feed_sync(loops, 15, BEGIN, 80 * MS, SYS_fsync, 0);
	d = block_of(loops, SYS_fsync);
	is_uint(d->chain.syncer_cnt, 0, "not of another device, call or time, or not known");
	done(loops, d);
	loops = fresh();
	feed_sync(loops, 12, BEGIN, 80 * MS, SYS_fsync, VDA);
	d = block_of(loops, SYS_read);
	is_uint(d->chain.syncer_cnt, 0, "nor while the dispatch reads");
	done(loops, d);
}

/* More than the list takes. */
static void test_many(void)
{
	struct loops *loops = fresh();
	struct dispatch *d;

	for (uint32_t i = 0; i < 2 * SYNCER_MAX; i++)
		feed_sync(loops, 20 + i, BEGIN, 80 * MS, SYS_fsync, VDA);
	d = block_of(loops, SYS_fsync);
	is_uint(d->chain.syncer_cnt, SYNCER_MAX, "no more than the limit");
	done(loops, d);
}

int main(void)
{
	test_found();
	test_others();
	test_many();
	return tap__done();
}
