/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of links by process; each site is attached once. */
#include "uprobes/uprobes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "files/proc.h"
#include "uprobes/links.h"
#include "uprobes/targets.h"

#define ENOTSUPP 524 /* internal to the kernel: it cannot probe this instruction */

struct probe {
	uint64_t dev, inode, file_offset;
	enum site_kind kind;
	unsigned mark;
	bool pausable;
};

struct probed_process {
	pid_t pid;
	pid_t task; /* the thread that the links are attached to; they end with it */
	struct probe *probes;
	struct bpf_link **links; /* one for each probe */
	unsigned cnt;
	bool paused;		       /* no probes at pausable sites */
	struct probed_process *before; /* its dead uprobes from before an exec */
	UT_hash_handle hh;
};

struct uprobes {
	struct probed_process *processes;
	struct reaper *reaper;
	bool pause; /* of new processes */
};

int uprobes__new(struct uprobes **ret, bool pause)
{
	struct uprobes *up = calloc(1, sizeof(*up));

	if (up)
		up->reaper = reaper__new();
	if (!up || !up->reaper) {
		free(up);
		return -ENOMEM;
	}
	up->pause = pause;
	*ret = up;
	return 0;
}

static void drop(struct uprobes *up, struct probed_process *proc)
{
	HASH_DEL(up->processes, proc);
	while (proc) {
		struct probed_process *before = proc->before;

		links__destroy(proc->links, proc->cnt);
		free(proc->links);
		free(proc->probes);
		free(proc);
		proc = before;
	}
}

void uprobes__free(struct uprobes *up)
{
	struct probed_process *proc, *next;

	if (!up)
		return;
	HASH_ITER (hh, up->processes, proc, next)
		drop(up, proc);
	reaper__free(up->reaper);
	free(up);
}

void uprobes__detach(struct uprobes *up, pid_t pid)
{
	struct probed_process *proc;

	HASH_FIND_INT(up->processes, &pid, proc);
	if (proc)
		drop(up, proc);
}

static struct probed_process *process_of(struct uprobes *up, pid_t pid)
{
	struct probed_process *proc;

	HASH_FIND_INT(up->processes, &pid, proc);
	if (proc)
		return proc;
	proc = calloc(1, sizeof(*proc));
	if (!proc)
		return NULL;
	proc->pid = pid;
	proc->paused = up->pause;
	HASH_ADD_INT(up->processes, pid, proc);
	return proc;
}

struct target_wants uprobe_programs__wants(const struct uprobe_programs *progs)
{
	bool marks = progs->mark || progs->custom;

	return (struct target_wants){ .epoll = progs->wait_begin != NULL,
				      .looper = progs->looper != NULL,
				      .catalogue = marks ? progs->catalogue : NULL };
}

struct bpf_program *uprobe_programs__at(const struct uprobe_programs *progs,
					const struct site *site)
{
	if (site->pausable && progs->no_pausable)
		return NULL;
	switch (site->kind) {
	case SITE_WAIT_BEGIN:
		return progs->wait_begin;
	case SITE_WAIT_END:
		return progs->wait_end;
	case SITE_LOOPER:
		return progs->looper;
	case SITE_MARK:
		return progs->mark;
	case SITE_CUSTOM:
		return progs->custom;
	}
	return NULL;
}

static bool is_attached(const struct probed_process *proc, const struct target_lib *lib,
			const struct site *site)
{
	for (unsigned i = 0; i < proc->cnt; i++) {
		const struct probe *probe = &proc->probes[i];

		if (probe->dev == lib->dev && probe->inode == lib->inode &&
		    probe->file_offset == site->file_offset && probe->kind == site->kind &&
		    probe->mark == site->mark)
			return true;
	}
	return false;
}

static bool make_room(struct probed_process *proc)
{
	struct probe *probes = realloc(proc->probes, (proc->cnt + 1) * sizeof(*probes));
	struct bpf_link **links;

	if (!probes)
		return false;
	proc->probes = probes;
	links = realloc(proc->links, (proc->cnt + 1) * sizeof(struct bpf_link *));
	if (links)
		proc->links = links;
	return links != NULL;
}

/*
 * A mark is optional, since a loop is traced without it too: skip it when the kernel cannot probe
 * the instruction.
 */
static bool is_optional(const struct site *site, int code)
{
	return site->kind == SITE_MARK &&
	       (code == EINVAL || code == EOPNOTSUPP || code == ENOTSUPP);
}

static int attach_site(struct probed_process *proc, const struct target_lib *lib,
		       const struct site *site, struct bpf_program *prog, struct err *err)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->mark);
	struct bpf_link *link;

	if (!make_room(proc))
		return err__set(err, ENOMEM, "out of memory");
	link = bpf_program__attach_uprobe_opts(prog, proc->task, lib->open_path, site->file_offset,
					       &opts);
	if (!link && is_optional(site, errno))
		return 0;
	if (!link)
		return err__set(err, errno, "process %d: cannot probe %s in '%s': %s", proc->pid,
				site->function, lib->path, strerror(errno));
	proc->probes[proc->cnt] = (struct probe){ lib->dev,   lib->inode, site->file_offset,
						  site->kind, site->mark, site->pausable };
	proc->links[proc->cnt++] = link;
	return 0;
}

int uprobes__attach(struct uprobes *up, pid_t pid, const struct uprobe_programs *progs,
		    unsigned *ret_cnt, struct err *err)
{
	const struct target_wants wants = uprobe_programs__wants(progs);
	struct targets targets = {};
	struct probed_process *proc;
	unsigned cnt = 0;
	int res;

	res = uprobes__lost_task(up, pid) ? uprobes__renew(up, pid) : 0;
	proc = res ? NULL : process_of(up, pid);
	if (!proc)
		return err__set(err, ENOMEM, "out of memory");
	if (!proc->cnt)
		proc->task = live_tid__thread("/proc", pid);
	res = targets__find(proc->task, &wants, &targets, err);
	if (res)
		return res;
	for (size_t i = 0; i < targets.site_cnt && !res; i++) {
		const struct site *site = &targets.sites[i];
		const struct target_lib *lib = &targets.libs[site->lib];
		struct bpf_program *prog = uprobe_programs__at(progs, site);

		if (!prog || (proc->paused && site->pausable))
			continue;
		if (!is_attached(proc, lib, site))
			res = attach_site(proc, lib, site, prog, err);
		cnt += !res;
	}
	if (res == -ENOENT) /* exec happened meanwhile: no site is in what it maps now */
		res = cnt = 0;
	if (ret_cnt)
		*ret_cnt = cnt;
	targets__free(&targets);
	return res;
}

/* Removes the pausable probes and returns their links. */
static size_t take_pausable(struct probed_process *proc, struct held_link *ret)
{
	unsigned kept = 0;
	size_t cnt = 0;

	for (unsigned i = 0; i < proc->cnt; i++) {
		if (proc->probes[i].pausable) {
			ret[cnt++] = (struct held_link){ .link = proc->links[i], .fd = -1 };
			continue;
		}
		proc->probes[kept] = proc->probes[i];
		proc->links[kept++] = proc->links[i];
	}
	proc->cnt = kept;
	return cnt;
}

int uprobes__pause(struct uprobes *up, pid_t pid, bool pause)
{
	struct probed_process *proc;
	struct held_link *links;

	HASH_FIND_INT(up->processes, &pid, proc);
	if (!proc || !pause) {
		if (proc)
			proc->paused = false;
		return 0;
	}
	if (reaper__is_busy(up->reaper))
		return -EAGAIN;
	links = calloc(proc->cnt + 1, sizeof(*links));
	if (!links)
		return -ENOMEM;
	proc->paused = true;
	reaper__take(up->reaper, links, take_pausable(proc, links));
	return 0;
}

bool uprobes__lost_task(const struct uprobes *up, pid_t pid)
{
	struct probed_process *proc;

	HASH_FIND_INT(up->processes, &pid, proc);
	return proc && proc->cnt && live_tid__thread("/proc", proc->task) != (uint32_t)proc->task;
}

int uprobes__renew(struct uprobes *up, pid_t pid)
{
	struct probed_process *proc, *before;

	HASH_FIND_INT(up->processes, &pid, proc);
	if (!proc || !proc->cnt)
		return 0;
	before = malloc(sizeof(*before));
	if (!before)
		return -ENOMEM;
	*before = *proc;
	*proc = (struct probed_process){
		.pid = pid, .paused = before->paused, .before = before, .hh = before->hh
	};
	return 0;
}
