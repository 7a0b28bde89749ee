/* SPDX-License-Identifier: GPL-2.0 */
/* Each thread's wait is asked of the catalogue, as that of a loop that the probes have found would be. */
#include "app/known_waits.h"

#include <errno.h>

#include "app/idle_waits.h"
#include "app/wait_note.h"

struct search {
	struct whose *whose;
	struct park_maps *maps;
	const char *exe;
	int res;
};

static void look(void *ctx, const struct jank_rec_wait *rec)
{
	const struct jank_park_place place = {
		.sp = rec->sp,
		.tid = rec->hdr.tid,
		.nr = rec->syscall,
	};
	struct search *search = ctx;
	struct wait_note *note;
	int res;

	if (rec->loop != JANK_LOOP_POLL)
		return;
	note = wait_note__of_memory(rec, search->exe);
	res = note ? whose__note(search->whose, note) : -ENOMEM;
	wait_note__free(note);
	if (!res && whose__row(search->whose, rec->hdr.tgid, rec->hdr.tid, rec->loop))
		res = park_maps__set_place(search->maps, &place, true);
	search->res = search->res ? search->res : res;
}

int known_waits__find(struct whose *whose, struct park_maps *maps, uint32_t pid, const char *exe)
{
	struct search search = { .whose = whose, .maps = maps, .exe = exe };

	if (maps->places_fd >= 0)
		idle_waits__each(pid, look, &search);
	return search.res;
}
