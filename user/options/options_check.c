/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of a whole command line: options that exclude, need or imply each other. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "options/command_table.h"
#include "options/config.h"
#include "options/options_parse.h"
#include "options/options_table.h"

static bool is_given(const struct parse *p, const void *member)
{
	size_t offset = (const char *)member - (const char *)p->opts;

	for (size_t i = 0; i < option_row_cnt; i++)
		if (p->given[i] && option_rows[i].offset == offset)
			return true;
	return false;
}

static int check_rows(struct parse *p)
{
	for (size_t i = 0; i < option_row_cnt; i++)
		if (p->given[i] && !(option_rows[i].commands & (1u << p->opts->command)))
			return parse__refuse(p, "--%s does not go with %s", option_rows[i].name,
					     command__row(p->opts->command)->name);
	return 0;
}

/* Checks the targets (-p, COMMAND or -a). What narrows -a implies it. */
static int check_targets(struct parse *p)
{
	struct filter *filter = &p->opts->filter;
	const char *narrows = filter->glob_cnt	 ? "-c"
			      : filter->uid_cnt	 ? "-u"
			      : filter->name_cnt ? "-g"
						 : NULL;

	if (p->opts->pid_cnt && p->opts->argv)
		return parse__refuse(
			p, "-p and a COMMAND after -- do not go together: give one of them");
	if (filter->all && (p->opts->pid_cnt || p->opts->argv))
		return parse__refuse(p, "-a is every process: give it alone, without %s",
				     p->opts->argv ? "a COMMAND" : "-p");
	if (narrows && (p->opts->pid_cnt || p->opts->argv))
		return parse__refuse(p, "%s narrows -a, every process: give it without %s", narrows,
				     p->opts->argv ? "a COMMAND" : "-p");
	filter->all |= !!narrows;
	return 0;
}

#define TOP_INTERVAL_NS NS_PER_SEC

/* Only tables are counted; a screen ends by its key. */
static int check_top(struct parse *p)
{
	struct options *opts = p->opts;

	if (!opts->interval_ns)
		opts->interval_ns = TOP_INTERVAL_NS;
	if (opts->count && !opts->batch)
		return parse__refuse(p, "-n counts the tables of -b: give both");
	return 0;
}

#define AGENT_INTERVAL "10s"

/* Its row has no default, since other commands make no intervals without it. */
static int set_interval(struct options *opts)
{
	for (size_t i = 0; i < option_row_cnt; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->offset == offsetof(struct options, interval_ns) && row->name)
			return row->set(opts, row, AGENT_INTERVAL, NULL)
				       ?: options__keep_value(opts, row, AGENT_INTERVAL);
	}
	return -EINVAL;
}

/* Without a place for records or metrics nobody would learn anything. */
static int check_agent(struct parse *p)
{
	struct options *opts = p->opts;

	if (!opts->interval_ns && set_interval(opts))
		return p->code = err__set(p->err, ENOMEM, "out of memory");
	if (!opts->output_dir && !opts->spool && !opts->metrics_listen && !opts->metrics_textfile &&
	    !opts->on_command[0] && !opts->on_command[1] && !opts->on_command[2])
		return parse__refuse(
			p, "nothing would get the results: give output or spool in [store], or "
			   "listen or textfile in [metrics]");
	return parse__check_metrics(p);
}

/* A hang is never shorter than a block. */
static int check_overrides(struct parse *p)
{
	uint64_t limits[JANK_HANG_LIMITS];
	struct options *opts = p->opts;

	for (size_t i = 0; i < opts->override_cnt; i++) {
		const struct override *override = &opts->overrides[i];
		uint64_t ns = override->has_threshold ? override->threshold_ns : opts->threshold_ns;

		if (override->has_hang && override->hang_ns && override->hang_ns < ns)
			return parse__refuse(
				p,
				"[override %s] in line %u of the configuration: hang is "
				"shorter than the threshold; give a longer one, or 0 "
				"for none",
				override->name, override->line);
	}
	override__imply_hangs(opts);
	if (!override__hang_limits(opts, limits))
		return parse__refuse(
			p,
			"the overrides have too many different hang limits: give at most "
			"%d, as in hang = 10s for several of them",
			JANK_HANG_LIMITS - 1 - ANR_LIMITS);
	return 0;
}

static int check_question(struct parse *p)
{
	const struct options *opts = p->opts;

	if (opts->ask_status + opts->ask_pause + opts->ask_resume > 1)
		return parse__refuse(p, "--status, --pause and --resume do not go together: give "
					"one of them");
	if (!opts->control)
		return parse__refuse(p, "the configuration has control = off: no agent can be "
					"asked");
	return 0;
}

static int check_trace(struct parse *p)
{
	struct options *opts = p->opts;
	int code = check_targets(p);

	if (!code && opts->command == CMD_TOP)
		code = check_top(p);
	if (!code && opts->command == CMD_AGENT)
		code = check_agent(p);

	if (code)
		return code;
	if (!opts->pid_cnt && !opts->filter.all && opts->command == CMD_AGENT)
		return parse__refuse(
			p,
			p->no_config ? "nothing to trace: '%s' does not exist; write it, or "
				       "give -a or -p PID"
				     : "nothing to trace: '%s' selects nothing; give it "
				       "all = yes in [select]",
			opts->config);
	if (!opts->pid_cnt && !opts->argv && !opts->filter.all)
		return parse__refuse(
			p, "nothing to trace: give a process by -p PID, a program and its "
			   "arguments after --, or -a for every process");
	if (opts->as && !opts->argv)
		return parse__refuse(
			p, "--as is COMMAND's user: give the program and its arguments after "
			   "--");
	if (opts->follow && opts->no_follow)
		return parse__refuse(p, "-f and --no-follow do not go together: give one of them");
	if (opts->follow && opts->filter.all)
		return parse__refuse(p, "-a traces all children already: give it without -f");
	if (opts->follow && opts->backend == BACKEND_UPROBE)
		return parse__refuse(
			p, "-f: --backend uprobe sees only processes that it was given; give "
			   "their numbers by -p, or leave out --backend");
	if (opts->workers && opts->filter.all)
		return parse__refuse(
			p, "--workers asks about each thread's callers, which is too much for all "
			   "processes: give some with -p instead of -a");
	if (opts->record_ns && !opts->output_dir)
		return parse__refuse(
			p, "--record writes its traces into the directory of -o: give one");
	opts->follow |= opts->argv && !opts->no_follow && opts->backend != BACKEND_UPROBE;
	if (!is_given(p, &opts->hang_ns) && opts->hang_ns < opts->threshold_ns)
		opts->hang_ns = opts->threshold_ns;
	if (check_overrides(p))
		return p->code;
	if (opts->hang_ns && opts->hang_ns < opts->threshold_ns)
		return parse__refuse(
			p, "--hang is shorter than --threshold: give a longer one, or 0 for "
			   "none");
	return 0;
}

/* The words after fleet. */
static int check_fleet(struct parse *p)
{
	static const struct {
		const char *word;
		size_t cnt; /* of words, with this one */
		const char *usage;
	} words[] = { { "top", 1, "top takes no word" },
		      { "show", 2, "show needs one SIGNATURE" },
		      { "diff", 3, "diff needs two: VERSION, VERSION@FROM..TO or @FROM..TO" },
		      { "drop", 1, "drop takes no word" } };
	const struct options *opts = p->opts;

	for (size_t i = 0; opts->file_cnt && i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(opts->files[0], words[i].word))
			continue;
		if (opts->file_cnt != words[i].cnt)
			return parse__refuse(p, "fleet %s", words[i].usage);
		if (!strcmp(opts->files[0], "drop") && !opts->older_ns)
			return parse__refuse(p, "fleet drop needs --older TIME");
		if (opts->until_ns && opts->until_ns <= opts->since_ns)
			return parse__refuse(p, "--until is not later than --since");
		return 0;
	}
	return parse__refuse(p, "fleet needs one of top, show, diff and drop");
}

int parse__check(struct parse *p)
{
	int code = check_rows(p);

	if (code)
		return code;
	p->opts->threshold_given = is_given(p, &p->opts->threshold_ns);
	p->opts->startup_given = is_given(p, &p->opts->startup_ns);
	p->opts->fps_given = is_given(p, &p->opts->fps);
	if (options__asks(p->opts))
		return check_question(p);
	if (p->opts->redact_key && !p->opts->redact)
		return parse__refuse(
			p, "--redact-key is the key of --redact: say what to hash, such as "
			   "--redact paths,peers,messages");
	code = parse__check_backends(p);
	if (code)
		return code;
	if (options__traces(p->opts))
		return check_trace(p);
	if (p->opts->command == CMD_LOOPS)
		return check_targets(p);
	if (p->opts->command == CMD_REPLAY && !p->opts->journal)
		return parse__refuse(p, "replay needs the FILE that --journal wrote");
	if (p->opts->command == CMD_REPORT && !p->opts->file_cnt)
		return parse__refuse(p, "report needs the DIR of -o, or the FILE that --json, -o "
					"or --journal wrote, or - for stdin");
	if (p->opts->command == CMD_DIFF && p->opts->file_cnt != 2)
		return parse__refuse(p, "diff needs two of them: what --json, -o or --journal "
					"wrote before and after");
	if (p->opts->command == CMD_COMPLETION && !p->opts->shell)
		return parse__refuse(p, "completion needs the name of a shell: bash, zsh or fish");
	if (p->opts->command == CMD_SERVE && p->opts->file_cnt != 1)
		return parse__refuse(p, "serve needs one DIR, that of -o");
	if (p->opts->command == CMD_FLEET)
		return check_fleet(p);
	if (p->opts->command == CMD_SYMBOLIZE && !p->opts->file_cnt)
		return parse__refuse(
			p, "symbolize needs the FILE that --json or -o wrote, or - for stdin");
	return 0;
}
