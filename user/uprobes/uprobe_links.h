/* SPDX-License-Identifier: GPL-2.0 */
/* Uprobes on a file, for all processes that map it. */
#ifndef JANK_UPROBES_UPROBE_LINKS_H
#define JANK_UPROBES_UPROBE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program;
struct held_link;

/* The expected attach type that makes a program one for uprobe_multi (BPF_TRACE_UPROBE_MULTI, from 6.6 on):
 * one link for many sites, detached as fast as one. Others are attached site by site. */
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

/* Attaches to the file behind fd, which may be closed then. Sites of one program are best next to each
 * other. What is refused is counted. 0 or -ENOMEM. */
int uprobe_links__attach(int fd, const struct uprobe_site *sites, size_t cnt,
			 struct uprobe_links *ret);

/* Asks the kernel whether it has uprobe_multi. */
bool uprobe_links__has_multi(void);

#endif
