/* SPDX-License-Identifier: GPL-2.0 */
/* Whose code a frame of a Java program is: its own, its class library's, or the machine's that runs it (HotSpot). */
#ifndef JANK_SYMBOL_INTERPRETERS_JAVA_H
#define JANK_SYMBOL_INTERPRETERS_JAVA_H

#include "model/block.h"
#include <stdbool.h>

/* Is it HotSpot's library, by its path? */
bool java__is_machine(const char *module);

/* Is it the name of memory in which HotSpot's compilers work? None of it is run: what has such a name by an old map is other code
 * by now. */
bool java__is_scratch(const char *name);

/* Sets which of a stack's named frames are the application's. In one that has none of its own the class library's are, else
 * the interpreter's, else the machine's, so that there is somebody to tell of. */
void java__settle(struct frame *frames, size_t cnt);

#endif
