/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/syscall_filter.h"

#include <errno.h>
#include <linux/fs.h>
#include <stddef.h>
#include <sys/mman.h>

static const struct syscall_rule base_rules[] = { { "mmap", { { 2, PROT_EXEC, 0 } } },
						  { "mprotect", { { 2, PROT_EXEC, 0 } } },
						  {} };

const struct syscall_list syscalls_base = {
	"brk munmap mremap madvise futex getrandom clock_gettime gettimeofday sysinfo"
	" rt_sigreturn restart_syscall exit exit_group",
	base_rules,
};

static const struct syscall_rule file_code_rules[] = {
	{ "mmap",
	  { { 2, PROT_EXEC | PROT_WRITE, PROT_EXEC },
	    { 3, MAP_ANONYMOUS | MAP_TYPE, MAP_PRIVATE } } },
	{}
};

const struct syscall_list syscalls_file_code = { "", file_code_rules };

#ifndef HAVE_SECCOMP

bool syscall_filter__is_available(void)
{
	return false;
}

int syscall_filter__install(const struct syscall_list *const lists[], const struct syscall_end *end)
{
	return -EOPNOTSUPP;
}

char *syscall_filter__call_name(uint32_t nr)
{
	return NULL;
}

#else

#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_SZ 32

/* A kernel without filters does not even look at the address. */
bool syscall_filter__is_available(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) && errno == EFAULT;
}

static int add(scmp_filter_ctx ctx, uint32_t action, const char *name,
	       const struct syscall_arg *args)
{
	int nr = seccomp_syscall_resolve_name(name), res;
	struct scmp_arg_cmp cmps[2];
	unsigned cnt = 0;

	if (nr == __NR_SCMP_ERROR)
		return 0;
	for (; args && cnt < 2 && args[cnt].mask; cnt++)
		cmps[cnt] =
			SCMP_CMP(args[cnt].nr, SCMP_CMP_MASKED_EQ, args[cnt].mask, args[cnt].value);
	res = seccomp_rule_add_array(ctx, action, nr, cnt, cmps);
	return res == -EEXIST ? 0 : res;
}

static int add_calls(scmp_filter_ctx ctx, uint32_t action, const char *names)
{
	char name[NAME_SZ];
	int res = 0;

	for (size_t len; !res && *(names += strspn(names, " ")); names += len) {
		len = strcspn(names, " ");
		if (len >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, names, len);
		name[len] = '\0';
		res = add(ctx, action, name, NULL);
	}
	return res;
}

static int add_list(scmp_filter_ctx ctx, const struct syscall_list *list)
{
	int res = add_calls(ctx, SCMP_ACT_ALLOW, list->calls);

	for (const struct syscall_rule *rule = list->rules; !res && rule && rule->name; rule++)
		res = add(ctx, SCMP_ACT_ALLOW, rule->name, rule->args);
	return res;
}

/*
 * Kernels 6.11 to 6.13 filter the calls that the kernel itself inserts where another tool traces
 * this program (uretprobe; uprobe since 6.18); a refused one kills it. libseccomp 2.5 has no names
 * for them.
 */
static int allow_inserted(scmp_filter_ctx ctx)
{
#ifdef __x86_64__
	const int uretprobe = 335, uprobe = 336;
	int res = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, uretprobe, 0);

	return res ?: seccomp_rule_add(ctx, SCMP_ACT_ALLOW, uprobe, 0);
#else
	return 0;
#endif
}

/*
 * Other architectures' calls are as forbidden: the default kills. A filter must not make kernels
 * before 5.16 turn off speculation (SSB). The binary tree saves time on kernels before 5.11, which
 * run the filter at each call. libseccomp before 2.5 has neither.
 */
static int set_attributes(scmp_filter_ctx ctx, uint32_t other)
{
	int res = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);

	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_SSB, 1);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return res ?: seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, other);
}

static _Atomic uint32_t *noted; /* of the process */

/* A second forbidden call while the signal is blocked ends the process by SIGSYS, not handled. */
static void on_forbidden(int sig, siginfo_t *info, void *context)
{
	*noted = (uint32_t)info->si_syscall + 1;
	syscall(SYS_getppid);
	_exit(128 + sig);
}

static int note_forbidden(_Atomic uint32_t *to)
{
	const struct sigaction action = { .sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO };

	noted = to;
	return sigaction(SIGSYS, &action, NULL) ? -errno : 0;
}

int syscall_filter__install(const struct syscall_list *const lists[], const struct syscall_end *end)
{
	const uint32_t other = end ? SCMP_ACT_TRAP : SCMP_ACT_ERRNO(ENOSYS);
	scmp_filter_ctx ctx;
	int res;

	if (!syscall_filter__is_available())
		return -EOPNOTSUPP;
	res = end ? note_forbidden(end->forbidden) : 0;
	if (res)
		return res;
	ctx = seccomp_init(other);
	if (!ctx)
		return -ENOMEM;
	res = set_attributes(ctx, other) ?: allow_inserted(ctx);
	for (; !res && *lists; lists++)
		res = add_list(ctx, *lists);
	if (!res && end && end->failing)
		res = add_calls(ctx, SCMP_ACT_ERRNO(ENOSYS), end->failing);
	if (!res)
		res = seccomp_load(ctx);
	seccomp_release(ctx);
	return res;
}

char *syscall_filter__call_name(uint32_t nr)
{
	return seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)nr);
}

#endif
