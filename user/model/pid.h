/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Process ids for people. */
#ifndef JANK_MODEL_PID_H
#define JANK_MODEL_PID_H

#include <stdint.h>

#include "base/strbuf.h"

/* Adds "pid 7"; in a container, of a process outside of it, "pid 7 of the machine" (pids.bpf.h). */
void pid__add(struct strbuf *sb, uint32_t pid);

#endif
