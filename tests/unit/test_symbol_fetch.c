/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debug files from a server on this machine; from a server that never answers; and without a
 * server.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "files/unread.h"
#include "symbol/modules/fetch.h"
#include "tests/unit/symbol_fixture.h"

static const char program[] =
	"#include <stdio.h>\n"
	"static __attribute__((noinline)) int hidden(int v) { asm volatile(\"\"); return v * 3; }\n"
	"int main(void) {\n"
	"	printf(\"fn %p\\nready\\n\", (void *)hidden);\n"
	"	fflush(stdout);\n"
	"	return hidden(getchar());\n"
	"}\n";

static void pause_ms(unsigned ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&time, NULL);
}

/* A socket that accepts and never answers; its port. */
static int listen_somewhere(int *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (void *)&addr, len) || listen(fd, 5) ||
	    getsockname(fd, (void *)&addr, &len))
		abort();
	*port = ntohs(addr.sin_port);
	return fd;
}

static void set_urls(int port)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", url, 1);
}

static struct frame name_until(struct symbolizer *sym, const struct fixture *fx, unsigned tries)
{
	struct frame ret = {};

	while (tries-- && !ret.function) {
		ret = fixture__frame(sym, fx->pid, fixture__addr(fx, "fn") + 1, true);
		if (!ret.function)
			pause_ms(100);
	}
	return ret;
}

static pid_t start_server(int port)
{
	char number[16], db[PATH_MAX], dir[PATH_MAX];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", port);
	snprintf(db, sizeof(db), "%s", scratch__path("db"));
	snprintf(dir, sizeof(dir), "%s", scratch__path("served"));
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(126);
		unsetenv("DEBUGINFOD_URLS");
		execlp("debuginfod", "debuginfod", "-F", "-p", number, "-d", db, "-t", "1", dir,
		       NULL);
		_exit(127);
	}
	return pid;
}

/* The server has a sparse file of 513 MiB, then a usual one. */
static void check_too_large(void)
{
	uint64_t before = unread__cnt();
	struct symbolizer *sym = fixture__symbolizer(scratch__path("none"), NULL);
	struct fixture fx;

	fixture__run(&fx, "run");
	for (unsigned tries = 80; tries && unread__cnt() == before; tries--)
		name_until(sym, &fx, 1);
	is_uint(unread__cnt() - before, 1, "a file over the limit is not downloaded");
	is_str(name_until(sym, &fx, 1).function, NULL, "so there is no name");
	fixture__stop(&fx);
	symbolizer__free(sym);
	fixture__sh("rm -rf $D/cache && cp $D/one $D/served/");
	pause_ms(2500);
}

static void check_served(void)
{
	struct symbolizer *sym;
	struct fixture fx;
	uint64_t begin;
	pid_t server;
	int port;

	if (system("command -v debuginfod >/dev/null")) {
		skip(7, "no debuginfod");
		return;
	}
	close(listen_somewhere(&port));
	server = start_server(port);
	pause_ms(2500); /* it has scanned its directory */
	set_urls(port);
	check_too_large();
	sym = fixture__symbolizer(scratch__path("none"), NULL);
	fixture__run(&fx, "run");
	begin = clock__mono_ns();
	is_str(name_until(sym, &fx, 1).function, NULL, "at first there is no name");
	ok(clock__mono_ns() - begin < 500 * NS_PER_MS, "which is reported at once");
	is_str(name_until(sym, &fx, 80).function, "hidden", "then there is one");
	is_uint(name_until(sym, &fx, 1).line, 2, "with its line");
	ok(!system("ls $D/cache/*/debuginfo >/dev/null"), "and the file is in the client's cache");
	fixture__stop(&fx);
	symbolizer__free(sym);
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
}

static void check_silent(void)
{
	struct symbolizer *sym;
	struct fixture fx;
	uint64_t begin;
	int port, fd = listen_somewhere(&port);

	fixture__sh("rm -rf $D/cache");
	set_urls(port);
	sym = fixture__symbolizer(scratch__path("none"), NULL);
	fixture__run(&fx, "run");
	begin = clock__mono_ns();
	is_str(name_until(sym, &fx, 5).function, NULL, "a server that never answers gives no name");
	ok(clock__mono_ns() - begin < 1500 * NS_PER_MS, "and delays nothing");
	fixture__stop(&fx);
	begin = clock__mono_ns();
	symbolizer__free(sym);
	ok(clock__mono_ns() - begin < 3 * NS_PER_SEC, "not even the end");
	close(fd);
}

/* Requests files of which no process has asked before. */
static void want_files(struct fetch *fetch, struct fetch_asker asker, unsigned cnt)
{
	static unsigned number;
	char build_id[41];

	while (cnt--) {
		snprintf(build_id, sizeof(build_id), "%040x", ++number);
		fetch__want(fetch, build_id, asker);
	}
}

/* The server does not answer, so all requests but the first wait. */
static void check_limits(void)
{
	const unsigned one = FETCHES_OF_PROCESS, processes = FETCHES_OF_USER / one;
	int port, fd = listen_somewhere(&port);
	uint64_t before = unread__cnt();
	struct fetch *fetch;
	unsigned i;

	set_urls(port);
	fetch = fetch__new(NULL, NULL);
	is_str(getenv("DEBUGINFOD_MAXTIME"), "60", "a download has a limit");
	want_files(fetch, (struct fetch_asker){ 1, 1000 }, one);
	is_uint(unread__cnt() - before, 0, "%u requests of a process", one);
	want_files(fetch, (struct fetch_asker){ 1, 1000 }, 2);
	is_uint(unread__cnt() - before, 2, "2 more are refused");
	fetch__want(fetch, "0000000000000000000000000000000000000001",
		    (struct fetch_asker){ 1, 1000 });
	is_uint(unread__cnt() - before, 2, "but not one that is known");
	for (i = 1; i < processes; i++)
		want_files(fetch, (struct fetch_asker){ 1 + i, 1000 }, one);
	is_uint(unread__cnt() - before, 2, "%u processes of a user", processes);
	want_files(fetch, (struct fetch_asker){ 1 + i, 1000 }, 1);
	is_uint(unread__cnt() - before, 3, "1 more process of that user is refused");
	want_files(fetch, (struct fetch_asker){ 2 + i, 1001 }, 1);
	is_uint(unread__cnt() - before, 3, "but not another user's");
	for (i = 0; i < FETCHES_MAX / one; i++)
		want_files(fetch, (struct fetch_asker){ 1000 + i, 0 }, one);
	is_uint(unread__cnt() - before, 3 + FETCHES_OF_USER + 1, "%d in total, also for root",
		FETCHES_MAX);
	fetch__free(fetch);
	close(fd);
}

int main(void)
{
	struct fetch *fetch;

	unsetenv("DEBUGINFOD_URLS");
	ok(!fetch__new(NULL, NULL), "without DEBUGINFOD_URLS no server is asked");
	is_int(fetch__open(NULL, "00"), -1, "and nothing is created");
	scratch__init();
	setenv("DEBUGINFOD_CACHE_PATH", scratch__path("cache"), 1);
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	fetch = fetch__new(NULL, NULL);
	if (!fetch) {
		skip(19, "built without libdebuginfod");
		return tap__done();
	}
	fetch__free(fetch);
	scratch__write_text("p.c", program);
	fixture__sh("gcc -O1 -g -Wl,--build-id -o $D/one $D/p.c && strip -o $D/run $D/one && mkdir "
		    "$D/served "
		    "$D/none && cp $D/one $D/served/ && truncate -s 513M $D/served/one");
	check_served();
	check_silent();
	check_limits();
	return tap__done();
}
