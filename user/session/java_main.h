/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Java's threads. Its launcher runs the program's main in a second thread, whose end the process's
 * main thread awaits (ContinueInNewThread in java.base's libjli).
 */
#ifndef JANK_SESSION_JAVA_MAIN_H
#define JANK_SESSION_JAVA_MAIN_H

#include <stdbool.h>
#include <stdint.h>

/* The thread that runs Java's main; 0: the process is none of Java's launcher. Any thread. */
uint32_t java_main__find(uint32_t pid);

/*
 * Is it a thread of HotSpot's own, by its name? Those run no handlers, and some wake by a clock.
 * Any thread.
 */
bool java_main__is_hotspot(uint32_t pid, uint32_t tid);

#endif
