/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose main thread has ended, while others go on: /proc/PID knows nothing of its memory
 * then.
 */
#ifndef JANK_BASE_LIVE_TID_H
#define JANK_BASE_LIVE_TID_H

#include <stdint.h>

/* pid; or, when its main thread has ended, one of its threads that has not. proc: "/proc". */
uint32_t live_tid__thread(const char *proc, uint32_t pid);

#endif
