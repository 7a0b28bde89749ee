/* SPDX-License-Identifier: GPL-2.0 */
/* A browser process's role by its command line, and how that is read. */
#include "procfs/procinfo.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/apart.h"
#include "tests/tap.h"

#define PARSE(words) parse(words, sizeof(words) - 1)

static const char *parse(const char *words, size_t len)
{
	static char copy[512];

	memcpy(copy, words, len);
	copy[len] = '\0';
	return procrole__parse(copy, len);
}

static void test_parse(void)
{
	is_str(PARSE("/usr/lib/chromium/chromium\0--type=renderer\0--lang=en\0"), "renderer",
	       "Chromium's renderer");
	is_str(PARSE("chromium --type=gpu-proc"), NULL, "a truncated word may lack its end");
	is_str(PARSE("chromium --type=gpu-process --no-sandbox\0"), "gpu-process",
	       "Chromium joins its words");
	is_str(PARSE("chrome\0--type=utility\0--utility-sub-type=network.mojom.NetworkService\0"),
	       "NetworkService", "a utility has its service's name");
	is_str(PARSE("/usr/lib/firefox/firefox\0-contentproc\0-childID\0001\0{12-34}\0003\0tab\0"),
	       "tab", "Firefox's content process");
	is_str(PARSE("firefox -contentproc 3 -crashHelper\0"), NULL, "an option is no role");
	is_str(PARSE("firefox\0--profile\0x\0"), NULL, "a browser itself has none");
	is_str(PARSE("--type=renderer\0x\0"), NULL, "a program's own name is no role");
	is_str(PARSE("chrome\0--type=\033[31m\0"), NULL, "only a name is a role");
	is_str(PARSE("chrome\0--type=\0"), NULL, "and an empty one is not");
	is_str(PARSE("\0\0\0"), NULL, "empty words");
	is_str(parse("", 0), NULL, "no words");
}

/* A program that has written a line. */
static pid_t start(const char *path, const char *option, const char *code, const char *arg)
{
	int ready[2];
	pid_t pid;

	if (pipe(ready))
		abort();
	pid = fork();
	if (!pid) {
		dup2(ready[1], STDOUT_FILENO);
		execl(path, path, option, code, arg, NULL);
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &(char){ 0 }, 1) != 1)
		abort();
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_read(void)
{
	pid_t pid = start("/bin/sh", "-c", "echo; while :; do sleep 1; done", "--type=renderer");
	char *role;

	ok(!procrole__read(pid, &role), "a living process");
	is_str(role, "renderer", "has its role");
	free(role);
	end(pid);
	ok(!procrole__read(pid, &role) && !role, "an ended process has none");
}

/* perl writes $0 over its arguments and beyond, into the environment. */
static void test_title(void)
{
	pid_t pid;
	char *role;

	if (access("/usr/bin/perl", X_OK)) {
		skip(2, "no perl here");
		return;
	}
	pid = start("/usr/bin/perl", "-e",
		    "$| = 1; $0 = 'firefox -contentproc ' . ('-x 1 ' x 40) . 'tab';"
		    "print qq(\\n); sleep 60",
		    NULL);
	ok(!procrole__read(pid, &role), "a title that is longer than the arguments were");
	is_str(role, "tab", "the role is at its end");
	free(role);
	end(pid);
}

int main(void)
{
	test_parse();
	test_read();
	test_title();
	apart__stop();
	return tap__done();
}
