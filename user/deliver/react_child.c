/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that runs commands: one thread, one command at a time. It ends when its socket does.
 *
 * While a command runs, the process reads the command's output, which a timer interrupts. It does
 * not poll: a trace of all processes would take that for an event loop.
 */
#include "deliver/react.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/socket.h"
#include "base/thread.h"
#include "deliver/deliver_confine.h"
#include "deliver/message.h"
#include "export/sink.h"

#define TICK_US	  100000
#define OUTPUT_SZ 200 /* of a command's output, for the message of its failure */

struct runner {
	struct react_shared *shared;
	const char *commands[REACTION_CNT]; /* in shared */
	struct strbuf json;
	bool reported[REACT_OUTCOME_CNT];
};

/* A command that runs. */
struct running {
	enum reaction reaction;
	pid_t pid;
	int output;	       /* read end of the pipe */
	int status;	       /* as of waitpid, once it has ended */
	uint64_t end_ns;       /* CLOCK_MONOTONIC; it is killed then */
	char first[OUTPUT_SZ]; /* first line of its output */
	size_t first_len;
	bool first_ended;
};

static volatile sig_atomic_t group; /* of the command that runs; 0: none */

/* The tracer is gone: so is the reason for the command. */
static void on_orphaned(int sig)
{
	(void)sig;
	if (group > 0)
		kill(-group, SIGKILL);
	_exit(JANK_EXIT_FAILED);
}

static void on_tick(int sig)
{
	(void)sig;
}

/* --- start of a command */

static int answer(enum react_event event, enum react_outcome outcome, pid_t pid)
{
	struct react_answer answer = { event, outcome, pid, 0 };
	const struct iovec part = { &answer, sizeof(answer) };

	return socket__send_fd(REACT_SOCKET_FD, &part, 1, -1);
}

static void restore_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * In the child, with a session of its own: no terminal, and a group to kill. The tracer knows of
 * the command before it can cause a block.
 */
static void exec_command(const char *command, int input, int output, char **env)
{
	char *const argv[] = { "sh", "-c", (char *)(uintptr_t)command, NULL };

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	answer(REACT_STARTED, REACT_OK, getpid());
	restore_signals();
	if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(output, STDERR_FILENO) < 0)
		_exit(127);
	fds__close_from(STDERR_FILENO + 1);
	execve(_PATH_BSHELL, argv, env);
	execve("/system/bin/sh", argv, env);
	_exit(127);
}

/* The record as JSON, as the command's stdin. Returns a descriptor, or -errno. */
static int make_input(struct runner *runner, const Jankbpf__Record *record)
{
	int fd, res;

	strbuf__reset(&runner->json);
	res = stream__add(&runner->json, RECORD_JSON, record);
	if (res)
		return res;
	fd = own_process__shared("jankbpf-record", runner->json.len);
	if (fd < 0)
		return fd;
	res = output__write(fd, runner->json.data, runner->json.len);
	if (!res && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	return res ? res : -EIO;
}

static int start(struct runner *runner, const Jankbpf__Record *record, struct running *run)
{
	char **env = react_env__new(record, run->reaction);
	int input = env ? make_input(runner, record) : -ENOMEM, ends[2] = { -1, -1 };

	if (input >= 0 && !pipe2(ends, O_CLOEXEC)) {
		run->pid = fork();
		if (!run->pid)
			exec_command(runner->commands[run->reaction], input, ends[1], env);
		close(ends[1]);
		run->output = ends[0];
	}
	if (input >= 0)
		close(input);
	react_env__free(env);
	if (run->pid > 0)
		return 0;
	if (ends[0] >= 0)
		close(ends[0]);
	return -EAGAIN;
}

/* --- while it runs */

static void keep_first_line(struct running *run, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && !run->first_ended; i++) {
		run->first_ended = bytes[i] == '\n' || run->first_len == OUTPUT_SZ - 1;
		if (!run->first_ended)
			run->first[run->first_len++] = bytes[i];
	}
}

/* True when it has ended. */
static bool has_ended(struct running *run, int flags)
{
	return waitpid(run->pid, &run->status, flags) == run->pid;
}

/* Reads until the command has ended, or its time has. */
static enum react_outcome wait_for(struct runner *runner, struct running *run)
{
	bool open = true, ended = false;
	char bytes[4096];

	while (!ended && clock__mono_ns() < run->end_ns && !runner->shared->stops) {
		ssize_t n = open ? read(run->output, bytes, sizeof(bytes)) : 0;

		if (n > 0)
			keep_first_line(run, bytes, (size_t)n);
		open = n > 0 || (n < 0 && errno == EINTR);
		/* With its output closed it has ended, or will; a tick interrupts the wait. */
		ended = has_ended(run, open ? WNOHANG : 0);
	}
	if (ended)
		return run->status ? REACT_FAILED : REACT_OK;
	kill(-run->pid, SIGKILL);
	while (!has_ended(run, 0))
		;
	return REACT_TIMED_OUT;
}

static void set_tick(long us)
{
	const struct timeval every = { .tv_usec = us };
	const struct itimerval timer = { every, every };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Once for each kind of failure. */
static void report(struct runner *runner, const struct running *run, enum react_outcome outcome)
{
	struct strbuf sb = STRBUF_INIT;

	if (outcome == REACT_OK || runner->reported[outcome] || runner->shared->stops)
		return;
	runner->reported[outcome] = true;
	strbuf__addf(&sb, "%s: the command ", reaction__option(run->reaction));
	if (outcome == REACT_TIMED_OUT) {
		strbuf__adds(&sb, "took longer than ");
		clock__add_duration(&sb, runner->shared->timeout_ns);
		strbuf__adds(&sb, " and was killed; see --react-timeout");
	} else {
		strbuf__adds(&sb, "failed (");
		own_process__add_end(&sb, run->status);
		if (run->first_len)
			strbuf__addf(&sb, ": %.*s", (int)run->first_len, run->first);
		strbuf__adds(&sb, "); try it with a record of --json on its stdin");
	}
	log__warn("%s; the summary counts further ones", strbuf__str(&sb));
	strbuf__free(&sb);
}

/* --- requests */

/* NULL: out of memory. */
static Jankbpf__Record *read_record(int fd)
{
	struct stat st;
	void *at;
	Jankbpf__Record *ret;

	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > MESSAGE_MAX)
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	ret = jankbpf__record__unpack(NULL, (size_t)st.st_size, at);
	munmap(at, (size_t)st.st_size);
	return ret;
}

static int run_one(struct runner *runner, enum reaction reaction, int fd)
{
	struct running run = { .reaction = reaction, .output = -1 };
	Jankbpf__Record *record = read_record(fd);
	int res = record ? start(runner, record, &run) : -ENOMEM;
	enum react_outcome outcome;

	if (record)
		jankbpf__record__free_unpacked(record, NULL);
	if (res)
		return answer(REACT_DONE, REACT_NOT_RUN, 0);
	group = run.pid;
	run.end_ns = clock__mono_ns() + runner->shared->timeout_ns;
	set_tick(TICK_US);
	outcome = wait_for(runner, &run);
	set_tick(0);
	group = 0;
	close(run.output);
	report(runner, &run, outcome);
	return answer(REACT_DONE, outcome, 0);
}

static int serve(struct runner *runner)
{
	struct react_job job;
	const struct iovec part = { &job, sizeof(job) };
	int res = 0, fd;

	while (!res && !runner->shared->stops) {
		ssize_t n = socket__receive_fd(REACT_SOCKET_FD, &part, 1, &fd);

		if (n < 0)
			return (int)n;
		if (n != sizeof(job) || fd < 0 || job.reaction >= REACTION_CNT ||
		    !runner->commands[job.reaction])
			return -EBADMSG;
		res = run_one(runner, job.reaction, fd);
		close(fd);
	}
	return res;
}

static int open_runner(struct runner *runner)
{
	struct stat st;
	const char *at;

	if (fstat(REACT_SHARED_FD, &st))
		return -errno;
	runner->shared = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      REACT_SHARED_FD, 0);
	fds__close_from(REACT_SHARED_FD);
	if (runner->shared == MAP_FAILED)
		return -ENOMEM;
	at = (const char *)(runner->shared + 1);
	for (int i = 0; i < REACTION_CNT; i++)
		if (runner->shared->has[i]) {
			runner->commands[i] = at;
			at += strlen(at) + 1;
		}
	log__set_level(runner->shared->verbosity);
	return 0;
}

static void handle(int sig, void (*handler)(int sig))
{
	const struct sigaction action = { .sa_handler = handler }; /* no SA_RESTART */

	sigaction(sig, &action, NULL);
}

int react__main(void)
{
	struct runner runner = {};
	struct err err = {};
	int res;

	if (!own_process__begin(REACT_SOCKET_FD)) {
		log__error("'" REACT_WORD "': only a trace starts this process, for its own "
			   "commands; see jankbpf --help");
		return JANK_EXIT_USAGE;
	}
	handle(SIGALRM, on_tick);
	handle(CONFINE_ORPHANED, on_orphaned);
	prctl(PR_SET_NAME, "jankbpf-react");
	res = open_runner(&runner);
	if (!res)
		res = confine__react(&err);
	if (res) {
		log__error("%s", err.msg[0] ? err.msg : strerror(-res));
		answer(REACT_REFUSED, REACT_FAILED, 0);
		return JANK_EXIT_FAILED;
	}
	res = answer(REACT_READY, REACT_OK, 0);
	if (!res)
		res = serve(&runner);
	strbuf__free(&runner.json);
	return res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
