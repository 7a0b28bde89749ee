/* SPDX-License-Identifier: GPL-2.0 */
/* The list of processes that are switched off: an agent forgets those that ended. */
#include <unistd.h>

#include "enrich/parks.h"
#include "session/sink_thread.h"
#include "tests/tap.h"

int main(void)
{
	const Jankbpf__Identity off = { .base = PROTOBUF_C_MESSAGE_INIT(
						&jankbpf__identity__descriptor),
					.pid = (uint32_t)getpid(),
					.name = "test",
					.has_off = true,
					.off = UNWATCHED_BUDGET };
	struct park_bpf_fds maps = PARK_MAPS_NONE;
	struct left_alone left = { .parks = parks__new(&maps, NULL, NULL, NULL) };

	is_int(left_alone__update(&left, &off, NULL), 0, "a process is switched off");
	ok(left.list.cnt == 1 && left.list.items[0].reason == UNWATCHED_BUDGET, "it is listed");
	left_alone__on_exit(&left, off.pid);
	is_uint(left.list.cnt, 1, "a trace lists it also when it has ended");
	left.forgets = true;
	left_alone__on_exit(&left, off.pid);
	is_uint(left.list.cnt, 0, "an agent does not");
	left_alone__free(&left);
	parks__free(left.parks);
	return tap__done();
}
