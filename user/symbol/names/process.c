/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process's mappings and the files behind them, which are opened while the process lives. See
 * process.h.
 */
#include "symbol/names/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/must.h"
#include "files/broker.h"
#include "files/file.h"
#include "files/proc.h"
#include "files/zip.h"
#include "symbol/elf/mapped_file.h"
#include "symbol/languages/heap.h"
#include "symbol/languages/language.h"
#include "symbol/languages/runtime.h"
#include "symbol/unwind/java_code.h"

#define STATUS_MAX   16384
#define OPEN_MAX_CNT 8192 /* files of one process */
#define REFRESH_NS   (100 * NS_PER_MS)
#define COST_SHARE   20 /* reading maps for garbage addresses takes at most 1/20 of the time */

struct process *process__new(uint32_t pid)
{
	struct process *ret = must__calloc(1, sizeof(*ret));

	ret->pid = ret->living = ret->nspid = pid;
	ret->uid = -1;
	perfmap__init(&ret->jit);
	jitdump__init(&ret->dump);
	return ret;
}

static void release(struct process_env *env, struct proc_maps *maps)
{
	struct mapped *mapped;

	for (mapped = maps->mapped; mapped; mapped = mapped->hh.next)
		module__put(&env->modules, mapped->module);
	proc_maps__free(maps);
}

void process__free(struct process_env *env, struct process *process)
{
	if (!process)
		return;
	release(env, &process->maps);
	cache__clear(&process->cache);
	perfmap__free(&process->jit);
	free(process->calls);
	free(process->java_ways);
	jitdump__free(&process->dump);
	heap_process__free(process->heap);
	language_process__free(process->language);
	free(process);
}

/*
 * Lines "Uid:\tREAL\t…" and "NSpid:\tOURS\t…\tITS". comm comes before them but contains no newline.
 */
static void read_status(const char *proc, struct process *process)
{
	struct strbuf sb = STRBUF_INIT;
	char path[PATH_MAX];
	const char *at;

	snprintf(path, sizeof(path), "%s/%u/status", proc, process->pid);
	if (!file__read(path, STATUS_MAX, &sb)) {
		at = strstr(strbuf__str(&sb), "\nUid:");
		if (at)
			process->uid = strtoul(at + 5, NULL, 10);
		at = strstr(strbuf__str(&sb), "\nNSpid:");
		for (at = at ? at + 7 : ""; *at == '\t'; at += strcspn(at + 1, "\t\n") + 1)
			process->nspid = strtoul(at + 1, NULL, 10);
	}
	strbuf__free(&sb);
}

/*
 * A lease ends after a while; a file without a module is tried again at each reading of the maps.
 */
static int open_mapped(struct process_env *env, uint32_t pid, const struct mapped *mapped,
		       struct stat *st)
{
	int fd = mapped_file__open(env->proc, pid, mapped, st);

	if (fd == -EWOULDBLOCK && !env->leased_cnt++)
		env->leased = strdup(mapped->path);
	return fd;
}

static struct module *find_module(struct process_env *env, uint32_t pid,
				  const struct mapped *mapped)
{
	struct module *ret = NULL;
	struct stat st;
	size_t size;
	void *mem;
	int fd;

	if (mapped->kind == MAPPED_FILE) {
		fd = open_mapped(env, pid, mapped, &st);
		return fd < 0 ? NULL
			      : modules__of_file(
					&env->modules, fd, &st,
					(struct image_part){ mapped->begin, mapped->size });
	}
	if (mapped->kind == MAPPED_VDSO &&
	    !vdso__copy(pid, mapped->start, mapped->end, &mem, &size)) {
		ret = modules__of_memory(&env->modules, mem, size);
		free(mem);
	}
	return ret;
}

/* After an exec the vdso may be a different one: a 32-bit one. */
static bool is_still(const struct mapped *old, const struct mapped *mapped)
{
	return old && old->module && (mapped->kind != MAPPED_VDSO || old->start == mapped->start);
}

/* From this file on: in the process that makes names, the broker opens several at once. */
static void open_ahead(struct process_env *env, const struct process *process,
		       const struct mapped *from)
{
	char links[BROKER_AHEAD_MAX][BROKER_AHEAD_PATH];
	size_t cnt = 0;

	for (; from && cnt < BROKER_AHEAD_MAX; from = from->hh.next)
		if (from->kind == MAPPED_FILE && !from->is_archive &&
		    !is_still(proc_maps__same(&process->maps, from), from))
			mapped_file__link(env->proc, process->living, from, links[cnt++],
					  BROKER_AHEAD_PATH);
	broker_client__open_ahead(BROKER_LINK, (const char(*)[BROKER_AHEAD_PATH])links, cnt);
}

static void find_modules(struct process_env *env, struct process *process, struct proc_maps *maps)
{
	struct mapped *mapped, *old;
	size_t opened = 0, files = 0;

	for (mapped = maps->mapped; mapped; mapped = mapped->hh.next) {
		old = proc_maps__same(&process->maps, mapped);
		if (is_still(old, mapped)) {
			mapped->module = old->module;
			mapped->module->refs++;
		} else if (!mapped->is_archive && opened++ < OPEN_MAX_CNT) {
			if (mapped->kind == MAPPED_FILE && !(files++ % BROKER_AHEAD_MAX))
				open_ahead(env, process, mapped);
			mapped->module = find_module(env, process->living, mapped);
		}
	}
	if (files)
		broker_client__open_ahead(BROKER_LINK, NULL, 0);
}

/* Use the mapped file, not a file of the same name: the content is trusted as the process's own. */
static void find_jitdump(struct process_env *env, struct process *process)
{
	const struct mapped *mapped;
	struct stat st;
	int fd;

	for (mapped = process->maps.mapped; mapped; mapped = mapped->hh.next) {
		if (!jitdump__is(mapped))
			continue;
		fd = open_mapped(env, process->living, mapped, &st);
		if (fd < 0)
			continue;
		if (process->dump.fd < 0 || st.st_ino != process->dump.inode ||
		    st.st_dev != process->dump.dev)
			jitdump__open(&process->dump, fd, process->uid, mapped->path);
		else
			close(fd);
		return;
	}
}

static bool runs_java(const struct proc_maps *maps)
{
	const struct mapped *mapped;

	for (mapped = maps->mapped; mapped; mapped = mapped->hh.next)
		if (mapped->kind == MAPPED_FILE && java__is_machine(mapped->path))
			return true;
	return false;
}

static void forget_names(struct process *process)
{
	process->heap_known = false;
	cache__clear(&process->cache);
	free(process->calls);
	process->calls = NULL;
}

/* The files that a reading begins with. */
static void open_own_ahead(const struct process_env *env, uint32_t pid)
{
	static const char *const names[] = { "stat", "maps", "status" };
	char paths[3][BROKER_AHEAD_PATH];

	for (size_t i = 0; i < 3; i++)
		snprintf(paths[i], BROKER_AHEAD_PATH, "%s/%u/%s", env->proc, pid, names[i]);
	broker_client__open_ahead(BROKER_OWN, (const char(*)[BROKER_AHEAD_PATH])paths, 3);
}

int process__refresh(struct process_env *env, struct process *process, bool must_be_same)
{
	uint64_t begin = clock__mono_ns(), at_ns = process->maps.at_ns, start_time, end;
	char path[PATH_MAX];
	struct proc_maps maps = { 0 };
	int ret;

	open_own_ahead(env, process->pid);
	start_time = proc__start_time(env->proc, process->pid);
	process->living = live_tid__thread(env->proc, process->pid);
	snprintf(path, sizeof(path), "%s/%u/maps", env->proc, process->living);
	ret = must_be_same && start_time != process->start_time ? -ESRCH
								: proc_maps__read(&maps, path);
	if (!ret) {
		if (start_time != process->start_time) {
			release(env, &process->maps);
			perfmap__free(&process->jit);
			jitdump__free(&process->dump);
		}
		process->start_time = start_time;
		process->maps.at_ns = 0;
		read_status(env->proc, process);
		archive__split(env->proc, process->living, &process->maps, &maps);
		find_modules(env, process, &maps);
		proc_maps__keep_past(&maps, &process->maps, begin);
		release(env, &process->maps);
		process->maps = maps;
		process->maps.at_ns = at_ns;
		find_jitdump(env, process);
		process->is_java = runs_java(&process->maps);
		forget_names(process);
		process__update_jit(env, process);
	} else {
		proc_maps__free(&maps);
	}
	end = clock__mono_ns();
	process->next_refresh_ns = end + (end - begin) * COST_SHARE + REFRESH_NS;
	return ret;
}

/* Another file may be mapped there by now; then read the maps again. */
static int find_new_module(struct process_env *env, struct process *process, struct mapped *mapped)
{
	struct stat st;
	int fd = open_mapped(env, process->living, mapped, &st);

	if (fd < 0)
		return fd;
	if (!mapped_file__is(mapped, &st)) {
		close(fd);
		return process__refresh(env, process, true);
	}
	mapped->module = modules__of_file(&env->modules, fd, &st, (struct image_part){ 0 });
	return mapped->module ? 0 : -ENOMEM;
}

int process__mapped(struct process_env *env, struct process *process, const struct mapping *mapping)
{
	struct mapped *mapped = NULL;
	int res = zip_entry__is_archive(mapping->path)
			  ? -EINVAL
			  : proc_maps__add(&process->maps, mapping, &mapped);
	bool is_dump;

	if (res == -EINVAL)
		return process__refresh(env, process, true);
	if (!mapped)
		return res;
	forget_names(process);
	process->is_java |= java__is_machine(mapped->path);
	is_dump = jitdump__is(mapped);
	if (!mapped->module)
		res = res ?: find_new_module(env, process, mapped);
	if (is_dump)
		find_jitdump(env, process);
	return res;
}

int process__open(struct process_env *env, const struct process *process,
		  const struct mapped *mapped)
{
	struct stat st;
	int fd = open_mapped(env, process->living, mapped, &st);

	if (fd >= 0 && !modules__is(&env->modules, mapped->module, fd, &st)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

struct debugfile_places process__places(const struct process_env *env,
					const struct process *process, const struct mapped *mapped,
					char *root)
{
	snprintf(root, PATH_MAX, "%s/%u/root", env->proc, process->living);
	return (struct debugfile_places){ .debug_dir = env->debug_dir,
					  .root = root,
					  .path = mapped->path,
					  .fetch = env->fetch,
					  .asker = { process->pid, process->uid } };
}

static void load(struct process_env *env, const struct process *process, struct mapped *mapped,
		 int fd)
{
	struct debugfile_places places;
	char root[PATH_MAX];

	if (mapped->module->loaded)
		return;
	places = process__places(env, process, mapped, root);
	module__load(&env->modules, mapped->module, fd, &places);
}

void process__load(struct process_env *env, const struct process *process, struct mapped *mapped)
{
	int fd;

	mapped->module = modules__resolve_all(&env->modules, mapped->module, mapped->module->fd);
	module__check(mapped->module);
	if (mapped->module->loaded)
		return;
	fd = modules__held(&env->modules, mapped->module);
	if (fd >= 0) {
		load(env, process, mapped, fd);
		return;
	}
	fd = process__open(env, process, mapped);
	if (fd < 0)
		return;
	mapped->module = modules__resolve_all(&env->modules, mapped->module, fd);
	load(env, process, mapped, fd);
	close(fd);
}

void process__update_jit(const struct process_env *env, struct process *process)
{
	char root[PATH_MAX];

	snprintf(root, sizeof(root), "%s/%u/root", env->proc, process->living);
	perfmap__update(&process->jit, root, process->nspid, process->uid);
	jitdump__update(&process->dump);
}

bool process__jit_is_partial(const struct process *process)
{
	return process->jit.behind || process->jit.full || process->dump.behind ||
	       process->dump.full;
}

uint32_t process__jit_generation(const struct process *process)
{
	return process->jit.generation + process->dump.generation;
}

size_t process__bytes(const struct process *process)
{
	size_t ways = process->java_ways ? sizeof(*process->java_ways) : 0;

	return sizeof(*process) + ways + proc_maps__bytes(&process->maps) +
	       cache__bytes(&process->cache) + symtab__bytes(&process->jit.tab) +
	       jitdump__bytes(&process->dump) + heap_process__bytes(process->heap) +
	       language_process__bytes(process->language);
}
