/* SPDX-License-Identifier: GPL-2.0 */
/* Objects of waits on this machine that are neither file nor socket: eventfds, pipes, a mutex. */
#include "enrich/block_facts.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/waited_fixture.h"

static void test_eventfd(void)
{
	int event = eventfd(0, 0);
	struct jank_rec_waited raw = record_of(event);
	struct wait_object *waited = fill(&raw);

	ok(waited->target && !strncmp(waited->target, "eventfd", 7), "an eventfd: %s",
	   waited->target);
	ok(!waited->path && !waited->device, "which is no file");
	wait_object__free(waited);
	close(event);
}

/* A wait for the reading end of a pipe. */
static struct jank_rec_waited open_pipe(int fds[2])
{
	if (pipe(fds))
		abort();
	return record_of(fds[0]);
}

static void is_pipe(const struct jank_rec_waited *raw, const char *what)
{
	struct wait_object *waited = fill(raw);

	has_str(waited->target, "pipe:[", "%s", what);
	wait_object__free(waited);
}

static void test_pipe(void)
{
	int fds[2];
	struct jank_rec_waited raw = open_pipe(fds);

	is_pipe(&raw, "a pipe");
	close(fds[0]);
	is_pipe(&raw, "a closed pipe is still called a pipe");
	close(fds[1]);
}

static void test_anonymous(void)
{
	int fds[2];
	struct jank_rec_waited raw = open_pipe(fds);
	struct wait_object *waited;

	close(fds[0]);
	close(fds[1]);
	snprintf(raw.name, sizeof(raw.name), "[eventpoll]");
	raw.dev = 15;
	raw.mode = S_IFREG | 0600;
	waited = fill(&raw);
	is_str(waited->target, "epoll", "a closed object, by the name of its anonymous inode");
	ok(!waited->path && !waited->device, "which is no path");
	wait_object__free(waited);
	set_names(&raw, "/srv/[eventpoll]");
	waited = fill(&raw);
	is_str(waited->path, "…/srv/[eventpoll]", "a file may have such a name");
	is_str(waited->target, NULL, "and is a file");
	wait_object__free(waited);
}

static void test_memfd(void)
{
	int fd = memfd_create("heap", 0);
	struct jank_rec_waited raw = record_of(fd);
	struct wait_object *waited = fill(&raw);

	has_str(waited->target, "memfd:heap", "a memfd");
	is_str(waited->path, NULL, "has no path");
	wait_object__free(waited);
	close(fd);
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

/* After a join, the thread may still be in /proc for a moment. */
static void wait_exited(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u", tid);
	for (int i = 0; i < 1000 && !access(path, F_OK); i++)
		usleep(1000);
}

static void is_owned(struct jank_rec_waited *raw, uint32_t word, uint32_t owner, uint32_t want,
		     const char *what)
{
	struct wait_object *waited;

	raw->futex_word = word;
	raw->owner = owner;
	waited = fill(raw);
	is_uint(waited->owner.tid, want, "%s", what);
	is_str(waited->owner.comm, want ? "indexer" : "", "its name");
	wait_object__free(waited);
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
	is_owned(&raw, 0x80000000 | holder.tid, 0, holder.tid, "an owner in the word");
	is_owned(&raw, 7, words[2], 0, "a word that is no mutex");
	is_owned(&raw, 2, 0, 0, "no owner");
	is_owned(&raw, 2, UINT32_MAX, 0, "no thread's number");
	child = child__start(NULL, NULL);
	is_owned(&raw, 2, (uint32_t)child, 0, "another process's");
	child__end(child);
	pthread_barrier_wait(&holder.done);
	pthread_join(thread, NULL);
	wait_exited(holder.tid);
	is_owned(&raw, 2, words[2], 0, "an ended thread");
}

static void test_unread(void)
{
	struct jank_rec_waited raw = record_of(STDIN_FILENO);
	struct wait_object *waited;

	raw.hdr.flags = 0;
	waited = fill(&raw);
	ok(!waited->path && !waited->target && !waited->device && !waited->peer &&
		   !waited->owner.tid && !waited->peer_task.tid,
	   "what was not read has no name");
	wait_object__free(waited);
}

static void test_link(void)
{
	struct link link = { .task.pid = (uint32_t)getpid(), .task.tid = (uint32_t)gettid() };

	is_int(wait_object_names__link(&link), 0, "a link's process");
	is_str(link.process, "test_wait_object_names", "in full, beyond 15 bytes");
	free(link.process);
	link = (struct link){ .task.pid = (uint32_t)child__on_exit() };
	is_int(wait_object_names__link(&link), 0, "an ended process");
	is_str(link.process, NULL, "has no name");
}

static void test_cost(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct jank_rec_waited raw = record_of(fd);
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t begin = clock__thread_ns(), ns;

		wait_object__free(fill(&raw));
		ns = clock__thread_ns() - begin;
		best = ns < best ? ns : best;
	}
	diag("a file: %llu µs", (unsigned long long)best / 1000);
	close(fd);
}

int main(void)
{
	test_eventfd();
	test_pipe();
	test_anonymous();
	test_memfd();
	test_mutex();
	test_unread();
	test_link();
	test_cost();
	return tap__done();
}
