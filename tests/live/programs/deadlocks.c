/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An epoll loop on stdin, whose handler hangs in a lock. The argument says how; "soon" and
 * "recursive" are no deadlocks. Prints "ready" when the other threads have their locks.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t lock_c = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t has_locks, main_locked;
static pthread_mutex_t *shared;
static unsigned hold_s;

static void make(pthread_mutex_t *mutex, int type, int protocol, int is_shared)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setpshared(&attr, is_shared);
	pthread_mutex_init(mutex, &attr);
}

static void *take_b_then_a(void *arg)
{
	pthread_mutex_lock(&lock_b);
	sem_post(&has_locks);
	sem_wait(&main_locked);
	usleep(50000); /* main asks first: of PI mutexes, the kernel refuses the second one */
	pthread_mutex_lock(&lock_a);
	return arg;
}

static void *take_c_then_a(void *arg)
{
	pthread_mutex_lock(&lock_c);
	sem_post(&has_locks);
	sem_wait(&main_locked);
	pthread_mutex_lock(&lock_a);
	return arg;
}

static void *take_b_then_c(void *arg)
{
	pthread_mutex_lock(&lock_b);
	sem_post(&has_locks);
	sem_wait(&main_locked);
	usleep(10000);
	pthread_mutex_lock(&lock_c);
	return arg;
}

static void *write_then_a(void *arg)
{
	pthread_rwlock_wrlock(&table);
	sem_post(&has_locks);
	sem_wait(&main_locked);
	pthread_mutex_lock(&lock_a);
	return arg;
}

static void *hold_b(void *arg)
{
	pthread_mutex_lock(&lock_b);
	sem_post(&has_locks);
	sem_wait(&main_locked);
	sleep(hold_s);
	pthread_mutex_unlock(&lock_b);
	return arg;
}

/* Waits for c, whose holder sleeps: a chain that ends. */
static void *take_b_wait_c(void *arg)
{
	pthread_mutex_lock(&lock_b);
	sem_post(&has_locks);
	pthread_mutex_lock(&lock_c);
	pthread_mutex_unlock(&lock_c);
	pthread_mutex_unlock(&lock_b);
	return arg;
}

static void *hold_c(void *arg)
{
	pthread_mutex_lock(&lock_c);
	sem_post(&has_locks);
	sem_wait(&main_locked);
	sleep(hold_s);
	pthread_mutex_unlock(&lock_c);
	return arg;
}

static void *end_with_b(void *arg)
{
	pthread_mutex_lock(&lock_b);
	return arg;
}

static void begin(void *(*fn)(void *), const char *name)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fn, NULL);
	pthread_setname_np(thread, name);
	if (fn == end_with_b)
		pthread_join(thread, NULL);
	else
		sem_wait(&has_locks);
}

/* A child takes the shared mutex and is killed. */
static void kill_worker(void)
{
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make(shared, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
	pid = fork();
	if (!pid) {
		pthread_mutex_lock(shared);
		_exit(9);
	}
	waitpid(pid, NULL, 0);
}

static void prepare(const char *mode)
{
	if (!strcmp(mode, "two")) {
		begin(take_b_then_a, "indexer");
	} else if (!strcmp(mode, "three")) {
		begin(take_c_then_a, "third");
		begin(take_b_then_c, "second");
	} else if (!strcmp(mode, "pi")) {
		make(&lock_a, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE);
		make(&lock_b, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE);
		begin(take_b_then_a, "indexer");
	} else if (!strcmp(mode, "rwlock")) {
		begin(write_then_a, "writer");
	} else if (!strcmp(mode, "killed")) {
		kill_worker();
	} else if (!strcmp(mode, "ended")) {
		begin(end_with_b, "short");
	} else if (!strcmp(mode, "fork")) {
		hold_s = 600;
		begin(hold_b, "holder");
	} else if (!strcmp(mode, "soon")) {
		hold_s = 4;
		begin(hold_c, "sleeper");
		begin(take_b_wait_c, "between");
	} else if (!strcmp(mode, "recursive")) {
		hold_s = 4;
		make(&lock_b, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
		make(&lock_a, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
		begin(hold_b, "holder");
	}
}

static void __attribute__((noinline)) handle(const char *mode)
{
	if (!strcmp(mode, "killed")) {
		pthread_mutex_lock(shared);
		return;
	}
	pthread_mutex_lock(&lock_a);
	if (!strcmp(mode, "recursive"))
		pthread_mutex_lock(&lock_a);
	sem_post(&main_locked);
	sem_post(&main_locked);
	if (!strcmp(mode, "self")) {
		pthread_mutex_lock(&lock_a);
	} else if (!strcmp(mode, "rwlock")) {
		pthread_rwlock_rdlock(&table);
	} else {
		pthread_mutex_lock(&lock_b);
		pthread_mutex_unlock(&lock_b);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);
	const char *mode = argv[argc > 1];
	char line[64];

	sem_init(&has_locks, 0, 0);
	sem_init(&main_locked, 0, 0);
	prepare(mode);
	if (!strcmp(mode, "fork") && fork())
		return pause();
	epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (int turn = 0; epoll_wait(epoll, &event, 1, -1) == 1; turn++) {
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			break;
		if (turn)
			handle(mode);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
