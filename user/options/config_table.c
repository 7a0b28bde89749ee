/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of the configuration, and its print. */
#include "options/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "options/override.h"

#define SAME(section, name, live)                                                                  \
	{                                                                                          \
		section, name, name, live                                                          \
	}

/* In the options, the section stands before the key. */
#define OF_BACKEND(section, key)                                                                   \
	{                                                                                          \
		section, key, section "-" key, false                                               \
	}

#define OF_EACH_BACKEND(section)                                                                   \
	OF_BACKEND(section, "ca-file"), OF_BACKEND(section, "cert-file"),                          \
		OF_BACKEND(section, "key-file"), OF_BACKEND(section, "proxy"),                     \
		OF_BACKEND(section, "timeout"), OF_BACKEND(section, "compress")

/* In the order of sections in deploy/jankbpf.conf, whose test compares both. */
const struct config_key config_keys[] = {
	SAME("select", "all", false),
	SAME("select", "comm", false),
	SAME("select", "uid", false),
	SAME("select", "cgroup", false),
	SAME("select", "loop", false),
	SAME("select", "loop-file", false),
	SAME("select", "main-thread", false),
	SAME("block", "threshold", true),
	SAME("block", "hang", false),
	SAME("block", "startup", false),
	SAME("block", "fps", true),
	SAME("block", "debugging", false),
	SAME("block", "concern", true),
	SAME("block", "ignore", true),
	SAME("probe", "backend", false),
	SAME("probe", "marks", false),
	SAME("probe", "frequency", false),
	SAME("probe", "stack-bytes", false),
	SAME("probe", "btf", false),
	SAME("limits", "records-per-signature", true),
	SAME("limits", "records-per-second", true),
	SAME("limits", "max-signatures", false),
	SAME("limits", "cpu", true),
	SAME("limits", "cpu-recover", true),
	SAME("limits", "keep", false),
	SAME("limits", "max-size", false),
	SAME("store", "output", false),
	SAME("store", "format", false),
	SAME("store", "interval", true),
	SAME("store", "qualifier", false),
	SAME("store", "journal", false),
	SAME("store", "redact", false),
	SAME("store", "redact-key", false),
	SAME("store", "spool", false),
	SAME("store", "spool-max", false),
	{ "store", "user", "records-user", false },
	OF_BACKEND("clickhouse", "url"),
	OF_BACKEND("clickhouse", "database"),
	OF_BACKEND("clickhouse", "user"),
	OF_BACKEND("clickhouse", "password-file"),
	OF_EACH_BACKEND("clickhouse"),
	OF_BACKEND("otlp", "url"),
	OF_BACKEND("otlp", "token-file"),
	OF_BACKEND("otlp", "signals"),
	OF_EACH_BACKEND("otlp"),
	{ "metrics", "listen", "metrics-listen", false },
	{ "metrics", "textfile", "metrics-textfile", false },
	{ "metrics", "cert-file", "metrics-cert-file", false },
	{ "metrics", "key-file", "metrics-key-file", false },
	{ "metrics", "user", "metrics-user", false },
	{ "metrics", "password-file", "metrics-password-file", false },
	SAME("agent", "control", false),
	SAME("agent", "host-name", false),
	SAME("notify", "on-block", false),
	SAME("notify", "on-hang", false),
	SAME("notify", "on-new", false),
	SAME("notify", "react-timeout", false),
	SAME("notify", "react-rate", false),
};

const size_t config_key_cnt = sizeof(config_keys) / sizeof(*config_keys);

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
