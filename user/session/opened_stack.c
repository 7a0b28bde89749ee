/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/opened_stack.h"

#include <stdlib.h>
#include <string.h>

#include "files/proc.h"
#include "session/main_handler.h"

/* Reads the pages that are present, as copy_user_stack__pages does. */
static void read_pages(struct jank_copy *copy, uint64_t sp)
{
	struct jank_rec_copy *rec = &copy->rec;
	uint32_t got = 0;

	for (unsigned i = 0; got < rec->asked_sz; i++) {
		uint32_t part = JANK_COPY_PAGE - ((sp + got) & (JANK_COPY_PAGE - 1));

		if (part > rec->asked_sz - got)
			part = rec->asked_sz - got;
		if (memory__read("/proc", rec->hdr.tgid, sp + got, copy->bytes + got, part)) {
			rec->hdr.flags |= JANK_COPY_HOLE;
			rec->hole_mask |= 1u << i;
		}
		got += part;
	}
	rec->copy_sz = got;
}

bool opened_stack__read(uint32_t pid, uint32_t tid, const struct jank_opening *opening,
			struct jank_copy *copy)
{
	uint64_t sp = opening->regs[JANK_REG_SP], sz = opening->stack_end - sp;

	copy->rec = (struct jank_rec_copy){
		.hdr = { .kind = JANK_REC_COPY, .tgid = pid, .tid = tid },
		.dispatch_ns = opening->start_ns,
		.t_ns = opening->span_ns,
		.asked_sz = sz < JANK_COPY_SZ ? sz : JANK_COPY_SZ,
	};
	copy->rec.hdr.ts_ns = opening->span_ns;
	copy->rec.hdr.flags = sz < JANK_COPY_SZ ? JANK_COPY_WHOLE : 0;
	memcpy(copy->rec.regs, opening->regs, sizeof(copy->rec.regs));
	read_pages(copy, sp);
	return thread_handler__sleep_cnt(pid, tid) == opening->sleep_cnt;
}

void opened_stack__copy(const struct opening_bpf_fds *maps, uint32_t pid, uint32_t tid,
			const struct jank_opening *opening)
{
	struct jank_copy *copy = calloc(1, sizeof(*copy));

	if (copy && opened_stack__read(pid, tid, opening, copy))
		opening_bpf_fds__put_copy(maps, copy);
	free(copy);
}
