/* SPDX-License-Identifier: GPL-2.0 */
/* A block's names that only the living machine had come back from a journal; what somebody made up costs nothing. */
#include <unistd.h>

#include "app/recorded.h"
#include "app/recorded_waited.h"
#include "app/recorder.h"
#include "export/sink.h"
#include "intake/journal.h"
#include "tests/export_fixture.h"
#include "tests/tap.h"

static char path[] = "/tmp/jank-recorded-XXXXXX";

static void drop(char **text)
{
	free(*text);
	*text = NULL;
}

static void unname_waited(struct waited *waited)
{
	if (!waited)
		return;
	drop(&waited->target);
	drop(&waited->path);
	drop(&waited->device);
	drop(&waited->peer);
	waited->peer_task = waited->owner = (struct other_task){ 0 };
}

/* As a replay has it: events alone. */
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
	drop(&block->facts.quota_cgroup);
	block->facts.quota_ns = block->facts.quota_period_ns = 0;
	block->facts.cpu_capacity = block->facts.cpu_khz = block->facts.cpu_max_khz = 0;
	block->facts.thermal_throttled = false;
}

static struct recorded *recorded_of(const struct block *block)
{
	struct journal_writer *jw = NULL;
	struct journal_reader *jr = NULL;
	struct recorded *r = recorded__new();
	const struct jank_rec *rec;
	struct recorder *recorder;

	unlink(path);
	if (journal_writer__new(path, &jw, NULL))
		abort();
	recorder = recorder__new(jw);
	is_int(recorder__waited(recorder, block), 0, "the names are recorded");
	recorder__free(recorder);
	journal_writer__free(jw);
	if (journal_reader__new(path, &jr, NULL))
		abort();
	while (journal_reader__next(jr, &rec) > 0)
		is_int(recorded__add(r, rec), 0, "and read");
	journal_reader__free(jr);
	return r;
}

/* The record that is written of it, before and after. */
static void test_same(struct block *(*make)(void), const char *what)
{
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT, bare = STRBUF_INIT;
	struct block *live = make(), *again = make();
	struct recorded *r;

	fixture__preemptor(live, 77, 1, "other");
	fixture__preemptor(again, 77, 1, "other");
	live->preemptors[live->preemptor_cnt - 1].cgroup = strdup("/a\"b");
	unname(again);
	json__add_block(&want, live);
	json__add_block(&bare, again);
	ok(strcmp(strbuf__str(&want), strbuf__str(&bare)), "%s: without names it is less", what);
	r = recorded_of(live);
	is_int(recorded__waited(r, again), 0, "%s: is filled", what);
	is_int(recorded__waited(r, again), 0, "%s: and again", what);
	json__add_block(&got, again);
	is_str(strbuf__str(&got), strbuf__str(&want), "%s: gives the same record", what);
	recorded__free(r);
	strbuf__free(&want);
	strbuf__free(&got);
	strbuf__free(&bare);
	block__free(live);
	block__free(again);
}

/* Of another block, of its hang, of an older journal. */
static void test_other(void)
{
	struct block *live = fixture__chain(), *other = fixture__chain();
	struct recorded *r = recorded_of(live);

	unname(other);
	other->type = BLOCK_HANG;
	recorded__waited(r, other);
	ok(!other->samples[1].waited->peer, "a hang is not its end");
	other->type = BLOCK_JANK;
	other->start_ns++;
	recorded__waited(r, other);
	ok(!other->samples[1].waited->peer, "nor one dispatch another");
	other->start_ns--;
	other->samples[1].t_ns++;
	other->chain[0].t_ns++;
	recorded__waited(r, other);
	ok(!other->samples[1].waited->peer && !other->chain[0].waited->path,
	   "nor a span or link one of another time");
	recorded__free(r);
	block__free(live);
	block__free(other);
}

/* The block keeps to its own arrays, and to what is text. */
static void test_hostile(void)
{
	static const char *const texts[] = {
		"{}",
		"{\"spans\":7,\"links\":{},\"cgroups\":\"x\",\"cpu_khz\":\"9\"}",
		"{\"spans\":[1,null,{}],\"links\":[[],{\"tid\":{}}],\"cgroups\":[0,{\"tid\":-1}]}",
		"{\"spans\":[{\"t_ns\":5000001000123,\"waited\":[]},{\"t_ns\":5000001000123,"
		"\"waited\":{\"path\":7,\"peer_task\":[],\"owner\":{\"tid\":\"x\",\"comm\":9}}}],"
		"\"links\":[{\"tid\":4711,\"t_ns\":5000001000123,\"process\":[],\"waited\":7,"
		"\"cgroups\":[{\"tid\":8123,\"cgroup\":{}}]}]}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct block *block = fixture__chain();
		json_t *json = json_loads(texts[i], 0, NULL);

		unname(block);
		is_int(recorded_waited__fill(block, json), 0, "nonsense %zu is read", i);
		ok(!block->samples[0].waited->path && !block->samples[0].waited->owner.tid &&
			   !block->chain[0].process && !block->chain[0].waited->path &&
			   !block->chain[0].preemptors[0].cgroup && !block->facts.cpu_khz,
		   "and gives no name");
		json_decref(json);
		block__free(block);
	}
}

/* A name longer than the kernel's is cut. */
static void test_long(void)
{
	struct block *block = fixture__chain();
	json_t *json =
		json_loads("{\"spans\":[{\"t_ns\":5000001000123,\"waited\":{\"owner\":{\"tid\":"
			   "5,\"comm\":\"0123456789abcdef0123456789\"}}}]}",
			   0, NULL);

	unname(block);
	recorded_waited__fill(block, json);
	is_str(block->samples[0].waited->owner.comm, "0123456789abcdef", "a comm has 16 bytes");
	json_decref(json);
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
	unlink(path);
	return tap__done();
}
