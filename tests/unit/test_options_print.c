/* SPDX-License-Identifier: GPL-2.0 */
/* What the option table prints: help, the man page, the version. */
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "files/file.h"
#include "options/command_table.h"
#include "options/completion.h"
#include "options/options.h"
#include "options/options_table.h"
#include "tests/tap.h"

/* Runs fn with stdout in a file and returns what it wrote. */
static char *printed_by(void (*fn)(void))
{
	char path[] = "/tmp/test_options.XXXXXX";
	struct strbuf text = STRBUF_INIT;
	int fd = mkstemp(path), saved;

	fflush(stdout);
	saved = dup(1);
	dup2(fd, 1);
	fn();
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	close(fd);
	file__read(path, 1 << 20, &text);
	unlink(path);
	return text.data;
}

static const char *const names[] = {
	"--pid",       "--threshold",	"--hang",
	"--fps",       "--debugging",	"--backend",
	"--frequency", "--duration",	"--count",
	"--output",    "--keep",	"--max-size",
	"--qualifier", "--json",	"--journal",
	"--verbose",   "--quiet",	"--schema",
	"--help",      "--version",	"--disable-feature",
	"--btf",       "-- COMMAND",	"--all",
	"--comm",      "--uid",		"--cgroup",
	"--loop",      "--main-thread", "--marks",
	"--format",    "--redact",	"--redact-key",
};

static size_t longest_line(const char *text)
{
	size_t longest = 0, n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + ((*text & 0xc0) != 0x80);
		longest = n > longest ? n : longest;
	}
	return longest;
}

static const char *topic;

static void print_help(void)
{
	options__print_help(topic);
}

/* What help has for the option: "  -t, --threshold" or "      --json". */
static bool has_option(const char *help, const struct option_row *row)
{
	struct strbuf sb = STRBUF_INIT;
	bool found;

	strbuf__addf(&sb, "%s--%s%s%s", OPTION_IS_SHORT(row) ? ", " : "      ", row->name,
		     row->arg ? " " : "", row->arg ?: "");
	found = strstr(help, strbuf__str(&sb));
	strbuf__free(&sb);
	return found;
}

static void test_command_help(const struct command_row *row)
{
	size_t wrong = 0;
	char *help;

	topic = row->name;
	help = printed_by(print_help);
	topic = NULL;
	for (size_t i = 0; i < option_row_cnt; i++) {
		const struct option_row *option = &option_rows[i];

		if (option->name &&
		    has_option(help, option) != !!(option->commands & (1u << row->command)))
			wrong++;
	}
	is_uint(wrong, 0, "help %s has its options, and only these", row->name);
	has_str(help, row->usage[0], "… its usage");
	has_str(help, row->example, "… its example");
	ok(longest_line(help) <= 100, "… in 100 columns (%zu)", longest_line(help));
	free(help);
}

static void test_help(void)
{
	char *help = printed_by(print_help);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		has_str(help, names[i], "help describes %s", names[i]);
	has_str(help, "(in ms; default 100ms)", "help gives defaults and units");
	has_str(help, "jankbpf doctor", "help names the commands");
	has_str(help, "e.g. jankbpf -- redis-server", "help has examples");
	ok(longest_line(help) <= 100, "help fits into 100 columns (%zu)", longest_line(help));
	free(help);
}

static void test_man(void)
{
	char *man = printed_by(options__print_man);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct strbuf roff = STRBUF_INIT;

		for (const char *c = names[i]; *c && *c != ' '; c++)
			strbuf__addf(&roff, *c == '-' ? "\\-" : "%c", *c);
		has_str(man, strbuf__str(&roff), "the man page describes %s", names[i]);
		strbuf__free(&roff);
	}
	has_str(man, ".SS Where blocks go", "the man page has the sections");
	lacks_str(man, "…", "the man page is ASCII");
	free(man);
}

static void test_completions(void)
{
	for (size_t i = 0; i < option_row_cnt; i++)
		if (option_rows[i].name && option_rows[i].arg)
			ok(option__completes(&option_rows[i]) != COMPLETE_UNKNOWN,
			   "completion.c knows the argument %s of --%s", option_rows[i].arg,
			   option_rows[i].name);
	ok(!options__print_completion("csh"), "no script for an unknown shell");
}

static void test_version(void)
{
	char *version = printed_by(options__print_version);

	is_str(version, "jankbpf " JANK_VERSION "\n", "version");
	free(version);
}

int main(void)
{
	test_help();
	for (size_t i = 0; i < command_row_cnt; i++)
		test_command_help(&command_rows[i]);
	test_man();
	test_completions();
	test_version();
	return tap__done();
}
