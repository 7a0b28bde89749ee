/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/deliver_confine.h"

#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define INT	 UINT32_MAX /* the kernel ignores the upper half of such an argument */
#define TCGETS_2 0x802c542a /* TCGETS2, by which glibc 2.42 knows a terminal */

/* ioctl: what isatty and the width of a terminal need; no TIOCSTI, which types into it. */
static const struct syscall_rule sink_rules[] = { { "ioctl", { { 1, INT, TCGETS } } },
						  { "ioctl", { { 1, INT, TCGETS_2 } } },
						  { "ioctl", { { 1, INT, TIOCGWINSZ } } },
						  {} };

const struct syscall_list deliver_calls = {
	/* the socket to the tracer */
	"recvfrom sendmsg"
	/* DIR and its files; the time zone's file */
	" openat close fstat newfstatat statx pread64 pwrite64 read lseek ftruncate flock fsync fdatasync utimensat"
	" renameat renameat2 linkat unlinkat mkdirat readlinkat getdents64 fchmod fchmodat fcntl"
	/* stdout and stderr */
	" write writev poll ppoll"
	/* the process itself */
	" getpid geteuid getuid alarm setitimer",
	sink_rules,
};

/* ioctl: the terminal's modes. */
static const struct syscall_rule screen_rules[] = { { "ioctl", { { 1, INT, TCSETS } } },
						    { "ioctl", { { 1, INT, TCSETSW } } },
						    { "ioctl", { { 1, INT, TCSETSF } } },
						    {} };

/* ncurses: descriptions of terminals, the locale, the signal of a new size. */
const struct syscall_list deliver_screen_calls = {
	"access faccessat faccessat2 stat readlink dup rt_sigaction rt_sigprocmask"
	" select pselect6 getegid getgid nanosleep clock_nanosleep",
	screen_rules,
};

/* A connection is accepted, never made. */
static const struct syscall_list http_calls = {
	"accept accept4 sendto recvmsg shutdown setsockopt getsockopt getsockname getpeername"
	" epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2",
	NULL,
};

const struct syscall_list *deliver__more_calls(enum deliver_kind kind)
{
	switch (kind) {
	case DELIVER_SCREEN:
		return &deliver_screen_calls;
	case DELIVER_HTTP:
		return &http_calls;
	case DELIVER_PLAIN:
		break;
	}
	return NULL;
}

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

/* clone3 has its flags in memory, where a filter cannot see them: the C library then uses clone. */
static const struct syscall_rule start_rules[] = { { "clone", { { 0, NAMESPACES, 0 } } },
						   { "prlimit64", { { 0, INT, 0 } } },
						   { "prctl", { { 0, INT, PR_SET_NAME } } },
						   { "prctl", { { 0, INT, PR_SET_NO_NEW_PRIVS } } },
						   { "prctl", { { 0, INT, PR_GET_SECCOMP } } },
						   { "prctl", { { 0, INT, PR_SET_SECCOMP } } },
						   { "prctl", { { 0, INT, PR_SET_DUMPABLE } } },
						   { "prctl", { { 0, INT, PR_SET_PDEATHSIG } } },
						   { "prctl", { { 0, INT, PR_CAPBSET_READ } } },
						   { "prctl", { { 0, INT, PR_CAPBSET_DROP } } },
						   { "prctl", { { 0, INT, PR_CAP_AMBIENT } } },
						   {} };

const struct syscall_list deliver_start_calls = {
	/* the C library's clone and exec */
	"execve dup2 dup3 rt_sigprocmask rt_sigaction sigaltstack wait4 close_range"
	/* the dynamic loader and the C library's start */
	" access faccessat faccessat2 arch_prctl set_tid_address set_robust_list rseq uname"
	" readlink"
	/* giving up privileges */
	" setgroups setresgid setresuid capget capset seccomp gettid",
	start_rules,
};

/* --- downloads */

/* Internet sockets; AF_UNIX: a name service's daemon. ioctl: bytes to read; not to wait. */
static const struct syscall_rule fetch_rules[] = { { "socket", { { 0, INT, AF_INET } } },
						   { "socket", { { 0, INT, AF_INET6 } } },
						   { "socket", { { 0, INT, AF_UNIX } } },
						   { "ioctl", { { 1, INT, FIONREAD } } },
						   { "ioctl", { { 1, INT, FIONBIO } } },
						   { "ioctl", { { 1, INT, TCGETS } } },
						   { "ioctl", { { 1, INT, TCGETS_2 } } },
						   { "clone", { { 0, NAMESPACES, 0 } } },
						   { "prlimit64", { { 0, INT, 0 } } },
						   { "prctl", { { 0, INT, PR_SET_NAME } } },
						   { "prctl", { { 0, INT, PR_SET_PDEATHSIG } } },
						   {} };

const struct syscall_list fetch_calls = {
	/* sockets, also that to the tracer */
	"connect setsockopt getsockopt getsockname getpeername shutdown socketpair sendto"
	" sendmsg sendmmsg recvfrom recvmsg recvmmsg poll ppoll pselect6 pipe2 eventfd2"
	/* the cache; libraries and their settings */
	" openat close fstat newfstatat statx stat lstat access faccessat faccessat2 statfs fstatfs"
	" pread64 read lseek getdents64 readlink readlinkat fcntl dup fchdir"
	" write writev ftruncate fsync utime utimes utimensat fchmod fchmodat"
	" mkdir mkdirat rename renameat renameat2 unlink unlinkat rmdir"
	/* a thread resolves names */
	" rt_sigprocmask rt_sigaction sigaltstack set_robust_list rseq gettid tgkill"
	" sched_getaffinity sched_yield"
	/* the sender's child, and its spool */
	" wait4 flock fdatasync"
	/* the process itself */
	" getpid getppid geteuid getuid getegid getgid uname getrusage clock_getres"
	" clock_nanosleep",
	fetch_rules,
};
