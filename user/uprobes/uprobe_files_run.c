/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thread that follows all processes. Files belong to the traced programs and may be on slow disks,
 * and a uprobe waits for the kernel's grace periods. No other thread should wait for either.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "files/proc.h"
#include "uprobes/uprobe_table.h"

#define LINGER_NS (5 * NS_PER_SEC) /* programs and their libraries often end and start again */
#define TICK_MS	  1000
/*
 * A new program makes its records within a millisecond. To attach a uprobe takes ten times as long.
 */
#define GATHER_NS NS_PER_MS

int uprobe_files__new(const struct uprobe_programs *progs, struct uprobe_files **ret,
		      struct err *err)
{
	struct uprobe_files *files = calloc(1, sizeof(*files));
	int res;

	if (files)
		files->reaper = reaper__new();
	if (!files || !files->reaper) {
		free(files);
		return err__set(err, ENOMEM, "out of memory");
	}
	pthread_mutex_init(&files->lock, NULL);
	files->wake_fd = -1;
	files->progs = *progs;
	files->wants = uprobe_programs__wants(progs);
	files->ops = uprobe_files__ops(files);
	res = mmaps__new(&files->ops, &files->mmaps, err);
	if (!res) {
		res = mmaps__scan(&files->ops);
		if (res)
			err__set(err, -res, "cannot read /proc: %s", strerror(-res));
	}
	if (res) {
		uprobe_files__free(files);
		return res;
	}
	*ret = files;
	return 0;
}

static void stop(struct uprobe_files *files)
{
	if (files->started) {
		files->stops = true;
		eventfd_write(files->wake_fd, 1);
		pthread_join(files->thread, NULL);
	}
	if (files->wake_fd >= 0)
		close(files->wake_fd);
}

void uprobe_files__free(struct uprobe_files *files)
{
	if (!files)
		return;
	stop(files);
	reaper__free(files->reaper);
	uprobe_table__free(&files->table);
	mmaps__free(files->mmaps);
	uprobe_files__forget_busy(files);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

int uprobe_files__fd(const struct uprobe_files *files)
{
	return mmaps__fd(files->mmaps);
}

/* Publishes the statistics for other threads. */
static void show_stats(struct uprobe_files *files)
{
	files->stats.file_cnt = files->table.probed_cnt;
	files->stats.link_cnt = files->table.link_cnt;
	files->stats.process_cnt = HASH_COUNT(files->table.users);
	pthread_mutex_lock(&files->lock);
	files->shown = files->stats;
	pthread_mutex_unlock(&files->lock);
}

struct uprobe_files_stats uprobe_files__stats(struct uprobe_files *files)
{
	struct uprobe_files_stats stats;

	if (!files->started)
		show_stats(files);
	pthread_mutex_lock(&files->lock);
	stats = files->shown;
	pthread_mutex_unlock(&files->lock);
	return stats;
}

void uprobe_files__consume(struct uprobe_files *files)
{
	mmaps__consume(files->mmaps);
}

/*
 * The end of the main thread is reported slightly before /proc shows it, so the first tick does not
 * count.
 */
static bool has_ended(struct probed_user *user)
{
	return user->gone_cnt && user->gone_cnt++ > 1 &&
	       live_tid__thread("/proc", (uint32_t)user->pid) == (uint32_t)user->pid;
}

/* all: check every process, since exit records may have been lost. */
static void drop_ended(struct uprobe_files *files, bool all)
{
	struct probed_user *user, *next;
	uint64_t now_ns = clock__mono_ns();

	HASH_ITER (hh, files->table.users, user, next) {
		if (has_ended(user) || (all && !proc__exists(user->pid)))
			uprobe_table__drop_user(&files->table, user, now_ns);
	}
}

static void detach_idle(struct uprobe_files *files)
{
	struct held_link *links = NULL;
	size_t cnt = uprobe_table__take_idle(&files->table, clock__mono_ns() - LINGER_NS, &links);

	reaper__take(files->reaper, links, cnt);
}

void uprobe_files__tick(struct uprobe_files *files)
{
	bool all = files->scan_due;

	files->scan_due = false;
	drop_ended(files, all);
	if (all)
		mmaps__scan(&files->ops);
	if (!reaper__is_busy(files->reaper))
		detach_idle(files);
	if (!reaper__is_busy(files->reaper))
		uprobe_files__follow_busy(files);
}

/* A machine that starts programs all the time costs some percent of a CPU here. */
void uprobe_files__rest(struct uprobe_files *files, bool rest)
{
	files->rests = rest;
}

static void *run(void *arg)
{
	struct uprobe_files *files = arg;
	struct pollfd fds[] = { { uprobe_files__fd(files), POLLIN, 0 },
				{ files->wake_fd, POLLIN, 0 } };
	const struct timespec gather = { .tv_nsec = GATHER_NS };
	uint64_t ticked_ns = clock__mono_ns();
	eventfd_t woken;

	for (;;) {
		uint64_t now_ns;

		fds[0].events = files->rests ? 0 : POLLIN;
		poll(fds, 2, TICK_MS);
		if (files->stops)
			return NULL;
		if (fds[1].revents && !eventfd_read(files->wake_fd, &woken) &&
		    !reaper__is_busy(files->reaper))
			uprobe_files__follow_busy(files);
		if (files->rests) {
			files->scan_due = true; /* what comes meanwhile is lost */
			/* a pause of marks only notes the process: take them off here */
			if (!reaper__is_busy(files->reaper))
				uprobe_files__follow_busy(files);
			continue;
		}
		if (fds[0].revents) {
			clock_nanosleep(CLOCK_MONOTONIC, 0, &gather, NULL);
			uprobe_files__consume(files);
		}
		now_ns = clock__mono_ns();
		if (now_ns - ticked_ns >= TICK_MS * NS_PER_MS) {
			uprobe_files__tick(files);
			ticked_ns = now_ns;
		}
		show_stats(files);
	}
}

int uprobe_files__start(struct uprobe_files *files, struct err *err)
{
	int res;

	show_stats(files);
	files->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	res = files->wake_fd < 0 ? -errno
				 : thread__start(&files->thread, "jankbpf-probes", run, files);
	files->started = !res;
	return res ? err__set(err, -res, "cannot start a thread: %s", strerror(-res)) : 0;
}
