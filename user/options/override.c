/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options/override.h"

#include <string.h>

#include "base/clock.h"
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

void override__imply_hangs(struct options *opts)
{
	for (size_t i = 0; i < opts->override_cnt; i++) {
		struct override *override = &opts->overrides[i];
		uint64_t ns = override->has_threshold ? override->threshold_ns : opts->threshold_ns;

		if (override->has_hang && !override->hang_implied)
			continue;
		override->hang_implied = opts->hang_ns && opts->hang_ns < ns;
		override->has_hang = override->hang_implied;
		override->hang_ns = override->hang_implied ? ns : 0;
	}
}

/* In its place, once. The last entry stays UINT64_MAX; false: it would not. */
static bool add_limit(uint64_t limits[JANK_HANG_LIMITS], uint64_t ns)
{
	size_t at = 0;

	while (limits[at] < ns)
		at++;
	if (limits[at] == ns)
		return true;
	if (limits[JANK_HANG_LIMITS - 2] != UINT64_MAX)
		return false;
	memmove(&limits[at + 1], &limits[at], (JANK_HANG_LIMITS - 1 - at) * sizeof(*limits));
	limits[at] = ns;
	return true;
}

bool override__hang_limits(const struct options *opts, uint64_t ret[JANK_HANG_LIMITS])
{
	uint64_t least = override__least_hang(opts);
	bool fits = true;

	for (size_t i = 0; i < JANK_HANG_LIMITS; i++)
		ret[i] = UINT64_MAX;
	if (opts->hang_ns)
		fits = add_limit(ret, opts->hang_ns);
	for (size_t i = 0; i < opts->override_cnt; i++)
		if (opts->overrides[i].has_hang && opts->overrides[i].hang_ns)
			fits &= add_limit(ret, opts->overrides[i].hang_ns);
	for (size_t i = 0; least && i < ANR_LIMITS; i++)
		if (anr__limits_s[i] * NS_PER_SEC > least)
			fits &= add_limit(ret, anr__limits_s[i] * NS_PER_SEC);
	return fits;
}

void override__print(const struct options *opts, struct strbuf *ret)
{
	for (size_t i = 0; i < opts->override_cnt; i++)
		strbuf__addf(ret, "\n[override %s]\n%s", opts->overrides[i].name,
			     strbuf__str(&opts->overrides[i].text));
}
