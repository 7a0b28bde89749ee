/* SPDX-License-Identifier: GPL-2.0 */
/* Privileges: the messages for a user without them, and for root of a user namespace. */
#include "probes/preflight.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/file.h"
#include "tests/tap.h"

struct answer {
	int code;
	struct err err;
};

/*
 * The message of preflight__check in a child after prepare() has dropped privileges; code 1:
 * prepare failed.
 */
static struct answer *ask(bool (*prepare)(void))
{
	struct answer *ret =
		mmap(NULL, sizeof(*ret), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	if (!pid) {
		ret->code = prepare() ? preflight__check(&ret->err) : 1;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return ret;
}

static bool drop_all(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	return !syscall(SYS_capset, &head, none);
}

static bool enter_userns(void)
{
	return !unshare(CLONE_NEWUSER);
}

static void test_no_caps(void)
{
	struct answer *answer = ask(drop_all);

	is_int(answer->code, -EPERM, "without capabilities tracing is refused");
	is_int(answer->err.exit, JANK_EXIT_CANNOT, "… with 77");
	has_str(answer->err.msg, "CAP_BPF, CAP_PERFMON;", "… naming those that are needed");
	has_str(answer->err.msg, "sees more: CAP_SYS_PTRACE", "… separately from those that help");
	has_str(answer->err.msg, "as root", "… and the remedy");
	munmap(answer, sizeof(*answer));
}

/* It has all capabilities, but they do not count. */
static void test_userns(void)
{
	struct answer *answer = ask(enter_userns);

	if (answer->code == 1) {
		skip(2, "no user namespaces for this user here");
		return;
	}
	is_int(answer->code, -EPERM, "root of a user namespace is refused");
	has_str(answer->err.msg, "root of a user namespace", "… in words");
	munmap(answer, sizeof(*answer));
}

static uint64_t effective(void)
{
	struct strbuf sb = STRBUF_INIT;
	const char *line;
	uint64_t ret = 0;

	file__read("/proc/self/status", 1 << 16, &sb);
	line = strstr(strbuf__str(&sb), "CapEff:");
	if (line)
		ret = strtoull(line + 7, NULL, 16);
	strbuf__free(&sb);
	return ret;
}

static void test_caps(void)
{
	uint64_t eff = effective();
	bool admin = eff & (1ull << CAP_SYS_ADMIN);

	for (size_t i = 0; i < preflight_cap_cnt; i++) {
		const struct capability *cap = &preflight_caps[i];
		bool split = cap->nr == CAP_BPF || cap->nr == CAP_PERFMON || cap->nr == CAP_SYSLOG;

		is_int(preflight__has_cap(cap), (eff >> cap->nr & 1) || (split && admin),
		       "%s agrees with /proc", cap->name);
	}
}

static bool link_is(const char *path, const char *want)
{
	char link[64] = "";

	return readlink(path, link, sizeof(link) - 1) > 0 && !strcmp(link, want);
}

static void test_namespaces(void)
{
	is_int(preflight__in_initial_ns("pid"), link_is("/proc/self/ns/pid", "pid:[4026531836]"),
	       "the pid namespace is reported");
	is_int(preflight__in_initial_ns("user"), link_is("/proc/self/ns/user", "user:[4026531837]"),
	       "the user namespace is reported");
}

/* As ProtectKernelTunables= of systemd does it. */
static bool hide_kallsyms(void)
{
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("/dev/null", "/proc/kallsyms", NULL, MS_BIND, NULL);
}

static void test_kernel_addresses(void)
{
	int status;
	pid_t pid;

	if (!preflight__sees_kernel_addresses()) {
		skip(2, "this user sees no kernel addresses");
		return;
	}
	ok(true, "kernel addresses are seen");
	pid = fork();
	if (!pid)
		_exit(hide_kallsyms() ? preflight__sees_kernel_addresses() : 2);
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 2)
		skip(1, "this user mounts nothing");
	else
		is_int(status, 0, "not where a service hides kallsyms");
}

int main(void)
{
	test_no_caps();
	test_userns();
	test_caps();
	test_namespaces();
	test_kernel_addresses();
	return tap__done();
}
