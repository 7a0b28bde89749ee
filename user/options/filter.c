/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the values of -u, -c and -g to what the probes compare with. */
#include "options/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/user_account.h"
#include "options/options_table.h"
#include "procfs/cgroup.h"
#include "procfs/procinfo.h"

/*
 * --- globs for process names, as bit sets for a loop over the bytes of a name: BPF can run nothing
 * else
 */

#define NAME_MAX_LEN (JANK_COMM_SZ - 1)

static bool has_wildcard(const char *glob)
{
	return strpbrk(glob, "*?");
}

int glob__compile(const char *glob, struct jank_glob *ret)
{
	size_t max = has_wildcard(glob) ? SIZE_MAX : NAME_MAX_LEN; /* the kernel cuts names, too */
	unsigned cnt = 0;

	memset(ret, 0, sizeof(*ret));
	if (!*glob)
		return -EINVAL;
	for (size_t i = 0; glob[i] && i < max; i++) {
		if (glob[i] == '*') {
			ret->star |= 1u << cnt;
			continue;
		}
		if (cnt == NAME_MAX_LEN)
			return -EINVAL;
		for (unsigned byte = 1; byte < 256; byte++)
			if (glob[i] == '?' || (unsigned char)glob[i] == byte)
				ret->match[byte] |= 1u << cnt;
		cnt++;
	}
	ret->accept = 1u << cnt;
	return 0;
}

bool glob__matches(const struct jank_glob *glob, const char *name)
{
	uint32_t state = 1;

	for (size_t i = 0; i < NAME_MAX_LEN && name[i]; i++)
		state = (state & glob->match[(unsigned char)name[i]]) << 1 | (state & glob->star);
	return state & glob->accept;
}

#define UID_MAX (UINT32_MAX - 1)

void filter__close(struct filter *filter)
{
	while (filter->cgroup_cnt)
		close(filter->cgroup_fds[--filter->cgroup_cnt]);
}

/* Refuses a value with a message that quotes it; why says what is wrong. */
static int refuse(struct err *err, int exit, int code, const char *option, const char *word,
		  const char *why)
{
	struct strbuf shown = STRBUF_INIT;

	text__add_clean(&shown, word);
	err__set_exit(err, exit, code, "%s '%.100s': %s", option, strbuf__str(&shown), why);
	strbuf__free(&shown);
	return -code;
}

static int too_many(struct err *err, const char *option)
{
	return err__set_exit(err, JANK_EXIT_USAGE, E2BIG, "%s: at most %d", option, FILTER_MAX);
}

static int uid_of_name(const char *name, uint64_t *ret, struct err *err)
{
	struct user_account account;

	if (!user_account__find(name, &account)) {
		*ret = account.uid;
		user_account__free(&account);
		return 0;
	}
	return refuse(err, JANK_EXIT_FAILED, ENOENT, "--uid", name,
		      "/etc/passwd has no such user; give the number that `id -u` shows");
}

int filter__add_uid(struct filter *filter, const char *uid, struct err *err)
{
	bool number = *uid && strspn(uid, "0123456789") == strlen(uid);
	uint64_t value;
	int res;

	if (!*uid || strchr(uid, '\n'))
		return refuse(err, JANK_EXIT_USAGE, EINVAL, "--uid", uid,
			      "give a user's number or name");
	res = number ? parse__u64(uid, "--uid", 0, UID_MAX, &value, err)
		     : uid_of_name(uid, &value, err);
	if (res)
		return res;
	if (filter->uid_cnt == FILTER_MAX)
		return too_many(err, "--uid");
	filter->uids[filter->uid_cnt++] = value;
	return 0;
}

static bool admits_uid(const struct filter *filter, pid_t pid)
{
	struct proc_info info;
	bool admits = !filter->uid_cnt;

	if (admits || procinfo__read(pid, &info, NULL))
		return admits;
	for (uint32_t i = 0; i < filter->uid_cnt; i++)
		admits |= filter->uids[i] == info.uid;
	procinfo__free(&info);
	return admits;
}

static bool admits_name(const struct filter *filter, const char *comm)
{
	for (uint32_t i = 0; i < filter->glob_cnt; i++)
		if (glob__matches(&filter->globs[i], comm))
			return true;
	return !filter->glob_cnt;
}

static bool admits_cgroup(const struct filter *filter, pid_t pid)
{
	for (uint32_t i = 0; i < filter->cgroup_cnt; i++)
		if (cgroup__holds(filter->cgroup_fds[i], pid))
			return true;
	return !filter->name_cnt;
}

/* jankbpf-apart or jankbpf-deliver; a COMMAND is our child, too. */
static bool is_helper(const struct proc_info *info)
{
	return info->parent_pid == (uint32_t)getpid() &&
	       !strncmp(info->comm, "jankbpf-", strlen("jankbpf-"));
}

bool filter__admits_living(const struct filter *filter, const struct proc_info *info)
{
	return filter->all && info->pid != (uint32_t)getpid() && !info->kernel_thread &&
	       !is_helper(info) && admits_name(filter, info->comm) &&
	       admits_uid(filter, (pid_t)info->pid) && admits_cgroup(filter, (pid_t)info->pid);
}

bool filter__admits(const struct filter *filter, pid_t pid)
{
	struct proc_info info;
	char state;

	if (!filter->all || pid == getpid() || procinfo__read_stat(pid, &info, &state) ||
	    (state == 'Z' && info.thread_cnt <= 1))
		return false;
	return filter__admits_living(filter, &info);
}

int filter__add_comm(struct filter *filter, const char *glob, struct err *err)
{
	if (filter->glob_cnt == FILTER_MAX)
		return too_many(err, "--comm");
	if (glob__compile(glob, &filter->globs[filter->glob_cnt]))
		return refuse(err, JANK_EXIT_USAGE, EINVAL, "--comm", glob,
			      "no process has such a name: names have 1 to 15 bytes");
	filter->glob_texts[filter->glob_cnt++] = glob;
	return 0;
}

int filter__add_cgroup(struct filter *filter, const char *path, struct err *err)
{
	int fds[FILTER_MAX], room = FILTER_MAX - filter->cgroup_cnt, cnt;

	if (!room || filter->name_cnt == FILTER_MAX)
		return too_many(err, "--cgroup");
	cnt = cgroup__open(path, fds, room);
	if (cnt == -ENOENT && filter->waits)
		cnt = 0;
	if (cnt == -E2BIG)
		return too_many(err, "--cgroup");
	if (cnt == -ENOTSUP)
		return refuse(err, JANK_EXIT_CANNOT, ENOTSUP, "--cgroup", path,
			      "no cgroup v2 hierarchy is mounted here; narrow by -u or -c");
	if (cnt == -EMEDIUMTYPE)
		return refuse(err, JANK_EXIT_FAILED, EINVAL, "--cgroup", path,
			      "this is no cgroup of version 2, by which alone one can narrow");
	if (cnt < 0)
		return refuse(err, cnt == -EINVAL ? JANK_EXIT_USAGE : JANK_EXIT_FAILED, -cnt,
			      "--cgroup", path,
			      cnt == -ENOENT
				      ? "there is no such cgroup; /proc/PID/cgroup has a process's"
				      : strerror(-cnt));
	for (int i = 0; i < cnt; i++)
		filter->cgroup_fds[filter->cgroup_cnt++] = fds[i];
	filter->names[filter->name_cnt++] = (struct filter_name){ .name = path, .cnt = cnt };
	return 0;
}

int filter__own_cgroups(struct filter *filter)
{
	uint32_t cnt = filter->cgroup_cnt;

	for (filter->cgroup_cnt = 0; filter->cgroup_cnt < cnt; filter->cgroup_cnt++) {
		int *at = &filter->cgroup_fds[filter->cgroup_cnt];
		int fd = fcntl(*at, F_DUPFD_CLOEXEC, 0), res = -errno;

		if (fd < 0) {
			filter__close(filter);
			return res;
		}
		*at = fd;
	}
	return 0;
}

void filter__add_missing(const struct filter *filter, struct strbuf *ret)
{
	const char *separator = "";

	for (uint32_t i = 0; i < filter->name_cnt; i++) {
		if (filter->names[i].cnt)
			continue;
		strbuf__adds(ret, separator);
		text__add_clean(ret, filter->names[i].name);
		separator = ", ";
	}
}

/* Marks the names with a removed cgroup. */
static bool mark_removed(struct filter *filter)
{
	const int *fd = filter->cgroup_fds;
	bool some = false;

	for (uint32_t i = 0; i < filter->name_cnt; i++) {
		struct filter_name *name = &filter->names[i];

		name->changed = false;
		for (uint32_t j = 0; j < name->cnt; j++)
			name->changed |= cgroup__is_removed(*fd++);
		some |= name->changed;
	}
	return some;
}

static bool lacks_some(const struct filter *filter)
{
	for (uint32_t i = 0; i < filter->name_cnt; i++)
		if (!filter->names[i].cnt)
			return true;
	return false;
}

/* A name that cannot be opened has no cgroup until the next look. */
static uint32_t open_names(struct filter *filter, int *fds)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < filter->name_cnt; i++) {
		struct filter_name *name = &filter->names[i];
		int room = FILTER_MAX - cnt;
		int found = room ? cgroup__open(name->name, fds + cnt, room) : 0;
		uint32_t now = found > 0 ? found : 0;

		name->changed |= now != name->cnt;
		name->cnt = now;
		cnt += now;
	}
	return cnt;
}

bool filter__refresh(struct filter *filter)
{
	int fds[FILTER_MAX];
	bool changed = false;
	uint32_t cnt;

	if (!mark_removed(filter) && !lacks_some(filter))
		return false;
	cnt = open_names(filter, fds);
	for (uint32_t i = 0; i < filter->name_cnt; i++)
		changed |= filter->names[i].changed;
	filter__close(filter);
	memcpy(filter->cgroup_fds, fds, cnt * sizeof(*fds));
	filter->cgroup_cnt = cnt;
	return changed;
}
