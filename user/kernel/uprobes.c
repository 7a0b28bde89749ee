/* SPDX-License-Identifier: GPL-2.0 */
/* Links by process, each site once. */
#include "kernel/uprobes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/living.h"
#include "kernel/links.h"
#include "kernel/targets.h"

struct probe {
	uint64_t dev, inode, file_offset;
};

struct probed_process {
	pid_t pid;
	pid_t task; /* the thread that the links are attached to; they die with it */
	struct probe *probes;
	struct bpf_link **links; /* of each probe */
	unsigned cnt;
	struct probed_process *before; /* its uprobes of before an exec, dead */
	UT_hash_handle hh;
};

struct uprobes {
	struct probed_process *processes;
};

int uprobes__new(struct uprobes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
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
	HASH_ADD_INT(up->processes, pid, proc);
	return proc;
}

static struct bpf_program *program_for(enum site_kind kind, const struct uprobe_programs *progs)
{
	switch (kind) {
	case SITE_WAIT_BEGIN:
		return progs->wait_begin;
	case SITE_WAIT_END:
		return progs->wait_end;
	case SITE_LOOPER:
		return progs->looper;
	}
	return NULL;
}

static bool is_attached(const struct probed_process *proc, const struct target_lib *lib,
			uint64_t file_offset)
{
	for (unsigned i = 0; i < proc->cnt; i++)
		if (proc->probes[i].dev == lib->dev && proc->probes[i].inode == lib->inode &&
		    proc->probes[i].file_offset == file_offset)
			return true;
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

static int attach_site(struct probed_process *proc, const struct target_lib *lib,
		       const struct site *site, struct bpf_program *prog, struct err *err)
{
	struct bpf_link *link;

	if (!make_room(proc))
		return err__set(err, ENOMEM, "out of memory");
	link = bpf_program__attach_uprobe(prog, false, proc->task, lib->open_path,
					  site->file_offset);
	if (!link)
		return err__set(err, errno, "process %d: cannot probe %s in '%s': %s", proc->pid,
				site->function, lib->path, strerror(errno));
	proc->probes[proc->cnt] = (struct probe){ lib->dev, lib->inode, site->file_offset };
	proc->links[proc->cnt++] = link;
	return 0;
}

int uprobes__attach(struct uprobes *up, pid_t pid, const struct uprobe_programs *progs,
		    unsigned *ret_cnt, struct err *err)
{
	struct targets targets = {};
	struct probed_process *proc;
	unsigned cnt = 0;
	int res;

	if (uprobes__lost_task(up, pid) && uprobes__renew(up, pid))
		return -ENOMEM;
	proc = process_of(up, pid);
	if (!proc)
		return -ENOMEM;
	if (!proc->cnt)
		proc->task = living__thread("/proc", pid);
	res = targets__find(proc->task, progs->wait_begin != NULL, progs->looper != NULL, &targets,
			    err);
	if (res)
		return res;
	for (size_t i = 0; i < targets.site_cnt && !res; i++) {
		const struct site *site = &targets.sites[i];
		const struct target_lib *lib = &targets.libs[site->lib];
		struct bpf_program *prog = program_for(site->kind, progs);

		if (!prog)
			continue;
		if (!is_attached(proc, lib, site->file_offset))
			res = attach_site(proc, lib, site, prog, err);
		cnt += !res;
	}
	if (res == -ENOENT) /* it became another program while we looked: none is in what it maps */
		res = cnt = 0;
	if (ret_cnt)
		*ret_cnt = cnt;
	targets__free(&targets);
	return res;
}

bool uprobes__lost_task(const struct uprobes *up, pid_t pid)
{
	struct probed_process *proc;

	HASH_FIND_INT(up->processes, &pid, proc);
	return proc && proc->cnt && living__thread("/proc", proc->task) != (uint32_t)proc->task;
}

int uprobes__renew(struct uprobes *up, pid_t pid)
{
	struct probed_process *old, *proc;

	HASH_FIND_INT(up->processes, &pid, old);
	if (!old || !old->cnt)
		return 0;
	HASH_DEL(up->processes, old);
	proc = process_of(up, pid);
	if (!proc) {
		HASH_ADD_INT(up->processes, pid, old);
		return -ENOMEM;
	}
	proc->before = old;
	return 0;
}
