/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files are a program's own: its executable, and the libraries of its package. A package is a
 * directory tree such as /opt/NAME or /usr/lib/NAME, found by paths alone. A directory that all
 * programs share, such as /usr/lib/x86_64-linux-gnu, is in no package. Any thread.
 */
#ifndef JANK_MODEL_OWN_CODE_H
#define JANK_MODEL_OWN_CODE_H

#include <stdbool.h>

/* True if the module (a path, or "ARCHIVE!/ENTRY") belongs to the program with this path. */
bool own_code__has(const char *exe, const char *module);

#endif
