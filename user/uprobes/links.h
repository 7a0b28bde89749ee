/* SPDX-License-Identifier: GPL-2.0 */
/* Many links detached at once: each waits for a grace period of RCU, 25 to 130 ms; together they share it. */
#ifndef JANK_UPROBES_LINKS_H
#define JANK_UPROBES_LINKS_H

#include <stddef.h>

struct bpf_link;

/* A link of libbpf's; or where that is NULL, one that is a mere descriptor (-1: none). */
struct held_link {
	struct bpf_link *link;
	int fd;
};

/* Destroys all of them; NULL entries are fine. Returns when they are detached. */
void links__destroy(struct bpf_link **links, size_t cnt);
void links__destroy_held(struct held_link *links, size_t cnt);

#endif
