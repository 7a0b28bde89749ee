/* SPDX-License-Identifier: GPL-2.0 */
/* The environment of a command (user/deliver/react_env.c): names, hostile texts, limits. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deliver/react.h"
#include "tests/tap.h"

static Jankbpf__Frame frame = JANKBPF__FRAME__INIT;
static Jankbpf__Cause cause = JANKBPF__CAUSE__INIT;
static Jankbpf__Block block = JANKBPF__BLOCK__INIT;

/* The value of JANKBPF_NAME; NULL: not set. */
static const char *value_of(char **env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, "JANKBPF_", 8) && !strncmp(*env + 8, name, len) &&
		    (*env)[8 + len] == '=')
			return *env + 8 + len + 1;
	return NULL;
}

static char **env_of(Jankbpf__Record__TypeCase type, enum reaction reaction)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT;

	record.type_case = type;
	record.block = &block;
	return react_env__new(&record, reaction);
}

static void test_fields(void)
{
	char **env;

	frame.function = "on_read(int)";
	frame.file = "src/x.c";
	frame.line = 12;
	cause.kind = "futex";
	cause.summary = "waited 40 ms";
	cause.frame = &frame;
	block.has_pid = block.has_duration_ns = block.has_start_delay_ns = true;
	block.pid = 42;
	block.duration_ns = 40;
	block.start_delay_ns = 2;
	block.process = "app";
	block.cause = &cause;
	env = env_of(JANKBPF__RECORD__TYPE_BLOCK, REACTION_NEW);
	is_str(value_of(env, "TYPE"), "block", "the type");
	is_str(value_of(env, "REACTION"), "on-new", "the option");
	is_str(value_of(env, "PID"), "42", "a number");
	is_str(value_of(env, "DELAY_NS"), "42", "the delay is a sum");
	is_str(value_of(env, "FUNCTION"), "on_read(int)", "the function to blame");
	is_str(value_of(env, "LINE"), "12", "its line");
	is_str(value_of(env, "SUMMARY"), "waited 40 ms", "the sentence");
	ok(!value_of(env, "THREAD") && !value_of(env, "UID"), "what is not known is not set");
	react_env__free(env);
	env = env_of(JANKBPF__RECORD__TYPE_HANG, REACTION_HANG);
	is_str(value_of(env, "TYPE"), "hang", "of a hang");
	react_env__free(env);
	ok(!env_of(JANKBPF__RECORD__TYPE_SUMMARY, REACTION_BLOCK), "a summary has none");
}

static bool has(char **env, const char *variable)
{
	for (; *env; env++)
		if (!strcmp(*env, variable))
			return true;
	return false;
}

static void test_own(void)
{
	char **env;

	setenv("JANKBPF_PROCESS", "an outer run's", 1);
	setenv("JANKBPF_UNIT", "an outer run's", 1);
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C", 1);
	setenv("BACKEND_TOKEN", "secret", 1);
	setenv("LD_PRELOAD_X", "secret", 1);
	setenv("PATHS", "secret", 1);
	env = env_of(JANKBPF__RECORD__TYPE_BLOCK, REACTION_BLOCK);
	is_str(value_of(env, "PROCESS"), "app", "replaces the variable of an outer run");
	ok(!value_of(env, "UNIT"), "and removes its others");
	ok(has(env, "TZ=UTC") && has(env, "LC_ALL=C"), "what a program needs to run stays");
	ok(!has(env, "BACKEND_TOKEN=secret") && !has(env, "LD_PRELOAD_X=secret") &&
		   !has(env, "PATHS=secret"),
	   "nothing else does");
	react_env__free(env);
}

static void test_hostile(void)
{
	static char longest[100000];
	char **env;
	const char *got;

	block.process = "a\nb\x1b[31m\xff'$(id)\xe2\x80\xae";
	block.thread = "";
	memset(longest, 'x', sizeof(longest) - 1);
	frame.function = longest;
	env = env_of(JANKBPF__RECORD__TYPE_BLOCK, REACTION_BLOCK);
	got = value_of(env, "PROCESS");
	ok(got && !strpbrk(got, "\n\x1b\xff") && strstr(got, "'$(id)") &&
		   !strstr(got, "\xe2\x80\xae"),
	   "a name is one line of text: %s", got);
	ok(!value_of(env, "THREAD"), "an empty name is not set");
	got = value_of(env, "FUNCTION");
	ok(got && strlen(got) < 1010, "a long one is cut, at %zu bytes", got ? strlen(got) : 0);
	react_env__free(env);
}

int main(void)
{
	test_fields();
	test_own();
	test_hostile();
	return tap__done();
}
