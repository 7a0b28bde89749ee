/* SPDX-License-Identifier: GPL-2.0 */
/* Two maps: the sizes, and whether there are any. */
#include "probes/copy_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

void copy_maps__close(struct copy_maps *maps)
{
	if (maps->sizes_fd >= 0)
		close(maps->sizes_fd);
	if (maps->deep_fd >= 0)
		close(maps->deep_fd);
	*maps = (struct copy_maps)COPY_MAPS_NONE;
}

static int tell_count(struct copy_maps *maps)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(maps->deep_fd, &zero, &maps->deep_cnt, BPF_ANY) ? -errno : 0;
}

int copy_maps__deepen(struct copy_maps *maps, uint32_t pid, uint32_t size)
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

void copy_maps__drop(struct copy_maps *maps, uint32_t pid)
{
	if (maps->sizes_fd < 0 || bpf_map_delete_elem(maps->sizes_fd, &pid))
		return;
	maps->deep_cnt--;
	tell_count(maps);
}
