/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One fault has one signature, another fault another: measured on variants that differ as runs,
 * machines and builds do.
 */
#include <sys/socket.h>

#include "base/stable_name.h"
#include "verdict/analysis.h"

#include "tests/tap.h"
#include "tests/unit/verdict_fixture.h"

#define VARIANTS 12

/* Names as they are in variant `nr` of a build, a machine and a run. */
struct variant {
	unsigned nr;
	char thread[16], holder[16];
	uint32_t pid;
};

static struct variant variant(unsigned nr)
{
	struct variant ret = { .nr = nr, .pid = 100 + nr * 37 };

	snprintf(ret.thread, sizeof(ret.thread), "worker-%u", nr % 100);
	snprintf(ret.holder, sizeof(ret.holder), "pool-%u-thr-%u", nr % 10, nr * 7 % 100);
	return ret;
}

static struct block *fresh(const struct variant *v)
{
	struct block *block = verdict__block();

	block->pid = v->pid;
	block->tid = v->pid + v->nr % 3;
	block->start_ns = v->nr * 12345;
	free(block->thread);
	block->thread = strdup(v->thread);
	return block;
}

/* The same time in many functions below one, in another order of shares. */
static struct block *flat_cpu(const struct variant *v)
{
	static const char *const leaves[] = { "a", "b", "c", "d", "e" };
	struct block *block = fresh(v);

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	for (unsigned i = 0; i < 15; i++)
		verdict__ticks(block, 1,
			       STACK(leaves[(i + (i % 4 ? 0 : v->nr)) % 5], "parse_json",
				     "handle_load", "main"));
	return block;
}

static struct block *hot_cpu(const struct variant *v)
{
	struct block *block = fresh(v);

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 7 + v->nr % 4,
		       STACK(v->nr % 2 ? "hash.constprop.0" : "hash", "handle_load", "main"));
	verdict__ticks(block, 1 + v->nr % 3, STACK("k:clear_page", "alloc", "handle_load", "main"));
	return block;
}

/* JavaScript's functions: all but the runtime's own. */
static void mark_scripts(struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++) {
		struct stack *stack = &block->samples[i].stack;

		for (size_t k = 0; k < stack->frame_cnt; k++) {
			struct frame *frame = &stack->frames[k];

			frame->app = strncmp(frame->function, "Builtins_", 9) != 0;
			if (!frame->app)
				continue;
			frame->language = "javascript";
			frame->module = frame->file = "/srv/app.js";
		}
	}
}

/* How the time is divided between a sort and the function that it gets is chance. */
static struct block *sorting(const struct variant *v)
{
	struct block *block = fresh(v);

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 10 - v->nr % 8,
		       STACK("anonymous", "Builtins_ArrayTimSort", "sortRows", "serve"));
	verdict__ticks(block, 4 + v->nr % 6, STACK("Builtins_ArrayTimSort", "sortRows", "serve"));
	mark_scripts(block);
	return block;
}

static struct block *script(const struct variant *v)
{
	static char name[VARIANTS][96];
	struct block *block = fresh(v);

	snprintf(name[v->nr], sizeof(name[0]), "JS:%chandler /home/u%u/app/server.js:%u:7",
		 "~*^+"[v->nr % 4], v -> nr, 10 + v -> nr);
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 9, STACK(name[v->nr], "main"));
	return block;
}

/* What the holder does, and whether it was seen at all, differs from run to run. */
static struct block *mutex(const struct variant *v)
{
	static const char *const calls[] = { "fsync", "pread64", NULL };
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_FUTEX, (120 + v->nr) * MS, "futex",
			STACK("c:___pthread_mutex_lock", "handle_query", "main"));
	if (v->nr % 4)
		verdict__link(block, LINK_HELD, verdict__task(v->pid, v->pid + 9, v->holder),
			      v->nr % 2 ? JANK_STATE_DISK : JANK_STATE_RUNNING, calls[v->nr % 3],
			      v->nr % 5 ? STACK("k:x", "flush_index", "run") : STACK("k:x"));
	return block;
}

static struct block *mutex_elsewhere(const struct variant *v)
{
	struct block *block = mutex(v);

	block->samples[0].stack.frames[1].function = "handle_other";
	return block;
}

/* Without any function of ours: the kind of object that was waited for. */
static struct block *socket_of(const struct variant *v, const char *peer, uint16_t family)
{
	struct block *block = fresh(v);
	struct wait_object *waited;
	char text[64];

	snprintf(text, sizeof(text), "%s.%u:5432", peer, v->nr);
	verdict__sample(block, JANK_STATE_SOCKET, 120 * MS, "recvfrom", STACK("c:recv"));
	waited = verdict__waited(block, JANK_WAITED_SOCKET);
	waited->raw.family = family;
	waited->raw.type = SOCK_STREAM;
	if (v->nr % 3) /* the peer was gone when it was asked for */
		waited->peer = strdup(text);
	return block;
}

static struct block *tcp(const struct variant *v)
{
	return socket_of(v, "tcp 10.0.0", v->nr % 2 ? AF_INET : AF_INET6);
}

static struct block *unix_socket(const struct variant *v)
{
	return socket_of(v, "unix /run/x", AF_UNIX);
}

static struct block *condition(const struct variant *v)
{
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_FUTEX, 120 * MS, "futex",
			STACK("c:pthread_cond_wait", "handle_query", "main"));
	return block;
}

static struct block *library(const struct variant *v)
{
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_SLEEP, 120 * MS, "clock_nanosleep",
			STACK("c:usleep", "m:back_off", "main"));
	if (v->nr % 2)
		block->samples[0].stack.frames[1].module = "/usr/lib/libx.so.7.1";
	return block;
}

static struct block *own(const struct variant *v)
{
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_SLEEP, 120 * MS, "clock_nanosleep",
			STACK("c:usleep", "back_off", "main"));
	return block;
}

/* One of several functions, at any of its instructions; none has a name. */
static struct block *nameless_at(const struct variant *v, uint64_t start)
{
	struct block *block = fresh(v);

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	for (unsigned i = 0; i < 9; i++) {
		struct frame *frames;

		verdict__ticks(block, 1, STACK("?", "?", "main"));
		frames = block->samples[i].stack.frames;
		frames[0].start = 0x9000 + 0x100 * ((i + v->nr) % 7);
		frames[1].start = start;
		frames[1].offset = start + i * 5 + v->nr;
		for (int k = 0; k < 2; k++)
			frames[k].owner = CODE_OWN;
	}
	return block;
}

static struct block *nameless(const struct variant *v)
{
	return nameless_at(v, 0x1000);
}

static struct block *nameless_other(const struct variant *v)
{
	return nameless_at(v, 0x2000);
}

/* A library's functions below the program's own; the quick ones differ. */
static struct block *below_own(const struct variant *v)
{
	struct block *block = fresh(v);

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	for (unsigned i = 0; i < 9; i++) {
		verdict__ticks(
			block, 1,
			STACK(v->nr % 2 ? "m:sha512" : "m:bignum", "m:verify", "check", "main"));
		block->samples[i].stack.frames[2].owner = CODE_OWN;
	}
	return block;
}

/* A busy thread on a busy machine: most of its time it waits for a CPU; perhaps no tick came. */
static struct block *busy_under_load(const struct variant *v)
{
	struct block *block = fresh(v);
	uint64_t waits_ns = v->nr % 3 ? 150 * MS : 40 * MS;

	block->state_ns[JANK_STATE_RUNNING] = 200 * MS - waits_ns;
	if (v->nr % 4)
		verdict__ticks(block, 5, STACK("encode", "handle_load", "main"));
	verdict__sample(block, JANK_STATE_RUNNABLE, waits_ns, NULL,
			STACK("encode", "handle_load", "main"));
	if (v->nr % 2)
		verdict__preemptor(block, v->pid + 50, v->holder, 30 * MS, 120);
	return block;
}

/* A wait whose end the thread saw late, perhaps much later. */
static struct block *late_after_wait(const struct variant *v)
{
	struct block *block = fresh(v);
	uint64_t late_ns = v->nr % 3 ? 150 * MS : 5 * MS;
	struct sample *sample = verdict__sample(block, JANK_STATE_SLEEP, 200 * MS, "poll",
						STACK("c:poll", "handle_poll", "main"));

	sample->runnable_ns = late_ns;
	block->state_ns[JANK_STATE_SLEEP] -= late_ns;
	block->state_ns[JANK_STATE_RUNNABLE] += late_ns;
	return block;
}

/* Both stop the thread at a random place. */
static struct block *stopped_at_random(const struct variant *v)
{
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_RUNNABLE, 150 * MS, NULL,
			v->nr % 2 ? STACK("inner", "handle_load", "main") : STACK("other", "main"));
	return block;
}

static struct block *throttled(const struct variant *v)
{
	struct block *block = stopped_at_random(v);

	block->facts = (struct facts){ .known = true, .throttled_ns = (100 + v->nr) * MS };
	return block;
}

static struct block *preempted(const struct variant *v)
{
	struct block *block = stopped_at_random(v);

	block->facts = (struct facts){ .known = true, .prio = 120 };
	verdict__preemptor(block, v->pid + 50, v->holder, 140 * MS, 90);
	return block;
}

static struct block *(*const faults[])(const struct variant *) = {
	flat_cpu,
	hot_cpu,
	sorting,
	script,
	mutex,
	mutex_elsewhere,
	tcp,
	unix_socket,
	condition,
	library,
	own,
	nameless,
	nameless_other,
	below_own,
	busy_under_load,
	late_after_wait,
	throttled,
	preempted,
};
#define FAULT_CNT (sizeof(faults) / sizeof(faults[0]))

static void sign(char *ret, size_t fault, unsigned nr)
{
	struct variant v = variant(nr);
	struct block *block = faults[fault](&v);

	blame__block(block);
	memcpy(ret, block->cause.signature, CAUSE_SIGNATURE_LEN + 1);
	block__free(block);
}

static void test_groups(void)
{
	static char signatures[FAULT_CNT][VARIANTS][CAUSE_SIGNATURE_LEN + 1];
	unsigned same = 0, apart = 0, pairs = 0;

	for (size_t i = 0; i < FAULT_CNT; i++) {
		unsigned equal = 0;

		for (unsigned nr = 0; nr < VARIANTS; nr++) {
			sign(signatures[i][nr], i, nr);
			equal += !strcmp(signatures[i][nr], signatures[i][0]);
		}
		is_uint(equal, VARIANTS, "fault %zu: all its variants have one signature", i);
		same += equal;
	}
	for (size_t i = 0; i < FAULT_CNT; i++)
		for (size_t j = 0; j < i; j++, pairs++)
			apart += !!strcmp(signatures[i][0], signatures[j][0]);
	is_uint(apart, pairs, "each fault has its own");
	diag("%u of %zu variants are grouped, %u of %u pairs of faults apart", same,
	     FAULT_CNT * VARIANTS, apart, pairs);
}

static const char *stable(void (*add)(struct strbuf *sb, const char *name), const char *name)
{
	static char ret[128];
	struct strbuf sb = STRBUF_INIT;

	add(&sb, name);
	snprintf(ret, sizeof(ret), "%s", strbuf__str(&sb));
	strbuf__free(&sb);
	return ret;
}

static void test_names(void)
{
	static const struct {
		void (*add)(struct strbuf *sb, const char *name);
		const char *name, *want;
	} rows[] = {
		{ stable_name__add_function, "core::f::h0123456789abcdef", "core::f" },
		{ stable_name__add_function, "core::f::h0123456789abcdeg",
		  "core::f::h0123456789abcdeg" },
		{ stable_name__add_function, "py::f:/usr/lib/x.py", "py::f:x.py" },
		{ stable_name__add_function, "LazyCompile:*f file:///x/y.mjs:1:22",
		  "f file:y.mjs" },
		{ stable_name__add_function, "operator/(a, b)", "operator/(a, b)" },
		{ stable_name__add_function, "JS:", "JS:" },
		{ stable_name__add_function, "f /x/y:z", "f y:z" },
		{ stable_name__add_function, "f /x/12:13", "f 12" },
		{ stable_name__add_module, "/usr/lib/libx.so.1.2.3", "libx" },
		{ stable_name__add_module, "/lib/libc-2.31.so", "libc" },
		{ stable_name__add_module, "/opt/libx-y.so", "libx-y" },
		{ stable_name__add_module, "/usr/bin/x.socket", "x.socket" },
		{ stable_name__add_module, "/usr/bin/python3.11", "python3.11" },
		{ stable_name__add_module, "/opt/program (deleted)", "program" },
		{ stable_name__add_module, NULL, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(stable(rows[i].add, rows[i].name), rows[i].want, "%s",
		       rows[i].name ? rows[i].name : "no name");
}

int main(void)
{
	test_groups();
	test_names();
	return tap__done();
}
