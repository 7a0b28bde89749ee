/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of `jankbpf trace`: owns all parts of the session; one epoll loop on the intake thread. */
#ifndef JANK_SESSION_SESSION_H
#define JANK_SESSION_SESSION_H

#include "base/err.h"
#include "options/options.h"

/*
 * Runs until the session ends for any reason. Returns the exit status; err holds a failure's
 * message (empty if there is none).
 */
int session__run(const struct options *opts, struct err *err);

#endif
