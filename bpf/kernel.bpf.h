/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access of the probes to the kernel's objects. The probes are compiled twice from the same
 * sources:
 *
 *   typed  the kernel knows the types of pointers: fields are plain loads, a thread's state is in
 *          its task storage. Needs tp_btf (5.5), bpf_get_current_task_btf (5.11), task storage in
 *          tracing programs (5.12), bpf_task_pt_regs (5.15), and thus a kernel with BTF.
 *   plain  (-DJANK_PLAIN) raw tracepoints, every field read by bpf_probe_read_kernel, a hash by
 *          thread id: for kernels that lack one of these.
 *
 * Two objects instead of a switch in one, because the fast path would pay for the switch at every
 * field.
 */
#ifndef JANK_KERNEL_BPF_H
#define JANK_KERNEL_BPF_H

#include "bpf/conf.bpf.h"

#ifdef JANK_PLAIN
#define TRACEPOINT(name)  SEC("raw_tp/" name)
#define KREAD(ptr, field) BPF_CORE_READ(ptr, field)
#define KERNEL_CURRENT()  ((struct task_struct *)bpf_get_current_task())
#else
#define TRACEPOINT(name)  SEC("tp_btf/" name)
#define KREAD(ptr, field) ((ptr)->field)
#define KERNEL_CURRENT()  bpf_get_current_task_btf()
#endif

/*
 * A function that the verifier walks once for all its callers, a global one; hence no pointer
 * arguments. Uprobes have static ones: 6.12 refuses calls of global functions with preemption
 * disabled.
 */
#ifdef JANK_UPROBES
#define WALKED_ONCE static __noinline __attribute__((unused))
#else
#define WALKED_ONCE __weak __noinline
#endif

#endif
