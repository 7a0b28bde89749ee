/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for each frame of a display and prints its number and time (the kernel's, CLOCK_MONOTONIC)
 * in ns. For tests/vm/display.t, in a virtual machine. Uses the DRM ioctl without a header: the
 * build does not depend on DRM's headers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define RELATIVE 1

/* The request and the reply of drm.h, in one place. */
struct wait_vblank {
	uint32_t type, seq;
	int64_t sec, usec;
};
#define WAIT_VBLANK _IOWR('d', 0x3a, struct wait_vblank)

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "/dev/dri/card0", O_RDWR | O_CLOEXEC);

	while (fd >= 0) {
		struct wait_vblank wait = { .type = RELATIVE, .seq = 1 };

		if (ioctl(fd, WAIT_VBLANK, &wait) && errno != EINTR)
			break;
		printf("%" PRIu32 " %" PRId64 "\n", wait.seq,
		       wait.sec * 1000000000 + wait.usec * 1000);
		fflush(stdout);
	}
	fprintf(stderr, "display: %s\n", strerror(errno));
	return 1;
}
