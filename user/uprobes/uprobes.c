/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of links by process; each site is attached once. */
#include "uprobes/uprobes.h"

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
	struct held_link *links; /* one for each probe; of probes by one link the first has it */
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

		links__destroy_held(proc->links, proc->cnt);
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

static bool make_room(struct probed_process *proc, size_t cnt)
{
	struct probe *probes = realloc(proc->probes, (proc->cnt + cnt) * sizeof(*probes));
	struct held_link *links;

	if (!probes)
		return false;
	proc->probes = probes;
	links = realloc(proc->links, (proc->cnt + cnt) * sizeof(*links));
	if (links)
		proc->links = links;
	return links != NULL;
}

static void add_probe(struct probed_process *proc, const struct target_lib *lib,
		      const struct site *site, struct held_link link)
{
	proc->probes[proc->cnt] = (struct probe){ lib->dev,   lib->inode, site->file_offset,
						  site->kind, site->mark, site->pausable };
	proc->links[proc->cnt++] = link;
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
	const struct uprobe_site at = { prog, site->file_offset, site->mark };
	struct held_link link;
	int res;

	if (!make_room(proc, 1))
		return err__set(err, ENOMEM, "out of memory");
	res = uprobe_links__alone(lib->open_path, proc->task, &at, &link);
	if (!res)
		add_probe(proc, lib, site, link);
	if (!res || is_optional(site, -res))
		return 0;
	return err__set(err, -res, "process %d: cannot probe %s in '%s': %s", proc->pid,
			site->function, lib->path, strerror(-res));
}

/* Is the site wanted and not attached? *ret is how; without a main thread not by uprobe_multi. */
static bool is_due(const struct probed_process *proc, const struct targets *targets,
		   const struct uprobe_programs *progs, const struct site *site,
		   struct uprobe_site *ret)
{
	*ret = (struct uprobe_site){ uprobe_programs__at(progs, site), site->file_offset,
				     site->mark };
	if (!ret->prog || (proc->paused && site->pausable))
		return false;
	if (uprobe_site__is_multi(ret) && proc->task != proc->pid)
		return false;
	return !is_attached(proc, &targets->libs[site->lib], site);
}

/*
 * Attaches by one link what can share one with site i: perf events take 35 ms each to detach.
 * attach_site attaches whatever the kernel refuses here.
 */
static void attach_group(struct probed_process *proc, const struct targets *targets,
			 const struct uprobe_programs *progs, size_t i)
{
	const struct site *first = &targets->sites[i];
	const struct target_lib *lib = &targets->libs[first->lib];
	size_t room = targets->site_cnt - i, cnt = 0;
	const struct site **sites = calloc(room, sizeof(*sites));
	struct uprobe_site *at = calloc(room, sizeof(*at));
	int fd = -1;

	for (; sites && at && i < targets->site_cnt; i++) {
		sites[cnt] = &targets->sites[i];
		if (sites[cnt]->lib == first->lib && sites[cnt]->pausable == first->pausable &&
		    is_due(proc, targets, progs, sites[cnt], &at[cnt]) && at[cnt].prog == at->prog)
			cnt++;
	}
	if (cnt > 1 && make_room(proc, cnt))
		fd = uprobe_links__together(lib->open_path, proc->task, at, cnt);
	for (size_t k = 0; fd >= 0 && k < cnt; k++)
		add_probe(proc, lib, sites[k], (struct held_link){ .fd = k ? -1 : fd });
	free(sites);
	free(at);
}

int uprobes__attach(struct uprobes *up, pid_t pid, const struct uprobe_programs *progs,
		    unsigned *ret_cnt, struct err *err)
{
	const struct target_wants wants = uprobe_programs__wants(progs);
	struct targets targets = {};
	struct probed_process *proc;
	struct uprobe_site at;
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

		if (is_due(proc, &targets, progs, site, &at) && uprobe_site__is_multi(&at))
			attach_group(proc, &targets, progs, i);
		if (is_due(proc, &targets, progs, site, &at))
			res = attach_site(proc, &targets.libs[site->lib], site, at.prog, err);
		cnt += !res && at.prog && !(proc->paused && site->pausable);
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
			ret[cnt++] = proc->links[i];
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
