/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker thread: a table of processes, and one request at a time. See broker.h. */
#include "files/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/socket.h"
#include "base/thread.h"
#include "files/apart.h"
#include "files/broker_file.h"
#include "files/broker_request.h"
#include "files/file.h"
#include "files/proc.h"

#define TIDS_MAX 4096 /* threads of a process that are searched for a number */

/* The process waits for each answer, which takes microseconds of CPU. */
#define BROKER_NICE (-10)

/* A process that may be asked about, or a live thread that stands for it. */
struct known {
	uint32_t tid, pid;
	UT_hash_handle hh;
};

struct file_key {
	uint64_t dev, inode;
};

struct refused {
	struct file_key file;
	UT_hash_handle hh;
};

struct broker {
	struct broker_fetch fetch;
	pthread_t thread;
	int wake_fd; /* eventfd: a new socket, or the end */
	/* The lock guards what follows. */
	pthread_mutex_t lock;
	struct known *known;
	struct refused *refused; /* not bounded: each took two ends of the process */
	int sock;		 /* -1: none */
	int offered_fd;		 /* borrowed; -1: none */
	bool ends;
};

/* --- which requests are allowed */

static struct known *find(const struct broker *broker, uint32_t tid)
{
	struct known *ret;

	HASH_FIND(hh, broker->known, &tid, sizeof(tid), ret);
	return ret;
}

static bool knows(struct broker *broker, uint32_t tid)
{
	bool ret;

	pthread_mutex_lock(&broker->lock);
	ret = find(broker, tid);
	pthread_mutex_unlock(&broker->lock);
	return ret;
}

static int add(struct broker *broker, uint32_t tid, uint32_t pid)
{
	struct known *known = find(broker, tid);

	if (known)
		return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	*known = (struct known){ .tid = tid, .pid = pid };
	HASH_ADD(hh, broker->known, tid, sizeof(known->tid), known);
	return known ? 0 : -ENOMEM;
}

int broker__allow(struct broker *broker, uint32_t pid)
{
	int res;

	pthread_mutex_lock(&broker->lock);
	res = add(broker, pid, pid);
	pthread_mutex_unlock(&broker->lock);
	return res;
}

void broker__forbid(struct broker *broker, uint32_t pid)
{
	struct known *known, *next;

	pthread_mutex_lock(&broker->lock);
	HASH_ITER (hh, broker->known, known, next) {
		if (known->pid != pid)
			continue;
		HASH_DEL(broker->known, known);
		free(known);
	}
	pthread_mutex_unlock(&broker->lock);
}

static struct refused *find_refused(const struct broker *broker, uint64_t dev, uint64_t inode)
{
	const struct file_key key = { dev, inode };
	struct refused *ret;

	HASH_FIND(hh, broker->refused, &key, sizeof(key), ret);
	return ret;
}

static void add_refused(struct broker *broker, uint64_t dev, uint64_t inode)
{
	struct refused *refused = calloc(1, sizeof(*refused));

	if (!refused)
		return; /* the next end of the process tries again */
	refused->file = (struct file_key){ dev, inode };
	HASH_ADD(hh, broker->refused, file, sizeof(refused->file), refused);
}

void broker__refuse(struct broker *broker, uint64_t dev, uint64_t inode)
{
	pthread_mutex_lock(&broker->lock);
	if (!find_refused(broker, dev, inode))
		add_refused(broker, dev, inode);
	pthread_mutex_unlock(&broker->lock);
}

static bool is_refused(struct broker *broker, const struct stat *st)
{
	bool ret;

	pthread_mutex_lock(&broker->lock);
	ret = find_refused(broker, st->st_dev, st->st_ino);
	pthread_mutex_unlock(&broker->lock);
	return ret;
}

int broker__offer(struct broker *broker, int fd)
{
	struct stat st;

	if (fd >= 0 && !apart__stat(fd, &st) && is_refused(broker, &st))
		return -EACCES;
	pthread_mutex_lock(&broker->lock);
	broker->offered_fd = fd;
	pthread_mutex_unlock(&broker->lock);
	return 0;
}

/* True for "/proc/PID/REST" of a process in the table; *ret_rest is REST. */
static bool is_of_known(struct broker *broker, const char *path, const char **ret_rest,
			uint32_t *ret_pid)
{
	int end = 0;

	if (sscanf(path, "/proc/%" SCNu32 "/%n", ret_pid, &end) != 1 || !end)
		return false;
	*ret_rest = path + end;
	return knows(broker, *ret_pid);
}

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(text, *list))
			return true;
	return false;
}

/* A note of the kernel or of one of its modules: "/sys/module/NAME/notes/NOTE". */
static bool is_kernel_note(const char *path)
{
	static const char module[] = "/sys/module/";
	const char *name = path + strlen(module);
	size_t len;

	if (!strcmp(path, "/sys/kernel/notes"))
		return true;
	if (strncmp(path, module, strlen(module)))
		return false;
	len = strcspn(name, "/");
	return len && name[0] != '.' && !strcmp(name + len, "/notes/.note.gnu.build-id");
}

static bool may_read_own(struct broker *broker, const char *path)
{
	static const char *const of_process[] = { "maps", "stat", "status", NULL };
	const char *rest;
	uint32_t pid;

	if (!strcmp(path, "/proc/kallsyms") || is_kernel_note(path))
		return true;
	return is_of_known(broker, path, &rest, &pid) && is_one_of(rest, of_process);
}

/* Only files that the process has mapped, or its program. */
static bool may_follow(struct broker *broker, const char *path)
{
	const char *rest;
	uint64_t start, end;
	uint32_t pid;
	int len = 0;

	if (!is_of_known(broker, path, &rest, &pid))
		return false;
	return !strcmp(rest, "exe") ||
	       (sscanf(rest, "map_files/%" SCNx64 "-%" SCNx64 "%n", &start, &end, &len) == 2 &&
		!rest[len]);
}

/* --- operations */

static int open_own(struct broker *broker, const char *path)
{
	int fd;

	if (!may_read_own(broker, path))
		return -EACCES;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns a duplicate of the offered descriptor, or -errno. */
static int open_offered(struct broker *broker, struct stat *st)
{
	int fd, res;

	pthread_mutex_lock(&broker->lock);
	fd = fcntl(broker->offered_fd, F_DUPFD_CLOEXEC, 0); /* EBADF: none is offered */
	fd = fd < 0 ? -errno : fd;
	pthread_mutex_unlock(&broker->lock);
	res = fd < 0 ? fd : apart__stat(fd, st);
	if (!res)
		return fd;
	if (fd >= 0)
		close(fd);
	return res;
}

static int open_named(struct broker *broker, const struct broker_request *req, const char *path,
		      const char *root, struct stat *st)
{
	const char *rest;
	uint32_t pid;

	if (req->op == BROKER_PATH)
		return broker_file__open(path, st);
	if (!is_of_known(broker, root, &rest, &pid) || strcmp(rest, "root"))
		return -EACCES;
	return broker_file__open_in_root(pid, path, req->op == BROKER_IN_ROOT, st);
}

/* A descriptor or -errno. */
static int open_file(struct broker *broker, const struct broker_request *req, const char *path,
		     const char *root, struct stat *st)
{
	int fd;

	if (req->op == BROKER_OWN)
		return open_own(broker, path);
	if (req->op == BROKER_OFFERED)
		return open_offered(broker, st);
	if (req->op == BROKER_LINK)
		fd = may_follow(broker, path) ? broker_file__follow(path, st) : -EACCES;
	else
		fd = open_named(broker, req, path, root, st);
	if (fd < 0 || !is_refused(broker, st))
		return fd;
	close(fd);
	return -EACCES;
}

/* Bytes in to, or -errno. */
static int64_t read_bytes(struct broker *broker, const struct broker_request *req, int fd, char *to)
{
	size_t len = req->len < BROKER_DATA_MAX ? req->len : BROKER_DATA_MAX;
	int res;

	if (req->op == BROKER_FILE)
		return fd < 0 ? -EBADF : apart__pread(fd, to, len, req->at);
	if (!knows(broker, req->pid))
		return -EACCES;
	if (req->op == BROKER_MEMORY)
		return apart__memory(req->pid, req->at, to, len);
	res = memory__read_across("/proc", req->pid, req->at, to, len);
	return res ? res : (int64_t)len;
}

/* text: the addresses. Bytes in to, or -errno. */
static int64_t read_pieces(struct broker *broker, const struct broker_request *req,
			   const char *text, char *to, uint32_t *ret_read)
{
	uint64_t addrs[MEMORY_PIECES_MAX];

	if (!req->len || req->len > MEMORY_PIECES_MAX)
		return -EINVAL;
	if (!knows(broker, req->pid))
		return -EACCES;
	memcpy(addrs, text, req->len * sizeof(*addrs));
	memset(to, 0, req->len * MEMORY_PIECE); /* nothing of an earlier answer goes with it */
	*ret_read = memory__read_pieces("/proc", req->pid, addrs, req->len, to);
	return (int64_t)(req->len * MEMORY_PIECE);
}

/* The thread stands for its process from now on. */
static int64_t live_tid(struct broker *broker, uint32_t pid)
{
	uint32_t tid = live_tid__thread("/proc", pid);
	const struct known *known;

	pthread_mutex_lock(&broker->lock);
	known = find(broker, pid);
	if (known && tid != pid)
		add(broker, tid, known->pid);
	pthread_mutex_unlock(&broker->lock);
	return tid;
}

static int64_t ask_number(struct broker *broker, const struct broker_request *req)
{
	if (!knows(broker, req->pid))
		return -EACCES;
	if (req->op == BROKER_LIVE_TID)
		return live_tid(broker, req->pid);
	if (req->op == BROKER_HAS_TID)
		return proc__has_thread("/proc", req->pid, (uint32_t)req->at);
	return ns_tid__find("/proc", req->pid, (uint32_t)req->at, TIDS_MAX);
}

/* *ret_fd: a debug file. */
static int64_t fetch(struct broker *broker, const struct broker_request *req, const char *build_id,
		     int *ret_fd)
{
	const struct broker_fetch *by = &broker->fetch;
	struct proc_uids uids = { .real = (uid_t)-1 };

	if (!by->want)
		return req->op == BROKER_FETCH_CNT ? 0 : -ENOENT;
	if (req->op == BROKER_FETCH_CNT)
		return by->cnt(by->ctx);
	if (strlen(build_id) >= BUILD_ID_TEXT_MAX || build_id[strspn(build_id, "0123456789abcdef")])
		return -EINVAL;
	if (req->op == BROKER_FETCH_OPEN) {
		*ret_fd = by->open(by->ctx, build_id);
		return *ret_fd < 0 ? -ENOENT : 0;
	}
	if (!knows(broker, req->pid))
		return -EACCES;
	proc__uids("/proc", req->pid, &uids);
	by->want(by->ctx, build_id, req->pid, uids.real);
	return 0;
}

/* --- the thread */

/* text: path and root, each with its NUL; to: room for BROKER_DATA_MAX bytes. */
static void answer(struct broker *broker, const struct broker_request *req, const char *text,
		   int fd, struct broker_answer *ret, char *to, int *ret_fd)
{
	const char *root = text + strlen(text) + 1;

	*ret_fd = -1;
	if (req->op <= BROKER_OFFERED) {
		*ret_fd = open_file(broker, req, text, root, &ret->st);
		ret->res = *ret_fd < 0 ? *ret_fd : 0;
	} else if (req->op <= BROKER_FILE) {
		ret->res = read_bytes(broker, req, fd, to);
	} else if (req->op == BROKER_PIECES) {
		ret->res = read_pieces(broker, req, text, to, &ret->read);
	} else if (req->op <= BROKER_HAS_TID) {
		ret->res = ask_number(broker, req);
	} else if (req->op < BROKER_OP_CNT) {
		ret->res = fetch(broker, req, text, ret_fd);
	} else {
		ret->res = -EINVAL;
	}
}

/* False: the other side is gone, or sent what no client sends. */
static bool serve_one(struct broker *broker, int sock, char *to)
{
	struct broker_request req;
	struct broker_answer ret = {};
	char text[BROKER_TEXT_MAX + 2];
	const struct iovec in[] = { { &req, sizeof(req) }, { text, BROKER_TEXT_MAX } };
	struct iovec out[] = { { &ret, sizeof(ret) }, { to, 0 } };
	int fd, ret_fd = -1;
	ssize_t n = socket__receive_fd(sock, in, 2, &fd);
	bool sent;

	if (n < (ssize_t)sizeof(req)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	/* Ends a path without a root, too, and addresses that are missing. */
	memset(text + n - sizeof(req), 0, sizeof(text) - (n - sizeof(req)));
	answer(broker, &req, text, fd, &ret, to, &ret_fd);
	if (fd >= 0)
		close(fd);
	if (ret.res > 0 && req.op >= BROKER_PAGES && req.op <= BROKER_PIECES)
		out[1].iov_len = (size_t)ret.res;
	sent = !socket__send_fd(sock, out, 2, ret_fd);
	if (ret_fd >= 0)
		close(ret_fd);
	return sent;
}

static int next_socket(struct broker *broker, int sock, bool *ret_ends)
{
	pthread_mutex_lock(&broker->lock);
	*ret_ends = broker->ends;
	if (broker->sock >= 0) {
		if (sock >= 0)
			close(sock);
		sock = broker->sock;
		broker->sock = -1;
	}
	pthread_mutex_unlock(&broker->lock);
	return sock;
}

static void *run(void *arg)
{
	struct broker *broker = arg;
	char *to = malloc(BROKER_DATA_MAX);
	int sock = -1;
	bool ends = !to;

	thread__set_nice(gettid(), BROKER_NICE);
	while (!ends) {
		struct pollfd fds[] = { { .fd = broker->wake_fd, .events = POLLIN },
					{ .fd = sock, .events = POLLIN } };
		eventfd_t woken;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && !eventfd_read(broker->wake_fd, &woken))
			sock = next_socket(broker, sock, &ends);
		else if (fds[1].revents && !serve_one(broker, sock, to)) {
			close(sock);
			sock = -1;
		}
	}
	if (sock >= 0)
		close(sock);
	free(to);
	return NULL;
}

void broker__serve(struct broker *broker, int sock)
{
	pthread_mutex_lock(&broker->lock);
	if (broker->sock >= 0)
		close(broker->sock);
	broker->sock = sock;
	pthread_mutex_unlock(&broker->lock);
	eventfd_write(broker->wake_fd, 1);
}

int broker__new(const struct broker_fetch *fetch, struct broker **ret)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	int res;

	if (!broker)
		return -ENOMEM;
	broker->fetch = *fetch;
	broker->sock = broker->offered_fd = -1;
	broker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	res = broker->wake_fd < 0 ? -errno : 0;
	pthread_mutex_init(&broker->lock, NULL);
	if (!res)
		res = thread__start(&broker->thread, "jankbpf-broker", run, broker);
	if (!res) {
		*ret = broker;
		return 0;
	}
	if (broker->wake_fd >= 0)
		close(broker->wake_fd);
	free(broker);
	return res;
}

void broker__free(struct broker *broker)
{
	struct refused *refused, *next_refused;
	struct known *known, *next;

	if (!broker)
		return;
	pthread_mutex_lock(&broker->lock);
	broker->ends = true;
	pthread_mutex_unlock(&broker->lock);
	eventfd_write(broker->wake_fd, 1);
	pthread_join(broker->thread, NULL);
	HASH_ITER (hh, broker->known, known, next) {
		HASH_DEL(broker->known, known);
		free(known);
	}
	HASH_ITER (hh, broker->refused, refused, next_refused) {
		HASH_DEL(broker->refused, refused);
		free(refused);
	}
	if (broker->sock >= 0)
		close(broker->sock);
	close(broker->wake_fd);
	pthread_mutex_destroy(&broker->lock);
	free(broker);
}
