/* SPDX-License-Identifier: GPL-2.0 */
/* Help and the version. tests/style/options.t looks at all texts of the table. */
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "files/file.h"
#include "options/command_table.h"
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
	has_str(help, "Usage: jankbpf ", "… its usage");
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
	free(help);
}

static void test_completions(void)
{
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
	test_completions();
	test_version();
	return tap__done();
}
