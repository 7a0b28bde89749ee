/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/override.h"

#include "base/text.h"
#include "options/options.h"

static bool matches(const char *glob, const char *text)
{
	return !glob || text__matches(glob, text ?: "");
}

/* without_loop: the loop is not known, so it may match. */
static bool applies(const struct override *override, const struct override_facts *facts,
		    bool without_loop)
{
	for (int i = 0; i < OVERRIDE_MATCH_CNT; i++)
		if (!(without_loop && i == OVERRIDE_LOOP) &&
		    !matches(override->globs[i], facts->of[i]))
			return false;
	return true;
}

const struct override *override__find(const struct options *opts,
				      const struct override_facts *facts)
{
	for (size_t i = 0; i < opts->override_cnt; i++)
		if (applies(&opts->overrides[i], facts, false))
			return &opts->overrides[i];
	return NULL;
}

static uint64_t threshold_of(const struct options *opts, const struct override *override)
{
	if (override->unwatched)
		return UINT64_MAX;
	return override->has_threshold ? override->threshold_ns : opts->threshold_ns;
}

uint64_t override__least_threshold(const struct options *opts, const struct override_facts *facts)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < opts->override_cnt; i++) {
		const struct override *override = &opts->overrides[i];
		uint64_t ns = threshold_of(opts, override);

		if (!applies(override, facts, true))
			continue;
		least = ns < least ? ns : least;
		if (!override->globs[OVERRIDE_LOOP])
			return least;
	}
	return opts->threshold_ns < least ? opts->threshold_ns : least;
}

uint64_t override__least_of_all(const struct options *opts)
{
	uint64_t least = opts->threshold_ns;

	for (size_t i = 0; i < opts->override_cnt; i++) {
		uint64_t ns = threshold_of(opts, &opts->overrides[i]);

		least = ns < least ? ns : least;
	}
	return least;
}

uint64_t override__least_hang(const struct options *opts)
{
	uint64_t least = opts->hang_ns;

	for (size_t i = 0; i < opts->override_cnt; i++) {
		const struct override *override = &opts->overrides[i];

		if (override->has_hang && override->hang_ns &&
		    (!least || override->hang_ns < least))
			least = override->hang_ns;
	}
	return least;
}

void override__print(const struct options *opts, struct strbuf *ret)
{
	for (size_t i = 0; i < opts->override_cnt; i++)
		strbuf__addf(ret, "\n[override %s]\n%s", opts->overrides[i].name,
			     strbuf__str(&opts->overrides[i].text));
}
