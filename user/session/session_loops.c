/* SPDX-License-Identifier: GPL-2.0 */
/* The catalogue's part in a session: its rows, those of -l, and the filter that follows from them. */
#include <errno.h>

#include "catalogue/catalogue.h"
#include "session/found.h"
#include "session/session_parts.h"

int session__open_loops(struct session *s, struct err *err)
{
	const struct options *opts = s->opts;
	int res = catalogue__open(opts->loop_files, opts->loop_file_cnt, &s->catalogue, err);

	if (!res)
		res = loop_choice__init(&s->choice, s->catalogue, opts->loops, opts->loop_cnt, err);
	if (res)
		return res;
	s->filter = opts->filter;
	s->filter.loops = loop_choice__waits(&s->choice);
	s->whose = whose__new(s->catalogue, s->symbolizer);
	s->scripts = scripts__new(&s->script_maps, s->symbolizer);
	s->parks = parks__new(&s->park_maps, s->whose, s->scripts);
	return s->whose && s->parks && s->scripts ? 0 : err__set(err, ENOMEM, "out of memory");
}

void session__tell_loops(void *session, struct whose *whose)
{
	const struct session *s = session;
	const struct found_opts opts = {
		.catalogue = s->catalogue,
		.symbolizer = s->symbolizer,
		.choice = &s->choice,
		.filter = &s->filter,
		.pids = s->opts->pids,
		.pid_cnt = s->opts->pid_cnt,
		.verbose = s->opts->verbosity > 0,
	};

	found__tell(&opts, whose);
}

void session__close_loops(struct session *s)
{
	park_maps__close(&s->park_maps);
	parks__free(s->parks);
	whose__free(s->whose);
	catalogue__close(s->catalogue);
}
