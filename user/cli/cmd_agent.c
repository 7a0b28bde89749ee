/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf agent --status`, --pause and --resume: questions to the agent that runs. */
#include <stdio.h>

#include "cli/commands.h"
#include "session/control.h"

int cmd_agent__ask(const struct options *opts, struct err *err)
{
	enum control_request request = opts->ask_pause		     ? CONTROL_PAUSE
				       : opts->ask_resume	     ? CONTROL_RESUME
				       : opts->format == FORMAT_JSON ? CONTROL_STATUS_JSON
								     : CONTROL_STATUS;
	struct strbuf answer = STRBUF_INIT;
	int res = control__ask(opts->control, request, &answer, err);

	if (!res)
		fputs(strbuf__str(&answer), stdout);
	strbuf__free(&answer);
	return res ? JANK_EXIT_FAILED : JANK_EXIT_OK;
}
