/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a loop's scenarios play with: partner threads and processes, pipes, sockets, files. Each loop
 * has its own stage, so that loops never wait for each other.
 */
#ifndef SIMJANK_STAGE_H
#define SIMJANK_STAGE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAGE_HOG_MAX	 64
#define STAGE_HELPER_MAX (STAGE_HOG_MAX + 1)
#define STAGE_BUFFER_SZ	 (1u << 20)
#define STAGE_DISK_SZ	 (8u << 20)
#define STAGE_COLD_SZ	 (16u << 20)

struct stage;

/* A thread that ends a handler's wait, late, when it is asked to. */
struct partner {
	const char *name;
	void (*act)(struct stage *stage, struct partner *partner);
	struct stage *stage;
	sem_t go, ready;
	uint64_t end_ns;
	int fd;
};

enum {
	PARTNER_HOLDER,
	PARTNER_SIGNALLER,
	PARTNER_WRITER,
	PARTNER_ANSWERER,
	PARTNER_PAGER,
	PARTNER_READER,
	PARTNER_CNT
};

/* What is shared with the helper processes. */
struct stage_shared {
	uint32_t stop_asked, stop_done;
};

struct stage {
	unsigned needs, hog_cnt;
	const char *dir;
	struct partner partners[PARTNER_CNT];
	pthread_mutex_t mutex;
	pthread_mutex_t cond_mutex;
	pthread_cond_t cond;
	bool signalled;
	int pipe_fds[2], unix_fds[2], tcp_fds[2];
	int nested_epfd;
	int zero_fd;
	char *buffer;
	int disk_fd, dsync_fd;
	int reader_fd;
	char *reader_buffer;
	uint64_t disk_at;
	int cold_fd;
	volatile char *cold;
	uint64_t cold_at;
	int uffd;
	volatile char *missing;
	int hog_fds[2], continuer_fds[2];
	struct stage_shared *shared;
	pid_t helpers[STAGE_HELPER_MAX];
	size_t helper_cnt;
};

/* The helper processes: before the program has a second thread. -errno, and *what failed. */
int stage__fork(struct stage *stage, const char **what);

/* Ends the helper processes. */
void stage__kill(struct stage *stage);

/* The rest: threads, descriptors, files. -errno, and *what failed. */
int stage__open(struct stage *stage, const char **what);

/* The partner will end at end_ns the wait that it stands for; fd: where it writes, if it does. */
void stage__ask(struct stage *stage, int partner, uint64_t end_ns, int fd);

/* The hogs spin on this CPU until end_ns. */
void stage__set_hogs(struct stage *stage, int cpu, uint64_t end_ns);

/* SIGCONT comes at end_ns, and again until stage__continued is called. */
void stage__ask_continue(struct stage *stage, uint64_t end_ns);
void stage__continued(struct stage *stage);

#ifdef __cplusplus
}
#endif
#endif
