/* SPDX-License-Identifier: GPL-2.0 */
/* What /proc says of a process: misleading texts, then processes of our own. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procfs/procinfo.h"
#include "tests/tap.h"
#include "tests/unit/child.h"

static void test_stat(void)
{
	char good[] =
		"12 (a) R (b) \n) S 1 12 12 0 -1 4194304 100 0 0 0 7 8 0 0 20 0 5 0 123456 1000 1";
	char kthread[] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0";
	char cut[] = "12 (a) S 1 2 3", none[] = "nonsense", turned[] = ")( S 1", empty[] = "";
	struct proc_info info = { 0 };
	char state = 0;

	is_int(procinfo__parse_stat(good, &info, &state), 0, "a comm of blanks and parentheses");
	is_str(info.comm, "a) R (b) \n", "comm");
	ok(state == 'S' && info.thread_cnt == 5 && info.start_ticks == 123456 &&
		   !info.kernel_thread,
	   "state, threads, start");
	is_int(procinfo__parse_stat(kthread, &info, &state), 0, "a kernel thread's");
	ok(info.kernel_thread, "is recognised");
	is_int(procinfo__parse_stat(cut, &info, &state), -EBADMSG, "cut short");
	is_int(procinfo__parse_stat(none, &info, &state), -EBADMSG, "no parentheses");
	is_int(procinfo__parse_stat(turned, &info, &state), -EBADMSG, "reversed parentheses");
	is_int(procinfo__parse_stat(empty, &info, &state), -EBADMSG, "empty");
}

static void test_status(void)
{
	struct proc_info info = { 0 };
	uint32_t tgid = 0;

	is_int(procinfo__parse_status("Name:\tUid:\nTgid:\t7\nTracerPid:\t9\nUid:\t1000\t0\t0\t0\n"
				      "NSpid:\t7\t5\t1\n",
				      &info, &tgid),
	       0, "status");
	ok(tgid == 7 && info.uid == 1000 && info.tracer_pid == 9, "real uid, tracer");
	is_uint(info.ns_pid, 1, "the innermost pid");
	is_int(procinfo__parse_status("Name:\tx\nTgid:\t7\nTracerPid:\t0\nUid:\t0\t0\n", &info,
				      &tgid),
	       0, "without namespaces");
	is_uint(info.ns_pid, 7, "its pid is the outer one");
	is_int(procinfo__parse_status("Name:\tx\n", &info, &tgid), -EBADMSG, "cut short");
}

static void test_cgroup(void)
{
	static const struct {
		const char *text, *want, *what;
	} cases[] = {
		{ "0::/user.slice/a:b\n", "/user.slice/a:b", "v2" },
		{ "12:memory:/m\n1:name=systemd:/s\n0::/\n", "/s", "hybrid: systemd's" },
		{ "3:cpu,cpuacct:/c\n12:memory:/m\n", "/m", "v1: memory's" },
		{ "1:name=systemd:/\n0::/\n", "/", "the root" },
		{ "1:name=systemd:/\n", "/", "v1's root" },
		{ "3:cpu:/c\nnonsense\n:\n", NULL, "none of the known ones" },
		{ "", NULL, "none" },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		is_str(procinfo__parse_cgroup(text), cases[i].want, "cgroup: %s", cases[i].what);
	}
}

static void test_self(void)
{
	struct proc_info info;
	char exe[4096] = "";

	prctl(PR_SET_NAME, "odd) \n\"x");
	is_int(procinfo__read(getpid(), &info, NULL), 0, "this process");
	ok(info.pid == (uint32_t)getpid() && info.uid == getuid() && info.thread_cnt >= 1,
	   "pid, uid");
	is_str(info.comm, "odd) \n\"x", "an odd comm, unchanged");
	ok(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0, "own executable");
	is_str(info.exe, exe, "exe");
	ok(!info.kernel_thread && !info.tracer_pid && info.start_ticks > 0, "no debugger");
	ok(access("/proc/self/cgroup", R_OK) || (info.cgroup && info.cgroup[0] == '/'), "cgroup %s",
	   info.cgroup ? info.cgroup : "(none)");
	procinfo__free(&info);
}

static void test_refused(void)
{
	struct proc_info info = { .pid = 77 };
	struct err err = { 0 };
	pid_t pid = child__zombie();

	is_int(procinfo__read(pid, &info, &err), -ESRCH, "a zombie is gone");
	child__end(pid);
	is_int(procinfo__read(pid, &info, &err), -ESRCH, "a process that is gone");
	has_str(err.msg, "no such process", "the message says so");
	is_uint(info.pid, 77, "leaves the result unchanged");
	is_int(procinfo__read(-1, &info, &err), -ESRCH, "an invalid pid");
}

static void *wait_for_ever(void *arg)
{
	*(volatile pid_t *)arg = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

static void test_thread(void)
{
	volatile pid_t tid = 0;
	struct proc_info info;
	struct err err = { 0 };
	pthread_t thread;

	if (!ok(!pthread_create(&thread, NULL, wait_for_ever, (void *)&tid), "a thread"))
		return;
	while (!tid)
		usleep(1000);
	is_int(procinfo__read(tid, &info, &err), -EINVAL, "a thread is no process");
	has_str(err.msg, "is a thread of process", "the message names the process");
}

static void test_kernel_thread(void)
{
	struct proc_info info;

	if (procinfo__read(2, &info, NULL)) {
		skip(2, "pid 2 is not visible here");
		return;
	}
	if (strcmp(info.comm, "kthreadd")) {
		skip(2, "pid 2 is no kernel thread here");
	} else {
		ok(info.kernel_thread, "kthreadd is a kernel thread");
		ok(!info.exe, "without an executable");
	}
	procinfo__free(&info);
}

static void test_traced(void)
{
	struct proc_info info;
	pid_t pid = child__start(NULL, NULL);

	if (ptrace(PTRACE_SEIZE, pid, 0, 0)) {
		skip(1, "no ptrace here: %s", strerror(errno));
	} else {
		procinfo__read(pid, &info, NULL);
		is_uint(info.tracer_pid, (unsigned)getpid(), "its debugger is this process");
		procinfo__free(&info);
	}
	child__end(pid);
}

/* The path of a program that was replaced on disk stays the same. */
static void test_deleted(void)
{
	char path[] = "/tmp/test_procinfo_XXXXXX", command[128];
	struct proc_info info;
	pid_t pid;
	int fd = mkstemp(path);

	close(fd);
	snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 755 %s", path, path);
	if (!ok(fd >= 0 && !system(command), "a program of our own"))
		return;
	pid = child__fork();
	if (!pid) {
		execl(path, "sleep", "60", NULL);
		_exit(127);
	}
	usleep(200000);
	unlink(path);
	is_int(procinfo__read(pid, &info, NULL), 0, "its program is deleted");
	is_str(info.exe, path, "its path is unchanged");
	procinfo__free(&info);
	child__end(pid);
}

int main(void)
{
	test_stat();
	test_status();
	test_cgroup();
	test_self();
	test_refused();
	test_kernel_thread();
	test_traced();
	test_deleted();
	test_thread();
	return tap__done();
}
