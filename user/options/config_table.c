/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the keys of the configuration, and its print. */
#include "options/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "options/override.h"

const struct option_row *config_key__row(const struct config_key *key)
{
	for (size_t i = 0; i < option_row_cnt; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->name && (row->commands & 1u << CMD_AGENT) &&
		    !strcmp(row->name, key->option))
			return row;
	}
	return NULL;
}

bool config__is_key(const char *key, const char *word)
{
	for (; *key && (*key == *word || (*key == '-' && *word == '_')); key++)
		word++;
	return !*key && !*word;
}

int config__read_switch(const char *text)
{
	static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i]))
			return i % 2;
	return -EINVAL;
}

int options__keep_value(struct options *opts, const struct option_row *row, const char *arg)
{
	char **at = &opts->values[row - option_rows];
	struct strbuf sb = STRBUF_INIT;

	if (*at && option__is_repeatable(row))
		strbuf__adds(&sb, *at);
	strbuf__addf(&sb, "%s\n", arg ?: "yes");
	if (sb.failed) {
		strbuf__free(&sb);
		return -ENOMEM;
	}
	free(*at);
	*at = sb.data;
	return 0;
}

const char *config__value(const struct options *opts, const struct option_row *row)
{
	return opts->values[row - option_rows] ?: row->def;
}

/* A line for each value. */
static void print_key(const struct config_key *key, const char *values)
{
	while (*values) {
		int len = (int)strcspn(values, "\n");

		printf("%s = %.*s\n", key->key, len, values);
		values += len + (values[len] == '\n');
	}
}

void config__print(const struct options *opts)
{
	struct strbuf overrides = STRBUF_INIT;
	const char *section = "";

	for (size_t i = 0; i < config_key_cnt; i++) {
		const struct config_key *key = &config_keys[i];
		const char *values = config__value(opts, config_key__row(key));

		if (!values)
			continue;
		if (strcmp(section, key->section))
			printf("%s[%s]\n", *section ? "\n" : "", key->section);
		section = key->section;
		print_key(key, values);
	}
	override__print(opts, &overrides);
	fputs(strbuf__str(&overrides), stdout);
	strbuf__free(&overrides);
}
