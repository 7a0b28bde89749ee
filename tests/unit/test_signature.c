/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One fault has one signature, another fault another: measured on variants that differ as runs,
 * machines and builds do.
 */
#include "base/stable_name.h"
#include "verdict/analysis.h"

#include "tests/tap.h"
#include "tests/verdict_fixture.h"

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

/* If the holder's function is not seen in every run, its thread's name is used. */
static struct block *mutex_of(const struct variant *v, const char *holder, const char *call,
			      const char *function)
{
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_FUTEX, (120 + v->nr) * MS, "futex",
			STACK("c:___pthread_mutex_lock", "handle_query", "main"));
	verdict__link(block, LINK_HELD, verdict__task(v->pid, v->pid + 9, holder),
		      call ? JANK_STATE_DISK : JANK_STATE_RUNNING + v->nr % 2, call,
		      function ? STACK("k:x", function, "run") : STACK("k:x"));
	return block;
}

static struct block *mutex_fsync(const struct variant *v)
{
	return mutex_of(v, v->holder, "fsync", v->nr % 3 ? "flush_index" : NULL);
}

static struct block *mutex_read(const struct variant *v)
{
	return mutex_of(v, v->holder, "pread64", "flush_index");
}

static struct block *mutex_busy(const struct variant *v)
{
	return mutex_of(v, v->holder, NULL, v->nr % 2 ? "flush_index" : "other");
}

static struct block *mutex_unnamed(const struct variant *v)
{
	return mutex_of(v, "program", "fsync", "flush_index");
}

static struct block *mutex_unnamed_other(const struct variant *v)
{
	return mutex_of(v, "program", "fsync", v->nr % 2 ? "rotate_log.part.0" : "rotate_log");
}

/* Without any function of ours: the kind of object that was waited for. */
static struct block *socket_of(const struct variant *v, const char *peer)
{
	struct block *block = fresh(v);
	char text[64];

	snprintf(text, sizeof(text), "%s.%u:5432", peer, v->nr);
	verdict__sample(block, JANK_STATE_SOCKET, 120 * MS, "recvfrom", STACK("c:recv"));
	verdict__waited(block, JANK_WAITED_SOCKET)->peer = strdup(text);
	return block;
}

static struct block *tcp(const struct variant *v)
{
	return socket_of(v, "tcp 10.0.0");
}

static struct block *unix_socket(const struct variant *v)
{
	return socket_of(v, "unix /run/x");
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

static struct block *throttled(const struct variant *v)
{
	struct block *block = fresh(v);

	verdict__sample(block, JANK_STATE_RUNNABLE, 80 * MS, NULL,
			STACK("inner", "handle_load", "main"));
	verdict__sample(block, JANK_STATE_RUNNABLE, 70 * MS, NULL,
			STACK("other", "handle_load", "main"));
	block->facts = (struct facts){ .known = true, .throttled_ns = 140 * MS + v->nr };
	return block;
}

static struct block *preempted(const struct variant *v)
{
	struct block *block = throttled(v);

	block->facts.throttled_ns = 0;
	verdict__preemptor(block, v->pid + 50, v->holder, 100 * MS, 122);
	return block;
}

static struct block *(*const faults[])(const struct variant *) = {
	flat_cpu,   hot_cpu,	 script,	mutex_fsync,
	mutex_read, mutex_busy,	 mutex_unnamed, mutex_unnamed_other,
	tcp,	    unix_socket, condition,	library,
	own,	    throttled,	 preempted,
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
		{ stable_name__add_thread, "Thread-17", "Thread-" },
		{ stable_name__add_thread, NULL, "" },
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
