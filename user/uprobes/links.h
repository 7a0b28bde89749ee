/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many links detached at once: each waits for a grace period of RCU, 25 to 130 ms; together they
 * share it.
 */
#ifndef JANK_UPROBES_LINKS_H
#define JANK_UPROBES_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;

/* A link of libbpf's; or where that is NULL, one that is a mere descriptor (-1: none). */
struct held_link {
	struct bpf_link *link;
	int fd;
};

/* Destroys all of them; NULL entries are fine. Returns when they are detached. */
void links__destroy(struct bpf_link **links, size_t cnt);
void links__destroy_held(struct held_link *links, size_t cnt);

/*
 * Detaches links in a thread of its own, a lot at a time: detaching waits for the kernel's grace
 * periods, which nobody else shall wait for.
 */

struct reaper;

struct reaper *reaper__new(void);	  /* NULL: out of memory */
void reaper__free(struct reaper *reaper); /* waits for its lot; accepts NULL */

/* Is it still at the lot before? */
bool reaper__is_busy(const struct reaper *reaper);

/*
 * Takes over the links and their malloc'ed array; it must not be busy. Where there can be no
 * thread, they are detached on return.
 */
void reaper__take(struct reaper *reaper, struct held_link *links, size_t cnt);

/* Uprobes on a file, for all processes that map it. */

struct bpf_program;
struct held_link;

/*
 * The expected attach type that makes a program one for uprobe_multi (BPF_TRACE_UPROBE_MULTI, from
 * 6.6 on): one link for many sites, detached as fast as one. Others are attached site by site.
 */
#define UPROBE_LINKS_MULTI 48

struct uprobe_site {
	struct bpf_program *prog;
	uint64_t file_offset;
	uint64_t cookie;
};

struct uprobe_links {
	struct held_link *links;
	size_t cnt;
	size_t refused_cnt; /* sites that could not be probed */
};

/*
 * Attaches to the file behind fd, which may be closed then. Sites of one program are best next to
 * each other. What is refused is counted. 0 or -ENOMEM.
 */
int uprobe_links__attach(int fd, const struct uprobe_site *sites, size_t cnt,
			 struct uprobe_links *ret);

/* Asks the kernel whether it has uprobe_multi. */
bool uprobe_links__has_multi(void);

#endif
