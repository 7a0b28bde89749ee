/* SPDX-License-Identifier: GPL-2.0 */
/* Many links detached at once: each waits for a grace period of RCU, 25 to 130 ms; together they share it. */
#ifndef JANK_LINKS_H
#define JANK_LINKS_H

#include <stddef.h>

struct bpf_link;

/* Destroys all of them; NULL entries are fine. Returns when they are detached. */
void links__destroy(struct bpf_link **links, size_t cnt);

#endif
