/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of the command line, on top of glibc's argp. argp is silent and never exits: stdout is for
 * records only, and tests need the message.
 */
#include "options/options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "options/command_table.h"
#include "options/config.h"
#include "options/options_parse.h"
#include "options/options_table.h"

/* --- callbacks of argp */

static int set_option(struct parse *p, const struct option_row *row, const char *arg)
{
	p->given[row - option_rows] = true;
	if (row->set == option__set_command && p->named)
		p->opts->topic = command__row(p->opts->command)->name;
	p->code = row->set(p->opts, row, arg, p->err);
	if (!p->code && options__keep_value(p->opts, row, arg))
		p->code = err__set(p->err, ENOMEM, "out of memory");
	p->done = row->set == option__set_command;
	return p->code;
}

/*
 * An option before the command: its row depends on a command that comes later, if one does. It is
 * taken as trace's at once, because a later option may replace it, and again as the command's.
 */
static void set_early(struct parse *p, const struct option_row *row, const char *arg)
{
	p->early = row;
	p->early_arg = arg;
	if (!row->set(p->opts, row, arg, NULL))
		p->given[row - option_rows] = true;
}

static int set_again(struct parse *p)
{
	const struct option_row *row = p->early ? parse__find_key(p, p->early->key) : NULL;

	if (!row || p->given[row - option_rows])
		return 0;
	p->given[p->early - option_rows] = false;
	p->early = NULL;
	return set_option(p, row, p->early_arg);
}

/* The command of the word; NULL, with what it probably means, if there is none. */
static const struct command_row *find_command(struct parse *p, const char *word)
{
	const struct command_row *row = command__named(word);
	struct nearest near;

	if (row)
		return row;
	nearest__init(&near, word, strlen(word));
	for (size_t i = 0; i < command_row_cnt; i++)
		nearest__offer(&near, command_rows[i].name, strlen(command_rows[i].name));
	parse__set_meant(p, "", &near);
	return NULL;
}

/* A word that could be a process id? */
static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

static int refuse_word(struct parse *p, const char *word)
{
	if (p->meant[0])
		return parse__refuse(p, "'%.60s' is no command of jankbpf", word);
	if (is_number(word))
		return parse__refuse(
			p,
			"'%.60s' is no command of jankbpf; to trace that process, put -p "
			"before it",
			word);
	return parse__refuse(
		p,
		"'%.60s' is no command of jankbpf; to start and trace a program, put -- before it",
		word);
}

static int set_topic(struct parse *p, const char *word)
{
	const struct command_row *row = find_command(p, word);

	if (!row)
		return parse__refuse(p, "'%.60s' is no command of jankbpf", word);
	p->opts->topic = row->name;
	return 0;
}

static int set_shell(struct parse *p, const char *word)
{
	struct nearest near;

	nearest__init(&near, word, strlen(word));
	for (size_t i = 0; i < completion_script_cnt; i++) {
		const char *shell = completion_scripts[i].shell;

		if (!strcmp(shell, word)) {
			p->opts->shell = word;
			return 0;
		}
		nearest__offer(&near, shell, strlen(shell));
	}
	parse__set_meant(p, "", &near);
	return parse__refuse(p, "'%.60s' is no shell that can be completed: give bash, zsh or fish",
			     word);
}

/* A word that is not an option: the command or its argument. */
static int add_word(struct parse *p, const char *word)
{
	const struct command_row *row = p->named ? NULL : find_command(p, word);

	if (row) {
		p->named = true;
		p->opts->command = row->command;
		return set_again(p);
	}
	if (p->opts->command == CMD_HELP && !p->opts->topic)
		return set_topic(p, word);
	if (p->opts->command == CMD_COMPLETION && !p->opts->shell)
		return set_shell(p, word);
	if (p->opts->command == CMD_REPLAY && !p->opts->journal) {
		p->opts->journal = word;
		return 0;
	}
	if (p->opts->command == CMD_SYMBOLIZE || p->opts->command == CMD_REPORT ||
	    p->opts->command == CMD_DIFF || p->opts->command == CMD_SERVE ||
	    p->opts->command == CMD_FLEET) {
		p->code = options__add_file(p->opts, word, p->err);
		return p->code;
	}
	if (p->opts->command != CMD_TRACE)
		return parse__refuse(p, "'%.60s' is one word too many after %s", word,
				     command__row(p->opts->command)->name);
	return refuse_word(p, word);
}

/* True if several rows have its name, each for other commands: they are neighbours. */
static bool is_shared(const struct option_row *row)
{
	return (row > option_rows && row[-1].key == row->key) ||
	       (row + 1 < option_rows + option_row_cnt && row[1].key == row->key);
}

/* argp's callback: nonzero ends the parse, ARGP_ERR_UNKNOWN passes. */
static error_t on_key(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;
	const struct option_row *row;

	if (key == ARGP_KEY_ERROR) {
		if (!p->code && !p->done && p->next < state->argc)
			parse__explain(p, state->argv[p->next]);
		return 0;
	}
	if (key == ARGP_KEY_ARG && state->quoted && p->opts->command == CMD_TRACE) {
		p->opts->argv = &state->argv[state->next - 1];
		state->next = state->argc;
	} else if (key == ARGP_KEY_ARG) {
		add_word(p, arg);
	} else {
		row = parse__find_key(p, key);
		if (!row)
			return ARGP_ERR_UNKNOWN;
		if (!p->named && is_shared(row)) {
			set_early(p, row, arg);
		} else {
			set_option(p, row, arg);
		}
	}
	if (p->done)
		state->next = state->argc;
	p->next = state->next;
	return p->code ? EINVAL : 0;
}

/* --- run */

static struct argp_option *make_argp_options(void)
{
	struct argp_option *list = calloc(option_row_cnt + 1, sizeof(*list)), *opt = list;

	for (size_t i = 0; list && i < option_row_cnt; i++) {
		if (!option_rows[i].name || (i && option_rows[i].key == option_rows[i - 1].key))
			continue; /* rows with one name are neighbours */
		opt->name = option_rows[i].name;
		opt->key = option_rows[i].key;
		opt->arg = option_rows[i].arg;
		opt++;
	}
	return list;
}

static int run_argp(struct parse *p, int argc, char **argv)
{
	struct argp argp = { .options = make_argp_options(), .parser = on_key };
	int code;

	if (!argp.options)
		return err__set(p->err, ENOMEM, "out of memory");
	/* In order: otherwise later options of COMMAND would be taken for ours. */
	code = argp_parse(&argp, argc, argv, ARGP_SILENT | ARGP_IN_ORDER, NULL, p);
	free((void *)argp.options);
	if (p->code || !code || p->done)
		return p->code;
	return parse__refuse(p, "this command line cannot be understood");
}

/* --- the configuration of agent */

struct config_errors {
	unsigned cnt;
};

static void on_config_error(void *ctx, const char *message)
{
	struct config_errors *errors = ctx;

	errors->cnt++;
	log__error("%s", message);
}

static bool names_config(const struct parse *p)
{
	for (size_t i = 0; i < option_row_cnt; i++)
		if (p->given[i] && option_rows[i].offset == offsetof(struct options, config) &&
		    option_rows[i].commands == 1u << CMD_AGENT)
			return true;
	return false;
}

static void ignore_config_error(void *ctx, const char *message)
{
	(void)ctx;
	(void)message;
}

/*
 * All errors but the last line are printed here: there may be many. A question to the agent that
 * runs needs only `control`, as far as it could be read; its answer has the form of the command
 * line.
 */
static int take_config(struct parse *p)
{
	bool given[OPTION_ROWS_MAX], asks = options__asks(p->opts);
	enum format format = p->opts->format;
	struct config_errors errors = {};
	struct options scratch = { .command = p->opts->command };
	const struct config_opts opts = {
		.path = p->opts->config,
		.may_lack = !names_config(p),
		.given = given,
		.scratch = &scratch,
		.error = asks ? ignore_config_error : on_config_error,
		.ctx = &errors,
	};
	int code;

	memcpy(given, p->given, sizeof(given));
	code = config__read(&opts, p->opts, p->given);
	options__free(&scratch);
	p->no_config = code == -ENOENT;
	if (asks)
		p->opts->format = format;
	if (!code || p->no_config || asks)
		return 0;
	p->code = err__set_exit(p->err, JANK_EXIT_USAGE, EINVAL,
				"the configuration has %u error%s: correct %s, and check it by "
				"jankbpf agent --check-config",
				errors.cnt, errors.cnt == 1 ? "" : "s",
				errors.cnt == 1 ? "it" : "them");
	return p->code;
}

int options__parse(int argc, char **argv, struct options *ret, struct err *err)
{
	struct options opts = { .command = CMD_TRACE, .words = argv, .word_cnt = argc };
	struct parse p = { .opts = &opts, .err = err, .next = 1 };
	int code;

	code = options__set_defaults(&opts, err);
	if (code)
		goto out;
	code = run_argp(&p, argc, argv);
	if (!code && !p.done)
		code = set_again(&p);
	if (!code && !p.done && opts.command == CMD_AGENT)
		code = take_config(&p);
	if (!code && !p.done)
		code = parse__check(&p);
	if (code)
		goto out;
	*ret = opts;
	return 0;
out:
	options__free(&opts);
	return code == -ENOMEM ? code : -EINVAL;
}

void options__free(struct options *opts)
{
	filter__close(&opts->filter);
	while (opts->loop_cnt)
		free(opts->loops[--opts->loop_cnt]);
	free(opts->loops);
	free(opts->pids);
	free(opts->disabled);
	free(opts->loop_files);
	free(opts->debug_dirs);
	free(opts->files);
	free(opts->concern);
	free(opts->ignore);
	for (size_t i = 0; i < SEND_CNT; i++) {
		free(opts->sends[i].urls);
		opts->sends[i] = (struct backend_options){};
	}
	while (opts->override_cnt)
		strbuf__free(&opts->overrides[--opts->override_cnt].text);
	free(opts->overrides);
	opts->overrides = NULL;
	while (opts->text_cnt)
		free(opts->texts[--opts->text_cnt]);
	free(opts->texts);
	for (size_t i = 0; i < OPTION_ROWS_MAX; i++) {
		free(opts->values[i]);
		opts->values[i] = NULL;
	}
	opts->texts = NULL;
	opts->loops = NULL;
	opts->pids = NULL;
	opts->disabled = NULL;
	opts->loop_files = NULL;
	opts->debug_dirs = NULL;
	opts->files = NULL;
	opts->concern = opts->ignore = NULL;
	opts->pid_cnt = opts->disabled_cnt = opts->loop_file_cnt = 0;
}
