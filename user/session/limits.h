/* SPDX-License-Identifier: GPL-2.0 */
/* The process's own limits. */
#ifndef JANK_SESSION_LIMITS_H
#define JANK_SESSION_LIMITS_H

/* As many open files as we may have: a link takes two, and each CPU and uprobe has one. A COMMAND is forked
 * before, for it would inherit this. */
void limits__raise(void);

#endif
