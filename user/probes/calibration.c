/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/calibration.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "bpf/jank_abi.h"
#include "calibrate.skel.h"
#include "files/file.h"
#include "probes/bpf_log.h"
#include "probes/kernel_types.h"
#include "probes/preflight.h"

#define THREAD_SZ_MIN (16 * 1024)

/*
 * The stack is at the upper end of the address space, so its address has the highest possible bit:
 * 38 to 51 on arm64, depending on the kernel's configuration. The bits above are for pointer
 * authentication.
 */
static uint64_t user_ip_mask(void)
{
	unsigned long on_stack = (unsigned long)__builtin_frame_address(0);

	return ~0UL >> __builtin_clzl(on_stack);
}

/* For struct jank_conf. Where tasks, ours included, can be in sched_ext's class: not known. */
static uint64_t fair_class(const struct jank_calibration *answer)
{
	struct strbuf state = {};
	int res = file__read("/sys/kernel/sched_ext/state", 64, &state);
	bool off = !res && !strcmp(strbuf__str(&state), "disabled\n");

	strbuf__free(&state);
	if (res == -ENOENT)
		return JANK_FAIR_BY_PRIO;
	return off && answer->prio >= JANK_FAIR_PRIO_MIN ? answer->sched_class : 0;
}

static int judge(const struct jank_calibration *answer, struct calibration *ret, struct err *err)
{
	if (answer->tgid != (__u32)getpid() || answer->tid != (__u32)syscall(SYS_gettid) ||
	    !answer->exec_ns)
		return err__set_exit(err, JANK_EXIT_CANNOT, EINVAL,
				     "the kernel's types (BTF) are another kernel's: its own "
				     "process was read as %u "
				     "where it is %d; give this kernel's by --btf FILE",
				     answer->tgid, getpid());
	ret->found_regs = answer->thread_sz;
	if (ret->found_regs)
		ret->thread_sz = answer->thread_sz;
	ret->pid_level = answer->pid_level;
	ret->pid_ns = answer->pid_ns;
	ret->fair_class = fair_class(answer);
	return 0;
}

static int load_calibration(struct kernel_types *types, const char *btf_path,
			    struct calibrate **ret, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .btf_custom_path = btf_path ?: kernel_types__path(types));
	struct calibrate *skel = calibrate__open_opts(&opts);
	int res = skel ? 0 : -errno;

	if (!res && types && !btf_path)
		res = kernel_types__choose(types, bpf_object__btf(skel->obj));
	if (!res)
		res = calibrate__load(skel);

	/* libbpf maps no memory if its own test of the kernel failed, as for lack of memory */
	if (!res && !skel->bss)
		res = -ENOMEM;
	if (!res) {
		*ret = skel;
		return 0;
	}
	calibrate__destroy(skel);
	if (res == -EPERM || res == -EACCES)
		return err__set_exit(err, JANK_EXIT_CANNOT, -res,
				     "the kernel refused the probes (%s); run as root, and see "
				     "`jankbpf doctor`",
				     strerror(-res));
	return err__set_exit(err, JANK_EXIT_CANNOT, -res,
			     "cannot load the calibration probe: %s; see `jankbpf doctor`, or run "
			     "with -vv: %s",
			     strerror(-res), bpf_log__last());
}

int calibration__get(struct kernel_types *types, const char *btf_path, struct calibration *ret,
		     struct err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	long page_sz = sysconf(_SC_PAGESIZE);
	struct calibrate *skel = NULL;
	int res;

	ret->thread_sz = page_sz > THREAD_SZ_MIN ? page_sz : THREAD_SZ_MIN;
	ret->found_regs = false;
	ret->user_ip_mask = user_ip_mask();
	ret->pid_level = 0;
	ret->pid_ns = 0;
	res = load_calibration(types, btf_path, &skel, err);
	if (res)
		return res;
	skel->bss->jank_calibration.want_nr = SYS_bpf;
	skel->bss->jank_calibration.want_arg0 = BPF_PROG_TEST_RUN;
	if (!bpf_prog_test_run_opts(bpf_program__fd(skel->progs.jank_calibrate), &run))
		res = judge(&skel->bss->jank_calibration, ret, err);
	calibrate__destroy(skel);
	if (!res && !ret->pid_level && !preflight__in_initial_ns("pid"))
		return err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"process ids here are a container's, and this kernel does not tell them to "
			"the probes; run it outside, or with the machine's pid namespace "
			"(--pid=host)");
	return res;
}
