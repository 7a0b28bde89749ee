/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of uprobe_files: the searched files with their uprobes, and the processes that map them. */
#ifndef JANK_UPROBES_UPROBE_TABLE_H
#define JANK_UPROBES_UPROBE_TABLE_H

#include "base/hash.h"
#include "uprobes/links.h"
#include "uprobes/mapped_files.h"
#include "uprobes/mmaps.h"
#include "uprobes/uprobe_files.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define UPROBE_TABLE_PLAIN_MAX                                                                     \
	4096 /* files without uprobes, kept so that they are not searched again */

/* An ELF file in it: the whole file, or one of many in an APK. */
struct probed_unit {
	uint64_t base, size;
};

/* Sites that a loop is seen without. Their probes are removed while they cost too much. */
struct probed_marks {
	struct uprobe_site *sites;
	size_t site_cnt;
	struct held_link *links; /* NULL while removed */
	size_t link_cnt;
	int fd; /* the file, to attach again; -1: no sites */
};

struct probed_file {
	struct file_key key;
	struct probed_unit *units;
	size_t unit_cnt;
	struct held_link *links;
	size_t link_cnt;
	struct probed_marks marks;
	unsigned busy_cnt; /* number of its users that are busy; uprobe_files.c */
	unsigned user_cnt;
	uint64_t idle_ns;		 /* time since when no process maps it */
	uint64_t checked_ns, generation; /* of the last comparison with what is mapped */
	struct timespec mtime;		 /* at the time of the search */
	off_t size;
	UT_hash_handle hh;
};

struct probed_user {
	pid_t pid;
	struct probed_file **files;
	size_t file_cnt;
	unsigned gone_cnt; /* ticks since its main thread ended; 0: still alive */
	UT_hash_handle hh;
};

struct uprobe_table {
	struct probed_file *files;
	struct probed_user *users;
	size_t link_cnt, probed_cnt, plain_cnt; /* links; files with and without sites */
};

struct probed_file *uprobe_table__file(const struct uprobe_table *table,
				       const struct file_key *key);

/*
 * Adds a file without units and links. This may remove an old file without links. NULL when out of
 * memory.
 */
struct probed_file *uprobe_table__add(struct uprobe_table *table, const struct file_key *key,
				      const struct stat *st);
void uprobe_table__remove(struct uprobe_table *table,
			  struct probed_file *file); /* it must have no links and no users */

/*
 * Whether the content may have changed. Only for files without links, since a uprobe keeps its
 * file.
 */
bool probed_file__is_stale(const struct probed_file *file, const struct stat *st);

bool probed_file__has_unit(const struct probed_file *file, uint64_t offset);
int probed_file__add_unit(struct probed_file *file, const struct probed_unit *unit);

/* Takes over the links and frees the array. Returns 0, or -ENOMEM: the caller keeps the links. */
int uprobe_table__add_links(struct uprobe_table *table, struct probed_file *file,
			    struct held_link *links, size_t cnt);

/* It has sites, whether probed now or not. */
bool probed_file__has_sites(const struct probed_file *file);

/*
 * Adds pausable sites of the file; its pausable probes must be off. Copies the sites and duplicates
 * fd. Returns 0 or -errno: nothing was added.
 */
int uprobe_table__add_marks(struct uprobe_table *table, struct probed_file *file,
			    const struct uprobe_site *sites, size_t cnt, int fd);

/* Moves its pausable probes, malloc'ed, to the caller; none stay on. */
size_t uprobe_table__take_marks(struct uprobe_table *table, struct probed_file *file,
				struct held_link **ret);

/* Attaches the pausable probes. Returns the number of refused sites, or -ENOMEM. */
int uprobe_table__put_marks(struct uprobe_table *table, struct probed_file *file);

/* Records that pid maps the file. 0 or -ENOMEM. */
int uprobe_table__use(struct uprobe_table *table, pid_t pid, struct probed_file *file);
int uprobe_table__inherit(struct uprobe_table *table, pid_t pid, pid_t parent);
struct probed_user *uprobe_table__user(const struct uprobe_table *table, pid_t pid);
void uprobe_table__drop_user(struct uprobe_table *table, struct probed_user *user, uint64_t now_ns);

/*
 * Removes files that no process has mapped since before_ns, and moves their links, malloc'ed, to
 * the caller. Returns how many.
 */
size_t uprobe_table__take_idle(struct uprobe_table *table, uint64_t before_ns,
			       struct held_link **ret);

void uprobe_table__free(struct uprobe_table *table); /* detaches all */

/* --- shared by uprobe_files.c and uprobe_files_run.c: what happens to a file, and when */

/* A process that is too busy for pausable probes. */
struct busy_process {
	pid_t pid;
	UT_hash_handle hh;
};

struct uprobe_files {
	struct uprobe_programs progs;
	struct target_wants wants;
	struct mmaps_ops ops;
	struct mmaps *mmaps;
	struct uprobe_table table;
	struct uprobe_files_stats stats;
	struct uprobe_files_stats shown; /* copy for other threads; guarded by the lock */
	pthread_mutex_t lock;
	pthread_t thread;
	bool started;
	_Atomic bool rests;	/* uprobe_files__rest */
	_Atomic bool has_marks; /* some file had pausable marks */
	_Atomic bool stops;
	int wake_fd; /* written to end the thread, or for a busy process */
	struct reaper *reaper;
	bool scan_due;
	struct busy_process *busy; /* guarded by the lock */
};

/*
 * Detaches and attaches pausable probes after a process became busy or stopped being busy. The
 * reaper must be free.
 */
void uprobe_files__follow_busy(struct uprobe_files *files);
void uprobe_files__forget_busy(struct uprobe_files *files);

/* The callbacks for the rings; their context is the struct uprobe_files. */
struct mmaps_ops uprobe_files__ops(struct uprobe_files *files);

#endif
