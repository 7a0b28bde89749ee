/* SPDX-License-Identifier: GPL-2.0 */
/* From a process to the places of its uprobes: mapped files → sites. */
#include "uprobes/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "uprobes/candidates.h"

static bool has_site_in(const struct targets *targets, size_t lib)
{
	for (size_t i = 0; i < targets->site_cnt; i++) {
		if (targets->sites[i].lib == lib)
			return true;
	}
	return false;
}

static bool has_wait(const struct targets *targets)
{
	for (size_t i = 0; i < targets->site_cnt; i++) {
		if (targets->sites[i].kind == SITE_WAIT_BEGIN)
			return true;
	}
	return false;
}

/* A library without any site is not kept. */
static int search_file(struct targets *targets, const struct target_wants *wants,
		       const struct candidate *candidate, pid_t pid, struct err *warning)
{
	const struct target_file file = { .path = candidate->path,
					  .dev = candidate->dev,
					  .inode = candidate->inode,
					  .offset = candidate->offset,
					  .is_exe = candidate->is_exe,
					  .is_odd = !candidate->likely };
	size_t lib = targets->lib_cnt;
	char open_path[TARGET_PATH_MAX];
	int fd, err;

	fd = candidate__open(candidate, pid, open_path, sizeof(open_path));
	if (fd == -EWOULDBLOCK && !targets->leased_cnt++)
		err__set(warning, EWOULDBLOCK,
			 "'%s': another process holds a lease on it: its functions get no probes",
			 candidate->path);
	if (fd < 0)
		return 0;
	err = targets__search(targets, wants, &file, fd);
	if (err || targets->lib_cnt == lib)
		return err;
	if (has_site_in(targets, lib))
		memcpy(targets->libs[lib].open_path, open_path, sizeof(open_path));
	else
		targets->lib_cnt--;
	return 0;
}

/* Those whose name tells; only where none of them has a wait, any file that is mapped. */
static int search_all(struct targets *targets, const struct target_wants *wants,
		      const struct candidates *candidates, pid_t pid, struct err *warning)
{
	const struct target_wants waits = { .epoll = true };
	int err = 0;

	for (size_t i = 0; i < candidates->cnt && !err; i++) {
		if (!candidates->items[i].likely) {
			if (!wants->epoll || has_wait(targets))
				break;
			wants = &waits;
		}
		err = search_file(targets, wants, &candidates->items[i], pid, warning);
	}
	return err;
}

int targets__find(pid_t pid, const struct target_wants *wants, struct targets *ret, struct err *err)
{
	struct targets targets = { 0 };
	struct candidates candidates;
	int code;

	code = candidates__read(pid, wants, &candidates);
	if (!code)
		code = search_all(&targets, wants, &candidates, pid, err);
	candidates__free(&candidates);
	if (!code) {
		*ret = targets;
		return 0;
	}
	targets__free(&targets);
	if (code == -ESRCH)
		return err__set(err, ESRCH, "process %d: there is no such process", (int)pid);
	return err__set(err, -code, "process %d: /proc/%d/maps: %s", (int)pid, (int)pid,
			strerror(-code));
}

void targets__free(struct targets *targets)
{
	free(targets->libs);
	free(targets->sites);
	*targets = (struct targets){ 0 };
}
