/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resources of a loop's scenarios: partner threads and processes, pipes, sockets, files,
 * cgroups. Each loop has its own fixture, so that loops never wait for each other.
 */
#ifndef SIMJANK_FIXTURE_H
#define SIMJANK_FIXTURE_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "simjank_actors.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STAGE_HOG_MAX	 64
#define STAGE_CROWD_MAX	 64
#define STAGE_HELPER_MAX (STAGE_HOG_MAX + STAGE_CROWD_MAX + 4)
#define STAGE_BUFFER_SZ	 (1u << 20)
#define STAGE_DISK_SZ	 (8u << 20)
#define STAGE_COLD_SZ	 (16u << 20)
#define STAGE_SWAPPED_SZ (48u << 20)
#define STAGE_PATH_SZ	 96 /* with a file's name below it fits into sockaddr_un */
#define STAGE_NAME_SZ	 32
#define STAGE_LACK_MAX	 24

struct fixture;

/* A thread that ends a handler's wait, late, on request. */
struct partner {
	const char *name;
	void (*act)(struct fixture *stage, struct partner *partner);
	void (*work)(struct fixture *stage, uint64_t end_ns); /* its activity until then */
	struct fixture *stage;
	sem_t go, ready;
	uint64_t end_ns;
	int fd;
	int err; /* of its start */
};

enum {
	PARTNER_HOLDER,
	PARTNER_LOWLY,
	PARTNER_SIGNALLER,
	PARTNER_WRITER,
	PARTNER_ANSWERER,
	PARTNER_PAGER,
	PARTNER_READER,
	PARTNER_RWHOLDER,
	PARTNER_POSTER,
	PARTNER_RESOLVER,
	PARTNER_CNT
};

/* Memory shared with the helper processes. */
struct fixture_shared {
	uint32_t stop_asked, stop_done;
	sem_t answer; /* of a helper with one for a request */
	int err;      /* the reply */
};

/* A part of the fixture that could not be made, with the reason. */
struct lack {
	unsigned needs; /* scenarios that need it; 0: all */
	const char *what;
	int err;
};

struct fixture {
	unsigned needs, index, hog_cnt, crowd_cnt;
	char name[STAGE_NAME_SZ]; /* of its own directory, and of its cgroups */
	char path[STAGE_PATH_SZ]; /* of that directory */
	struct actors cast;
	struct lack lacks[STAGE_LACK_MAX];
	size_t lack_cnt;
	struct partner partners[PARTNER_CNT];
	pthread_mutex_t mutex;
	pthread_mutex_t cond_mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	sem_t sem;
	bool signalled;
	int pipe_fds[2], unix_fds[2], tcp_fds[2];
	int nested_epfd;
	int event_fd;
	int zero_fd;
	char *buffer;
	int disk_fd, dsync_fd;
	int reader_fd;
	char *reader_buffer;
	uint64_t disk_at;
	int cold_fd;
	volatile char *cold;
	uint64_t cold_at;
	int slow_fd, slow_rate_fds[2];
	dev_t slow_dev;
	volatile char *slow;
	uint64_t slow_at;
	int quota_fd;
	volatile char *swapped;
	uint64_t swapped_at;
	int much_fd;
	uint64_t much_at;
	int uffd;
	volatile char *missing;
	int hog_fds[2], crowd_fds[2], rt_hog_fds[2], continuer_fds[2], locker_fds[2];
	int listen_fds[2], server_fds[2]; /* unix, TCP */
	int lock_fd;
	int backlog_fd;
	uint16_t backlog_port;
	int lowly_cpu;
	bool bound; /* bound to one CPU; its former affinity: */
	cpu_set_t unbound;
	int resolver_fd, query_fd;
	struct fixture_shared *shared;
	pid_t helpers[STAGE_HELPER_MAX];
	size_t helper_cnt;
};

/*
 * Makes the directory and the helper processes, before the program has a second thread. Returns 0
 * or -errno, with *what failed. stage->lacks lists what only some scenarios need and could not be
 * made.
 */
int fixture__fork(struct fixture *stage, const char *dir, const char **what);

/* Ends the helper processes. */
void fixture__kill(struct fixture *stage);

/* Makes the rest in the same way: threads, descriptors, files. */
int fixture__open(struct fixture *stage, const char **what);

/*
 * Moves the loop's thread into the cgroups that limit it. Called by that thread. Returns 0 or
 * -errno.
 */
int fixture__enter(struct fixture *stage);

/* The partner will end its wait at end_ns; fd: where it writes, if it does. */
void fixture__ask(struct fixture *stage, int partner, uint64_t end_ns, int fd);

/* The same, with this activity until then. */
void fixture__ask_work(struct fixture *stage, int partner, uint64_t end_ns,
		       void (*work)(struct fixture *stage, uint64_t end_ns));

/* The hogs spin on this CPU until end_ns. The crowd spins on all CPUs, the rt-hog on this one. */
void fixture__set_hogs(struct fixture *stage, int cpu, uint64_t end_ns);
void fixture__set_crowd(struct fixture *stage, uint64_t end_ns);
void fixture__set_rt_hog(struct fixture *stage, int cpu, uint64_t end_ns);

/* When this returns, the process `locker` has the file's lock, until end_ns. */
void fixture__ask_locker(struct fixture *stage, uint64_t end_ns);

/* SIGCONT is sent at end_ns, and repeated until fixture__continued is called. */
void fixture__ask_continue(struct fixture *stage, uint64_t end_ns);
void fixture__continued(struct fixture *stage);

#ifdef __cplusplus
}
#endif
#endif
