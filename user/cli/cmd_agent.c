/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf agent --check-config`; --status, --pause and --resume: questions to the running one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "catalogue/catalogue.h"
#include "cli/commands.h"
#include "deliver/metrics_access.h"
#include "deliver/records_user.h"
#include "export/record/record.h"
#include "options/config.h"
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

/* --- the check of a configuration */

/* Without an error: the agent waits for it. */
static void report_missing(const struct filter *filter)
{
	struct strbuf names = STRBUF_INIT;

	filter__add_missing(filter, &names);
	if (names.len)
		log__warn("there is no such cgroup now: %s; the agent waits for it",
			  strbuf__str(&names));
	strbuf__free(&names);
}

static int check_loops(const struct options *opts, struct err *err)
{
	struct catalogue *catalogue = NULL;
	struct loop_choice choice;
	int res = catalogue__open(opts->loop_files, opts->loop_file_cnt, &catalogue, err);

	if (!res)
		res = loop_choice__init(&choice, catalogue, opts->loops, opts->loop_cnt, err);
	catalogue__close(catalogue);
	return res;
}

/* Without a name the user may be missing. */
static int check_user(const struct options *opts, struct err *err)
{
	struct user_account account = {};
	int res = opts->records_user ? records_user__find(opts, &account, err) : 0;

	user_account__free(&account);
	return res;
}

static int check_redaction(const struct options *opts, struct err *err)
{
	struct record *builder = record__new();
	int res = builder ? record__set_redaction(builder, opts->redact, opts->redact_key, err)
			  : err__set(err, ENOMEM, "out of memory");

	record__free(builder);
	return res;
}

int cmd_agent__check(const struct options *opts, struct err *err)
{
	int res = check_loops(opts, err);

	if (!res)
		res = check_user(opts, err);
	if (!res)
		res = check_redaction(opts, err);
	if (!res && opts->metrics_listen)
		res = metrics_access__check(opts, err);
	if (res)
		return err->exit ? err->exit : JANK_EXIT_FAILED;
	report_missing(&opts->filter);
	config__print(opts);
	return JANK_EXIT_OK;
}
