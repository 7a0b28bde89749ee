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

int syscall_filter__install(const struct syscall_list *const lists[])
{
	return -EOPNOTSUPP;
}

#else

#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>

#define NAME_SZ 32

/* A kernel without filters does not even look at the address. */
bool syscall_filter__is_available(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) && errno == EFAULT;
}

static int allow(scmp_filter_ctx ctx, const char *name, const struct syscall_arg *args)
{
	int nr = seccomp_syscall_resolve_name(name), res;
	struct scmp_arg_cmp cmps[2];
	unsigned cnt = 0;

	if (nr == __NR_SCMP_ERROR)
		return 0;
	for (; args && cnt < 2 && args[cnt].mask; cnt++)
		cmps[cnt] =
			SCMP_CMP(args[cnt].nr, SCMP_CMP_MASKED_EQ, args[cnt].mask, args[cnt].value);
	res = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, nr, cnt, cmps);
	return res == -EEXIST ? 0 : res;
}

static int allow_calls(scmp_filter_ctx ctx, const char *names)
{
	char name[NAME_SZ];
	int res = 0;

	for (size_t len; !res && *(names += strspn(names, " ")); names += len) {
		len = strcspn(names, " ");
		if (len >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, names, len);
		name[len] = '\0';
		res = allow(ctx, name, NULL);
	}
	return res;
}

static int allow_list(scmp_filter_ctx ctx, const struct syscall_list *list)
{
	int res = allow_calls(ctx, list->calls);

	for (const struct syscall_rule *rule = list->rules; !res && rule && rule->name; rule++)
		res = allow(ctx, rule->name, rule->args);
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
 * Other architectures' calls fail, too: the default kills. A filter must not make kernels before
 * 5.16 turn off speculation (SSB). The binary tree saves time on kernels before 5.11, which run the
 * filter at each call. libseccomp before 2.5 has neither.
 */
static int set_attributes(scmp_filter_ctx ctx)
{
	int res = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);

	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_SSB, 1);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return res ?: seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
}

int syscall_filter__install(const struct syscall_list *const lists[])
{
	scmp_filter_ctx ctx;
	int res;

	if (!syscall_filter__is_available())
		return -EOPNOTSUPP;
	ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!ctx)
		return -ENOMEM;
	res = set_attributes(ctx) ?: allow_inserted(ctx);
	for (; !res && *lists; lists++)
		res = allow_list(ctx, *lists);
	if (!res)
		res = seccomp_load(ctx);
	seccomp_release(ctx);
	return res;
}

#endif
