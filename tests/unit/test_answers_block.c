/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A journal gives back what only the live system knew of a block: names of what it waited for, its
 * message, its callers.
 */
#include <unistd.h>

#include "export/record/record.h"
#include "journal/answers.h"
#include "journal/journal.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

#define SET(message, field, value) ((message)->has_##field = true, (message)->field = (value))

static char path[] = "/tmp/jank-answers-XXXXXX";

static void drop(char **text)
{
	free(*text);
	*text = NULL;
}

static void unname_waited(struct wait_object *waited)
{
	if (!waited)
		return;
	drop(&waited->target);
	drop(&waited->path);
	drop(&waited->device);
	drop(&waited->peer);
	waited->peer_task = waited->owner = (struct other_task){ 0 };
}

/* As in a replay: from the events alone. */
static void unname(struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++)
		unname_waited(block->samples[i].waited);
	for (size_t i = 0; i < block->chain_cnt; i++) {
		struct link *link = &block->chain[i];

		unname_waited(link->waited);
		drop(&link->process);
		for (size_t j = 0; j < link->preemptor_cnt; j++)
			drop(&link->preemptors[j].cgroup);
	}
	for (size_t i = 0; i < block->preemptor_cnt; i++)
		drop(&block->preemptors[i].cgroup);
	jankbpf__scheduling__free_unpacked(block->live->scheduling, NULL);
	block->live->scheduling = proto__new(&jankbpf__scheduling__descriptor);
}

static struct answers *answers_of(const struct block *block)
{
	struct journal_writer *jw = NULL;
	struct journal_reader *jr = NULL;
	struct answers *a = answers__new();
	const struct jank_rec *rec;
	struct answers_writer *w;

	unlink(path);
	if (journal_writer__new(journal__create(path, NULL), &jw, NULL))
		abort();
	w = answers_writer__new(jw);
	is_int(answers_writer__callers(w, block), 0, "the callers are written");
	is_int(answers_writer__block(w, block), 0, "and the names");
	answers_writer__free(w);
	journal_writer__free(jw);
	if (journal_reader__new(path, &jr, NULL))
		abort();
	while (journal_reader__next(jr, &rec) > 0)
		is_int(answers__add(a, rec), 0, "and read");
	journal_reader__free(jr);
	return a;
}

/* The JSON record of a block before and after the answers. */
static void test_same(struct block *(*make)(void), const char *what)
{
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT, bare = STRBUF_INIT;
	struct block *live = make(), *again = make();
	struct answers *a;

	fixture__preemptor(live, 77, 1, "other");
	fixture__preemptor(again, 77, 1, "other");
	live->preemptors[live->preemptor_cnt - 1].cgroup = strdup("/a\"b");
	unname(again);
	fixture__add_block(&want, live);
	fixture__add_block(&bare, again);
	ok(strcmp(strbuf__str(&want), strbuf__str(&bare)), "%s: the record differs without names",
	   what);
	a = answers_of(live);
	is_int(answers__waited(a, again), 0, "%s: answers are applied", what);
	is_int(answers__waited(a, again), 0, "%s: and applied again", what);
	fixture__add_block(&got, again);
	is_str(strbuf__str(&got), strbuf__str(&want), "%s: the record is the same", what);
	answers__free(a);
	strbuf__free(&want);
	strbuf__free(&got);
	strbuf__free(&bare);
	block__free(live);
	block__free(again);
}

/* Answers of another block, of its hang, or of an older journal do not apply. */
static void test_other(void)
{
	struct block *live = fixture__chain(), *other = fixture__chain();
	struct answers *a = answers_of(live);

	unname(other);
	other->type = BLOCK_HANG;
	answers__waited(a, other);
	ok(!other->samples[1].waited->peer, "an answer of a block does not apply to its hang");
	other->type = BLOCK_JANK;
	other->start_ns++;
	answers__waited(a, other);
	ok(!other->samples[1].waited->peer, "nor one of another dispatch");
	other->start_ns--;
	other->samples[1].t_ns++;
	other->chain[0].t_ns++;
	answers__waited(a, other);
	ok(!other->samples[1].waited->peer && !other->chain[0].waited->path,
	   "nor the names of a span or link of another time");
	answers__free(a);
	block__free(live);
	block__free(other);
}

/* Answers stay within the block's own arrays, whatever the message says. */
static void test_hostile(void)
{
	Jankbpf__Block from = JANKBPF__BLOCK__INIT;
	Jankbpf__WaitedFor wait = JANKBPF__WAITED_FOR__INIT;
	Jankbpf__Task task = JANKBPF__TASK__INIT;
	Jankbpf__Owner owner = JANKBPF__OWNER__INIT;
	Jankbpf__Sample empty = JANKBPF__SAMPLE__INIT, tick = JANKBPF__SAMPLE__INIT;
	Jankbpf__Sample *samples[] = { &empty, &tick, &tick };
	Jankbpf__Link bare = JANKBPF__LINK__INIT, link = JANKBPF__LINK__INIT;
	Jankbpf__Link *links[] = { &bare, &link, &link };
	Jankbpf__Preemptor nobody = JANKBPF__PREEMPTOR__INIT, *preemptors[] = { &nobody };
	struct block *block = fixture__chain();

	unname(block);
	is_int(answers__take_waited(block, &from), 0, "an empty record is read");
	wait.peer_task = &task;
	wait.futex_owner = &owner;
	wait.path = (char *)"/nowhere";
	SET(&tick, t_ns, 1);
	SET(&link, t_ns, 1);
	tick.waited_for = link.waited_for = &wait;
	link.process = (char *)"nobody";
	link.preemptors = from.preemptors = preemptors;
	link.n_preemptors = from.n_preemptors = 1;
	nobody.cgroup = (char *)"/nowhere";
	from.samples = samples;
	from.n_samples = 3;
	from.chain = links;
	from.n_chain = 3;
	is_int(answers__take_waited(block, &from), 0, "a record of random values is read");
	ok(!block->samples[0].waited->path && !block->samples[0].waited->owner.tid &&
		   !block->chain[0].process && !block->chain[0].waited->path &&
		   !block->chain[0].preemptors[0].cgroup && !block->live->scheduling->cpu_khz,
	   "but gives no name");
	block__free(block);
}

/* A name longer than the kernel's is cut. */
static void test_long(void)
{
	Jankbpf__Block from = JANKBPF__BLOCK__INIT;
	Jankbpf__WaitedFor wait = JANKBPF__WAITED_FOR__INIT;
	Jankbpf__Owner owner = JANKBPF__OWNER__INIT;
	Jankbpf__Sample sample = JANKBPF__SAMPLE__INIT, *samples[] = { &sample };
	struct block *block = fixture__chain();

	unname(block);
	SET(&sample, t_ns, 5000001000123);
	sample.waited_for = &wait;
	wait.futex_owner = &owner;
	SET(&owner, tid, 5);
	owner.comm = (char *)"0123456789abcdef0123456789";
	from.samples = samples;
	from.n_samples = 1;
	answers__take_waited(block, &from);
	is_str(block->samples[0].waited->owner.comm, "0123456789abcdef", "a comm has 16 bytes");
	block__free(block);
}

/* A block with a message that a mark named, or with none yet. */
static struct block *with_message(bool named)
{
	const struct jank_rec_message raw = { .mark = 1 };
	const struct message none = { .fd.fd = -1 }, m = {
		.what = "wh\"at\n",
		.handler = { "H", "/lib/h.so", 0 },
		.callback = { NULL, "/lib/c.so", 4660 },
		.fd = { 8, 0x11, "tcp a->b", NULL },
		.also = { { 9, 0, NULL, NULL } },
		.also_cnt = 1,
		.ready_cnt = 5,
		.was_queued = true,
		.queued_ns = 35,
	};
	struct block *block = fixture__bare();

	message_fixture__set(block, &raw, named ? &m : &none);
	return block;
}

static void test_message(void)
{
	struct block *block = with_message(true), *again = with_message(false);
	struct answers *a = answers_of(block);
	struct message m;

	is_int(answers__waited(a, again), 0, "its block gets the message");
	is_int(answers__waited(a, again), 0, "a second write adds nothing");
	m = message_fixture__of(again);
	is_str(m.what, "wh\"at?", "its `what`");
	ok(!strcmp(m.handler.symbol, "H") && !strcmp(m.handler.module, "/lib/h.so"), "its handler");
	ok(!m.callback.symbol && m.callback.offset == 4660, "its callback without a name");
	ok(!m.source.symbol && !m.source.module, "no source");
	ok(m.fd.fd == 8 && !strcmp(m.fd.words, "in|hup") && !strcmp(m.fd.target, "tcp a->b"),
	   "its descriptor");
	ok(m.also_cnt == 1 && m.also[0].fd == 9 && m.ready_cnt == 5, "the other ready descriptors");
	ok(m.was_queued && m.queued_ns == 35, "and the time in the queue");
	block__free(again);
	again = with_message(false);
	again->start_ns++;
	answers__waited(a, again);
	m = message_fixture__of(again);
	ok(!message_fixture__is_known(&m), "the message of another block does not apply");
	block__free(again);
	block__free(block);
	answers__free(a);
}

/* Invalid members, and more descriptors than a message has. */
static void test_bad_message(void)
{
	Jankbpf__Block from = JANKBPF__BLOCK__INIT;
	Jankbpf__Message message = JANKBPF__MESSAGE__INIT;
	Jankbpf__Symbol symbol = JANKBPF__SYMBOL__INIT;
	Jankbpf__ReadyFd fd = JANKBPF__READY_FD__INIT, *fds[100];
	struct block *block = with_message(false);
	struct record *builder = record__new();
	const Jankbpf__Message *got;

	is_int(answers__take_waited(block, &from), 0, "a block without a message is read");
	ok(!record__of_block(builder, block)->block->message, "and gives none");
	from.message = &message;
	message.handler = message.callback = message.source = &symbol;
	SET(&message, fd, INT32_MIN);
	SET(&fd, fd, -1);
	for (int i = 0; i < 100; i++)
		fds[i] = &fd;
	message.also_ready = fds;
	message.n_also_ready = 100;
	is_int(answers__take_waited(block, &from), 0, "invalid values are read");
	got = record__of_block(builder, block)->block->message;
	ok(!got || (!got->has_fd && !got->what && !got->has_queued_ns &&
		    got->n_also_ready < JANK_READY_MAX && !got->also_ready[0]->has_fd),
	   "but give nothing");
	block__free(block);
	record__free(builder);
}

/* Callers of another stack, an invalid end reason, too many frames of an interpreter. */
static void test_bad_callers(void)
{
	Jankbpf__JournalCallers callers = JANKBPF__JOURNAL_CALLERS__INIT;
	Jankbpf__JournalStack stack = JANKBPF__JOURNAL_STACK__INIT, *stacks[] = { &stack, &stack };
	Jankbpf__JournalScriptFrame frame = JANKBPF__JOURNAL_SCRIPT_FRAME__INIT;
	Jankbpf__JournalScriptFrame *script[STACK_SCRIPT_MAX + 1];
	uint64_t addresses[] = { 1, 2, 3 };
	struct block *block = fixture__chain();
	struct stack *first;
	uint32_t tid;

	for (int i = 0; i <= STACK_SCRIPT_MAX; i++)
		script[i] = &frame;
	is_int(answers__take_callers(block, &callers), 0, "a record without stacks");
	callers.stacks = stacks;
	callers.n_stacks = 2;
	is_int(answers__take_callers(block, &callers), 0, "stacks of another thread");
	first = block__stack(block, 0, &tid);
	SET(&stack, tid, tid);
	SET(&stack, t_ns, first->t_ns);
	SET(&stack, end, UINT32_MAX);
	stack.addresses = addresses;
	stack.n_addresses = 3;
	stack.script = script;
	stack.n_script = STACK_SCRIPT_MAX + 1;
	is_int(answers__take_callers(block, &callers), 0, "a stack of the block");
	ok(first->user_cnt == 3 && first->addresses[first->kernel_cnt + 2] == 3,
	   "gets its addresses");
	ok(first->end == STACK_END_UNKNOWN && !first->script_cnt,
	   "but no invalid end and no surplus frames");
	block__free(block);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	test_same(fixture__chain, "a chain");
	test_same(fixture__lock, "no chain");
	test_other();
	test_hostile();
	test_long();
	test_message();
	test_bad_message();
	test_bad_callers();
	unlink(path);
	return tap__done();
}
