/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watch for cgroups of the selection that are removed and made again, as by a restart of their
 * unit. Looks once a second; looks up a missing name less often where that takes long. Used on the
 * intake thread only.
 */
#include "session/cgroup_watch.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "probes/loader.h"

#define LOOK_NS	   NS_PER_SEC
#define LOOK_SHARE 500 /* at most one part in this many of our CPU time */

/* A unit may come and go all the time: warn once. */
static void report(struct cgroup_watch *watch, uint32_t i)
{
	const struct filter_name *name = &watch->filter->names[i];
	struct strbuf shown = STRBUF_INIT;

	text__add_clean(&shown, name->name);
	if (name->cnt)
		log__info("--cgroup '%.100s': there is a new one: it is watched",
			  strbuf__str(&shown));
	else if (!watch->told[i])
		log__warn("--cgroup '%.100s': there is no such cgroup now: its processes are "
			  "watched once it is there",
			  strbuf__str(&shown));
	watch->told[i] |= !name->cnt;
	strbuf__free(&shown);
}

void cgroup_watch__begin(struct cgroup_watch *watch)
{
	for (uint32_t i = 0; i < watch->filter->name_cnt; i++)
		if (!watch->filter->names[i].cnt)
			report(watch, i);
}

static void apply(struct cgroup_watch *watch)
{
	int res = loader__set_cgroups(watch->loader, watch->filter);

	if (res)
		log__error("cannot pass a cgroup to the probes: %s; restart jankbpf",
			   strerror(-res));
	if (watch->mains)
		mains__recheck(watch->mains);
	for (uint32_t i = 0; i < watch->filter->name_cnt; i++)
		if (watch->filter->names[i].changed)
			report(watch, i);
}

void cgroup_watch__look(struct cgroup_watch *watch)
{
	uint64_t begin_ns = clock__thread_ns(), now_ns = clock__mono_ns();

	if (!watch->filter->name_cnt || now_ns - watch->look_ns < LOOK_NS ||
	    now_ns - watch->look_ns < watch->cost_ns * LOOK_SHARE)
		return;
	if (filter__refresh(watch->filter))
		apply(watch);
	watch->look_ns = now_ns;
	watch->cost_ns = clock__thread_ns() - begin_ns;
}
