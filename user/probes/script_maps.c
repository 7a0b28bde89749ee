/* SPDX-License-Identifier: GPL-2.0 */
/* Two maps: the threads, and whether there is any. */
#include "probes/script_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

void script_maps__close(struct script_maps *maps)
{
	if (maps->threads_fd >= 0)
		close(maps->threads_fd);
	if (maps->any_fd >= 0)
		close(maps->any_fd);
	*maps = (struct script_maps)SCRIPT_MAPS_NONE;
}

bool script_maps__has(const struct script_maps *maps, uint32_t pid, uint32_t tid,
		      const struct jank_script_where *where)
{
	struct jank_script script;

	return maps->threads_fd >= 0 && !bpf_map_lookup_elem(maps->threads_fd, &tid, &script) &&
	       script.where.tgid == pid &&
	       (!where || !memcmp(where, &script.where, sizeof(*where)));
}

int script_maps__set(struct script_maps *maps, uint32_t tid, const struct jank_script_where *where)
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
