/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the symbolizer's tests: compiles programs, runs them, and asks them for the addresses of
 * their own functions. A program prints lines "NAME ADDRESS", then "ready", and waits for the end
 * of its stdin.
 */
#ifndef JANK_SYMBOL_FIXTURE_H
#define JANK_SYMBOL_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/names/symbolize.h"
#include "symbol/unwind/unwind.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define FIXTURE_FN static inline __attribute__((unused))

struct fixture {
	pid_t pid;
	FILE *in, *out; /* its stdin and stdout */
	struct {
		char name[64];
		uint64_t addr;
	} addrs[32];
	size_t cnt;
};

/* Does the kernel run this program of the directory? A 32-bit one needs CONFIG_IA32_EMULATION. */
FIXTURE_FN bool fixture__runs(const char *name)
{
	char path[PATH_MAX];
	char *argv[] = { path, "s", NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int err;

	snprintf(path, sizeof(path), "%s", scratch__path(name));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	err = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (!err) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return err != ENOEXEC;
}

/* Runs a shell command in which $D is the directory. A failure is a failed check. */
FIXTURE_FN bool fixture__sh(const char *cmd)
{
	int status = system(cmd);

	if (status)
		ok(false, "fixture: %s", cmd);
	return !status;
}

FIXTURE_FN void fixture__read(struct fixture *fx)
{
	char line[256];

	while (fgets(line, sizeof(line), fx->out) && strcmp(line, "ready\n")) {
		unsigned long long addr;

		if (fx->cnt < 32 && sscanf(line, "%63s %llx", fx->addrs[fx->cnt].name, &addr) == 2)
			fx->addrs[fx->cnt++].addr = addr;
	}
}

/* Runs argv and reads what it prints, up to "ready". */
FIXTURE_FN void fixture__start(struct fixture *fx, char *const argv[])
{
	int in[2], out[2];

	memset(fx, 0, sizeof(*fx));
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	fx->pid = fork();
	if (!fx->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	fx->in = fdopen(in[1], "w");
	fx->out = fdopen(out[0], "r");
	fixture__read(fx);
}

FIXTURE_FN void fixture__run(struct fixture *fx, const char *name)
{
	char path[PATH_MAX];
	char *argv[] = { path, NULL };

	snprintf(path, sizeof(path), "%s", scratch__path(name));
	fixture__start(fx, argv);
}

FIXTURE_FN void fixture__stop(struct fixture *fx)
{
	kill(fx->pid, SIGKILL);
	waitpid(fx->pid, NULL, 0);
	fclose(fx->in);
	fclose(fx->out);
}

FIXTURE_FN uint64_t fixture__addr(const struct fixture *fx, const char *name)
{
	size_t i;

	for (i = 0; i < fx->cnt; i++)
		if (!strcmp(fx->addrs[i].name, name))
			return fx->addrs[i].addr;
	ok(false, "the fixture has printed the address of %s", name);
	return 0;
}

FIXTURE_FN struct symbolizer *fixture__symbolizer(const char *debug_dir, const char *proc)
{
	struct symbolizer_opts opts = {
		.kallsyms = "", .debug_dir = debug_dir, .proc = proc, .demangle = true
	};
	struct symbolizer *ret = NULL;

	if (symbolizer__new(&opts, &ret, NULL))
		abort();
	return ret;
}

/* The frame of an address: as the leaf (exact), or as a return address. */
FIXTURE_FN struct frame fixture__frame(struct symbolizer *sym, uint32_t pid, uint64_t addr,
				       bool leaf)
{
	uint64_t addrs[] = { addr, addr };
	struct stack stack = { .addresses = addrs, .user_cnt = 2 };
	struct frame ret;

	if (symbolizer__stack(sym, pid, &stack))
		abort();
	ret = stack.frames[leaf ? 0 : 1];
	free(stack.frames);
	return ret;
}

/* Checks the name and the offset of an address in a fixture. */
#define NAMED(sym, fx, at, want_offset, want)                                                      \
	do {                                                                                       \
		struct frame named_frame = fixture__frame((sym), (fx)->pid, (at), true);           \
		is_str(named_frame.function, (want), "the name is %s", (want));                    \
		is_uint(named_frame.offset, (want_offset), "… its offset too");                    \
	} while (0)

/*
 * The function that contains the address, of those printed, which must be in the order of their
 * addresses; -1: none.
 */
FIXTURE_FN int fixture__function_at(const struct fixture *fx, uint64_t addr)
{
	for (size_t i = 0; i + 1 < fx->cnt; i++)
		if (addr >= fx->addrs[i].addr && addr < fx->addrs[i + 1].addr)
			return i;
	return -1;
}

FIXTURE_FN void fixture__show_walk(const struct fixture *fx, const struct unwound *got)
{
	diag("the walk ended by %d in %s", got->end, got->module ?: "-");
	for (uint32_t i = 0; i < got->cnt; i++)
		diag("%2u %llx in %d", i, (unsigned long long)got->addresses[i],
		     fixture__function_at(fx, got->addresses[i] - (i > 0)));
}

#endif
