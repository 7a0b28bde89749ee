/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fixture: the order in which its parts are opened, and the handling of those that cannot be.
 */
#include "simjank_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simjank_cgroup.h"
#include "simjank_cleanup.h"
#include "simjank_files.h"
#include "simjank_helpers.h"
#include "simjank_memory.h"
#include "simjank_partners.h"
#include "simjank_scenario.h"
#include "simjank_server.h"
#include "simjank_slow.h"
#include "simjank_sockets.h"

struct part {
	const char *what;
	unsigned needs; /* the part is for any of these; 0: always */
	int (*open)(struct fixture *stage);
};

/* A part that only some scenarios need is recorded as lacking, and no more is made for them. */
static int part__open(struct fixture *stage, const struct part *part)
{
	unsigned needs = stage->needs & part->needs;
	int err;

	if (part->needs && !needs)
		return 0;
	err = part->open(stage);
	if (!err || !part->needs || stage->lack_cnt == STAGE_LACK_MAX)
		return err;
	stage->needs &= ~needs;
	stage->lacks[stage->lack_cnt++] = (struct lack){ needs, part->what, err };
	return 0;
}

static int breakdown__open(struct fixture *stage, const struct part *parts, size_t cnt,
			   const char **what)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		*what = parts[i].what;
		err = part__open(stage, &parts[i]);
	}
	return err;
}

static int fixture__make_dir(struct fixture *stage)
{
	return mkdir(stage->path, 0700) ? -errno : 0;
}

int fixture__fork(struct fixture *stage, const char *dir, const char **what)
{
	static const struct part parts[] = {
		{ "memory for helper processes", 0, helpers__open_shared },
		{ "a directory for files and sockets (see --dir)", NEEDS_TIDYING,
		  fixture__make_dir },
		{ "a CPU quota, by a cpu cgroup of version 1", NEED_QUOTA, cgroup__make_quota },
		{ "processes that hog a CPU", NEED_HOGS, helpers__fork_hogs },
		{ "processes that crowd all CPUs", NEED_CROWD, helpers__fork_crowd },
		{ "a process of SCHED_FIFO", NEED_RT_HOG, helpers__fork_rt_hog },
		{ "a process that sends SIGCONT", NEED_CONTINUER, helpers__fork_continuer },
		{ "a process that locks a file", NEED_LOCKER, helpers__fork_locker },
		{ "a server process", NEED_SERVER, helpers__fork_server },
	};

	cleanup__name(stage->name, sizeof(stage->name), getpid(), stage->index);
	*what = "--dir: its path";
	if (snprintf(stage->path, sizeof(stage->path), "%s/%s", dir, stage->name) >=
	    (int)sizeof(stage->path))
		return -ENAMETOOLONG;
	return breakdown__open(stage, parts, sizeof(parts) / sizeof(parts[0]), what);
}

static int fixture__init_locks(struct fixture *stage)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&stage->mutex, NULL);
	pthread_mutex_init(&stage->cond_mutex, NULL);
	pthread_rwlock_init(&stage->rwlock, NULL);
	sem_init(&stage->sem, 0, 0);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&stage->cond, &attr);
	actors__add(&stage->cast, "joined", getpid(), 0);
	actors__add(&stage->cast, "child", 0, 0);
	return 0;
}

int fixture__open(struct fixture *stage, const char **what)
{
	static const struct part parts[] = {
		{ "locks", 0, fixture__init_locks },
		{ "a memory cgroup of version 1", NEED_MEMORY, memory__enter },
		{ "a buffer", 0, files__open_buffer },
		{ "pipes and sockets", 0, sockets__open },
		{ "a TCP connection", NEED_ANSWERER, sockets__open_tcp },
		{ "a full backlog", NEED_BACKLOG, sockets__open_backlog },
		{ "port 53 of an address in 127.0.0.0/8", NEED_RESOLVER, sockets__open_resolver },
		{ "a connection to the server process", NEED_SERVER, server__connect },
		{ "a file to write to (see --dir)", NEED_DISK, files__open_disk },
		{ "a file to map (see --dir)", NEED_COLD, files__open_cold },
		{ "a file to read from (see --dir)", NEED_READER, files__open_reader },
		{ "a file to lock (see --dir)", NEED_LOCKER, files__open_lock },
		{ "a slow disk, by a blkio cgroup of version 1", NEED_SLOW, slow__open },
		{ "userfaultfd", NEED_PAGER, files__open_missing },
		{ "a swap file (see --dir)", NEED_SWAP, memory__open_swap },
		{ "threads", 0, partners__open },
		{ "a limit on memory", NEED_MEMORY, memory__limit },
	};

	return breakdown__open(stage, parts, sizeof(parts) / sizeof(parts[0]), what);
}

int fixture__enter(struct fixture *stage)
{
	int err = 0;

	if (stage->needs & NEED_SLOW)
		err = slow__enter(stage);
	return err ? err : cgroup__enter_quota(stage);
}
