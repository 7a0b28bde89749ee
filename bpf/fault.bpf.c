/* SPDX-License-Identifier: GPL-2.0 */
/* Page faults: the file with the page that a dispatch waits for. */
#include "bpf/preempt.bpf.h"
#include "bpf/thread.bpf.h"

static __always_inline void fault__record(struct address_space *mapping)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t;

	/* A minimised BTF made before this field was used may lack it. */
	if (!bpf_core_field_exists(struct address_space, host))
		return;
	if (!filter__maybe(task))
		return;
	preempt__disable();
	t = thread__get(task);
	if (t && t->start_ns)
		t->fault_inode = (u64)BPF_CORE_READ(mapping, host);
	preempt__enable();
}

/* A page of a mapped file is missing. */
TRACEPOINT("mm_filemap_fault")
int BPF_PROG(jank_on_fault, struct address_space *mapping)
{
	fault__record(mapping);
	return 0;
}

/*
 * Fallback where that tracepoint is missing: a page is about to be read, for any user. New kernels
 * pass a folio.
 */
TRACEPOINT("mm_filemap_add_to_page_cache")
int BPF_PROG(jank_on_cache, struct page *page)
{
	if (bpf_core_field_exists(struct page, mapping))
		fault__record(BPF_CORE_READ(page, mapping));
	return 0;
}
