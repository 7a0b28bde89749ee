/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Examines the first bytes of programs: an ELF header, or the name of an interpreter. */
#include "procfs/procinfo.h"

#include <dirent.h>
#include <elf.h>
#include <endian.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/apart.h"
#include "files/file.h"
#include "files/proc.h"

#define HEAD_SZ	   256 /* bytes of a file that the kernel examines */
#define SCRIPT_MAX 5   /* nested script interpreters; the kernel allows no more */
#define BLANKS	   " \t"
#define AUXV_MAX   4096

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define NATIVE_DATA ELFDATA2LSB
#else
#define NATIVE_DATA ELFDATA2MSB
#endif

#if defined(__x86_64__)
#define COMPAT_MACHINE EM_386
#elif defined(__aarch64__)
#define COMPAT_MACHINE EM_ARM
#else
#define COMPAT_MACHINE EM_NONE
#endif

static bool is_regular(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Reads the first bytes of a regular file, and closes fd; zeros follow its end. */
static bool read_head(int fd, char head[HEAD_SZ + 1])
{
	ssize_t len;

	if (fd < 0)
		return false;
	memset(head, 0, HEAD_SZ + 1);
	len = file__pread(fd, head, HEAD_SZ, 0);
	close(fd);
	return len > 0;
}

/* A program for another machine runs in an emulator, which is a native program. */
static bool is_compat_elf(const char *head)
{
	uint16_t machine;

	memcpy(&machine, head + offsetof(Elf32_Ehdr, e_machine), sizeof(machine));
	return !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] == ELFCLASS32 &&
	       head[EI_DATA] == NATIVE_DATA && machine == COMPAT_MACHINE;
}

/* Parses "#! /bin/sh -e". Returns the interpreter, inside head and NUL-terminated, or NULL. */
static char *interpreter(char *head)
{
	char *name;

	if (strncmp(head, "#!", 2))
		return NULL;
	name = head + 2 + strspn(head + 2, BLANKS);
	name[strcspn(name, BLANKS "\n")] = 0;
	return *name ? name : NULL;
}

static bool file_is_compat(const char *path, unsigned scripts)
{
	char head[HEAD_SZ + 1];
	const char *next;

	if (!read_head(openfile__path(path, NULL), head))
		return false;
	if (is_compat_elf(head))
		return true;
	next = interpreter(head);
	return next && scripts < SCRIPT_MAX && file_is_compat(next, scripts + 1);
}

bool compat32__file(const char *path)
{
	return file_is_compat(path, 0);
}

/* Searches like execvp: an empty part of PATH is the current directory. */
bool compat32__command(const char *name)
{
	const char *dir = getenv("PATH");
	char path[PATH_MAX];
	size_t len;

	if (strchr(name, '/'))
		return compat32__file(name);
	for (dir = dir ? dir : "/bin:/usr/bin"; dir; dir = dir[len] ? dir + len + 1 : NULL) {
		len = strcspn(dir, ":");
		if ((size_t)snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "",
				     name) < sizeof(path) &&
		    is_regular(path) && !access(path, X_OK))
			return compat32__file(path);
	}
	return false;
}

/* --- a process: the intake thread asks, so nothing here may wait, nor ask the helper process */

/* False: the program's file system may never answer, or there is no program. */
static bool read_exe(uint32_t tid, char head[HEAD_SZ + 1])
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", tid);
	fd = apart__open_below(NULL, path, 0);
	return read_head(fd < 0 ? fd : openfile__handle(fd, NULL), head);
}

/* Its auxiliary vector has 32-bit words then; the kernel has a copy of it. */
static bool has_compat_auxv(uint32_t tid)
{
	struct strbuf text = STRBUF_INIT;
	bool ret = false, end = false;
	Elf32_auxv_t entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/auxv", tid);
	file__read(path, AUXV_MAX, &text);
	for (size_t at = 0; !end && !ret && at + sizeof(entry) <= text.len; at += sizeof(entry)) {
		memcpy(&entry, text.data + at, sizeof(entry));
		end = entry.a_type == AT_NULL;
		ret = entry.a_type == AT_PHENT && entry.a_un.a_val == sizeof(Elf32_Phdr);
	}
	strbuf__free(&text);
	return ret;
}

/* A running executable is never a script, even if its file has changed since. */
bool compat32__process(pid_t pid)
{
	char head[HEAD_SZ + 1];
	uint32_t tid;

	if (read_exe(pid, head))
		return is_compat_elf(head);
	tid = live_tid__thread("/proc", pid);
	return read_exe(tid, head) ? is_compat_elf(head) : has_compat_auxv(tid);
}

void compat32__each(bool (*fn)(void *ctx, pid_t pid), void *ctx)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = strtoul(entry->d_name, NULL, 10);

		if (pid && compat32__process(pid) && fn(ctx, pid))
			break;
	}
	if (proc)
		closedir(proc);
}
