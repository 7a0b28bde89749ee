/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that waits for work in the given call and handles what a second thread sends every 50
 * ms; each fifth piece takes 120 ms. Usage: waiter CALL TURNS [pool]. With `pool` a third thread
 * does it, and the main thread joins it. `sites`: it waits on a condition, from turn 32 on with
 * another amount of stack each time, and no piece takes time.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS  120
#define PERIOD_MS 50

static int pipes[2], event_fd, listener;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static mqd_t queue;
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int pieces;
static int turns;
static pthread_t handler;

static void sleep_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static void send_eventfd(void)
{
	eventfd_write(event_fd, 1);
}
static void wait_eventfd(void)
{
	eventfd_t value;

	eventfd_read(event_fd, &value);
}
static void send_pipe(void)
{
	if (write(pipes[1], "", 1) != 1)
		abort();
}
static void wait_pipe(void)
{
	char byte;

	if (read(pipes[0], &byte, 1) != 1)
		abort();
}
/* A real-time signal: several are queued, where another one would be sent once. */
static void send_signal(void)
{
	pthread_kill(handler, SIGRTMIN);
}
static void wait_signal(void)
{
	sigset_t set;
	int nr;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigwait(&set, &nr);
}
static void send_queue(void)
{
	mq_send(queue, "", 1, 0);
}
static void wait_queue(void)
{
	char bytes[16];

	mq_receive(queue, bytes, sizeof(bytes), NULL);
}
static void send_accept(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&name, sizeof(name)))
		abort();
	close(fd);
}
static void wait_accept(void)
{
	close(accept(listener, NULL, NULL));
}
static int client = -1, served = -1;
static void send_client(void)
{
	static int sent;

	if (client < 0) {
		client = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(client, (struct sockaddr *)&name, sizeof(name)))
			abort();
	}
	if (send(client, "", 1, 0) != 1)
		abort();
	if (++sent % 4)
		return;
	close(client);
	client = -1;
}
static void wait_client(void)
{
	char byte;

	for (;;) {
		if (served < 0)
			served = accept(listener, NULL, NULL);
		if (recv(served, &byte, 1, 0) == 1)
			return;
		close(served);
		served = -1;
	}
}
static void send_sem(void)
{
	sem_post(&sem);
}
static void wait_sem(void)
{
	sem_wait(&sem);
}
static void send_cond(void)
{
	pthread_mutex_lock(&mutex);
	pieces++;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}
static void wait_cond(void)
{
	pthread_mutex_lock(&mutex);
	while (!pieces)
		pthread_cond_wait(&cond, &mutex);
	pieces--;
	pthread_mutex_unlock(&mutex);
}

#define LEARN_TURNS 32
static int turn;

static void wait_sites(void)
{
	volatile char room[64 + 64 * (turn < LEARN_TURNS ? 0 : turn)];

	room[0] = 0;
	turn++;
	wait_cond();
	if (room[0])
		abort();
}

static void send_nothing(void)
{
}
static void wait_frame(void)
{
	sleep_ms(PERIOD_MS);
}

static const struct call {
	const char *name;
	void (*send)(void), (*wait)(void);
} calls[] = {
	{ "eventfd", send_eventfd, wait_eventfd },
	{ "pipe", send_pipe, wait_pipe },
	{ "sigwait", send_signal, wait_signal },
	{ "mq", send_queue, wait_queue },
	{ "accept", send_accept, wait_accept },
	{ "client", send_client, wait_client },
	{ "sem", send_sem, wait_sem },
	{ "cond", send_cond, wait_cond },
	{ "sites", send_cond, wait_sites },
	{ "frame", send_nothing, wait_frame },
};

static const struct call *call;

static void *send_all(void *arg)
{
	for (int i = 0; i < turns; i++) {
		sleep_ms(i % 5 == 1 ? PERIOD_MS + STALL_MS
				    : PERIOD_MS); /* it is handling the last one */
		call->send();
	}
	return arg;
}

static volatile unsigned spun;

/* In turn: busy, asleep. */
__attribute__((noinline)) static void handle(int nr)
{
	struct timespec now;
	uint64_t end;

	if (nr % 5 || call->wait == wait_sites)
		return;
	if (nr % 2) {
		sleep_ms(STALL_MS);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec * 1000000000ull + now.tv_nsec + STALL_MS * 1000000ull;
	do {
		spun++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec * 1000000000ull + now.tv_nsec < end);
}

static void *handle_all(void *arg)
{
	for (int i = 0; i < turns; i++) {
		call->wait();
		handle(i);
	}
	return arg;
}

static void prepare(void)
{
	struct mq_attr attr = { .mq_maxmsg = 8, .mq_msgsize = 16 };
	sigset_t set;

	if (pipe(pipes))
		abort();
	event_fd = eventfd(0, EFD_SEMAPHORE);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "waiter-%d", getpid());
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) || listen(listener, 16))
		abort();
	if (!strcmp(call->name, "mq")) {
		char path[32];

		snprintf(path, sizeof(path), "/waiter-%d", getpid());
		queue = mq_open(path, O_RDWR | O_CREAT, 0600, &attr);
		mq_unlink(path);
	}
	sem_init(&sem, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	pthread_t sender, worker;

	for (size_t i = 0; argc > 2 && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, argv[1]))
			call = &calls[i];
	if (!call)
		return 2;
	turns = atoi(argv[2]);
	prepare();
	handler = pthread_self();
	if (argc > 3) {
		pthread_create(&worker, NULL, handle_all, NULL);
		handler = worker;
	}
	pthread_create(&sender, NULL, send_all, NULL);
	if (argc > 3)
		pthread_join(worker, NULL);
	else
		handle_all(NULL);
	return 0;
}
