/* SPDX-License-Identifier: GPL-2.0 */
/* The filters of system calls: what they forbid and allow, each in a forked child. */
#include "base/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

#include "deliver/deliver_confine.h"
#include "name/name.h"
#include "serve/serve.h"
#include "session/tracer_filter.h"
#include "tests/tap.h"

/* A child that cannot install the filter; else it ends with the number of what failed. */
#define NOT_INSTALLED 255

static int filter_deliver(void)
{
	const struct syscall_list *const lists[] = { &syscalls_base, &deliver_calls, NULL };

	return syscall_filter__install(lists, NULL);
}

static int filter_fetch(void)
{
	const struct syscall_list *const lists[] = { &syscalls_base, &syscalls_file_code,
						     &fetch_calls, NULL };

	return syscall_filter__install(lists, NULL);
}

static int start_tracer(void)
{
	return tracer_filter__start(DELIVER_PLAIN, false);
}

static int filter_screen(void)
{
	const struct syscall_list *const lists[] = { &syscalls_base, &deliver_calls,
						     &deliver_screen_calls, NULL };

	return syscall_filter__install(lists, NULL);
}

/* Runs `look` under the filter, in a child. Returns its result; -1: a signal ended it. */
static int under(int (*filter)(void), int (*look)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter())
			_exit(NOT_INSTALLED);
		_exit(look());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- calls that no process of ours makes; with these arguments they do nothing */

#define CALL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, #name                                                                  \
	}

static const struct call {
	long nr;
	const char *name;
} forbidden[] = {
	CALL(ptrace),	     CALL(process_vm_writev),
	CALL(init_module),   CALL(finit_module),
	CALL(delete_module), CALL(kexec_load),
	CALL(mount),	     CALL(umount2),
	CALL(pivot_root),    CALL(move_mount),
	CALL(open_tree),     CALL(fsopen),
	CALL(fsconfig),	     CALL(fsmount),
	CALL(fspick),	     CALL(reboot),
	CALL(swapon),	     CALL(swapoff),
	CALL(setns),	     CALL(unshare),
	CALL(keyctl),	     CALL(add_key),
	CALL(request_key),   CALL(acct),
	CALL(quotactl),	     CALL(userfaultfd),
	CALL(chroot),	     CALL(personality),
	CALL(settimeofday),  CALL(clock_settime),
	CALL(adjtimex),	     CALL(clock_adjtime),
	CALL(sethostname),   CALL(setdomainname),
	CALL(bind),	     CALL(listen),
	CALL(accept),	     CALL(accept4),
	CALL(mknodat),	     CALL(fchown),
	CALL(fchownat),	     CALL(io_uring_setup),
	CALL(execveat),	     CALL(syslog),
	CALL(fanotify_init), CALL(pidfd_send_signal),
	CALL(pkey_mprotect), CALL(symlinkat),
	CALL(fsetxattr),     CALL(process_madvise),
	CALL(setuid),	     CALL(setgid),
	CALL(clone3),
#ifdef __x86_64__
	CALL(iopl),	     CALL(ioperm),
	CALL(mknod),	     CALL(chown),
	CALL(modify_ldt),
#endif
};

#define FORBIDDEN_CNT (int)(sizeof(forbidden) / sizeof(*forbidden))

static long try(long nr)
{
	return syscall(nr, -1l, -1l, -1l, -1l, -1l, -1l) < 0 ? -errno : 0;
}

/* The number, from 1 on, of the first that is not refused. */
static int find_allowed(void)
{
	for (int i = 0; i < FORBIDDEN_CNT; i++)
		if (try(forbidden[i].nr) != -ENOSYS)
			return i + 1;
	return 0;
}

/* --- arguments */

static bool maps(int prot, int flags, int fd)
{
	return mmap(NULL, 4096, prot, flags, fd, 0) != MAP_FAILED;
}

static int look_at_code(bool files)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || data == MAP_FAILED || mprotect(data, 4096, PROT_READ))
		return 1;
	if (!mprotect(data, 4096, PROT_READ | PROT_EXEC))
		return 2;
	if (maps(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1))
		return 3;
	if (maps(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd))
		return 4;
	if (maps(PROT_READ | PROT_EXEC, MAP_SHARED, fd))
		return 5;
	return maps(PROT_READ | PROT_EXEC, MAP_PRIVATE, fd) == files ? 0 : 6;
}

static int look_at_data_only(void)
{
	return look_at_code(false);
}

static int look_at_file_code(void)
{
	return look_at_code(true);
}

/* EBADF: the kernel saw the call. */
static int ioctl_error(unsigned long request)
{
	return ioctl(-1, request) ? errno : 0;
}

static int look_at_arguments(void)
{
	if (ioctl_error(TIOCGWINSZ) != EBADF || ioctl_error(TCGETS) != EBADF)
		return 1;
	if (ioctl_error(TIOCSTI) != ENOSYS || ioctl_error(1ul << 32 | TIOCSTI) != ENOSYS)
		return 2;
	if (socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG) < 0)
		return 3;
	if (socket(AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE) >= 0)
		return 4;
	if (prctl(PR_SET_NAME, "name") || !prctl(PR_SET_MM, 0, 0, 0, 0) || errno != ENOSYS)
		return 5;
	if (syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0) >= 0 || errno != ENOSYS)
		return 6;
	if (!syscall(SYS_prlimit64, 0, 0, 0, 0) && syscall(SYS_prlimit64, getppid(), 0, 0, 0) < 0 &&
	    errno == ENOSYS)
		return 0;
	return 7;
}

static int look_at_internet(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno == EAFNOSUPPORT;
}

/* EFAULT, EINVAL or E2BIG: the kernel saw the command. */
static bool allows_bpf(int command)
{
	return syscall(SYS_bpf, command, -1l, 8) < 0 && errno != ENOSYS;
}

static int look_at_bpf_start(void)
{
	return allows_bpf(BPF_PROG_LOAD) && allows_bpf(BPF_MAP_LOOKUP_ELEM) ? 0 : 1;
}

static int look_at_bpf_run(void)
{
	if (!allows_bpf(BPF_MAP_LOOKUP_ELEM) || !allows_bpf(BPF_LINK_CREATE))
		return 1;
	if (allows_bpf(BPF_PROG_LOAD) || allows_bpf(BPF_MAP_CREATE) ||
	    allows_bpf(BPF_MAP_GET_FD_BY_ID) || allows_bpf(BPF_OBJ_PIN))
		return 2;
	return 0;
}

static void *narrow(void *arg)
{
	*(int *)arg = tracer_filter__run(DELIVER_PLAIN, false);
	return NULL;
}

/* Another thread narrows it for this one. */
static int look_at_both(void)
{
	pthread_t thread;
	int res = 0;

	if (look_at_bpf_start() || pthread_create(&thread, NULL, narrow, &res) ||
	    pthread_join(thread, NULL) || res)
		return 10;
	return look_at_bpf_run() ?: look_at_arguments() ?: look_at_file_code();
}

/* --- what starts under a filter */

static void *run_thread(void *arg)
{
	*(int *)arg = look_at_internet() ? 0 : 1;
	return NULL;
}

static int look_at_children(void)
{
	char *const argv[] = { "/proc/self/exe", "child", NULL }, *const env[] = { NULL };
	pthread_t thread;
	int found = 0, status;
	pid_t pid;

	if (pthread_create(&thread, NULL, run_thread, &found) || pthread_join(thread, NULL))
		return 1;
	if (!found)
		return 2;
	pid = fork();
	if (!pid) {
		execve(argv[0], argv, env);
		_exit(100);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 3;
	return WEXITSTATUS(status);
}

/* After an exec: the tracer's filter is in force, and deliver's can be added. */
static int play_child(void)
{
	if (look_at_internet() || find_allowed())
		return 4;
	if (filter_deliver())
		return 5;
	return socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG) < 0 ? 0 : 6;
}

/* --- the lists */

#ifdef HAVE_SECCOMP
static bool is_known(const char *name, size_t len)
{
	char copy[64] = "";

	memcpy(copy, name, len < sizeof(copy) ? len : 0);
	return seccomp_syscall_resolve_name(copy) != __NR_SCMP_ERROR;
}

static void test_names(const struct syscall_list *list, const char *what)
{
	const char *at = list->calls, *unknown = NULL;

	for (size_t len; *(at += strspn(at, " ")); at += len) {
		len = strcspn(at, " ");
		if (!is_known(at, len))
			unknown = at;
	}
	for (const struct syscall_rule *rule = list->rules; rule && rule->name; rule++)
		if (!is_known(rule->name, strlen(rule->name)))
			unknown = rule->name;
	is_str(unknown, NULL, "%s: libseccomp knows each name", what);
}
#endif

/* --- a process that a forbidden call ends */

static _Atomic uint32_t *ended_by; /* shared with the child */

static int filter_deadly(void)
{
	const struct syscall_list calls = { "write", NULL };
	const struct syscall_list *const lists[] = { &syscalls_base, &calls, NULL };
	const struct syscall_end end = { ended_by, "openat readlink" };

	return syscall_filter__install(lists, &end);
}

static int make_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 1 : 2;
}

/* Hostile code would try to go on. */
static int block_and_make_socket(void)
{
	const uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
	return make_socket();
}

static int make_allowed(void)
{
	return write(-1, "", 1) != -1 || errno != EBADF || open("/", O_RDONLY) != -1 ||
	       errno != ENOSYS;
}

static void test_deadly(void)
{
	char *name = syscall_filter__call_name(SYS_socket);

	ended_by = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	is_int(under(filter_deadly, make_allowed), 0,
	       "an allowed call is made, and one that libraries try fails");
	is_uint(*ended_by, 0, "and not noted");
	is_int(under(filter_deadly, make_socket), -1, "a forbidden one ends the process");
	is_uint(*ended_by, SYS_socket + 1, "its number is noted");
	is_str(name, "socket", "it has a name");
	free(name);
	*ended_by = 0;
	is_int(under(filter_deadly, block_and_make_socket), -1, "the first one ends it");
	is_uint(*ended_by, SYS_rt_sigprocmask + 1, "also one that would block the signal");
}

static int filter_odd_names(void)
{
	const struct syscall_list odd = { "  getpid no_such_call getppid getpid ", NULL };
	const struct syscall_list *const lists[] = { &syscalls_base, &odd, &odd, NULL };

	return syscall_filter__install(lists, NULL);
}

static int look_at_odd_names(void)
{
	return getpid() < 0 || getppid() < 0 || syscall(SYS_getuid) != -1 || errno != ENOSYS;
}

static int filter_long_name(void)
{
	const struct syscall_list odd = { "a_name_that_is_longer_than_any_of_the_kernel", NULL };
	const struct syscall_list *const lists[] = { &odd, NULL };

	return syscall_filter__install(lists, NULL) == -ENAMETOOLONG ? 0 : -EINVAL;
}

static int look_at_nothing(void)
{
	return 0;
}

static void test_filters(void)
{
	unsetenv("DEBUGINFOD_URLS");
	is_int(under(filter_deliver, find_allowed), 0, "deliver: the forbidden calls fail");
	is_int(under(filter_deliver, look_at_data_only), 0, "deliver: no new code");
	is_int(under(filter_screen, find_allowed), 0, "a screen: the forbidden calls fail");
	is_int(under(filter_screen, look_at_data_only), 0, "a screen: no new code");
	is_int(under(start_tracer, find_allowed), 0, "tracer: the forbidden calls fail");
	is_int(under(start_tracer, look_at_file_code), 0, "tracer: code of files only");
	is_int(under(start_tracer, look_at_arguments), 0, "tracer: some by their arguments");
	is_int(under(start_tracer, look_at_internet), 0, "tracer: no internet");
	is_int(under(start_tracer, look_at_both), 0, "tracer: no program is loaded later");
	is_int(under(start_tracer, look_at_children), 0, "tracer: threads and programs");
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	is_int(under(start_tracer, look_at_internet), 0,
	       "tracer: no internet with DEBUGINFOD_URLS either");
	is_int(under(filter_fetch, look_at_internet), 1, "downloads: internet");
	is_int(under(filter_fetch, find_allowed), 0, "downloads: the forbidden calls fail");
	is_int(under(filter_fetch, look_at_file_code), 0, "downloads: code of files only");
	is_int(under(filter_odd_names, look_at_odd_names), 0, "unknown and repeated names");
	is_int(under(filter_long_name, look_at_nothing), 0, "a name that is too long");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return play_child();
#ifdef HAVE_SECCOMP
	test_names(&syscalls_base, "base");
	test_names(&deliver_calls, "deliver");
	test_names(&serve_calls, "serve");
	test_names(&deliver_start_calls, "deliver's start");
	test_names(&tracer_calls, "tracer");
	test_names(&fetch_calls, "libdebuginfod");
	test_names(&name_calls, "name");
#endif
	if (syscall_filter__is_available())
		test_filters();
	else
		is_int(tracer_filter__start(DELIVER_PLAIN, false), -EOPNOTSUPP, "not available");
	if (syscall_filter__is_available())
		test_deadly();
	return tap__done();
}
