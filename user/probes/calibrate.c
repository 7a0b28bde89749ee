/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the calibration object and checks its answers. */
#include "probes/calibrate.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/jank_abi.h"
#include "calibrate.skel.h"
#include "probes/bpf_log.h"

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

static int judge(const struct jank_calibration *answer, struct calibration *ret, struct err *err)
{
	if (answer->tgid != (__u32)getpid() || answer->tid != (__u32)syscall(SYS_gettid) ||
	    !answer->exec_ns)
		return err__set_exit(err, JANK_EXIT_CANNOT, EINVAL,
				     "the kernel's types (BTF) are another kernel's: its own "
				     "process was read as %u "
				     "where it is %d; give this kernel's by --btf FILE",
				     answer->tgid, getpid());
	if (answer->thread_sz)
		ret->thread_sz = answer->thread_sz;
	return 0;
}

static int load(const char *btf_path, struct calibrate **ret, struct err *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_path);
	struct calibrate *skel = calibrate__open_opts(&opts);
	int res = skel ? calibrate__load(skel) : -errno;

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

int calibrate__run(const char *btf_path, struct calibration *ret, struct err *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	long page_sz = sysconf(_SC_PAGESIZE);
	struct calibrate *skel = NULL;
	int res;

	ret->thread_sz = page_sz > THREAD_SZ_MIN ? page_sz : THREAD_SZ_MIN;
	ret->user_ip_mask = user_ip_mask();
	res = load(btf_path, &skel, err);
	if (res)
		return res;
	skel->bss->jank_calibration.want_nr = SYS_bpf;
	skel->bss->jank_calibration.want_arg0 = BPF_PROG_TEST_RUN;
	if (!bpf_prog_test_run_opts(bpf_program__fd(skel->progs.jank_calibrate), &run))
		res = judge(&skel->bss->jank_calibration, ret, err);
	calibrate__destroy(skel);
	return res;
}
