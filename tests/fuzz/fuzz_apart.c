/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of the reading process (user/files/apart.c): it survives any request, and a caller
 * survives any answer. Neither writes beyond the shared memory or leaves descriptors open.
 */
#include "files/apart.c"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/socket.h"

#define GUARD_SZ 4096

static struct {
	struct fuzz fuzz;
	uint64_t answered, refused, accepted;
	const char *broken;
	char *shared; /* between two pages that nobody may touch */
	int file;
} run;

static uint64_t any_length(void)
{
	struct fuzz *f = &run.fuzz;

	return fuzz__chance(f, 3) ? fuzz__number(f) : fuzz__below(f, SHARED_SZ + 64);
}

static void send_any(int sock, const void *data, size_t len, unsigned fd_cnt)
{
	const int fds[] = { run.file, run.file, run.file, run.file };

	fuzz__send(sock, data, len, fds, fd_cnt);
}

/* --- the side of the reading process, in this one: one request, one answer or the end */

static void one_request(void)
{
	struct fuzz *f = &run.fuzz;
	struct request req = { .op = fuzz__below(f, 4),
			       .pid = getpid(),
			       .at = fuzz__chance(f, 2) ? fuzz__number(f) : (uintptr_t)&run,
			       .len = any_length() };
	unsigned before = fuzz__descriptors();
	int ends[2];
	int64_t res;

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	for (size_t i = 0; i < SHARED_SZ; i += 64)
		run.shared[i] = fuzz__chance(f, 64) ? 0 : "/a."[fuzz__below(f, 3)];
	if (fuzz__chance(f, 4))
		memset(run.shared, 'a', SHARED_SZ);
	send_any(ends[0], &req, fuzz__chance(f, 8) ? fuzz__below(f, sizeof(req)) : sizeof(req),
		 fuzz__below(f, 5));
	shutdown(ends[0], SHUT_WR);
	while (serve_one(ends[1], run.shared))
		;
	close(ends[1]);
	if (recv(ends[0], &res, sizeof(res), MSG_DONTWAIT) == sizeof(res)) {
		run.answered++;
		run.refused += res < 0;
	}
	close(ends[0]);
	if (fuzz__descriptors() != before)
		run.broken = "the reading process leaves a descriptor open";
}

/* --- the side of the caller: a reading process that answers anything */

/* The answers are in the socket before the request is sent. */
static void one_answer(void)
{
	struct fuzz *f = &run.fuzz;
	int64_t answer = fuzz__chance(f, 2) ? (int64_t)fuzz__number(f)
					    : (int64_t)fuzz__below(f, SHARED_SZ * 2);
	size_t len = fuzz__chance(f, 4) ? fuzz__below(f, 32) : sizeof(answer);
	char text[32] = "", *buf = malloc(100);
	unsigned before = fuzz__descriptors();
	ssize_t res;
	int ends[2];

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	memcpy(text, &answer, sizeof(answer));
	send_any(ends[0], text, len, fuzz__below(f, 5));
	apart.sock = ends[1];
	apart.shared =
		mmap(NULL, SHARED_SZ, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	apart.pid = fork();
	if (!apart.pid) {
		pause();
		_exit(0);
	}
	if (fuzz__chance(f, 2)) {
		res = apart__memory(getpid(), 0, buf, 100);
		if (res > 100)
			run.broken = "more bytes than were wanted";
	} else {
		res = apart__open(NULL, "/x", 0);
		if (res >= 0 && close(res))
			run.broken = "a descriptor that is not open";
	}
	run.accepted += res >= 0;
	close(ends[0]);
	apart__stop();
	if (fuzz__descriptors() != before)
		run.broken = "the caller leaves a descriptor open";
	free(buf);
}

int main(void)
{
	char *room =
		mmap(NULL, SHARED_SZ + 2 * GUARD_SZ, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	run.shared = room + GUARD_SZ;
	if (room == MAP_FAILED || mprotect(run.shared, SHARED_SZ, PROT_READ | PROT_WRITE))
		abort();
	run.file = memfd_create("file", MFD_CLOEXEC);
	run.fuzz = fuzz__begin(10);
	while (fuzz__goes_on(&run.fuzz) && !run.broken) {
		one_request();
		cost__end(&run.fuzz.cost, SHARED_SZ);
		if (!run.broken && fuzz__chance(&run.fuzz, 32))
			one_answer();
	}
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.answered > run.refused && run.refused && run.accepted,
	   "%llu requests were answered, %llu of them refused; %llu answers were accepted",
	   (unsigned long long)run.answered, (unsigned long long)run.refused,
	   (unsigned long long)run.accepted);
	cost__ok(&run.fuzz.cost);
	fuzz__report(&run.fuzz);
	return tap__done();
}
