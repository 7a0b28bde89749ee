/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers of /proc/PID for every room: lines of a file, mappings, a live thread, memory. Nothing
 * here waits for the process that is read.
 */
#ifndef JANK_FILES_PROC_H
#define JANK_FILES_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- a file, line by line, through a fixed buffer */

/* Callback for one line: without newline, NUL-terminated, writable. off: its offset in the file. */
typedef int (*lines_fn)(char *line, size_t len, uint64_t off, void *ctx);

struct lines_limit {
	uint64_t bytes;
	uint64_t cpu_ns; /* end, by the thread's CPU time (clock__thread_ns); 0: none */
};

/*
 * Calls fn for each complete line of fd from *off on, and moves *off past those lines. Stops at the
 * limit (*ret_cut, may be NULL), or when fn returns non-zero. Skips lines over 32 KiB. Returns that
 * value, 0 or -errno.
 */
int lines__read(int fd, uint64_t *off, struct lines_limit limit, lines_fn fn, void *ctx,
		bool *ret_cut);

/* The same with a path that no traced program chose: all of the file. */
int lines__read_path(const char *path, struct lines_limit limit, lines_fn fn, void *ctx);

/*
 * Parses a hexadecimal number at *p, with or without 0x, and moves *p past it. Returns 0, or
 * -EINVAL when there is no number or it is too large.
 */
int lines__hex(char **p, uint64_t *ret);

/* --- /proc/PID/maps, which may have 100,000 lines and paths of any bytes */

/*
 * Calls fn for each line, until it returns a value other than 0. Returns that value; else 0, or
 * -errno (-ESRCH: no such process). Reads at most MAPS_BYTES_MAX and for at most 100 ms of CPU
 * time; a thread that has read a lot lately reads less. What is cut is counted: UNREAD_MAPS.
 */
#define MAPS_BYTES_MAX (8u << 20)
int maps_file__read(const char *path, lines_fn fn, void *ctx);

struct proc_maps_line {
	uint64_t start, end, offset, dev, inode;
	char *path; /* valid until the callback returns; "": none */
	char *key;  /* the line's text from the device on, one blank between columns */
};

/*
 * Parses a line in place. The path stays as the kernel wrote it. any: also a mapping that is not
 * executable. Returns 1; 0: not executable; or -EINVAL.
 */
int maps_line__parse(char *line, bool any, struct proc_maps_line *ret);

/*
 * Decodes a path from /proc in place: \012 becomes a newline, and the " (deleted)" suffix is
 * removed. The kernel escapes nothing else.
 */
void maps_lines__decode_path(char *path);

/*
 * Calls fn for each executable mapping of a file, with its path decoded, until fn returns a value
 * other than 0. Returns that value; else 0, or -errno (-ESRCH: no such process).
 */
int maps_lines__each(const char *maps_path, int (*fn)(void *ctx, const struct proc_maps_line *line),
		     void *ctx);

/* Like maps_lines__each, for every file mapping, executable or not: it scans all lines. */
int maps_lines__each_file(const char *maps_path,
			  int (*fn)(void *ctx, const struct proc_maps_line *line), void *ctx);

/*
 * --- a live thread: when the main thread has ended while others run, /proc/PID no longer shows the
 * process's memory; /proc/TID of another thread does
 */

/* True until the process is reaped. Needs no permission to signal it, unlike kill's result. */
bool proc__exists(uint32_t pid);

/* The start of a process, which tells it from a later one with its pid; 0: not known. */
uint64_t proc__start_time(const char *proc, uint32_t pid);

/* Real, effective, saved and file system user id, as of /proc/PID/status. */
struct proc_uids {
	uid_t real, effective, saved, fs;
};

/*
 * False: the process has ended. Not the owner of /proc/PID: that is root for a process that made
 * itself undumpable.
 */
bool proc__uids(const char *proc, uint32_t pid, struct proc_uids *ret);

bool proc__has_thread(const char *proc, uint32_t pid, uint32_t tid);

/* pid, or the tid of a live thread when the main thread has ended. proc: "/proc". */
uint32_t live_tid__thread(const char *proc, uint32_t pid);

/*
 * The number of a thread in its own pid namespace; 0: not known. *ret_nested: that is another
 * namespace than ours; unchanged when not known.
 */
uint32_t ns_tid__of(const char *proc, uint32_t pid, uint32_t tid, bool *ret_nested);

/*
 * The tid of the process's thread with this number in its own pid namespace; 0: none among the
 * first max. It reads a file for each thread: status lists all numbers of a thread.
 */
uint32_t ns_tid__find(const char *proc, uint32_t pid, uint32_t ns_tid, unsigned max);

/*
 * --- memory of a process, but only pages that are present. A missing page may come from a slow
 * disk, or from a file system or userfaultfd of the program itself. It would block the reader for
 * as long as that program likes.
 */

/*
 * Reads exactly len bytes within one page. Returns 0; -ENODATA: the page was never loaded, so its
 * content is that of the mapped file; -EFAULT: swapped out; -EINVAL: more than a page; or -errno.
 */
int memory__read(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len);

/* Like memory__read, in one page or more. */
int memory__read_across(const char *proc, uint32_t pid, uint64_t addr, void *buf, size_t len);

/*
 * Reads several pieces of MEMORY_PIECE bytes at once: cnt (at most MEMORY_PIECES_MAX) of them, at
 * addresses that are multiples of their size, into buf, one after the other. Returns a bit mask of
 * those that were read; the others are not present, or the process has ended.
 */
#define MEMORY_PIECE	  4096u
#define MEMORY_PIECES_MAX 15u
uint32_t memory__read_pieces(const char *proc, uint32_t pid, const uint64_t *addrs, size_t cnt,
			     void *buf);

/*
 * Copies [start, end) of the process's memory, its vdso, to malloc'ed memory that the caller owns:
 * an ELF file that exists only in processes. Returns 0 or -errno.
 */
int vdso__copy(uint32_t pid, uint64_t start, uint64_t end, void **ret, size_t *ret_size);

#endif
