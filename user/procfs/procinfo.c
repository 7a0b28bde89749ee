/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses /proc/PID/stat, status, cgroup and exe. */
#include "procfs/procinfo.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/apart.h"
#include "files/file.h"
#include "files/proc.h"

#define TEXT_MAX   (64u << 10)
#define PF_KTHREAD 0x00200000u
#define DELETED	   " (deleted)"

static int read_proc(pid_t pid, const char *name, struct strbuf *sb)
{
	char path[64];
	int res;

	strbuf__reset(sb);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	res = file__read(path, TEXT_MAX, sb);
	return res == -ENOENT ? -ESRCH : res;
}

/*
 * "PID (COMM) STATE …": COMM may hold blanks, parentheses and newlines, so it ends at the last ')'.
 */
int procinfo__parse_stat(char *text, struct proc_info *ret, char *ret_state)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long start, code_start = 0, code_end = 0;
	unsigned parent, flags, threads;

	if (!open || !close || close < open)
		return -EBADMSG;
	*close = 0;
	if (sscanf(close + 1,
		   " %c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu "
		   "%*u %*d %*u %llu %llu",
		   ret_state, &parent, &flags, &threads, &start, &code_start, &code_end) < 5)
		return -EBADMSG;
	snprintf(ret->comm, sizeof(ret->comm), "%s", open + 1);
	ret->parent_pid = parent;
	ret->kernel_thread = flags & PF_KTHREAD;
	ret->thread_cnt = threads;
	ret->start_ticks = start;
	ret->code_start = code_start;
	ret->code_end = code_end;
	return 0;
}

/*
 * The value of "\nKEY:\t…" or NULL. A program chooses only the first line, Name; the kernel escapes
 * newlines in it.
 */
static const char *status_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? at + strlen(key) : NULL;
}

int procinfo__parse_status(const char *text, struct proc_info *ret, uint32_t *ret_tgid)
{
	const char *tgid = status_value(text, "\nTgid:"), *uid = status_value(text, "\nUid:");
	const char *tracer = status_value(text, "\nTracerPid:");
	const char *ns_pid = status_value(text, "\nNSpid:"), *end;

	if (!tgid || !uid || !tracer)
		return -EBADMSG;
	*ret_tgid = (uint32_t)strtoul(tgid, NULL, 10);
	ret->uid = (uint32_t)strtoul(uid, NULL, 10);
	ret->tracer_pid = (uint32_t)strtoul(tracer, NULL, 10);
	ret->ns_pid = *ret_tgid;
	if (!ns_pid)
		return 0; /* a kernel without pid namespaces */
	end = ns_pid + strcspn(ns_pid, "\n");
	while (end > ns_pid && end[-1] != '\t')
		end--; /* the last one is the innermost */
	ret->ns_pid = (uint32_t)strtoul(end, NULL, 10);
	return 0;
}

/*
 * Parses "HIERARCHY:CONTROLLERS:PATH" lines. In a hybrid setup v2's path may be the root, while
 * systemd's own v1 hierarchy names the service.
 */
const char *procinfo__parse_cgroup(char *text)
{
	static const char *const wanted[] = { "", "name=systemd", "memory" };
	const char *paths[3] = { NULL };
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		for (int i = 0; i < 3; i++) {
			if (!strcmp(controllers + 1, wanted[i]) && !paths[i])
				paths[i] = path;
		}
	}
	for (int i = 0; i < 3; i++) {
		if (paths[i] && strcmp(paths[i], "/"))
			return paths[i];
	}
	return paths[0] ? paths[0] : paths[1] ? paths[1] : paths[2];
}

static int read_exe(pid_t pid, char **ret)
{
	char link[64], path[PATH_MAX + sizeof(DELETED)];
	size_t cut = strlen(DELETED);
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	if ((size_t)n > cut && !strcmp(path + n - cut, DELETED))
		path[(size_t)n - cut] = 0;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

static int read_cgroup(pid_t pid, struct strbuf *sb, char **ret)
{
	const char *path;

	if (read_proc(pid, "cgroup", sb) || !sb->len)
		return 0; /* a kernel without cgroups */
	path = procinfo__parse_cgroup(sb->data);
	if (!path)
		return 0;
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

int procinfo__read_stat(pid_t pid, struct proc_info *ret, char *ret_state)
{
	struct strbuf sb = STRBUF_INIT;
	int res = read_proc(pid, "stat", &sb);

	*ret = (struct proc_info){ .pid = pid };
	if (!res)
		res = sb.len ? procinfo__parse_stat(sb.data, ret, ret_state) : -ESRCH;
	strbuf__free(&sb);
	return res;
}

static int read_all(pid_t pid, struct strbuf *sb, struct proc_info *ret, uint32_t *ret_tgid)
{
	pid_t living = live_tid__thread("/proc", pid);
	char state = 0;
	int res;

	res = read_proc(pid, "stat", sb);
	if (!res)
		res = sb->len ? procinfo__parse_stat(sb->data, ret, &state) : -ESRCH;
	if (!res && strchr("ZXx", state) && ret->thread_cnt <= 1)
		res = -ESRCH; /* a zombie: its parent has not waited yet */
	if (!res)
		res = read_proc(pid, "status", sb);
	if (!res)
		res = sb->len ? procinfo__parse_status(sb->data, ret, ret_tgid) : -ESRCH;
	if (!res)
		res = read_exe(living, &ret->exe);
	if (!res)
		res = read_cgroup(living, sb, &ret->cgroup);
	return res;
}

int procinfo__read(pid_t pid, struct proc_info *ret, struct err *err)
{
	struct proc_info info = { .pid = (uint32_t)pid };
	struct strbuf sb = STRBUF_INIT;
	uint32_t tgid = (uint32_t)pid;
	int res;

	res = read_all(pid, &sb, &info, &tgid);
	strbuf__free(&sb);
	if (!res && tgid != (uint32_t)pid)
		res = err__set(err, EINVAL, "%d is a thread of process %u: give that one's number",
			       (int)pid, tgid);
	else if (res == -ESRCH)
		err__set(err, ESRCH, "process %d: there is no such process", (int)pid);
	else if (res)
		err__set(err, -res, "process %d: /proc/%d cannot be read: %s", (int)pid, (int)pid,
			 strerror(-res));
	if (res)
		procinfo__free(&info);
	else
		*ret = info;
	return res;
}

void procinfo__free(struct proc_info *info)
{
	free(info->exe);
	free(info->cgroup);
	info->exe = info->cgroup = NULL;
}

const char *procinfo__known_as(const struct proc_info *info)
{
	const char *program = info->exe ? text__base_name(info->exe) : info->comm;

	return strncmp(program, info->comm, strlen(info->comm)) ? info->comm : program;
}

/* --- roles: /proc/PID/stat has the addresses of command line and environment */

#define CMDLINE_MAX  4096
#define ROLE_MAX     64
#define STAT_MAX     4096
#define AFTER_COMM   3 /* the field after the name */
#define TYPE	     "--type="
#define SUB_TYPE     "--utility-sub-type="
#define CONTENT_PROC "-contentproc"

bool procinfo__memory_at(pid_t pid, enum procinfo_memory which, uint64_t *ret, uint64_t *ret_end)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long long start = 0, end = 0;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	at = file__read(path, STAT_MAX, &sb) ? NULL : strrchr(strbuf__str(&sb), ')');
	at = at ? strchr(at, ' ') : NULL;
	for (int field = AFTER_COMM; at && field < (int)which; field++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, " %llu %llu", &start, &end);
	strbuf__free(&sb);
	*ret = start;
	*ret_end = end;
	return start && end > start;
}

static bool is_name(const char *word)
{
	size_t len = strlen(word);

	return len && len < ROLE_MAX && *word != '-' &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
		       len;
}

/* "network.mojom.NetworkService": the last part is enough. */
static const char *service_of(const char *sub_type)
{
	const char *dot = strrchr(sub_type, '.');

	return dot ? dot + 1 : sub_type;
}

const char *procrole__parse(char *words, size_t len)
{
	const char *type = NULL, *sub_type = NULL, *last = NULL;
	bool content = false, first = true;

	for (size_t i = 0; i < len; i++)
		if (words[i] == ' ')
			words[i] = '\0';
	for (char *word = words; word < words + len;
	     word += strnlen(word, len - (word - words)) + 1) {
		if (words[len - 1] && word + strnlen(word, len - (word - words)) == words + len)
			break; /* the last word is cut off */
		if (!*word)
			continue;
		if (!first && !type && !strncmp(word, TYPE, strlen(TYPE)))
			type = word + strlen(TYPE);
		if (!strncmp(word, SUB_TYPE, strlen(SUB_TYPE)))
			sub_type = service_of(word + strlen(SUB_TYPE));
		content |= !first && !strcmp(word, CONTENT_PROC);
		last = word;
		first = false;
	}
	if (content)
		type = last;
	else if (type && sub_type && !strcmp(type, "utility"))
		type = sub_type;
	return type && is_name(type) ? type : NULL;
}

/*
 * Reads a title that was written over the arguments and may reach into the environment after them
 * (get_mm_cmdline in fs/proc/base.c): Firefox' content processes. Returns its length with the zero
 * byte; 0: no end within size bytes, or not readable.
 */
static ssize_t longer_title(pid_t pid, uint64_t start, char *words, size_t size)
{
	ssize_t n = 0;
	char *end;

	/* Less than `size` may be mapped there, because the stack ends: retry with less. */
	for (; n <= 0 && size >= 512; size /= 2)
		n = apart__memory(pid, start, words, size);
	end = n > 0 ? memchr(words, '\0', n) : NULL;
	return end ? end - words + 1 : 0;
}

/* Reads the command line. Returns its length, or 0: not readable. */
static size_t read_words(pid_t pid, char *words, size_t size)
{
	uint64_t start, end, len;
	ssize_t n;

	if (!procinfo__memory_at(pid, PROCINFO_COMMAND_LINE, &start, &end))
		return 0;
	len = end - start < size ? end - start : size;
	n = apart__memory(pid, start, words, len);
	if (n > 0 && words[n - 1] && len < size)
		n = longer_title(pid, start, words, size) ?: n;
	return n > 0 ? (size_t)n : 0;
}

int procrole__read(pid_t pid, char **ret)
{
	char words[CMDLINE_MAX];
	size_t len = read_words(pid, words, sizeof(words));
	const char *role = len ? procrole__parse(words, len) : NULL;

	*ret = role ? strdup(role) : NULL;
	return role && !*ret ? -ENOMEM : 0;
}

int procname__read(pid_t pid, char **ret)
{
	char words[CMDLINE_MAX];
	size_t len = read_words(pid, words, sizeof(words));

	*ret = len ? strndup(words, len) : NULL;
	return len && !*ret ? -ENOMEM : 0;
}

/* --- threads; they are searched only for a process in its own pid namespace */

#define COMM_MAX    4096
#define THREADS_MAX 1024

int threadname__read(const char *proc, uint32_t pid, uint32_t tid, char ret[JANK_COMM_SZ + 1])
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	int res;

	snprintf(path, sizeof(path), "%s/%u/task/%u/comm", proc, pid, tid);
	res = file__read(path, COMM_MAX, &sb);
	if (!res) {
		size_t len = sb.len;

		len -= len && sb.data[len - 1] == '\n';
		snprintf(ret, JANK_COMM_SZ + 1, "%.*s", (int)len, strbuf__str(&sb));
	}
	strbuf__free(&sb);
	return res == -ENOENT ? -ESRCH : res;
}

uint32_t threadname__by_ns_tid(const char *proc, uint32_t pid, uint32_t ns_tid)
{
	char comm[JANK_COMM_SZ + 1];
	bool nested = false;

	ns_tid__of(proc, pid, pid, &nested);
	if (nested)
		return ns_tid__find(proc, pid, ns_tid, THREADS_MAX);
	return threadname__read(proc, pid, ns_tid, comm) ? 0 : ns_tid;
}
