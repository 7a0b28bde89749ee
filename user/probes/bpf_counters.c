/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums counters over CPUs and over programs. */
#include "probes/bpf_counters.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

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

bool bpf_counters__cost(const struct bpf_object *obj, uint64_t *ret_ns, uint64_t *ret_runs)
{
	struct bpf_program *prog;

	*ret_ns = *ret_runs = 0;
	bpf_object__for_each_program (prog, obj) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_program__autoload(prog) ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			continue;
		*ret_ns += info.run_time_ns;
		*ret_runs += info.run_cnt;
	}
	return *ret_runs > 0;
}
