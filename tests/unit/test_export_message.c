/* SPDX-License-Identifier: GPL-2.0 */
/* A message in a few words: each part alone and with others; the names of epoll's events. */
#include "export/values.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

/* The known parts of a message; NULL and 0 are unknown. A callback has a module. */
static const struct {
	const char *what, *handler, *callback, *source, *target;
	uint32_t ready_cnt;
	const char *want;
} phrases[] = {
	{ "Timer", "app::Window", NULL, NULL, NULL, 0, "Timer to app::Window" },
	{ "12", "Handler", NULL, NULL, NULL, 0, "#12 to Handler" },
	{ "-12", NULL, NULL, NULL, NULL, 0, "#-12" },
	{ "-", NULL, NULL, NULL, NULL, 0, "-" },
	{ "", "Handler", NULL, NULL, NULL, 0, "to Handler" },
	{ NULL, "a::B<int>", NULL, NULL, NULL, 0, "to a::B<…>" },
	{ NULL, NULL, "on_timer", NULL, NULL, 0, "on_timer()" },
	{ NULL, NULL, "ns::on_read(int, char*)", NULL, "tcp a->b", 0, "ns::on_read(), tcp a->b" },
	{ "12", "Handler", "run", NULL, NULL, 0, "#12 to Handler, run()" },
	{ NULL, NULL, "paint", "frame clock", NULL, 0, "paint() of frame clock" },
	{ NULL, NULL, NULL, "frame clock", NULL, 0, "source frame clock" },
	{ NULL, NULL, NULL, NULL, "eventfd 12", 1, "eventfd 12" },
	{ NULL, NULL, NULL, NULL, "eventfd 12", 5, "5 ready, first eventfd 12" },
	{ NULL, NULL, NULL, NULL, NULL, 5, "5 ready" },
	{ NULL, NULL, NULL, NULL, NULL, 1, "" },
	{ NULL, NULL, NULL, NULL, NULL, 0, "" },
};

/* The phrase of the record's message. */
static void add_phrase(struct strbuf *sb, const struct message *m)
{
	const struct jank_rec_message raw = { .mark = 0 };
	struct block *block = fixture__bare();

	message_fixture__set(block, &raw, m);
	message__add_phrase(sb, fixture__record(block)->block->message);
	block__free(block);
}

static void test_phrases(void)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
		const struct message m = {
			.what = phrases[i].what,
			.handler.symbol = phrases[i].handler,
			.callback.symbol = phrases[i].callback,
			.callback.module = phrases[i].callback ? "/lib/x.so" : NULL,
			.source.symbol = phrases[i].source,
			.fd.fd = phrases[i].target ? 7 : -1,
			.fd.target = phrases[i].target,
			.ready_cnt = phrases[i].ready_cnt,
		};

		strbuf__reset(&sb);
		add_phrase(&sb, &m);
		is_str(strbuf__str(&sb), phrases[i].want, "%s", phrases[i].want);
	}
	strbuf__reset(&sb);
	message__add_phrase(&sb, NULL);
	is_str(strbuf__str(&sb), "", "no message, no words");
	strbuf__free(&sb);
}

static void test_bare(void)
{
	struct message m = { .fd.fd = 7 };
	struct strbuf sb = STRBUF_INIT;

	add_phrase(&sb, &m);
	is_str(strbuf__str(&sb), "fd 7", "a descriptor with an unknown target");
	m.callback.module = "/usr/lib/libx.so";
	m.callback.offset = 0x1234;
	strbuf__reset(&sb);
	add_phrase(&sb, &m);
	is_str(strbuf__str(&sb), "libx.so+0x1234, fd 7", "a callback without a name");
	strbuf__free(&sb);
}

static const struct {
	uint32_t events;
	const char *want;
} events[] = {
	{ 0x1, "in" },
	{ 0x2019, "in|err|hup|rdhup" },
	{ 0x4, "out" },
	{ 0x80000000, "0x80000000" },
	{ 0x80000005, "in|out|0x80000000" },
	{ 0, "" },
};

static void test_events(void)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		strbuf__reset(&sb);
		message__add_events(&sb, events[i].events);
		is_str(strbuf__str(&sb), events[i].want, "events %x", events[i].events);
	}
	strbuf__free(&sb);
}

int main(void)
{
	test_phrases();
	test_bare();
	test_events();
	return tap__done();
}
