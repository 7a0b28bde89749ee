/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detaches many BPF links at once. Each waits for an RCU grace period of 25 to 130 ms; detached
 * together they share it.
 */
#ifndef JANK_UPROBES_LINKS_H
#define JANK_UPROBES_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_link;

/* A link of libbpf; or, when that is NULL, a bare descriptor (-1: none). */
struct held_link {
	struct bpf_link *link;
	int fd;
};

/* Destroys all links and returns when they are detached. Ignores NULL entries. */
void links__destroy(struct bpf_link **links, size_t cnt);
void links__destroy_held(struct held_link *links, size_t cnt);

/*
 * Before the end. The kernel closes perf events one after the other, and waits 40 ms at each
 * (perf_trace_destroy and event_mutex in kernel/trace/trace_event_perf.c). Another process waits
 * for that in our place: it holds them, and closes them by its end. Returns the descriptor to close
 * when all links are destroyed; -1: the links' end takes the time.
 */
int perf_events__leave(void);

/*
 * --- reaper: detaches links in its own thread, one batch at a time, so that no other thread waits
 * for the kernel's grace periods
 */

struct reaper;

struct reaper *reaper__new(void);	  /* NULL: out of memory */
void reaper__free(struct reaper *reaper); /* waits for its batch; accepts NULL */

/* Is it still working on a batch? */
bool reaper__is_busy(const struct reaper *reaper);

/*
 * Takes over the links and their malloc'ed array; the reaper must not be busy. Without a thread it
 * detaches them before it returns.
 */
void reaper__take(struct reaper *reaper, struct held_link *links, size_t cnt);

/* --- uprobes on a file */

struct bpf_program;

/*
 * BPF_TRACE_UPROBE_MULTI (6.6 and later): the expected attach type of programs for uprobe_multi.
 * One link then covers many sites and detaches as fast as one. Such a program cannot be attached
 * otherwise; other programs are attached site by site.
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
	size_t refused_cnt; /* sites that the kernel refused to probe */
};

bool uprobe_site__is_multi(const struct uprobe_site *site);

/*
 * In the file at path; task -1: in every process. With uprobe_multi the task is a process, whose
 * main thread must live: the kernel compares memory (uprobe_multi_link_filter in
 * kernel/trace/bpf_trace.c). Returns the descriptor of one link for sites of one program, or
 * -errno: one of them was refused.
 */
int uprobe_links__together(const char *path, pid_t task, const struct uprobe_site *sites,
			   size_t cnt);

/* One site; either kind of program. Returns 0 or -errno. */
int uprobe_links__alone(const char *path, pid_t task, const struct uprobe_site *site,
			struct held_link *ret);

/*
 * Attaches sites to the file behind fd, for every process that maps it. fd may be closed
 * afterwards; it names the file that was examined, even if its path has changed. Put sites of one
 * program next to each other. Refused sites are counted. Returns 0 or -ENOMEM.
 */
int uprobe_links__attach(int fd, const struct uprobe_site *sites, size_t cnt,
			 struct uprobe_links *ret);

/*
 * Asks the kernel whether it has uprobe_multi. by_process: also for one process; at first it took
 * its number for a thread (6.10: kernel commit 46ba0e49b642).
 */
bool uprobe_links__has_multi(bool by_process);

#endif
