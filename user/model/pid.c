/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/pid.h"

#include <inttypes.h>
#include <stdbool.h>

#include "bpf/jank_abi.h"

void pid__add(struct strbuf *sb, uint32_t pid)
{
	bool outside = pid >= JANK_PID_OUTSIDE;

	strbuf__addf(sb, "pid %" PRIu32 "%s", outside ? pid - JANK_PID_OUTSIDE : pid,
		     outside ? " of the machine" : "");
}
