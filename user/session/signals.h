/* SPDX-License-Identifier: GPL-2.0 */
/* The signals that end a run, as a descriptor; and back to what they do by themselves. */
#ifndef JANK_SESSION_SIGNALS_H
#define JANK_SESSION_SIGNALS_H

#include <stdbool.h>

/* From now on a write that nobody takes fails, and does not end us. */
void signals__write_errors(void);

/* The same, and the ending signals come by the descriptor that is returned. -errno. */
int signals__open(void);

/* Reads what has come: was any of them meant to end the run? */
bool signals__end(int fd);

/* The next one ends the process at once: for a run whose output nobody takes. */
void signals__default(int fd);

#endif
