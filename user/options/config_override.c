/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values are parsed by the rows of the option table, into options of their own. */
#include "options/config_override.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define PREFIX "override "

static const char *const match_keys[] = {
	[OVERRIDE_UNIT] = "match-unit",
	[OVERRIDE_CGROUP] = "match-cgroup",
	[OVERRIDE_PROCESS] = "match-process",
	[OVERRIDE_LOOP] = "match-loop",
};

static const char *const value_keys[] = { "threshold", "hang", "fps", "records-per-signature",
					  "watch" };

#define VALUE_CNT (sizeof(value_keys) / sizeof(*value_keys))

const char *config_override__name(const char *section)
{
	size_t len = strlen(PREFIX);

	if (strncmp(section, PREFIX, len - 1) || (section[len - 1] && section[len - 1] != ' '))
		return NULL;
	section += len - 1;
	return section + strspn(section, " \t");
}

static int check_name(const struct options *opts, const char *name, struct err *err)
{
	if (!*name)
		return err__set(err, EINVAL, "[override]: give it a name: [override redis]");
	if (strlen(name) > OVERRIDE_NAME_MAX)
		return err__set(err, EINVAL, "[override %.*s…]: a name has at most %d bytes",
				OVERRIDE_NAME_MAX, name, OVERRIDE_NAME_MAX);
	for (size_t i = 0; i < opts->override_cnt; i++)
		if (!strcmp(opts->overrides[i].name, name))
			return err__set(err, EINVAL,
					"[override %s] stands in line %u, too: give it another "
					"name",
					name, opts->overrides[i].line);
	if (opts->override_cnt >= OVERRIDE_MAX)
		return err__set(err, EINVAL, "more than %d overrides: join some by * in a match",
				OVERRIDE_MAX);
	return 0;
}

int config_override__begin(struct options *opts, const char *name, unsigned line,
			   struct override **ret, struct err *err)
{
	struct override *list;
	int res = check_name(opts, name, err);

	if (res)
		return res;
	list = reallocarray(opts->overrides, opts->override_cnt + 1, sizeof(*list));
	if (!list)
		return err__set(err, ENOMEM, "out of memory");
	opts->overrides = list;
	*ret = &list[opts->override_cnt++];
	**ret = (struct override){ .line = line };
	strcpy((*ret)->name, name);
	return 0;
}

static const struct option_row *row_of(const char *key)
{
	const struct config_key like = { .option = key };

	return config_key__row(&like);
}

static void copy_values(struct override *override, const struct options *from, const char *key)
{
	if (!strcmp(key, "threshold")) {
		override->has_threshold = true;
		override->threshold_ns = from->threshold_ns;
	} else if (!strcmp(key, "hang")) {
		override->has_hang = true;
		override->hang_ns = from->hang_ns;
	} else if (!strcmp(key, "fps")) {
		override->has_fps = true;
		override->fps = from->fps;
	} else {
		override->has_records_per_signature = true;
		override->records_per_signature = from->records_per_signature;
	}
}

static int take_value(struct override *override, const char *key, const char *value,
		      struct err *err)
{
	struct options scratch = {};
	int res;

	if (!strcmp(key, "watch")) {
		res = config__read_switch(value);
		override->unwatched = !res;
		return res < 0 ? err__set(err, EINVAL, "watch '%.60s': give yes or no", value) : 0;
	}
	res = row_of(key)->set(&scratch, row_of(key), value, err);
	if (!res)
		copy_values(override, &scratch, key);
	return res;
}

/* The second of two lines would win in silence. */
static int take_once(struct override *override, size_t nr, const char *key, const char *value,
		     struct err *err)
{
	if (override->given & 1u << nr)
		return err__set(err, EINVAL, "%s stands in [override %s] twice: delete one of them",
				key, override->name);
	override->given |= 1u << nr;
	return take_value(override, key, value, err);
}

static int refuse_key(const char *key, struct err *err)
{
	struct nearest near;

	nearest__init(&near, key, strlen(key));
	for (size_t i = 0; i < OVERRIDE_MATCH_CNT; i++)
		nearest__offer(&near, match_keys[i], strlen(match_keys[i]));
	for (size_t i = 0; i < VALUE_CNT; i++)
		nearest__offer(&near, value_keys[i], strlen(value_keys[i]));
	if (near.best)
		return err__set(err, EINVAL, "%s: no such key in [override]; did you mean %s?", key,
				near.best);
	return err__set(err, EINVAL,
			"%s: no such key in [override]; there are match-unit, match-cgroup, "
			"match-process, match-loop, threshold, hang, fps, records-per-signature, "
			"watch",
			key);
}

/* Underscores may stand for hyphens. */
static const char *known_key(const char *const *keys, size_t cnt, const char *word, size_t *ret)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!config__is_key(keys[i], word))
			continue;
		*ret = i;
		return keys[i];
	}
	return NULL;
}

int config_override__take(struct options *opts, struct override *override, const char *word,
			  const char *value, struct err *err)
{
	size_t nr;
	const char *key = known_key(match_keys, OVERRIDE_MATCH_CNT, word, &nr);
	int res = 0;

	(void)opts;
	if (key && override->globs[nr])
		return err__set(err, EINVAL,
				"%s stands in [override %s] twice: delete one, or write another "
				"override",
				key, override->name);
	if (key && !*value)
		return err__set(err, EINVAL, "%s: give a pattern, as in redis*", key);
	if (key) {
		override->globs[nr] = value;
	} else {
		key = known_key(value_keys, VALUE_CNT, word, &nr);
		res = key ? take_once(override, nr, key, value, err) : refuse_key(word, err);
	}
	if (!res)
		strbuf__addf(&override->text, "%s = %s\n", key, value);
	return res ?: override->text.failed ? err__set(err, ENOMEM, "out of memory") : 0;
}

int config_override__end(const struct override *override, struct err *err)
{
	bool selects = false;

	for (int i = 0; i < OVERRIDE_MATCH_CNT; i++)
		selects |= override->globs[i] != NULL;
	if (!selects)
		return err__set(err, EINVAL,
				"[override %s] matches nothing: give it match-unit, match-cgroup, "
				"match-process or match-loop",
				override->name);
	return 0;
}
