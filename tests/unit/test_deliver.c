/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that delivers records: messages, and what the tracer does when the process dies or
 * answers what it must not. The test is also that process: it executes itself.
 */
#include "deliver/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deliver/message.h"
#include "deliver/metrics_access.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_run.h"

#define ROLE "JANK_TEST_ROLE"
#define OUT  "JANK_TEST_OUT"

static int ends[2];

static void open_ends(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
}

static void close_ends(void)
{
	close(ends[0]);
	close(ends[1]);
}

/* --- answers */

static int receive_answer(const struct answer *answer, size_t len, uint64_t nr, unsigned sink_cnt)
{
	struct answer got;
	int res;

	open_ends();
	if (send(ends[1], answer, len, 0) != (ssize_t)len)
		abort();
	shutdown(ends[1], SHUT_WR);
	res = answer__receive(ends[0], nr, sink_cnt, &got);
	close_ends();
	return res;
}

static void test_answers(void)
{
	const struct answer good = { 5, { 0, -ENOSPC }, 0 }, positive = { 5, { 1, 0 }, 0 },
			    low = { 5, { -4096, 0 }, 0 }, unused = { 5, { 0, -1 }, 0 };
	size_t all = sizeof(good);

	is_int(receive_answer(&good, all, 5, 2), 0, "an answer");
	is_int(receive_answer(&good, all, 6, 2), -EBADMSG, "the answer to another record");
	is_int(receive_answer(&good, all, 5, 1), -EBADMSG, "the result of a sink too many");
	is_int(receive_answer(&positive, all, 5, 2), -EBADMSG, "a result that is no error");
	is_int(receive_answer(&low, all, 5, 2), -EBADMSG, "a result that is no errno");
	is_int(receive_answer(&unused, all, 5, 1), -EBADMSG, "a result where there is no sink");
	is_int(receive_answer(&good, all - 1, 5, 2), -EPIPE, "a short answer");
	is_int(receive_answer(&good, 0, 5, 2), -EPIPE, "no answer");
}

static int receive_greeting(const struct greeting *greeting, struct greeting *ret)
{
	int res;

	open_ends();
	if (send(ends[1], greeting, sizeof(*greeting), 0) != sizeof(*greeting))
		abort();
	res = greeting__receive(ends[0], ret);
	close_ends();
	return res;
}

static void test_greetings(void)
{
	const struct greeting good = { .size = sizeof(good),
				       .sink_cnt = 2,
				       .names = { "text", "directory" } };
	struct greeting bad = good, got;

	is_int(receive_greeting(&good, &got), 0, "a greeting");
	bad.size++;
	is_int(receive_greeting(&bad, &got), -EBADMSG, "one of another size");
	bad = good;
	bad.sink_cnt = SINK_MAX + 1;
	is_int(receive_greeting(&bad, &got), -EBADMSG, "too many sinks");
	bad = good;
	memset(bad.names[1], 'x', SINK_NAME_MAX);
	is_int(receive_greeting(&bad, &got), -EBADMSG, "a name without an end");
	bad = good;
	memset(bad.err.msg, 'x', sizeof(bad.err.msg));
	is_int(receive_greeting(&bad, &got), -EBADMSG, "a message without an end");
	bad = good;
	strcpy(bad.err.msg, "no room");
	bad.err.exit = JANK_EXIT_OK;
	is_int(receive_greeting(&bad, &got), 0, "an error");
	is_int(got.err.exit, JANK_EXIT_FAILED, "… is never success");
}

/* --- records and setups */

static int sent_command(const void *bytes, size_t len, struct top_command *ret)
{
	int fds[2], res;

	if (pipe2(fds, O_NONBLOCK) || (len && write(fds[1], bytes, len) != (ssize_t)len))
		abort();
	res = command__receive(fds[0], ret);
	close(fds[0]);
	close(fds[1]);
	return res;
}

static void test_commands(void)
{
	struct top_command command = { TOP_THRESHOLD, 25000000 }, got = {};

	is_int(sent_command(&command, sizeof(command), &got), 0, "a threshold is taken");
	is_uint(got.threshold_ns, 25000000, "as it was sent");
	is_int(sent_command(NULL, 0, &got), -EAGAIN, "no command");
	is_int(sent_command(&command, sizeof(command) - 1, &got), -EBADMSG, "a torn one");
	command.threshold_ns = 0;
	is_int(sent_command(&command, sizeof(command), &got), -EBADMSG, "a threshold of 0");
	command = (struct top_command){ .kind = 77 };
	is_int(sent_command(&command, sizeof(command), &got), -EBADMSG, "an unknown kind");
	command.kind = TOP_END;
	is_int(sent_command(&command, sizeof(command), &got), 0, "the end is taken");
}

static void test_records(void)
{
	struct message_head head = { 1, MESSAGE_MAX + 1 };
	struct strbuf sb = STRBUF_INIT;
	uint64_t nr;

	open_ends();
	is_int(message__send(ends[0], 9, "abc", 3), 0, "a message is sent");
	is_int(message__receive_record(ends[1], &nr, &sb), 0, "… and received");
	ok(nr == 9 && sb.len == 3 && !memcmp(sb.data, "abc", 3), "… unchanged");
	is_int(message__send(ends[0], 1, "", MESSAGE_MAX + 1ul), -EMSGSIZE, "one that is too long");
	if (send(ends[0], &head, sizeof(head), 0) != sizeof(head))
		abort();
	is_int(message__receive_record(ends[1], &nr, &sb), -EBADMSG, "a length that is too long");
	head.size = 10;
	if (send(ends[0], &head, sizeof(head), 0) != sizeof(head))
		abort();
	shutdown(ends[0], SHUT_WR);
	is_int(message__receive_record(ends[1], &nr, &sb), -EPIPE, "an end within a message");
	close_ends();
	strbuf__free(&sb);
}

static void test_setup(void)
{
	const struct options opts = { .format = FORMAT_JSON,
				      .verbosity = -1,
				      .keep_ns = 5,
				      .max_size = 6,
				      .output_dir = "/a dir",
				      .qualifier = "q",
				      .journal = "run.jnl",
				      .metrics_listen = "[::1]:1" };
	const struct metrics_access access = { "cert", "key", "user", "secret" };
	struct metrics_access got_access;
	struct strbuf sb = STRBUF_INIT;
	struct options got;

	setup__pack(&opts, &access, &sb);
	is_int(setup__unpack(&sb, &got, &got_access), 0, "a setup");
	ok(got.format == FORMAT_JSON && got.verbosity == -1 && got.keep_ns == 5 &&
		   got.max_size == 6,
	   "… has the numbers");
	is_str(got.output_dir, "/a dir", "… the directory");
	is_str(got.qualifier, "q", "… and the qualifier");
	is_str(got.metrics_access->cert, "cert", "… the certificate");
	is_str(got.metrics_access->key, "key", "… its key");
	is_str(got.metrics_access->user, "user", "… the user of the metrics");
	is_str(got.metrics_access->password, "secret", "… and the password");
	is_str(got.journal, "run.jnl", "… and the journal");
	setup__forget_journal(&sb);
	is_int(setup__unpack(&sb, &got, &got_access), 0,
	       "the setup of a process that is started again");
	is_str(got.journal, NULL, "… has no journal");
	is_str(got.metrics_listen, "[::1]:1", "… but what comes after it");
	for (size_t len = 0, all = sb.len; len < all; len++) {
		sb.len = len;
		if (setup__unpack(&sb, &got, &got_access) != -EBADMSG)
			ok(false, "a setup of %zu bytes is refused", len);
	}
	strbuf__free(&sb);
}

/* --- the process: its roles, and the tracer */

static void greet(void)
{
	const struct greeting greeting = { .size = sizeof(greeting),
					   .sink_cnt = 1,
					   .names = { "role" } };
	struct strbuf sb = STRBUF_INIT;
	uint64_t nr;

	message__receive_record(0, &nr, &sb);
	message__send_answer(0, &greeting, sizeof(greeting));
}

static int play(const char *role)
{
	struct strbuf sb = STRBUF_INIT;
	struct answer answer = {};
	bool first = mkdir(getenv(OUT), 0700) == 0;

	if (!strcmp(role, "absent"))
		return 3;
	greet();
	while (!message__receive_record(0, &answer.nr, &sb)) {
		if (!strcmp(role, "dies") || (!strcmp(role, "dies once") && first))
			return 4;
		answer.nr += !strcmp(role, "lies");
		answer.results[0] = -ENOSPC;
		for (int i = strcmp(role, "floods") ? 1 : 1000; i; i--)
			message__send_answer(0, &answer, sizeof(answer));
	}
	return 0;
}

static struct deliver *start(const char *role, int want)
{
	static const struct options opts = { .format = FORMAT_JSON };
	struct deliver *d = NULL;
	struct err err;

	setenv(ROLE, role, 1);
	setenv(OUT, scratch__path(role), 1);
	is_int(deliver__start(&opts, &d, &err), 0, "%s: is started", role);
	is_int(deliver__open(d, &err), want, "%s: the greeting", role);
	if (want)
		has_str(err.msg, "ended at its start (exit status 3)", "%s: the message", role);
	return d;
}

static int record(struct deliver *d, int *ret)
{
	int results[SINK_MAX] = { 1 }, res;
	struct block *block = fixture__bare();

	res = deliver__record(d, fixture__record(block), results);
	block__free(block);
	*ret = results[0];
	return res;
}

static void test_dies(const char *role, const char *how)
{
	struct deliver *d = start(role, 0);
	struct err err;
	int result;

	ok(!deliver__failure(d, &err), "%s: no failure yet", role);
	is_int(record(d, &result), -ECHILD, "%s: the record cannot be delivered", role);
	ok(deliver__failure(d, &err), "%s: the run fails", role);
	has_str(err.msg, "5 times in a row", "%s: after some tries", role);
	has_str(err.msg, how, "%s: with the reason", role);
	is_uint(deliver__restart_cnt(d), 4, "%s: the restarts are counted", role);
	is_int(record(d, &result), -ECHILD, "%s: later ones neither", role);
	deliver__free(d);
}

static void test_survives(const char *role, unsigned restarts)
{
	struct deliver *d = start(role, 0);
	struct err err;
	int result;

	is_uint(deliver__sink_cnt(d), 1, "%s: its sinks", role);
	is_str(deliver__sink_name(d, 0), "role", "%s: their names", role);
	for (int i = 0; i < 3; i++) {
		is_int(record(d, &result), 0, "%s: a record is delivered", role);
		is_int(result, -ENOSPC, "%s: its result", role);
	}
	is_uint(deliver__restart_cnt(d), restarts, "%s: restarts", role);
	ok(!deliver__failure(d, &err), "%s: no failure", role);
	deliver__free(d);
}

/* The real one: its descriptors, identity and system calls are those of tests/live/deliver.t. */
static void test_real(void)
{
	struct deliver *d = start("real", 0);
	struct strbuf out = STRBUF_INIT;
	int result;

	is_str(deliver__sink_name(d, 0), "stdout", "the real one: its sink");
	is_int(record(d, &result), 0, "the real one: a record");
	is_int(result, 0, "… is written");
	deliver__free(d);
	slurp(scratch__path("real"), &out);
	ok(out.len > 100 && out.data[out.len - 1] == '\n' && strstr(out.data, "\"type\":\"block\""),
	   "… as a line");
	strbuf__free(&out);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], DELIVER_WORD)) {
		if (strcmp(getenv(ROLE), "real"))
			_exit(play(getenv(ROLE)));
		if (!freopen(getenv(OUT), "w", stdout))
			abort();
		return deliver__main(false);
	}
	scratch__init();
	ignore_signals();
	test_answers();
	test_greetings();
	test_commands();
	test_records();
	test_setup();
	deliver__free(start("absent", -EPIPE));
	test_dies("dies", "exit status 4");
	test_dies("lies", "killed by signal 9");
	test_survives("dies once", 1);
	test_survives("floods", 2);
	test_real();
	return tap__done();
}
