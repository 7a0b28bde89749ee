/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The helper process: forked, with a socket and shared memory. See apart.h. */
#include "files/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own_process.h"
#include "base/socket.h"
#include "base/thread.h"
#include "files/broker.h"
#include "files/proc.h"

#define SHARED_SZ   (64 * 1024)
#define PATHS_SZ    (2 * PATH_MAX) /* a path and a root; each ends with NUL */
#define PATIENCE_MS 500
#define END_MS                                                                                     \
	1000 /* a killed process that reads nothing ends sooner, even on an emulated machine */
#define STUCK_MAX   8  /* abandoned processes; at this count the helper is not started again */
#define OWNER_MAX   2  /* timeouts of one user: then it is refused, before it uses up STUCK_MAX */
#define UNKNOWN_MAX 4  /* the same, of all without a process: the attacker chooses a file's user */
#define OWNERS_CNT  64 /* the oldest entry is dropped */
#define OWNER_NS    (60 * NS_PER_SEC) /* after this time a refused user has another try */
#define MEMORY_NS   (10 * NS_PER_SEC) /* the same, for the memory of a process */
#define UNKNOWN	    ((uid_t)-1)
#define REFUSED_MAX 64	 /* the oldest entry is dropped, so it may be read again */
#define ERRNO_MAX   4095 /* of the kernel's */

enum op { OP_MEMORY, OP_PIECES, OP_FILE, OP_OPEN };

struct request {
	uint32_t op, pid;
	/*
	 * OP_OPEN: flags of openat2; the path's length, its root follows it. OP_PIECES: their
	 * number; the addresses are behind their room.
	 */
	uint64_t at, len;
};

/* What a request may hang on. */
struct key {
	uint32_t op, pid; /* pid 0: not of a process */
	uint64_t what;	  /* a dev_t, or a hash of the root; 0: the process's memory */
};

struct refused {
	struct key key;
	uint64_t start; /* of the process: its pid may belong to another one later */
	uint64_t at_ns; /* CLOCK_MONOTONIC */
};

struct stuck {
	pid_t pid;
	uid_t owner;
};

struct owner {
	uid_t uid; /* UNKNOWN: no process, or it has ended */
	unsigned timeout_cnt;
	uint64_t last_ns;
};

static struct {
	pthread_mutex_t lock;
	pid_t pid; /* 0: not running */
	int sock;
	char *shared;
	struct stuck stuck[STUCK_MAX];
	unsigned stuck_cnt;
	struct refused refused[REFUSED_MAX];
	unsigned refused_at;
	struct owner owners[OWNERS_CNT]; /* those with a timeout */
	unsigned owners_at;
	uint64_t refused_cnt; /* also read without the lock, which is held for up to PATIENCE_MS */
} apart = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * --- the helper process: it makes system calls only, because it is forked from a process with
 * threads
 */

/*
 * A file system without blocks has its content from the kernel, but for those in memory, and those
 * whose daemon or lower file system says nothing.
 */
bool apart__is_generated(int fd, const struct stat *st)
{
	static const unsigned long others[] = { TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC,
						FUSE_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC };
	struct statfs fs;

	if (st->st_blocks) /* spares most files the call */
		return false;
	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if ((unsigned long)fs.f_type == others[i])
			return false;
	return !fs.f_blocks;
}

static int64_t read_file(int handle, const struct request *req, char *to)
{
	char path[32] = "/proc/self/fd/";
	char digits[12], *at = digits + sizeof(digits);
	size_t len = strlen(path);
	int64_t n = -EINVAL;
	struct stat st;
	int fd;

	*--at = '\0';
	for (int left = handle; at == digits + sizeof(digits) - 1 || left; left /= 10)
		*--at = '0' + left % 10;
	memcpy(path + len, at, strlen(at) + 1);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !apart__is_generated(fd, &st)) {
		n = pread(fd, to, req->len, req->at);
		n = n < 0 ? -errno : n;
	}
	close(fd);
	return n;
}

static int64_t read_memory(const struct request *req, char *to)
{
	struct iovec local = { to, req->len }, remote = { (void *)(uintptr_t)req->at, req->len };
	ssize_t n = process_vm_readv(req->pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

/* Returns the number of bytes of whole pieces, from the first one on, or -errno. */
static int64_t read_pieces(const struct request *req, char *to)
{
	const uint64_t *addrs = (const void *)(to + MEMORY_PIECES_MAX * MEMORY_PIECE);
	struct iovec local = { to, req->at * MEMORY_PIECE }, remote[MEMORY_PIECES_MAX];
	ssize_t n;

	if (!req->at || req->at > MEMORY_PIECES_MAX)
		return -EINVAL;
	for (uint64_t i = 0; i < req->at; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)addrs[i], MEMORY_PIECE };
	n = process_vm_readv(req->pid, &local, 1, remote, req->at, 0);
	return n < 0 ? -errno : n;
}

int apart__open_below(const char *root, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	int dir = AT_FDCWD, fd;

	if (root) {
		how.resolve |= RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
		dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return -errno;
	}
	fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	if (dir >= 0)
		close(dir);
	return fd;
}

/* The path, and behind it the root or "". */
static int64_t open_path(const struct request *req, const char *paths)
{
	const char *root;

	if (req->len >= PATHS_SZ || paths[req->len])
		return -EINVAL;
	root = paths + req->len + 1;
	if (!memchr(root, '\0', PATHS_SZ - req->len - 1))
		return -EINVAL;
	return apart__open_below(*root ? root : NULL, paths, req->at);
}

static bool send_with(int sock, const void *data, size_t len, int fd)
{
	const struct iovec part = { (void *)(uintptr_t)data, len };

	return !socket__send_fd(sock, &part, 1, fd);
}

static bool receive(int sock, void *data, size_t len, int *ret_fd)
{
	const struct iovec part = { data, len };
	ssize_t n = socket__receive_fd(sock, &part, 1, ret_fd);

	if (n == (ssize_t)len)
		return true;
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	return false;
}

/* False: the caller is gone. */
static bool serve_one(int sock, char *shared)
{
	struct request req;
	int64_t res = -EINVAL;
	bool sent;
	int fd;

	if (!receive(sock, &req, sizeof(req), &fd))
		return false;
	if (req.len <= SHARED_SZ && req.op == OP_MEMORY)
		res = read_memory(&req, shared);
	else if (req.op == OP_PIECES)
		res = read_pieces(&req, shared);
	else if (req.len <= SHARED_SZ && req.op == OP_FILE)
		res = read_file(fd, &req, shared);
	else if (req.op == OP_OPEN)
		res = open_path(&req, shared);
	if (fd >= 0)
		close(fd);
	fd = req.op == OP_OPEN && res >= 0 ? (int)res : -1;
	sent = send_with(sock, &res, sizeof(res), fd);
	if (fd >= 0)
		close(fd);
	return sent;
}

/* Close every descriptor of ours: the helper process may outlive us. */
static void become_apart(int sock, char *shared)
{
	const int own = 3;

	prctl(PR_SET_NAME, "jankbpf-apart");
	if (sock != own)
		dup2(sock, own);
	fds__close_from(own + 1);
	close(0);
	close(1);
	close(2);
	while (serve_one(own, shared))
		;
	_exit(0);
}

/* --- the side of the caller */

static void reap(void)
{
	for (unsigned i = 0; i < apart.stuck_cnt; i++)
		if (waitpid(apart.stuck[i].pid, NULL, WNOHANG) == apart.stuck[i].pid) {
			own_process__remove(apart.stuck[i].pid);
			apart.stuck[i--] = apart.stuck[--apart.stuck_cnt];
		}
}

static int start(void)
{
	int ends[2];

	reap();
	if (apart.stuck_cnt == STUCK_MAX)
		return -EBUSY;
	apart.shared =
		mmap(NULL, SHARED_SZ, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (apart.shared == MAP_FAILED)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		munmap(apart.shared, SHARED_SZ);
		return -errno;
	}
	apart.pid = own_process__fork();
	if (!apart.pid)
		become_apart(ends[1], apart.shared);
	close(ends[1]);
	apart.sock = ends[0];
	if (apart.pid > 0)
		return 0;
	apart.pid = 0;
	close(ends[0]);
	munmap(apart.shared, SHARED_SZ);
	return -EAGAIN;
}

int apart__start(void)
{
	int res;

	pthread_mutex_lock(&apart.lock);
	res = apart.pid ? 0 : start();
	pthread_mutex_unlock(&apart.lock);
	return res;
}

static void count_refused(void)
{
	__atomic_fetch_add(&apart.refused_cnt, 1, __ATOMIC_RELAXED);
}

/* For a request: one that finds no helper is not answered. */
static int be_ready(void)
{
	int res = apart.pid ? 0 : start();

	if (res == -EBUSY)
		count_refused();
	return res;
}

static void leave_behind(uid_t owner)
{
	kill(apart.pid, SIGKILL);
	close(apart.sock);
	munmap(apart.shared, SHARED_SZ);
	apart.stuck[apart.stuck_cnt++] = (struct stuck){ apart.pid, owner };
	apart.pid = 0;
}

/* The poll is bounded: a helper process in an endless read may outlive us. */
void apart__stop(void)
{
	struct pollfd end = { .events = POLLIN };

	pthread_mutex_lock(&apart.lock);
	if (apart.pid) {
		pid_t pid = apart.pid;

		leave_behind(UNKNOWN);
		end.fd = syscall(SYS_pidfd_open, pid, 0);
		if (end.fd >= 0) {
			poll(&end, 1, END_MS);
			close(end.fd);
		}
	}
	reap();
	pthread_mutex_unlock(&apart.lock);
}

/* --- what is refused: what timed out, and the users of processes that did so repeatedly */

/* The real user: of a setuid program the one who runs it. UNKNOWN also of an ended process. */
static uid_t owner_of(uint32_t pid)
{
	struct proc_uids uids;

	return pid && proc__uids("/proc", pid, &uids) ? uids.real : UNKNOWN;
}

static struct owner *find_owner(uid_t uid)
{
	for (unsigned i = 0; i < OWNERS_CNT && i < apart.owners_at; i++)
		if (apart.owners[i].uid == uid)
			return &apart.owners[i];
	return NULL;
}

static unsigned stuck_of(uid_t uid)
{
	unsigned ret = 0;

	for (unsigned i = 0; i < apart.stuck_cnt; i++)
		ret += apart.stuck[i].owner == uid;
	return ret;
}

static bool is_owner_refused(uid_t uid)
{
	unsigned max = uid == UNKNOWN ? UNKNOWN_MAX : OWNER_MAX;
	const struct owner *owner = find_owner(uid);

	if (!owner || owner->timeout_cnt < max)
		return false;
	reap();
	return stuck_of(uid) >= max || clock__mono_ns() - owner->last_ns < OWNER_NS;
}

/*
 * Memory is not held for ever: the process may have been changing its mappings, or the machine was
 * so busy that the helper process did not run. A user whose processes do so on purpose is refused.
 */
static bool is_over(const struct refused *refused)
{
	return refused->key.op == OP_MEMORY && clock__mono_ns() - refused->at_ns >= MEMORY_NS;
}

/* Most runs have no timeout, and read nothing here. */
static bool is_refused(const struct key *key)
{
	for (unsigned i = 0; i < REFUSED_MAX && i < apart.refused_at; i++) {
		const struct refused *refused = &apart.refused[i];

		if (refused->key.op == key->op && refused->key.pid == key->pid &&
		    refused->key.what == key->what &&
		    (!key->pid || refused->start == proc__start_time("/proc", key->pid)) &&
		    !is_over(refused))
			return true;
	}
	return apart.owners_at && is_owner_refused(owner_of(key->pid));
}

static void refuse(const struct key *key, uid_t uid)
{
	struct owner *owner = find_owner(uid);

	if (!owner) {
		owner = &apart.owners[apart.owners_at++ % OWNERS_CNT];
		*owner = (struct owner){ .uid = uid };
	}
	owner->timeout_cnt++;
	owner->last_ns = clock__mono_ns();
	apart.refused[apart.refused_at++ % REFUSED_MAX] =
		(struct refused){ *key, key->pid ? proc__start_time("/proc", key->pid) : 0,
				  owner->last_ns };
}

/* Sends the request and waits for the answer. Data is in apart.shared, a descriptor in *ret_fd. */
static int64_t ask(const struct key *key, const struct request *req, int fd, int *ret_fd)
{
	struct pollfd end = { .fd = apart.sock, .events = POLLIN };
	int64_t res;
	uid_t owner;
	int n;

	if (!send_with(apart.sock, req, sizeof(*req), fd)) {
		leave_behind(UNKNOWN);
		return -EIO;
	}
	do {
		n = poll(&end, 1, PATIENCE_MS);
	} while (n < 0 && errno == EINTR);
	if (n == 1 && receive(apart.sock, &res, sizeof(res), ret_fd)) {
		/* Only a successful open comes with a descriptor. */
		if (*ret_fd >= 0 && (req->op != OP_OPEN || res < 0)) {
			close(*ret_fd);
			*ret_fd = -1;
		}
		return res < -ERRNO_MAX ? -EIO : res;
	}
	if (n) {
		leave_behind(UNKNOWN);
		return -EIO;
	}
	owner = owner_of(key->pid);
	leave_behind(owner);
	refuse(key, owner);
	return -ETIMEDOUT;
}

/* The caller holds the lock. */
static int64_t ask_for(const struct key *key, const struct request *req, int fd, int *ret_fd)
{
	int64_t res = is_refused(key) ? -ETIMEDOUT : ask(key, req, fd, ret_fd);

	if (res == -ETIMEDOUT)
		count_refused();
	return res;
}

static ssize_t read_piece(const struct key *key, const struct request *req, int fd, void *buf)
{
	int64_t res;
	int none;

	pthread_mutex_lock(&apart.lock);
	res = be_ready();
	res = res ?: ask_for(key, req, fd, &none);
	if (res > (int64_t)req->len)
		res = -EIO;
	if (res > 0)
		memcpy(buf, apart.shared, res);
	pthread_mutex_unlock(&apart.lock);
	return res;
}

ssize_t apart__memory(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	const struct request req = {
		.op = OP_MEMORY, .pid = pid, .at = addr, .len = len < SHARED_SZ ? len : SHARED_SZ
	};

	if (broker_client__is_on())
		return broker_client__read(BROKER_MEMORY, pid, -1, addr, buf, len);
	return read_piece(&(struct key){ OP_MEMORY, pid, 0 }, &req, -1, buf);
}

_Static_assert(MEMORY_PIECES_MAX *(MEMORY_PIECE + sizeof(uint64_t)) <= SHARED_SZ, "pieces");

uint32_t apart__memory_pieces(uint32_t pid, const uint64_t *addrs, size_t cnt, uint32_t present,
			      void *buf)
{
	struct request req = { .op = OP_PIECES, .pid = pid };
	uint32_t ret = 0;
	uint64_t *wanted;
	size_t done = 0;
	int none;
	int64_t res;

	pthread_mutex_lock(&apart.lock);
	res = be_ready();
	if (!res) {
		wanted = (void *)(apart.shared + MEMORY_PIECES_MAX * MEMORY_PIECE);
		for (size_t i = 0; i < cnt; i++)
			if (present & 1u << i)
				wanted[req.at++] = addrs[i];
		res = ask_for(&(struct key){ OP_MEMORY, pid, 0 }, &req, -1, &none);
	}
	for (size_t i = 0; i < cnt && res >= MEMORY_PIECE; i++) {
		if (!(present & 1u << i))
			continue;
		memcpy((char *)buf + i * MEMORY_PIECE, apart.shared + done, MEMORY_PIECE);
		done += MEMORY_PIECE;
		res -= MEMORY_PIECE;
		ret |= 1u << i;
	}
	pthread_mutex_unlock(&apart.lock);
	return ret;
}

ssize_t apart__pread(int handle, void *buf, size_t len, uint64_t off)
{
	const struct request req = { .op = OP_FILE,
				     .at = off,
				     .len = len < SHARED_SZ ? len : SHARED_SZ };
	struct stat st;
	int res;

	if (broker_client__is_on())
		return broker_client__read(BROKER_FILE, 0, handle, off, buf, len);
	res = apart__stat(handle, &st);
	return res ?: read_piece(&(struct key){ OP_FILE, 0, st.st_dev }, &req, handle, buf);
}

/*
 * The file system of a path is known only after the lookup. So when a lookup times out, every path
 * below the same root is refused.
 */
int apart__open(const char *root, const char *path, uint64_t resolve)
{
	struct request req = { .op = OP_OPEN, .at = resolve, .len = strlen(path) };
	struct key key = { .op = OP_OPEN };
	int fd = -1;
	int64_t res;

	root = root ?: "";
	if (req.len + strlen(root) + 2 > PATHS_SZ)
		return -ENAMETOOLONG;
	for (const char *at = *root ? root : path; *at; at++)
		key.what = key.what * 31 + (unsigned char)*at;
	sscanf(*root ? root : path, "/proc/%" SCNu32 "/", &key.pid);
	pthread_mutex_lock(&apart.lock);
	res = be_ready();
	if (!res) {
		strcpy(apart.shared, path);
		strcpy(apart.shared + req.len + 1, root);
		res = ask_for(&key, &req, -1, &fd);
	}
	pthread_mutex_unlock(&apart.lock);
	if (res >= 0 && fd < 0)
		return -EIO;
	return res < 0 ? (int)res : fd;
}

uint64_t apart__refused_cnt(void)
{
	return __atomic_load_n(&apart.refused_cnt, __ATOMIC_RELAXED);
}

/* --- stat without a query */

static int stat_at(int fd, const char *path, int flags, struct stat *ret)
{
	struct statx from;

	if (statx(fd, path, flags | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &from))
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(from.stx_dev_major, from.stx_dev_minor),
		.st_ino = from.stx_ino,
		.st_mode = from.stx_mode,
		.st_nlink = from.stx_nlink,
		.st_uid = from.stx_uid,
		.st_gid = from.stx_gid,
		.st_size = from.stx_size,
		.st_mtim = { .tv_sec = from.stx_mtime.tv_sec, .tv_nsec = from.stx_mtime.tv_nsec },
	};
	return 0;
}

int apart__stat(int fd, struct stat *ret)
{
	return stat_at(fd, "", AT_EMPTY_PATH, ret);
}

int apart__stat_link(const char *path, struct stat *ret)
{
	return stat_at(AT_FDCWD, path, 0, ret);
}
