/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live thread of a process. When the main thread has ended while others run, /proc/PID no longer
 * shows the process's memory; /proc/TID of another thread does.
 */
#ifndef JANK_BASE_LIVE_TID_H
#define JANK_BASE_LIVE_TID_H

#include <stdint.h>

/* pid, or the tid of a live thread when the main thread has ended. proc: "/proc". */
uint32_t live_tid__thread(const char *proc, uint32_t pid);

#endif
