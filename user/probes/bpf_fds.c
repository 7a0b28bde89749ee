/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF maps and programs, by their descriptors. See bpf_fds.h. */
#include "probes/bpf_fds.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EMPTY_RUNS  2000
#define EMPTY_TRIES 5

/* --- stack sizes: one map with the sizes, one with the number of entries */

void copy_bpf_fds__close(struct copy_bpf_fds *maps)
{
	if (maps->sizes_fd >= 0)
		close(maps->sizes_fd);
	if (maps->deep_fd >= 0)
		close(maps->deep_fd);
	*maps = (struct copy_bpf_fds)COPY_MAPS_NONE;
}

static int tell_count(struct copy_bpf_fds *maps)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(maps->deep_fd, &zero, &maps->deep_cnt, BPF_ANY) ? -errno : 0;
}

int copy_bpf_fds__deepen(struct copy_bpf_fds *maps, uint32_t pid, uint32_t size)
{
	uint32_t old;

	if (maps->sizes_fd < 0)
		return 0;
	if (bpf_map_lookup_elem(maps->sizes_fd, &pid, &old))
		maps->deep_cnt++;
	if (bpf_map_update_elem(maps->sizes_fd, &pid, &size, BPF_ANY))
		return -errno;
	return tell_count(maps);
}

void copy_bpf_fds__drop(struct copy_bpf_fds *maps, uint32_t pid)
{
	if (maps->sizes_fd < 0 || bpf_map_delete_elem(maps->sizes_fd, &pid))
		return;
	maps->deep_cnt--;
	tell_count(maps);
}

/*
 * --- parks: processes, those of them that are left alone as a whole, places, and a number that
 * changes with each change of the first
 */

void park_bpf_fds__close(struct park_bpf_fds *maps)
{
	if (maps->processes_fd >= 0)
		close(maps->processes_fd);
	if (maps->left_fd >= 0)
		close(maps->left_fd);
	if (maps->places_fd >= 0)
		close(maps->places_fd);
	if (maps->change_fd >= 0)
		close(maps->change_fd);
	*maps = (struct park_bpf_fds)PARK_MAPS_NONE;
}

static int update(int fd, const void *key, const void *value)
{
	return bpf_map_update_elem(fd, key, value, BPF_ANY) ? -errno : 0;
}

/* A slot that another process has is not touched. */
static int drop_left(const struct park_bpf_fds *maps, uint32_t pid)
{
	uint32_t slot = pid % JANK_LEFT_MAX, holder = 0, none = 0;

	if (bpf_map_lookup_elem(maps->left_fd, &slot, &holder) || holder != pid)
		return 0;
	return update(maps->left_fd, &slot, &none);
}

static int set_left(const struct park_bpf_fds *maps, uint32_t pid, const struct jank_parks *parks)
{
	uint32_t slot = pid % JANK_LEFT_MAX;

	if (parks->off_start || parks->off_end != UINT64_MAX)
		return drop_left(maps, pid);
	return update(maps->left_fd, &slot, &pid);
}

int park_bpf_fds__set_process(struct park_bpf_fds *maps, uint32_t pid,
			      const struct jank_parks *parks)
{
	uint32_t zero = 0;
	int res = update(maps->processes_fd, &pid, parks);

	res = res ?: set_left(maps, pid, parks);
	if (res)
		return res;
	maps->changes++;
	return update(maps->change_fd, &zero, &maps->changes);
}

bool park_bpf_fds__has_process(const struct park_bpf_fds *maps, uint32_t pid)
{
	struct jank_parks parks;

	return !bpf_map_lookup_elem(maps->processes_fd, &pid, &parks);
}

void park_bpf_fds__drop_process(struct park_bpf_fds *maps, uint32_t pid)
{
	drop_left(maps, pid);
	bpf_map_delete_elem(maps->processes_fd, &pid);
}

int park_bpf_fds__set_place(struct park_bpf_fds *maps, const struct jank_park_place *place,
			    uint32_t verdict)
{
	return update(maps->places_fd, place, &verdict);
}

void park_bpf_fds__drop_place(struct park_bpf_fds *maps, const struct jank_park_place *place)
{
	bpf_map_delete_elem(maps->places_fd, place);
}

/* --- interpreter threads: one map with the threads, one that says whether there is any */

void interp_bpf_fds__close(struct interp_bpf_fds *maps)
{
	if (maps->threads_fd >= 0)
		close(maps->threads_fd);
	if (maps->any_fd >= 0)
		close(maps->any_fd);
	*maps = (struct interp_bpf_fds)SCRIPT_MAPS_NONE;
}

bool interp_bpf_fds__has(const struct interp_bpf_fds *maps, uint32_t pid, uint32_t tid,
			 const struct jank_script_where *where)
{
	struct jank_script script;

	return maps->threads_fd >= 0 && !bpf_map_lookup_elem(maps->threads_fd, &tid, &script) &&
	       script.where.tgid == pid &&
	       (!where || !memcmp(where, &script.where, sizeof(*where)));
}

int interp_bpf_fds__set(struct interp_bpf_fds *maps, uint32_t tid,
			const struct jank_script_where *where)
{
	const struct jank_script script = { .where = *where };
	uint32_t zero = 0, one = 1;

	if (maps->threads_fd < 0)
		return 0;
	if (bpf_map_update_elem(maps->threads_fd, &tid, &script, BPF_ANY))
		return -errno;
	if (maps->any)
		return 0;
	maps->any = true;
	return bpf_map_update_elem(maps->any_fd, &zero, &one, BPF_ANY) ? -errno : 0;
}

/* --- counters */

int bpf_counters__losses(int map_fd, uint64_t cnt[JANK_LOSS_CNT])
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *values = calloc(cpus > 0 ? cpus : 1, sizeof(*values));

	if (!values || cpus <= 0) {
		free(values);
		return -ENOMEM;
	}
	for (__u32 reason = 0; reason < JANK_LOSS_CNT; reason++) {
		if (bpf_map_lookup_elem(map_fd, &reason, values))
			continue;
		for (int i = 0; i < cpus; i++)
			cnt[reason] += values[i];
	}
	free(values);
	return 0;
}

uint64_t bpf_counters__skipped(int prog_fd)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.recursion_misses;
}

void bpf_counters__add_cost(int prog_fd, uint64_t *ns, uint64_t *runs)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &len))
		return;
	*ns += info.run_time_ns;
	*runs += info.run_cnt;
}

/* The mean of some runs; 0: it could not be measured. */
static uint64_t mean_run_ns(int prog_fd)
{
	char frame[64] = "";
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = EMPTY_RUNS);
	struct bpf_prog_info before = {}, after = {};
	__u32 len = sizeof(before);

	if (bpf_obj_get_info_by_fd(prog_fd, &before, &len) ||
	    bpf_prog_test_run_opts(prog_fd, &run) ||
	    bpf_obj_get_info_by_fd(prog_fd, &after, &len) || after.run_cnt <= before.run_cnt)
		return 0;
	return (after.run_time_ns - before.run_time_ns) / (after.run_cnt - before.run_cnt);
}

uint64_t bpf_counters__empty_run_ns(void)
{
	const struct bpf_insn insns[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
					  { .code = BPF_JMP | BPF_EXIT } };
	int prog_fd =
		bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "jank_empty", "GPL", insns, 2, NULL);
	int stats_fd = prog_fd >= 0 ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1;
	uint64_t least = UINT64_MAX, ns;

	/* The least: an interrupt, or another machine's turn, is no cost of the statistics. */
	for (unsigned i = 0; i < EMPTY_TRIES && stats_fd >= 0; i++) {
		ns = mean_run_ns(prog_fd);
		if (ns && ns < least)
			least = ns;
	}
	if (stats_fd >= 0)
		close(stats_fd);
	if (prog_fd >= 0)
		close(prog_fd);
	return least == UINT64_MAX ? 0 : least;
}

void bpf_counters__each_share(int map_fd,
			      void (*fn)(void *ctx, uint32_t uid, const struct jank_share *share),
			      void *ctx)
{
	__u32 key, next, *at = NULL;
	struct jank_share share;

	for (; !bpf_map_get_next_key(map_fd, at, &next); at = &key) {
		key = next;
		if (!bpf_map_lookup_elem(map_fd, &key, &share))
			fn(ctx, key, &share);
	}
}

/* --- dispatches that were open before the trace */

#define EXECS_SZ (JANK_EXEC_MAX * sizeof(struct jank_exec))

void opening_bpf_fds__close(struct opening_bpf_fds *maps)
{
	if (maps->openings_fd >= 0)
		close(maps->openings_fd);
	if (maps->copies_fd >= 0)
		close(maps->copies_fd);
	if (maps->execs)
		munmap(maps->execs, EXECS_SZ);
	if (maps->execs_fd >= 0)
		close(maps->execs_fd);
	*maps = (struct opening_bpf_fds){ -1, -1, -1, NULL };
}

int opening_bpf_fds__put(const struct opening_bpf_fds *maps, uint32_t tid,
			 const struct jank_opening *opening)
{
	return update(maps->openings_fd, &tid, opening);
}

int opening_bpf_fds__get(const struct opening_bpf_fds *maps, uint32_t tid, struct jank_opening *ret)
{
	return bpf_map_lookup_elem(maps->openings_fd, &tid, ret) ? -errno : 0;
}

void opening_bpf_fds__drop(const struct opening_bpf_fds *maps, uint32_t tid)
{
	bpf_map_delete_elem(maps->openings_fd, &tid);
}

int opening_bpf_fds__map_execs(struct opening_bpf_fds *maps)
{
	void *memory = mmap(NULL, EXECS_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, maps->execs_fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	maps->execs = memory;
	return 0;
}

/* The probes may give the entry to another process meanwhile. */
static bool copy_exec(const struct jank_exec *exec, struct jank_exec *ret)
{
	uint32_t pid = __atomic_load_n(&exec->tgid, __ATOMIC_ACQUIRE);

	if (!pid)
		return false;
	*ret = *exec;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return ret->tgid == pid && __atomic_load_n(&exec->tgid, __ATOMIC_RELAXED) == pid;
}

size_t opening_bpf_fds__execs(const struct opening_bpf_fds *maps, uint32_t *pids,
			      struct jank_exec *execs, size_t max)
{
	size_t cnt = 0;

	for (size_t i = 0; i < JANK_EXEC_MAX && cnt < max; i++) {
		if (!copy_exec(&maps->execs[i], &execs[cnt]))
			continue;
		pids[cnt] = execs[cnt].tgid;
		cnt++;
	}
	return cnt;
}

/* As startup__exec_of. NULL: it has none. */
static struct jank_exec *exec_of(const struct opening_bpf_fds *maps, uint32_t pid)
{
	struct jank_exec *exec = &maps->execs[pid & (JANK_EXEC_MAX - 1)];

	if (exec->tgid != pid)
		exec = &maps->execs[JANK_SECOND_PLACE(pid, JANK_EXEC_MAX)];
	return exec->tgid == pid ? exec : NULL;
}

int opening_bpf_fds__exec(const struct opening_bpf_fds *maps, uint32_t pid, struct jank_exec *ret)
{
	const struct jank_exec *exec = exec_of(maps, pid);

	return exec && copy_exec(exec, ret) ? 0 : -ENOENT;
}

void opening_bpf_fds__forget(const struct opening_bpf_fds *maps, uint32_t pid)
{
	struct jank_exec *exec = exec_of(maps, pid);

	if (exec)
		__atomic_store_n(&exec->tgid, 0, __ATOMIC_RELEASE);
}

int opening_bpf_fds__put_copy(const struct opening_bpf_fds *maps, const struct jank_copy *copy)
{
	uint32_t slot = copy->rec.hdr.tid & (JANK_COPY_CNT - 1);
	struct jank_copy old;

	if (bpf_map_lookup_elem(maps->copies_fd, &slot, &old))
		return -errno;
	if (old.rec.hdr.tid || (uint32_t)old.writes)
		return -EBUSY;
	return update(maps->copies_fd, &slot, copy);
}
