/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When an uploader ends: its deadline, the end of the run; waits until then. */
#include <poll.h>

#include "base/clock.h"
#include "send/uploader.h"

#define LAST_MS 800 /* for what is left when the run ends; then the process is killed */

/* Asked to end: from then on it sends what it can, without waiting. */
static bool is_asked_to_end(struct uploader *uploader, int ms)
{
	struct pollfd pfd = { .fd = uploader->opts->stop_fd, .events = POLLIN };

	if (!uploader->stop_ns && poll(&pfd, uploader->opts->stop_fd >= 0, ms) > 0)
		uploader->stop_ns = clock__mono_ns() + LAST_MS * NS_PER_MS;
	return uploader->stop_ns;
}

bool uploader__is_over(struct uploader *uploader)
{
	uint64_t now = clock__mono_ns();

	if (is_asked_to_end(uploader, 0) && now >= uploader->stop_ns)
		return true;
	return uploader->opts->deadline_ns && now >= uploader->opts->deadline_ns;
}

bool uploader__wait(struct uploader *uploader, uint64_t ms)
{
	uint64_t deadline = uploader->opts->deadline_ns, now = clock__mono_ns();

	if (deadline && (now >= deadline || (deadline - now) / NS_PER_MS < ms))
		ms = now >= deadline ? 0 : (deadline - now) / NS_PER_MS + 1;
	if (is_asked_to_end(uploader, (int)ms))
		return true;
	return uploader__is_over(uploader);
}
