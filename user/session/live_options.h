/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a reloaded configuration, shared by the threads that use them. */
#ifndef JANK_SESSION_LIVE_OPTIONS_H
#define JANK_SESSION_LIVE_OPTIONS_H

#include "options/options.h"
#include <stdlib.h>

struct live_options {
	_Atomic unsigned holders;
	struct options opts;
};

/* Frees the options with their last holder. Accepts NULL. Any thread. */
static inline void live_options__release(struct live_options *live)
{
	if (!live || --live->holders)
		return;
	options__free(&live->opts);
	free(live);
}

#endif
