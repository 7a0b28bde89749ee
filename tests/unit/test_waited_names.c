/* SPDX-License-Identifier: GPL-2.0 */
/* What waits were for, on this machine: files, pipes, sockets and a mutex of this process and its children. */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/waited_names.h"
#include "base/clock.h"
#include "tests/child.h"
#include "tests/scratch.h"
#include "tests/sock_diag.h"
#include "tests/tap.h"

/* As the probes would send it: of a descriptor of this process. */
static struct jank_rec_waited record_of(int fd)
{
	struct jank_rec_waited raw = { .fd = fd, .hdr.flags = JANK_WAITED_FILE };
	struct stat st;

	if (fstat(fd, &st))
		abort();
	raw.inode = st.st_ino;
	raw.mode = st.st_mode;
	raw.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	return raw;
}

static struct waited *fill(const struct jank_rec_waited *raw)
{
	struct waited *waited = waited__new(raw);

	if (waited_names__fill(waited, (uint32_t)getpid(), (uint32_t)gettid()))
		abort();
	return waited;
}

/* "leaf\0dir\0…" of a path, from its end. */
static void set_names(struct jank_rec_waited *raw, const char *path)
{
	char *copy = strdup(path), *slash;
	size_t at = 0;

	memset(raw->name, 0, sizeof(raw->name));
	while ((slash = strrchr(copy, '/')) && at + strlen(slash) < sizeof(raw->name)) {
		strcpy(raw->name + at, slash + 1);
		at += strlen(slash);
		*slash = 0;
	}
	free(copy);
}

/* Where the temporary directory is a mount of its own, a file's names begin there. */
static bool is_root_mount(const char *path)
{
	struct stat root, here;

	return !stat("/", &root) && !stat(path, &here) && root.st_dev == here.st_dev;
}

static void test_file(void)
{
	const char *path = scratch__write_text("cold file\n", "text");
	int fd = open(path, O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	struct waited *waited = fill(&raw);

	is_str(waited->path, path, "a file's path, whatever is in it");
	ok(waited->device && *waited->device, "its device: %s", waited->device);
	ok(!waited->target && !waited->peer, "it is nothing else");
	waited__free(waited);

	raw.inode++;
	waited = fill(&raw);
	is_str(waited->path, NULL, "another file by now, whose names are not known");
	is_str(waited->target, NULL, "nor is it what the descriptor is now");
	waited__free(waited);
	raw.inode--;

	set_names(&raw, path);
	close(fd);
	if (is_root_mount(path)) {
		waited = fill(&raw);
		is_str(waited->path, path, "closed: found by its names");
		ok(waited->device, "with its device");
		waited__free(waited);
	}
	unlink(path);
	waited = fill(&raw);
	has_str(waited->path, "cold file\n", "removed: what there is of its names: %s",
		waited->path);
	waited__free(waited);
}

/* A server opens the next file with the number that it closed last. */
static void test_reused(void)
{
	const char *first = scratch__write_text("first", "text");
	int fd = open(first, O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	struct waited *waited;

	set_names(&raw, first);
	close(fd);
	if (open(scratch__write_text("second", "text"), O_RDONLY) != fd)
		abort();
	waited = fill(&raw);
	has_str(waited->path, "/first", "its own name, not the next one's: %s", waited->path);
	is_str(waited->target, NULL, "the descriptor says nothing of it");
	ok(waited->device, "its device is known");
	waited__free(waited);
	raw.mode = S_IFSOCK | 0777;
	raw.inode = 1;
	waited = fill(&raw);
	is_str(waited->target, NULL, "a file where a socket was");
	waited__free(waited);
	raw.mode = S_IFIFO | 0600;
	waited = fill(&raw);
	has_str(waited->target, "pipe:[", "or a pipe");
	waited__free(waited);
	close(fd);
}

/* The thread has ended meanwhile, its process goes on. */
static void test_ended_thread(void)
{
	const char *path = scratch__write_text("shared", "text");
	int fd = open(path, O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	struct waited *waited = waited__new(&raw);
	pid_t child = child__start(NULL, NULL);

	child__end(child);
	is_int(waited_names__fill(waited, (uint32_t)getpid(), (uint32_t)child), 0,
	       "a thread that has ended");
	is_str(waited->path, path, "had the files of its process");
	waited__free(waited);
	close(fd);
}

static void test_deleted(void)
{
	const char *path = scratch__write_text("deleted", "text");
	int fd = open(path, O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	struct waited *waited;

	unlink(path);
	waited = fill(&raw);
	is_str(waited->path, path, "a removed file has the path that it had");
	waited__free(waited);
	close(fd);
}

static void test_mapped(void)
{
	const char *path = scratch__write_text("mapped", "text");
	int fd = open(path, O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	struct waited *waited;
	void *at = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);

	close(fd);
	raw.fd = -1;
	waited = fill(&raw);
	is_str(waited->path, path, "of a page fault: the file that is mapped");
	waited__free(waited);
	munmap(at, 4);
	waited = fill(&raw);
	is_str(waited->path, path, "no more, yet it is known from before");
	waited__free(waited);
	raw.inode++;
	waited = fill(&raw);
	is_str(waited->path, NULL, "a file that is mapped nowhere");
	ok(waited->device, "what it was on is still known: %s", waited->device);
	waited__free(waited);
}

static void test_long_names(void)
{
	char dir[80], path[256];
	struct jank_rec_waited raw;
	struct waited *waited;
	int fd;

	memset(dir, 'd', sizeof(dir) - 1);
	dir[sizeof(dir) - 1] = 0;
	fd = open(scratch__write_text(dir, ""), O_RDONLY);
	raw = record_of(fd);
	close(fd);
	snprintf(path, sizeof(path), "/%.63s", dir);
	set_names(&raw, path);
	waited = fill(&raw);
	snprintf(path, sizeof(path), "…/%.63s…", dir);
	is_str(waited->path, path, "a name that was cut shows it");
	waited__free(waited);
	memset(raw.name, 'x', sizeof(raw.name));
	waited = fill(&raw);
	ok(waited->path && strlen(waited->path) == sizeof(raw.name) + 2 * strlen("…") + 1,
	   "names without an end");
	waited__free(waited);
}

static void test_no_files(void)
{
	int fds[2], event = eventfd(0, 0);
	struct jank_rec_waited raw = record_of(event);
	struct waited *waited = fill(&raw);

	ok(waited->target && !strncmp(waited->target, "eventfd", 7), "an eventfd: %s",
	   waited->target);
	ok(!waited->path && !waited->device, "which is no file");
	waited__free(waited);
	if (pipe(fds))
		abort();
	raw = record_of(fds[0]);
	waited = fill(&raw);
	has_str(waited->target, "pipe:[", "a pipe");
	waited__free(waited);
	close(fds[0]);
	waited = fill(&raw);
	has_str(waited->target, "pipe:[", "a pipe that was closed still was one");
	waited__free(waited);
	close(fds[1]);
	close(event);
	snprintf(raw.name, sizeof(raw.name), "[eventpoll]");
	raw.dev = 15;
	raw.mode = S_IFREG | 0600;
	waited = fill(&raw);
	is_str(waited->target, "epoll", "what was closed, by its anonymous inode's name");
	ok(!waited->path && !waited->device, "which is no path");
	waited__free(waited);
	set_names(&raw, "/srv/[eventpoll]");
	waited = fill(&raw);
	is_str(waited->path, "…/srv/[eventpoll]", "a file may be called so");
	is_str(waited->target, NULL, "and is one");
	waited__free(waited);
	fds[0] = memfd_create("heap", 0);
	raw = record_of(fds[0]);
	waited = fill(&raw);
	has_str(waited->target, "memfd:heap", "a memfd");
	is_str(waited->path, NULL, "has no path");
	waited__free(waited);
	close(fds[0]);
}

static void set_unix(struct jank_rec_waited *raw, const char *name, pid_t peer)
{
	raw->hdr.flags |= JANK_WAITED_SOCKET;
	raw->family = AF_UNIX;
	raw->type = SOCK_STREAM;
	raw->peer_pid = (uint32_t)peer;
	snprintf(raw->name, sizeof(raw->name), "%s", name);
}

static void close_one(void *arg)
{
	prctl(PR_SET_NAME, "peer");
	close(*(int *)arg);
}

/* The kernel says of both ends that we made them: who has the other one is found out. */
static void test_pair(void)
{
	struct jank_rec_waited raw;
	struct waited *waited;
	int pair[2];
	pid_t child;

	if (!sock_diag__has(AF_UNIX, 0))
		return skip(4, "this kernel has no module to tell of unix sockets");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	child = child__start(close_one, &pair[0]);
	close(pair[1]);
	raw = record_of(pair[0]);
	set_unix(&raw, "", getpid());
	waited = fill(&raw);
	is_int(waited->peer_task.pid, child, "who has the other end of a pair");
	is_str(waited->peer_task.comm, "peer", "and its name");
	is_str(waited->peer, NULL, "without an address");
	waited__free(waited);
	child__end(child);
	close(pair[0]);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	raw = record_of(pair[0]);
	set_unix(&raw, "", getpid());
	waited = fill(&raw);
	is_int(waited->peer_task.pid, 0, "both ends are ours: some thread's");
	waited__free(waited);
	close(pair[0]);
	close(pair[1]);
}

static void test_unix(void)
{
	pid_t child = child__start(NULL, NULL);
	struct jank_rec_waited raw = { .fd = -1 };
	struct waited *waited;

	set_unix(&raw, "/run/x y.sock", child);
	waited = fill(&raw);
	is_str(waited->peer, "unix /run/x y.sock", "a unix socket's path");
	is_int(waited->peer_task.pid, child, "who listened");
	waited__free(waited);
	child__end(child);
	set_unix(&raw, "@abstract", child);
	waited = fill(&raw);
	is_str(waited->peer, "unix @abstract", "an abstract one");
	is_int(waited->peer_task.pid, 0, "who has ended is nobody");
	waited__free(waited);
}

static int listener(int family, struct sockaddr_storage *addr, socklen_t *len)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*len = family == AF_INET ? sizeof(four) : sizeof(six);
	memcpy(addr, family == AF_INET ? (void *)&four : (void *)&six, *len);
	if (fd < 0 || bind(fd, (void *)addr, *len) || listen(fd, 1) ||
	    getsockname(fd, (void *)addr, len))
		abort();
	return fd;
}

static uint16_t copy_end(__u8 *ret, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *six = (const void *)addr;
	const struct sockaddr_in *four = (const void *)addr;

	if (addr->ss_family == AF_INET)
		memcpy(ret, &four->sin_addr, 4);
	else
		memcpy(ret, &six->sin6_addr, 16);
	return ntohs(four->sin_port); /* at one place in both */
}

static struct jank_rec_waited connection_of(int fd, int family)
{
	struct jank_rec_waited raw = record_of(fd);
	struct sockaddr_storage own, peer;
	socklen_t len = sizeof(own);

	raw.hdr.flags |= JANK_WAITED_SOCKET;
	raw.family = (uint16_t)family;
	raw.type = SOCK_STREAM;
	raw.state = 1; /* TCP_ESTABLISHED */
	if (getsockname(fd, (void *)&own, &len))
		abort();
	len = sizeof(peer);
	if (getpeername(fd, (void *)&peer, &len))
		abort();
	raw.sport = copy_end(raw.saddr, &own);
	raw.dport = copy_end(raw.daddr, &peer);
	return raw;
}

static void name_server(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "server");
}

/* A server that is too busy to accept is what its client waits for. */
static void test_not_accepted(void)
{
	struct sockaddr_storage addr;
	struct jank_rec_waited raw;
	struct waited *waited;
	socklen_t len;
	int server = listener(AF_INET, &addr, &len), client;
	pid_t child = child__start(name_server, NULL);

	close(server);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(client, (void *)&addr, len))
		abort();
	raw = connection_of(client, AF_INET);
	waited = fill(&raw);
	is_int(waited->peer_task.pid, child, "who listens, and has not accepted");
	waited__free(waited);
	child__end(child);
	close(client);
}

static void serve(void *arg)
{
	prctl(PR_SET_NAME, "server");
	if (accept(*(int *)arg, NULL, NULL) < 0)
		_exit(1);
	close(*(int *)arg);
}

static void test_tcp(int family, const char *host)
{
	struct sockaddr_storage addr;
	struct jank_rec_waited raw;
	struct waited *waited;
	socklen_t len;
	char want[64];
	int server = listener(family, &addr, &len), client;
	pid_t child;

	client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(client, (void *)&addr, len))
		abort();
	child = child__start(serve, &server);
	close(server);
	raw = connection_of(client, family);
	waited = fill(&raw);
	snprintf(want, sizeof(want), "tcp %s:%u", host, raw.dport);
	is_str(waited->peer, want, "the peer's address");
	is_int(waited->peer_task.pid, child, "who has accepted it");
	is_str(waited->peer_task.comm, "server", "its name");
	ok(waited->target && strstr(waited->target, "->"), "both ends: %s", waited->target);
	waited__free(waited);
	raw.state = 10; /* TCP_LISTEN */
	waited = fill(&raw);
	ok(!waited->peer && !waited->peer_task.pid, "who listens has no peer");
	waited__free(waited);
	child__end(child);
	close(client);
}

static void test_udp(void)
{
	struct jank_rec_waited raw = { .hdr.flags = JANK_WAITED_SOCKET,
				       .family = AF_INET,
				       .type = SOCK_DGRAM,
				       .dport = 53,
				       .daddr = { 10, 0, 0, 7 } };
	struct waited *waited = fill(&raw);

	is_str(waited->peer, "udp 10.0.0.7:53", "a name server");
	is_int(waited->peer_task.pid, 0, "is elsewhere");
	waited__free(waited);
	raw.dport = 0;
	waited = fill(&raw);
	is_str(waited->peer, NULL, "not connected: no peer");
	waited__free(waited);
}

struct holder {
	pthread_mutex_t mutex;
	pthread_barrier_t held, done;
	uint32_t tid;
};

static void *hold(void *arg)
{
	struct holder *holder = arg;

	pthread_setname_np(pthread_self(), "indexer");
	holder->tid = (uint32_t)gettid();
	pthread_mutex_lock(&holder->mutex);
	pthread_barrier_wait(&holder->held);
	pthread_barrier_wait(&holder->done);
	pthread_mutex_unlock(&holder->mutex);
	return NULL;
}

/* Who has joined a thread may still find it in /proc. */
static void wait_gone(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
	for (int i = 0; i < 1000 && !access(path, F_OK); i++)
		usleep(1000);
}

static void is_owned(struct jank_rec_waited *raw, uint32_t word, uint32_t owner, uint32_t want,
		     const char *what)
{
	struct waited *waited;

	raw->futex_word = word;
	raw->owner = owner;
	waited = fill(raw);
	is_uint(waited->owner.tid, want, "%s", what);
	is_str(waited->owner.comm, want ? "indexer" : "", "its name");
	waited__free(waited);
}

static void test_mutex(void)
{
	struct jank_rec_waited raw = { .hdr.flags = JANK_WAITED_FUTEX, .fd = -1 };
	struct holder holder = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	uint32_t words[3];
	pthread_t thread;
	pid_t child;

	pthread_barrier_init(&holder.held, NULL, 2);
	pthread_barrier_init(&holder.done, NULL, 2);
	pthread_create(&thread, NULL, hold, &holder);
	pthread_barrier_wait(&holder.held);
	memcpy(words, &holder.mutex, sizeof(words));
	is_owned(&raw, 2, words[2], holder.tid, "a mutex's owner");
	is_owned(&raw, 0x80000000 | holder.tid, 0, holder.tid, "one that is in the word");
	is_owned(&raw, 7, words[2], 0, "a word that is no mutex's");
	is_owned(&raw, 2, 0, 0, "no owner");
	is_owned(&raw, 2, UINT32_MAX, 0, "no thread's number");
	child = child__start(NULL, NULL);
	is_owned(&raw, 2, (uint32_t)child, 0, "another process's");
	child__end(child);
	pthread_barrier_wait(&holder.done);
	pthread_join(thread, NULL);
	wait_gone(holder.tid);
	is_owned(&raw, 2, words[2], 0, "one that has ended");
}

static void test_nothing(void)
{
	struct jank_rec_waited raw = record_of(STDIN_FILENO);
	struct waited *waited;
	pid_t child;

	raw.hdr.flags = 0;
	waited = fill(&raw);
	ok(!waited->path && !waited->target && !waited->device && !waited->peer &&
		   !waited->owner.tid && !waited->peer_task.tid,
	   "what was not read is not named");
	waited__free(waited);
	child = child__start(NULL, NULL);
	child__end(child);
	raw.hdr.flags = JANK_WAITED_FILE | JANK_WAITED_FUTEX;
	raw.futex_word = 2;
	raw.owner = (uint32_t)child;
	waited = waited__new(&raw);
	is_int(waited_names__fill(waited, (uint32_t)child, (uint32_t)child), 0,
	       "of a process that has ended");
	ok(!waited->path && !waited->owner.tid, "nothing is known");
	waited__free(waited);
}

/* A program's last block is looked at when it has ended. */
static void test_ended(void)
{
	const char *path = scratch__write_text("last", "text");
	int fd = open(path, O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	pid_t child = child__start(NULL, NULL);
	struct waited *waited = waited__new(&raw);

	close(fd);
	child__end(child);
	set_names(&waited->raw, path);
	is_int(waited_names__fill(waited, (uint32_t)child, (uint32_t)child), 0,
	       "of a process that has ended");
	if (is_root_mount(path))
		is_str(waited->path, path, "a file is found by its names");
	ok(waited->device, "and its device: %s", waited->device);
	waited__free(waited);
}

static void test_link(void)
{
	struct link link = { .task.pid = (uint32_t)getpid(), .task.tid = (uint32_t)gettid() };
	pid_t child;

	is_int(waited_names__link(&link), 0, "a link's process");
	is_str(link.process, "test_waited_names", "in full, beyond 15 bytes");
	free(link.process);
	child = child__start(NULL, NULL);
	child__end(child);
	link = (struct link){ .task.pid = (uint32_t)child };
	is_int(waited_names__link(&link), 0, "one that has ended");
	is_str(link.process, NULL, "has no name");
}

static void test_cost(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t begin = clock__thread_ns(), ns;

		waited__free(fill(&raw));
		ns = clock__thread_ns() - begin;
		best = ns < best ? ns : best;
	}
	diag("a file: %llu µs", (unsigned long long)best / 1000);
	close(fd);
}

int main(void)
{
	scratch__init();
	test_file();
	test_reused();
	test_ended_thread();
	test_deleted();
	test_mapped();
	test_long_names();
	test_no_files();
	test_pair();
	test_unix();
	test_tcp(AF_INET, "127.0.0.1");
	test_tcp(AF_INET6, "[::1]");
	test_not_accepted();
	test_udp();
	test_mutex();
	test_nothing();
	test_ended();
	test_link();
	test_cost();
	return tap__done();
}
