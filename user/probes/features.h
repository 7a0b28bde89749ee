/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this kernel can do, asked of the kernel once before load (never guessed from its version).
 * The loader takes the answers; `jankbpf doctor` prints them with their reasons.
 */
#ifndef JANK_PROBES_FEATURES_H
#define JANK_PROBES_FEATURES_H

#include "base/err.h"
#include "probes/feature_list.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JANK_X_FEATURE(NAME, ...) FEATURE_##NAME,
enum feature { JANK_FEATURES(JANK_X_FEATURE) FEATURE_CNT };
#undef JANK_X_FEATURE

enum feature_need { FEATURE_REQUIRED, FEATURE_OPTIONAL };

/* A row of the list; all strings static, for people. */
struct feature_info {
	const char *name; /* as --disable-feature takes it */
	enum feature_need need;
	const char *since, *purpose, *without, *remedy;
};

struct features {
	uint32_t has;	   /* bit (1 << enum feature) */
	uint32_t disabled; /* switched off by the user, whatever the kernel has */
	int why[FEATURE_CNT]; /* 0 when there, -ECANCELED when switched off, else the kernel's -errno */
};
_Static_assert(FEATURE_CNT <= 32, "features.has");

/*
 * Asks for every feature; those named in `disabled` are taken as absent. 0; -EINVAL with
 * JANK_EXIT_USAGE for an unknown name (the message lists the known ones). A missing feature is no
 * failure here: see features__require.
 */
int features__probe(const char *const *disabled, size_t n, struct features *ret, struct err *err);

bool features__has(const struct features *feats, enum feature feature);

/* 0, or -ENOTSUP with JANK_EXIT_CANNOT that names the first missing required feature and its remedy. */
int features__require(const struct features *feats, struct err *err);

/* Can the typed probes be loaded (bpf/kernel.bpf.h)? Else the plain ones. */
bool features__typed(const struct features *feats);

/* Can living threads be looked at: for hangs, and counts before their end? */
bool features__can_look(const struct features *feats);

const struct feature_info *feature__info(enum feature feature);

#endif
