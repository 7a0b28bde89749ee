/* SPDX-License-Identifier: GPL-2.0 */
/* The list of what is not watched, its bounds, and its sentences. */
#include "model/unwatched.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "tests/tap.h"

static struct unwatched item(enum unwatched_reason reason, uint32_t pid, const char *comm,
			     const char *waits_in)
{
	struct unwatched ret = { .reason = reason, .pid = pid };

	snprintf(ret.comm, sizeof(ret.comm), "%s", comm);
	snprintf(ret.waits_in, sizeof(ret.waits_in), "%s", waits_in);
	return ret;
}

static void add(struct unwatched_list *list, enum unwatched_reason reason, uint32_t pid,
		const char *comm, const char *waits_in)
{
	struct unwatched one = item(reason, pid, comm, waits_in);

	if (unwatched__add(list, &one))
		abort();
}

static void add_line(void *ctx, enum unwatched_reason reason, const char *line)
{
	struct strbuf *sb = ctx;

	strbuf__adds(sb, line);
	strbuf__addc(sb, '\n');
}

static void is_lines(struct unwatched_list *list, size_t max, const char *want, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	unwatched__each_line(list, max, add_line, &sb);
	is_str(strbuf__str(&sb), want, "%s", name);
	strbuf__free(&sb);
	unwatched__free(list);
}

static void test_words(void)
{
	enum unwatched_reason reason;

	for (int i = 0; i < UNWATCHED_REASON_CNT; i++)
		ok(unwatched__reason(unwatched__word(i), &reason) && (int)reason == i,
		   "'%s' is reason %d", unwatched__word(i), i);
	ok(!unwatched__reason("no such reason", &reason) && !unwatched__reason(NULL, &reason),
	   "any other word is none");
}

static void test_nested(void)
{
	struct unwatched_list list = {};

	for (uint32_t i = 0; i < 2; i++) {
		add(&list, UNWATCHED_NESTED, 7, "editor", "");
		list.items[i].handler_cnt = 1 + i;
		list.items[i].handler_ns = 10200000000;
	}
	snprintf(list.items[0].function, sizeof(list.items[0].function), "gtk_dialog_run");
	is_lines(&list, 10,
		 "editor (pid 7): 3 handlers ran the loop within, as a dialog does, for 20.4 s in "
		 "gtk_dialog_run; a handler's own time is not reported then\n",
		 "handlers that ran the loop: their number, time and functions");
}

static void test_lines(void)
{
	struct unwatched_list list = {};
	struct unwatched off = item(UNWATCHED_LOOP_OFF, 9, "server", "");
	struct unwatched known = item(UNWATCHED_NO_LOOP, 7, "python3", "futex");

	is_lines(&list, 10, "", "nothing to tell");
	add(&list, UNWATCHED_NO_LOOP, 7, "python3", "futex");
	is_lines(&list, 10, "python3 (pid 7): no loop seen; its main thread waits in futex\n",
		 "one process");
	known.waits_ns = 42 * NS_PER_SEC;
	unwatched__add(&list, &known);
	is_lines(&list, 10,
		 "python3 (pid 7): no loop seen; its main thread has waited in futex for 42.0 s\n",
		 "for a time that is known");
	strcpy(known.waits_at, "lock ← main");
	unwatched__add(&list, &known);
	is_lines(&list, 10,
		 "python3 (pid 7): no loop seen; its main thread has waited in futex for 42.0 s: "
		 "lock ← main\n",
		 "and in these functions");
	for (uint32_t pid = 11; pid > 6; pid--)
		add(&list, UNWATCHED_NO_LOOP, pid, "bash", pid == 8 ? "read" : "wait4");
	add(&list, UNWATCHED_CHILD, 20, "bash", "");
	is_lines(&list, 10,
		 "bash (pids 7, 8, 9 and 2 more): no loop seen\n"
		 "bash (pid 20): a child of a traced process; -f traces it\n",
		 "a group has one name and one reason, and a call only if all wait in it");
	add(&list, UNWATCHED_SIGNALS, 6, "nginx", "rt_sigsuspend");
	is_lines(&list, 10,
		 "nginx (pid 6): its main thread waits only for signals, as a supervisor's does\n",
		 "a supervisor");
	add(&list, UNWATCHED_LATE, 8, "lua", "");
	list.items[0].until_ns = 2200000000;
	add(&list, UNWATCHED_LATE, 9, "lua", "");
	list.items[1].until_ns = 4200000000;
	is_lines(&list, 10,
		 "lua (pids 8, 9): their loops were known only up to 4.20 s after the start; "
		 "earlier stalls may be missing\n",
		 "of loops that were recognised late, the latest one is named");
	add(&list, UNWATCHED_LATE, 8, "lua", "");
	list.items[0].until_ns = 2200000000;
	is_lines(&list, 10,
		 "lua (pid 8): its loop was known only 2.20 s after the start; earlier stalls may "
		 "be "
		 "missing\n",
		 "a loop that was recognised late");
	snprintf(off.loop, sizeof(off.loop), "go");
	unwatched__add(&list, &off);
	add(&list, UNWATCHED_FEW_TURNS, 5, "xterm", "poll");
	add(&list, UNWATCHED_MAIN_THREAD, 6, "a", "");
	add(&list, UNWATCHED_WORKERS, 4, "puma", "");
	is_lines(&list, 10,
		 "a (pid 6): the main thread is in no known loop\n"
		 "xterm (pid 5): its main thread waits in poll, too seldom so far to be a loop\n"
		 "server (pid 9): its loops are traced only with -l go\n"
		 "puma (pid 4): its workers wait in an interpreter, for work as in handlers: that "
		 "cannot be told apart\n",
		 "each reason has its remedy");
}

/* What held for a part of the run only. */
static void test_times(void)
{
	struct unwatched_list list = {};

	add(&list, UNWATCHED_LATE, 7, "java", "");
	list.items[0].until_ns = 2100000000;
	snprintf(list.items[0].thread, sizeof(list.items[0].thread), "AWT-EventQueue-");
	add(&list, UNWATCHED_LATE, 7, "java", "");
	list.items[1].until_ns = 1200000000;
	add(&list, UNWATCHED_MAIN_THREAD, 7, "java", "futex");
	list.items[2].from_ns = 3000000000;
	add(&list, UNWATCHED_NO_LOOP, 8, "bash", "read");
	list.items[3].until_ns = 12000000000;
	add(&list, UNWATCHED_NO_LOOP, 9, "bash", "read");
	is_lines(
		&list, 10,
		"bash (pid 8): up to 12.0 s after the start: no loop seen; its main thread waits in read\n"
		"bash (pid 9): no loop seen; its main thread waits in read\n"
		"java (pid 7): from 3.00 s after the start on: the main thread is in no known loop; it "
		"waits in futex\n"
		"java (pid 7): its loop was known only 1.20 s after the start; earlier stalls may be "
		"missing\n"
		"java (pid 7): the loop of thread 'AWT-EventQueue-' was known only 2.10 s after the start; "
		"earlier stalls may be missing\n",
		"each with its times and its thread");
}

static void test_pool(void)
{
	struct unwatched_list list = {};

	add(&list, UNWATCHED_POOL, 7, "node", "openat");
	list.items[0].pool_cnt = list.items[0].busy_cnt = 4;
	list.items[0].busy_ns = 2000000000;
	list.items[0].busy_times = 1;
	add(&list, UNWATCHED_POOL, 8, "node", "");
	list.items[1] = list.items[0];
	list.items[1].pid = 8;
	list.items[1].waits_in[0] = 0;
	list.items[1].busy_times = 3;
	add(&list, UNWATCHED_POOL, 9, "node", "poll");
	list.items[2].pool_cnt = 4;
	list.items[2].busy_cnt = 2;
	list.items[2].busy_ns = 5000000000;
	list.items[2].busy_times = 2;
	is_lines(
		&list, 10,
		"node (pid 7): 4 of 4 pool threads were in openat for at least 2.00 s: other work of fs, "
		"dns, crypto and zlib waits then, which no block shows\n"
		"node (pid 8): 4 of 4 pool threads were at work for at least 2.00 s, and 2 other times "
		"for less: other work of fs, dns, crypto and zlib waits then, which no block shows\n"
		"node (pid 9): 2 of 4 pool threads were in poll for at least 5.00 s, and 1 other time for "
		"less, as many as lookups may have: others waited, which no block shows\n",
		"each exhausted pool has a line");
}

static void test_one_line(void)
{
	struct unwatched_list list = {};
	char comm[16];

	for (uint32_t pid = 1; pid <= 9; pid++) {
		snprintf(comm, sizeof(comm), "p%u", pid / 2);
		add(&list, UNWATCHED_FEW_TURNS, pid, comm, pid == 9 ? "select" : "poll");
	}
	add(&list, UNWATCHED_CHILD, 20, "cat", "");
	add(&list, UNWATCHED_CHILD, 21, "bash", "");
	is_lines(
		&list, 10,
		"p0 (pid 1), p1 (pids 2, 3), p2 (pids 4, 5), p3 (pids 6, 7) and 2 more: their main "
		"threads wait in poll or select, too seldom so far to be a loop\n"
		"bash (pid 21), cat (pid 20): children of a traced process; -f traces them\n",
		"idle programs and children have one line, whatever their names");
}

static void test_bounds(void)
{
	struct unwatched_list list = {};
	char comm[16];

	for (uint32_t pid = 1; pid <= UNWATCHED_MAX + 5; pid++)
		add(&list, UNWATCHED_ZOMBIE, pid, "z", "");
	is_uint(list.cnt, UNWATCHED_MAX, "the list is bounded");
	is_uint(list.more_cnt, 5, "and counts those beyond");
	unwatched__drop(&list, 3);
	is_uint(list.cnt, UNWATCHED_MAX - 1, "a process is dropped");
	ok(list.items[2].pid == 4, "the others keep their order");
	is_lines(&list, 10,
		 "z (pids 1, 2, 4 and 996 more): ended, but the parent has not waited for it\n"
		 "and 5 more processes\n",
		 "those beyond are mentioned, which no record lists");
	for (uint32_t pid = 1; pid <= 5; pid++) {
		snprintf(comm, sizeof(comm), "p%u", pid);
		add(&list, UNWATCHED_ZOMBIE, pid, comm, "");
	}
	is_lines(&list, 2,
		 "p1 (pid 1): ended, but the parent has not waited for it\n"
		 "and 4 more processes; --json lists them\n",
		 "no more lines than the limit");
}

int main(void)
{
	test_words();
	test_lines();
	test_times();
	test_nested();
	test_pool();
	test_one_line();
	test_bounds();
	return tap__done();
}
