/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the keys of [override NAME] for config.c. */
#ifndef JANK_OPTIONS_CONFIG_OVERRIDE_H
#define JANK_OPTIONS_CONFIG_OVERRIDE_H

#include "options/config.h"
#include "options/override.h"

/* The name in "override NAME"; NULL: another section. */
const char *config_override__name(const char *section);

/*
 * Begins a section. 0, or -EINVAL with a message; *ret: borrowed until the next one begins.
 */
int config_override__begin(struct options *opts, const char *name, unsigned line,
			   struct override **ret, struct err *err);

/* Takes a key; value lives as long as the options. 0, or -EINVAL with a message. */
int config_override__take(struct options *opts, struct override *override, const char *key,
			  const char *value, struct err *err);

/* The section is complete. 0, or -EINVAL with a message. */
int config_override__end(const struct override *override, struct err *err);

#endif
