/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names for a record's values: by a catalogue's rows in a running C++ program, by epoll in this
 * one. What cannot be read stays absent. test_answers_block.c tests how they come back from a
 * journal.
 */
#include "enrich/block_facts.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "files/file.h"
#include "tests/unit/message_fixture.h"
#include "tests/unit/model_fixture.h"
#include "tests/unit/symbol_fixture.h"

static const char loops[] = "[enum kinds]\n"
			    "7 = Paint\n"
			    "-3 = Below\n"
			    "[made-up]\n"
			    "about = of this test\n"
			    "library = jank-made-up.so\n"
			    "wait = poll\n"
			    "mark = first\n"
			    "	handler = class(*arg0)\n"
			    "	callback = symbol(arg1)\n"
			    "	what = enum(kinds, s16 *(arg2 + 8))\n"
			    "	fd = s32 *(arg2 + 48)\n"
			    "mark = second\n"
			    "	what = s32 arg0\n"
			    "	source = text(arg1)\n"
			    "	queued = clock_ms(s64 arg2)\n"
			    "mark = third\n"
			    "	what = s32 arg0\n"
			    "	check = u32 arg1 == u32 arg2\n";

static const char program[] =
	"#include <cstdio>\n"
	"#include <cstring>\n"
	"namespace app { struct Window { virtual ~Window() {} }; }\n"
	"int callback(int v) { return v + 1; }\n"
	"int main() {\n"
	"	app::Window *window = new app::Window; void *vptr; std::memcpy(&vptr, window, "
	"sizeof(vptr));\n"
	"	std::printf(\"window %p\\nfn %p\\nready\\n\", vptr, (void *)callback);\n"
	"	std::fflush(stdout);\n"
	"	return std::getchar();\n"
	"}\n";

static struct catalogue *cat;
static struct message_names names;
static struct fixture fx;

/* A block of the program's, with a message of a mark of the row. */
static struct block *marked(unsigned nr)
{
	size_t at = 0;
	const struct catalogue_row *row = catalogue__named(cat, "made-up", &at);
	const struct jank_rec_message raw = { .mark = row->mark_first + nr + 1 };
	struct block *block = block__new();

	block->pid = block->tid = fx.pid;
	block->start_ns = 5000 * MS;
	block->fd = -1;
	block->ready_cnt = 2;
	block->message = message__new(&raw);
	return block;
}

/* The mark's value of that role, as the probe would read it. */
static void give(struct block *block, enum catalogue_role role, uint64_t value)
{
	struct jank_rec_message *raw = block->message;
	const struct catalogue_mark *mark = catalogue__mark(cat, raw->mark - 1);

	for (unsigned i = 0; i < mark->spec.field_cnt; i++) {
		if (mark->fields[i].role != role)
			continue;
		raw->got |= 1u << i;
		raw->value[i] = value;
		return;
	}
	ok(false, "the mark has such a field");
}

static const struct message *named(struct block *block)
{
	static struct message ret;

	if (message_names__fill(&names, block))
		ok(false, "the names are filled in");
	ret = message_fixture__of(block);
	return &ret;
}

static void test_mark(void)
{
	struct block *block = marked(0);
	const struct message *m;

	give(block, ROLE_HANDLER, fixture__addr(&fx, "window"));
	give(block, ROLE_CALLBACK, fixture__addr(&fx, "fn"));
	give(block, ROLE_WHAT, 7);
	give(block, ROLE_FD, 0);
	m = named(block);
	is_str(m->handler.symbol, "app::Window", "a handler's class");
	ok(m->handler.module && strstr(m->handler.module, "/run"), "with its module");
	is_str(m->callback.symbol, "callback", "a callback's function");
	is_str(m->what, "Paint", "what, by its name");
	is_int(m->fd.fd, 0, "its descriptor");
	ok(m->fd.target && !strncmp(m->fd.target, "pipe:[", 6), "which is the program's stdin");
	ok(!m->ready_cnt && !m->also_cnt, "the wait's descriptors are separate");
	block__free(block);
}

static void test_absent(void)
{
	struct block *block = marked(0);
	const struct message *m;

	ok(!message_fixture__is_known(named(block)), "nothing read, nothing known");
	give(block, ROLE_HANDLER, 0);
	give(block, ROLE_CALLBACK, fixture__addr(&fx, "fn") + 1);
	give(block, ROLE_WHAT, 0xffff);
	give(block, ROLE_FD, 0xffffffff);
	m = named(block);
	ok(!m->handler.symbol && !m->handler.module, "no handler, no class");
	ok(!m->callback.symbol && !m->callback.module, "an address inside a function: no callback");
	is_str(m->what, "-1", "a number without a name, its sign kept");
	is_int(m->fd.fd, -1, "no descriptor");
	block__free(block);
	block = marked(0);
	give(block, ROLE_WHAT, 0xfffd);
	give(block, ROLE_FD, 4000);
	m = named(block);
	is_str(m->what, "Below", "a negative number's name");
	is_int(m->fd.fd, 4000, "a closed descriptor has its number");
	is_str(m->fd.target, "already closed", "and the reason");
	block__free(block);
	block = marked(0);
	block->message->mark = UINT32_MAX;
	ok(!message_fixture__is_known(named(block)), "a mark that no row has");
	block__free(block);
	block = block__new();
	is_int(message_names__fill(&names, block), 0, "no message at all");
	block__free(block);
}

static void test_values(void)
{
	struct block *block = marked(1);
	const struct message *m;

	give(block, ROLE_WHAT, 0xfffffff4);
	give(block, ROLE_SOURCE, 0);
	give(block, ROLE_QUEUED, 4965);
	strcpy(block->message->text, "frame clock");
	m = named(block);
	is_str(m->what, "-12", "a number");
	is_str(m->source.symbol, "frame clock", "a text");
	ok(m->was_queued && m->queued_ns == 35 * MS, "how long it had been due");
	block__free(block);
	block = marked(1);
	give(block, ROLE_QUEUED, 5001);
	give(block, ROLE_SOURCE, 0);
	m = named(block);
	ok(!m->was_queued && !m->source.symbol, "due later, and an empty text: both are absent");
	block__free(block);
	block = marked(1);
	give(block, ROLE_QUEUED, INT64_MAX);
	ok(!named(block)->was_queued, "due in the far future");
	block__free(block);
}

static void test_due(void)
{
	struct block *block = marked(0);
	const struct message *m;

	block->message->mark = 0;
	block->message->got = JANK_GOT_DUE;
	block->message->value[0] = block->start_ns - 35 * MS;
	m = named(block);
	ok(m->was_queued && m->queued_ns == 35 * MS,
	   "a Looper's message, by the time of its queue");
	block->live->message->has_queued_ns = false;
	block->message->value[0] = block->start_ns + 1;
	ok(!named(block)->was_queued, "one that is due later");
	block__free(block);
}

static void test_check(void)
{
	struct block *block = marked(2);

	block->message->got = 7;
	block->message->value[0] = block->message->value[1] = 5;
	block->message->value[2] = 5;
	is_str(named(block)->what, "5", "a layout whose check holds");
	block__free(block);
	block = marked(2);
	block->message->got = 7;
	block->message->value[0] = 1;
	block->message->value[1] = 2;
	block->message->value[2] = 3;
	ok(!message_fixture__is_known(named(block)), "one whose check does not: nothing is shown");
	block__free(block);
}

/* A block of this process's own epoll, with these data. */
static struct block *ready(int ep, const uint64_t *data, unsigned cnt, int ready_cnt)
{
	struct jank_rec_message raw = { .ready_got = cnt };
	struct block *block = block__new();

	for (unsigned i = 0; i < cnt; i++) {
		raw.ready_data[i] = data[i];
		raw.ready_events[i] = EPOLLIN;
	}
	block->pid = getpid();
	block->tid = gettid();
	block->fd = ep;
	block->ready_cnt = ready_cnt;
	block->message = message__new(&raw);
	return block;
}

static void test_epoll(void)
{
	int ep = epoll_create1(0), fds[3] = { eventfd(0, 0), eventfd(0, 0), eventfd(0, 0) };
	uint64_t data[] = { 0xabcd, 77, 78 };
	const struct message *m;
	struct block *block;

	for (int i = 0; i < 3; i++)
		epoll_ctl(ep, EPOLL_CTL_ADD, fds[i],
			  &(struct epoll_event){ .events = EPOLLIN, .data.u64 = data[i] });
	block = ready(ep, data, 3, 5);
	m = named(block);
	is_int(m->fd.fd, fds[0], "the first ready descriptor");
	ok(m->fd.target && !strncmp(m->fd.target, "eventfd", 7) && !strcmp(m->fd.words, "in"),
	   "and what it is, and why it is ready");
	ok(m->also_cnt == 2 && m->also[1].fd == fds[2], "and the others");
	is_uint(m->ready_cnt, 5, "and their number");
	block__free(block);
	close(fds[0]);
	close(fds[1]);
	block = ready(ep, data, 3, 3);
	m = named(block);
	ok(m->fd.fd == -1 && !m->fd.target && m->also_cnt == 1 && m->also[0].fd == fds[2],
	   "those closed meanwhile are absent");
	block__free(block);
	block = ready(-1, data, 3, 3);
	ok(named(block)->fd.fd == -1, "no epoll, no descriptor");
	block__free(block);
	block = ready(ep, data, 0, -EINTR);
	ok(!message_fixture__is_known(named(block)), "nothing was ready");
	block__free(block);
	close(fds[2]);
	close(ep);
}

/* A descriptor that was closed after the dispatch and is another file's now. */
static void test_reused(void)
{
	int ep = epoll_create1(0), fds[2], other[2];
	struct block *block;
	uint64_t data;
	struct stat st;

	if (pipe(fds) || pipe(other) || fstat(fds[0], &st))
		abort();
	data = fds[0] | 7ull << 32; /* libev and CPython use the upper half for themselves */
	epoll_ctl(ep, EPOLL_CTL_ADD, fds[0],
		  &(struct epoll_event){ .events = EPOLLIN, .data.u64 = data });
	block = ready(ep, &data, 1, 1);
	block->message->ready_inode[0] = st.st_ino;
	is_int(named(block)->fd.fd, fds[0], "the file that it was in the dispatch");
	block__free(block);
	block = ready(ep, &data, 1, 1);
	block->message->ready_inode[0] = JANK_INODE_NONE;
	is_int(named(block)->fd.fd, -1, "it was already closed in the dispatch");
	block__free(block);
	dup2(other[0], fds[0]);
	epoll_ctl(ep, EPOLL_CTL_ADD, fds[0],
		  &(struct epoll_event){ .events = EPOLLIN, .data.u64 = data });
	block = ready(ep, &data, 1, 1);
	block->message->ready_inode[0] = st.st_ino;
	is_int(named(block)->fd.fd, -1, "now another file");
	block__free(block);
	data = fds[0];
	block = marked(0);
	block->pid = block->tid = getpid();
	give(block, ROLE_FD, fds[0]);
	for (int i = 0; i < JANK_MARK_FIELD_MAX; i++)
		block->message->value_inode[i] = st.st_ino;
	is_str(named(block)->fd.target, "already closed",
	       "a mark's descriptor that is another file now was closed");
	block__free(block);
	close(fds[0]);
	close(fds[1]);
	close(other[0]);
	close(other[1]);
	close(ep);
}

int main(void)
{
	const char *files[1];
	struct err err = { 0 };

	scratch__init();
	if (system("c++ --version >/dev/null 2>&1"))
		skip_all("no C++ compiler");
	scratch__write_text("run.cc", program);
	files[0] = scratch__write_text("test.loop", loops);
	if (catalogue__open(files, 1, &cat, &err))
		ok(false, "the rows are read: %s", err.msg);
	fixture__sh("c++ -O1 -o $D/run $D/run.cc");
	fixture__run(&fx, "run");
	names = (struct message_names){ fixture__symbolizer(NULL, NULL), cat };
	test_mark();
	test_absent();
	test_values();
	test_due();
	test_check();
	test_epoll();
	test_reused();
	fixture__stop(&fx);
	symbolizer__free(names.symbolizer);
	catalogue__close(cat);
	return tap__done();
}
