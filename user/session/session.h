/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of `jankbpf trace`: it owns everything, and is one epoll loop on the intake thread. */
#ifndef JANK_SESSION_SESSION_H
#define JANK_SESSION_SESSION_H

#include "base/err.h"
#include "options/options.h"

/*
 * Runs until its end, whatever that is. Returns the exit status; a failure's message is in err
 * (empty when there is nothing to say).
 */
int session__run(const struct options *opts, struct err *err);

#endif
