/* SPDX-License-Identifier: GPL-2.0 */
/* Three maps; a change of the first is told by a number in the third. */
#include "probes/park_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

void park_maps__close(struct park_maps *maps)
{
	if (maps->processes_fd >= 0)
		close(maps->processes_fd);
	if (maps->places_fd >= 0)
		close(maps->places_fd);
	if (maps->change_fd >= 0)
		close(maps->change_fd);
	*maps = (struct park_maps)PARK_MAPS_NONE;
}

static int update(int fd, const void *key, const void *value)
{
	return bpf_map_update_elem(fd, key, value, BPF_ANY) ? -errno : 0;
}

int park_maps__set_process(struct park_maps *maps, uint32_t pid, const struct jank_parks *parks)
{
	uint32_t zero = 0;
	int res = update(maps->processes_fd, &pid, parks);

	if (res)
		return res;
	maps->changes++;
	return update(maps->change_fd, &zero, &maps->changes);
}

bool park_maps__has_process(const struct park_maps *maps, uint32_t pid)
{
	struct jank_parks parks;

	return !bpf_map_lookup_elem(maps->processes_fd, &pid, &parks);
}

void park_maps__drop_process(struct park_maps *maps, uint32_t pid)
{
	bpf_map_delete_elem(maps->processes_fd, &pid);
}

int park_maps__set_place(struct park_maps *maps, const struct jank_park_place *place, bool is_park)
{
	uint32_t verdict = is_park ? JANK_PARK_YES : JANK_PARK_NO;

	return update(maps->places_fd, place, &verdict);
}

void park_maps__drop_place(struct park_maps *maps, const struct jank_park_place *place)
{
	bpf_map_delete_elem(maps->places_fd, place);
}
