/* SPDX-License-Identifier: GPL-2.0 */
/* The traced processes: their facts, which the sink thread gets copies of, and their ends. */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/process_table.h"
#include "tests/tap.h"
#include "tests/unit/child.h"

struct fixture {
	struct process_table table;
	struct losses losses;
	struct over_shares over_share;
};

static void start(struct fixture *f, size_t room)
{
	*f = (struct fixture){ .table.queue = queue__new(room, 1000) };
	f->table.losses = &f->losses;
	f->table.over_share = &f->over_share;
}

static struct item get(struct fixture *f)
{
	struct item item = { .kind = ITEM_STOP };

	queue__get(f->table.queue, 1, &item);
	return item;
}

/* Returns how many items were dropped. */
static unsigned drain(struct fixture *f)
{
	unsigned cnt = 0;

	for (struct item item = get(f); item.kind != ITEM_STOP; item = get(f)) {
		if (item.kind == ITEM_PROCESS)
			identity__free(item.data);
		cnt++;
	}
	return cnt;
}

static void end(struct fixture *f)
{
	drain(f);
	process_table__free(&f->table);
	queue__free(f->table.queue);
}

static void test_entries(void)
{
	struct process_entry *one, *two;
	struct fixture f;

	start(&f, 4);
	one = process_table__add(&f.table, 1);
	two = process_table__add(&f.table, 2);
	ok(process_table__find(&f.table, 1) == one && process_table__find(&f.table, 2) == two,
	   "each pid has its entry");
	ok(one->pidfd == -1 && !one->identity && !one->announced, "nothing is known of a new one");
	process_table__drop(&f.table, one);
	ok(!process_table__find(&f.table, 1) && process_table__find(&f.table, 2) == two,
	   "the entry of one is dropped");
	process_table__saw(&f.table, &(struct jank_rec){ .ts_ns = 8, .tgid = 2, .tid = 3 });
	ok(two->loop_ns == 8 && !two->main_ns, "a thread of it loops");
	process_table__saw(&f.table, &(struct jank_rec){ .ts_ns = 9, .tgid = 2, .tid = 2 });
	ok(two->main_ns == 9 && two->loop_ns == 8, "its main thread does");
	end(&f);
}

static void test_facts(void)
{
	struct process_entry *own;
	struct item item;
	struct fixture f;
	struct err err;

	start(&f, 4);
	own = process_table__add(&f.table, getpid());
	is_int(process_table__read(&f.table, own, 0, &err), -ESRCH,
	       "a record from before its start was another process's");
	ok(!own->identity && !own->announced && !drain(&f), "and nothing is sent of it");
	is_int(process_table__read(&f.table, own, clock__mono_ns(), &err), 0, "a process is read");
	item = get(&f);
	ok(item.kind == ITEM_PROCESS && item.pid == (uint32_t)getpid() && own->announced,
	   "the sink thread hears of it");
	is_str(((Jankbpf__Identity *)item.data)->exe, own->identity->exe, "by a copy of its facts");
	ok(item.data != own->identity, "a copy");
	identity__free(item.data);
	is_int(process_entry__set_name(own, "other"), 0, "it is renamed");
	ok(!strcmp(own->identity->name, "other") && own->identity->exe, "the other facts stay");
	own = process_table__add(&f.table, 1);
	is_int(process_entry__set_name(own, "gone"), 0, "one that was never read gets a name");
	ok(!strcmp(own->identity->name, "gone") && !own->identity->has_uid, "alone");
	end(&f);
}

static void test_full_queue(void)
{
	struct fixture f;
	bool sent;

	start(&f, 1);
	ok(process_table__send_exit(&f.table, 1), "an end is sent");
	process_table__report_exit(&f.table, 2);
	process_table__report_exit(&f.table, 3);
	is_uint(f.table.pending_cnt, 2, "ends that find no room wait");
	process_table__report_pending(&f.table);
	is_uint(f.table.pending_cnt, 2, "as long as there is none");
	is_uint(get(&f).pid, 1, "the first is taken");
	process_table__report_pending(&f.table);
	is_uint(f.table.pending_cnt, 1, "one finds room");
	sent = get(&f).pid == 3;
	process_table__report_pending(&f.table);
	ok(sent && get(&f).pid == 2 && !f.table.pending_cnt, "then the other, each once");
	ok(!losses__total(&f.losses), "no loss");
	end(&f);
}

static void test_full_queue_of_facts(void)
{
	struct process_entry *own;
	struct fixture f;
	struct err err;

	start(&f, 1);
	process_table__send_exit(&f.table, 1);
	own = process_table__add(&f.table, getpid());
	is_int(process_table__read(&f.table, own, clock__mono_ns(), &err), 0, "it is read");
	ok(!own->announced && f.losses.cnt[LOSS_QUEUE_FULL] == 1,
	   "that the sink thread knows nothing of it is a loss");
	process_table__announce_due(&f.table);
	ok(!own->announced && f.losses.cnt[LOSS_QUEUE_FULL] == 1, "counted once");
	drain(&f);
	process_table__announce_due(&f.table);
	ok(own->announced && !own->facts_due, "it is announced when there is room");
	process_table__announce(&f.table, own);
	ok(own->announced && own->facts_due, "refused another time, it is still known");
	is_uint(drain(&f), 1, "the first facts are taken");
	process_table__announce_due(&f.table);
	is_uint(drain(&f), 1, "then the second");
	process_table__announce_due(&f.table);
	is_uint(drain(&f), 0, "once");
	end(&f);
}

static bool queue_block(struct fixture *f, uint32_t pid)
{
	struct item item = { .kind = ITEM_BLOCK, .pid = pid };

	return process_table__queue(&f->table, &item, LOSS_QUEUE_FULL, JANK_SHARE_RECORD);
}

/* Items have the user of their process; what is over its share is counted for it. */
static void test_users(void)
{
	const Jankbpf__Identity mine = { .base = PROTOBUF_C_MESSAGE_INIT(
						 &jankbpf__identity__descriptor),
					 .has_uid = true,
					 .uid = 1000 },
				theirs = { .base = PROTOBUF_C_MESSAGE_INIT(
						   &jankbpf__identity__descriptor),
					   .has_uid = true,
					   .uid = 1001 };
	struct fixture f;
	struct item item;
	unsigned cnt = 0;

	start(&f, 20);
	process_table__add(&f.table, 1)->identity = identity__copy(&mine);
	process_table__add(&f.table, 2)->identity = identity__copy(&theirs);
	is_uint(process_table__uid(&f.table, 1), 1000, "the user of a process");
	is_uint(process_table__uid(&f.table, 3), UID_UNKNOWN, "of a process without an entry");
	ok(queue_block(&f, 2), "a block");
	item = get(&f);
	is_uint(item.uid, 1001, "has its user");
	while (queue_block(&f, 1))
		cnt++;
	ok(cnt < 20 && f.losses.cnt[JANK_LOST_SHARE] == 1, "a user over its share is a loss");
	ok(f.over_share.cnt == 1 && f.over_share.users[0].uid == 1000 &&
		   f.over_share.users[0].cnt[JANK_SHARE_RECORD] == 1,
	   "of that user");
	ok(queue_block(&f, 2) && !f.losses.cnt[LOSS_QUEUE_FULL], "another one has room");
	end(&f);

	start(&f, 2);
	while (queue_block(&f, 1))
		;
	ok(f.losses.cnt[LOSS_QUEUE_FULL] == 1 && !f.over_share.cnt,
	   "a full queue is a loss of nobody");
	end(&f);
}

static void test_ends(void)
{
	struct process_entry *process;
	pid_t pid = child__start(NULL, NULL);
	struct fixture f;

	start(&f, 4);
	process = process_table__add(&f.table, pid);
	ok(!process_entry__has_ended(process), "it lives, and there is no pidfd");
	child__end(pid);
	ok(process_entry__has_ended(process), "it has ended");
	process = process_table__add(&f.table, getpid());
	process->ended = true;
	ok(process_entry__has_ended(process), "one that ended before it was read stays so");
	end(&f);
}

int main(void)
{
	test_entries();
	test_facts();
	test_full_queue();
	test_full_queue_of_facts();
	test_users();
	test_ends();
	return tap__done();
}
