/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf send`: what is in a spool, without a trace. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/commands.h"
#include "export/spool/spool.h"
#include "files/user_account.h"
#include "send/send.h"

/* As root: the spool's files stay its owner's. */
static int become_owner(const char *dir, struct err *err)
{
	struct user_account owner = {};
	struct stat st;
	int res;

	if (stat(dir, &st))
		return err__set(err, errno, "'%s': cannot open the spool: %s", dir,
				strerror(errno));
	if (geteuid() || !st.st_uid)
		return 0;
	owner.uid = st.st_uid;
	owner.gid = st.st_gid;
	res = user_account__take_ids(&owner);
	return res ? err__set(err, -res, "cannot become user %u, who owns '%s': %s", st.st_uid, dir,
			      strerror(-res))
		   : 0;
}

/* Of a run that was killed: its open batch is closed, so that it is sent, too. */
static void close_open_batch(const char *dir)
{
	const struct spool_opts opts = { .dir = dir, .max_bytes = UINT64_MAX };
	int dirfd = spool_dir__open_dir(dir);
	char agent[SPOOL_AGENT_SZ];
	struct spool_writer *writer;
	struct err err = {};

	if (dirfd < 0)
		return;
	if (!spool_dir__agent(dirfd, false, agent)) {
		if (!spool_writer__new(&opts, &writer, &err))
			spool_writer__free(writer);
		else
			log__verbose("%s", err.msg); /* a run goes on, and closes it itself */
	}
	close(dirfd);
}

/* Says what each backend has not. True: all have everything. */
static bool report(const struct options *opts)
{
	const struct send_names names = send__names(opts);
	struct spool_state state;
	struct err err = {};
	bool all = true;

	if (spool_state__read(opts->spool, names.list, &state, &err)) {
		log__error("%s", err.msg);
		return false;
	}
	for (size_t i = 0; i < state.backend_cnt; i++) {
		const struct spool_backend_state *b = &state.backends[i];

		printf("%s: %" PRIu64 " records sent, %" PRIu64 " refused, %" PRIu64 " left",
		       b->name, b->position.sent_records, b->position.refused_records,
		       b->unsent_records);
		if (b->position.damaged_records)
			printf(", %" PRIu64 " damaged", b->position.damaged_records);
		printf("\n");
		all &= !b->unsent_records;
	}
	if (state.dropped)
		printf("%" PRIu64 " records were dropped from the full spool\n", state.dropped);
	return all;
}

int cmd_send__run(const struct options *opts, struct err *err)
{
	const struct sender_opts sender = {
		.options = opts,
		.stop_fd = -1,
		.until_sent = true,
		.deadline_ns = opts->send_timeout_ns ? clock__mono_ns() + opts->send_timeout_ns : 0,
	};

	signal(SIGPIPE, SIG_IGN);
	if (become_owner(opts->spool, err))
		return JANK_EXIT_FAILED;
	close_open_batch(opts->spool);
	if (sender__run(&sender, err))
		return JANK_EXIT_FAILED;
	if (report(opts))
		return JANK_EXIT_OK;
	err__set(err, EIO, "'%s': not all records are sent: send them later by the same command",
		 opts->spool);
	return JANK_EXIT_FAILED;
}
