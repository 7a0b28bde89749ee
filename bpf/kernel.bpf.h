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
#define TRACEPOINT(name) SEC("raw_tp/" name)
#define KERNEL_CURRENT() ((struct task_struct *)bpf_get_current_task())
#else
#define TRACEPOINT(name) SEC("tp_btf/" name)
#define KERNEL_CURRENT() bpf_get_current_task_btf()
#endif

/*
 * KREAD: in typed probes a plain load. Of a pointer it costs the start 2 ms from 6.3 on, each time
 * the verifier walks it: for its trust it searches the kernel's types by name
 * (btf_nested_type_is_trusted). A rare program (JANK_RARE) reads by the helper.
 */
#if defined(JANK_PLAIN) || defined(JANK_RARE)
#define KREAD(ptr, field) BPF_CORE_READ(ptr, field)
#else
#define KREAD(ptr, field) ((ptr)->field)
#endif

/*
 * A function that the verifier walks once for all its callers: a global one. It takes no task; it
 * is about the current one. Uprobes have static ones: 6.12 refuses calls of global functions with
 * preemption disabled.
 */
#define WALKED_EACH static __noinline __attribute__((unused))
#ifdef JANK_UPROBES
#define WALKED_ONCE WALKED_EACH
#else
#define WALKED_ONCE __weak __noinline
#endif

/*
 * The same with pointers to values of known size (e5069b9c23b3, 5.12), each of which it must test
 * for NULL. Plain probes, which are for older kernels, too, have static ones.
 */
#ifdef JANK_PLAIN
#define WALKED_ONCE_BY_POINTER WALKED_EACH
#else
#define WALKED_ONCE_BY_POINTER WALKED_ONCE
#endif

#endif
