/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For LD_PRELOAD: CLOCK_REALTIME jumps by the seconds that the file FAULTS_CLOCK holds as an
 * int64_t, so that a test never sets the machine's clock.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *jump_s;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULTS_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *mapped =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*jump_s), PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	jump_s = mapped == MAP_FAILED ? NULL : mapped;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	static __typeof__(&clock_gettime) next;
	int res;

	next = next ?: (__typeof__(next))dlsym(RTLD_NEXT, "clock_gettime");
	res = next(clock, ret);
	if (!res && clock == CLOCK_REALTIME && jump_s)
		ret->tv_sec += *jump_s;
	return res;
}
