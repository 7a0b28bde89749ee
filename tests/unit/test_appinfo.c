/* SPDX-License-Identifier: GPL-2.0 */
/* What an environment says of the application: names and versions only, of any bytes. */
#include "procfs/appinfo.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/apart.h"
#include "tests/tap.h"

#define NAME	   "OTEL_SERVICE_NAME="
#define ATTRIBUTES "OTEL_RESOURCE_ATTRIBUTES="

static const struct row {
	const char *what, *words;
	size_t len;
	const char *name, *version, *space, *environment;
} rows[] = {
#define ROW(what, words, ...)                                                                      \
	{                                                                                          \
		what, words, sizeof(words), __VA_ARGS__                                            \
	}
	ROW("nothing", "PATH=/bin\0HOME=/root", NULL, NULL, NULL, NULL),
	ROW("a name", "A=b\0" NAME "cart", "cart", NULL, NULL, NULL),
	ROW("attributes",
	    ATTRIBUTES "service.version=2.7.1,service.name=cart,service.namespace=shop,"
		       "deployment.environment=prod,password=secret",
	    "cart", "2.7.1", "shop", "prod"),
	ROW("the variable before the attribute, wherever it stands",
	    ATTRIBUTES "service.name=b,service.version=1\0" NAME "a", "a", "1", NULL, NULL),
	ROW("the newer word for the environment",
	    ATTRIBUTES "deployment.environment=old,deployment.environment.name=new", NULL, NULL,
	    NULL, "new"),
	ROW("blanks, and percent signs", ATTRIBUTES " service.name = a%20b%2Cc , x=y", "a b,c",
	    NULL, NULL, NULL),
	ROW("a bad percent sign", NAME "100%zz%4", "100%zz%4", NULL, NULL, NULL),
	ROW("control characters", NAME "a\nb\x1b[31m%0Ac\x7f", "ab[31mc", NULL, NULL, NULL),
	ROW("an empty value", NAME "\0" ATTRIBUTES "service.name=,service.version=", NULL, NULL,
	    NULL, NULL),
	ROW("no value", ATTRIBUTES "service.name,,=,service.version", NULL, NULL, NULL, NULL),
	ROW("a variable of a longer name", "MY_" NAME "x\0" NAME "y", "y", NULL, NULL, NULL),
	ROW("the first of two", NAME "x\0" NAME "y", "x", NULL, NULL, NULL),
#undef ROW
};

static void check_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		Jankbpf__Identity app = JANKBPF__IDENTITY__INIT;
		char *words = malloc(row->len); /* so that a read beyond it is found */

		memcpy(words, row->words, row->len);
		is_int(appinfo__parse(words, row->len, &app), 0, "%s", row->what);
		is_str(app.service_name, row->name, "%s: name", row->what);
		is_str(app.service_version, row->version, "%s: version", row->what);
		is_str(app.service_namespace, row->space, "%s: namespace", row->what);
		is_str(app.deployment_environment, row->environment, "%s: environment", row->what);
		identity__set_application(&app, NULL);
		free(words);
	}
}

static void check_sizes(void)
{
	static char words[100000] = NAME;
	Jankbpf__Identity app = JANKBPF__IDENTITY__INIT;

	memset(words + strlen(NAME), 'x', sizeof(words) - strlen(NAME));
	appinfo__parse(words, sizeof(words), &app);
	ok(!app.service_name, "a variable without an end does not count");
	words[sizeof(words) - 1] = '\0';
	appinfo__parse(words, sizeof(words), &app);
	is_uint(strlen(app.service_name), APPINFO_VALUE_MAX, "a long value is cut");
	identity__set_application(&app, NULL);
	for (size_t i = strlen(NAME); i + 2 < sizeof(words); i += 3)
		memcpy(words + i, "\xe2\x82\xac", 3);
	appinfo__parse(words, sizeof(words), &app);
	is_uint(strlen(app.service_name), APPINFO_VALUE_MAX / 3 * 3, "at a whole character");
	identity__set_application(&app, NULL);
	is_int(appinfo__parse("", 0, &app), 0, "no environment at all");
}

static void check_process(void)
{
	char *const env[] = { "SECRET=x", "OTEL_SERVICE_NAME=sleeper", NULL };
	char *const argv[] = { "sleep", "60", NULL };
	Jankbpf__Identity app = JANKBPF__IDENTITY__INIT;
	pid_t pid = fork();

	if (!pid) {
		execve("/bin/sleep", argv, env);
		_exit(1);
	}
	for (int i = 0; i < 500 && !app.service_name; i++) {
		usleep(10000);
		appinfo__read(pid, &app);
	}
	is_str(app.service_name, "sleeper", "of a live process");
	identity__set_application(&app, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(appinfo__read(pid, &app), 0, "of one that has ended");
	ok(!app.service_name, "nothing");
	apart__stop();
}

int main(void)
{
	check_rows();
	check_sizes();
	check_process();
	return tap__done();
}
