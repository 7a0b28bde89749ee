/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owner of a frame of a language: the application, one of its libraries, or the runtime. By the
 * file of its source, and for Java by the package of its class. Any thread.
 */
#ifndef JANK_MODEL_SCRIPT_OWNER_H
#define JANK_MODEL_SCRIPT_OWNER_H

#include "model/block.h"

/* Ranks in the order in which frames are blamed; between these two: a library. */
#define SCRIPT_APPLICATION 0u
#define SCRIPT_RUNTIME	   1000u

/*
 * The rank. A library of a library ranks behind it: when a program is itself installed as a
 * package, its own frames come before those of what it needs.
 */
unsigned script_owner__rank(const struct frame *frame);

/*
 * True for a native function that frames in the heap replace: an interpreter's evaluation, with
 * parts that the compiler split off (".cold").
 */
bool script_owner__evaluates(const char *function);

#endif
