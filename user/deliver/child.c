/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that delivers records: one thread, which ends when its socket does. */
#include "deliver/deliver.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own_process.h"
#include "base/thread.h"
#include "deliver/deliver_confine.h"
#include "deliver/message.h"
#include "deliver/metrics_access.h"
#include "deliver/metrics_http.h"
#include "journal/journal.h"

#define ORPHAN_S 2 /* after the tracer's death a slow reader of stdout has this long */

struct child {
	struct options opts;	      /* strings: of setup */
	struct metrics_access access; /* likewise */
	struct strbuf setup;
	struct sinks sinks;
	struct sink_progress *progress;
	int journal_fd; /* for the tracer; -1: none */
};

/* Also sent when the thread that started us ends: at the run's end, with all records written. */
static void on_orphaned(int sig)
{
	(void)sig;
	alarm(ORPHAN_S);
}

/* Keeps those of its kind. */
static int last_fd(enum deliver_kind kind)
{
	switch (kind) {
	case DELIVER_SCREEN:
		return DELIVER_KEYS_FD;
	case DELIVER_HTTP:
		return DELIVER_LISTEN_FD;
	case DELIVER_PLAIN:
		break;
	}
	return DELIVER_PROGRESS_FD - 1;
}

static void close_others(enum deliver_kind kind)
{
	if (kind != DELIVER_PLAIN)
		close(DELIVER_PROGRESS_FD);
	fds__close_from(last_fd(kind) + 1);
}

static int map_progress(struct sink_progress **ret, enum deliver_kind kind)
{
	void *at = mmap(NULL, SINK_MAX * sizeof(struct sink_progress), PROT_READ | PROT_WRITE,
			MAP_SHARED, DELIVER_PROGRESS_FD, 0);

	close_others(kind);
	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

/* err: for the user. */
static int open_child(struct child *child, enum deliver_kind kind, struct err *err)
{
	int res = map_progress(&child->progress, kind);
	uint64_t nr;

	if (res)
		return err__set(err, -res, "cannot map shared memory: %s", strerror(-res));
	res = message__receive_record(DELIVER_SOCKET_FD, &nr, &child->setup);
	if (!res)
		res = setup__unpack(&child->setup, &child->opts, &child->access);
	if (!res && kind == DELIVER_HTTP) /* code that the filter does not allow to load */
		res = metrics_http__load(err) ?: metrics_tls__check(&child->access, err);
	if (!res)
		res = confine__deliver(kind, &child->opts, err);
	if (res)
		return res;
	log__set_level(child->opts.verbosity);
	res = sinks__open(&child->sinks, &child->opts, child->progress, err);
	if (res || !child->opts.journal)
		return res;
	child->journal_fd = journal__create(child->opts.journal, err);
	return child->journal_fd < 0 ? child->journal_fd : 0;
}

static int greet(const struct child *child, const struct err *err)
{
	struct greeting greeting = { .size = sizeof(greeting), .sink_cnt = child->sinks.cnt };

	greeting.err = *err;
	for (unsigned i = 0; i < child->sinks.cnt; i++)
		snprintf(greeting.names[i], SINK_NAME_MAX, "%s", child->sinks.list[i]->ops->name);
	return message__send_answer(DELIVER_SOCKET_FD, &greeting, sizeof(greeting));
}

/* The tracer writes it: it has what a replay needs, of which this process gets nothing. */
static int hand_over_journal(struct child *child)
{
	int res = journal_fd__send(DELIVER_SOCKET_FD, child->journal_fd);

	close(child->journal_fd);
	return res;
}

static int wait_for_record(const struct child *child)
{
	int res = 0;

	for (unsigned i = 0; i < child->sinks.cnt && !res; i++)
		if (child->sinks.list[i]->ops->wait)
			res = child->sinks.list[i]->ops->wait(child->sinks.list[i],
							      DELIVER_SOCKET_FD);
	return res;
}

static int deliver_one(struct child *child, struct strbuf *bytes)
{
	struct answer answer = {};
	Jankbpf__Record *record;
	int res = wait_for_record(child);

	if (!res)
		res = message__receive_record(DELIVER_SOCKET_FD, &answer.nr, bytes);
	if (res)
		return res;
	record = jankbpf__record__unpack(NULL, bytes->len, (const uint8_t *)bytes->data);
	if (record)
		sinks__record(&child->sinks, record, answer.nr, answer.results);
	for (unsigned i = 0; !record && i < child->sinks.cnt; i++)
		answer.results[i] = -ENOMEM;
	answer.dropped = sinks__dropped(&child->sinks);
	if (record)
		jankbpf__record__free_unpacked(record, NULL);
	return message__send_answer(DELIVER_SOCKET_FD, &answer, sizeof(answer));
}

int deliver__main(enum deliver_kind kind)
{
	struct child child = { .journal_fd = -1 };
	struct strbuf bytes = STRBUF_INIT;
	struct err err = {};
	int res;

	if (!own_process__begin(DELIVER_SOCKET_FD)) {
		log__error("'" DELIVER_WORD "': only a trace starts this process, for its own "
			   "output; see jankbpf --help");
		return JANK_EXIT_USAGE;
	}
	signal(CONFINE_ORPHANED, on_orphaned);
	prctl(PR_SET_NAME, "jankbpf-deliver");
	res = open_child(&child, kind, &err);
	if (!res || err.msg[0])
		greet(&child, &err);
	if (!res && child.journal_fd >= 0)
		res = hand_over_journal(&child);
	while (!res)
		res = deliver_one(&child, &bytes);
	sinks__close(&child.sinks);
	strbuf__free(&child.setup);
	strbuf__free(&bytes);
	return res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
