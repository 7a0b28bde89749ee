/* SPDX-License-Identifier: GPL-2.0 */
/* As worker.c, but over the real android::Looper: looper ANY SITUATION ANY COUNT. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utils/Looper.h>

static int keep(int, int, void *)
{
	return 1;
}

static long long now_ns()
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	android::sp<android::Looper> looper = new android::Looper(false);
	bool ready = argc == 5 && !strcmp(argv[2], "ready");
	int want = ready ? android::Looper::POLL_CALLBACK : android::Looper::POLL_TIMEOUT;
	long long begin;

	if (argc != 5)
		return 2;
	if (ready)
		looper->addFd(eventfd(1, 0), 0, android::Looper::EVENT_INPUT, keep, nullptr);
	setvbuf(stdout, nullptr, _IONBF, 0);
	puts("ready");
	getchar();
	begin = now_ns();
	for (long i = atol(argv[4]); i > 0; i--) {
		if (looper->pollOnce(0) != want)
			abort();
	}
	printf("%lld\n", now_ns() - begin);
	getchar();
	_exit(0);
}
