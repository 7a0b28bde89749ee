/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of binder's calls, of the driver in C and of that in Rust. */
#include "bpf/binder.bpf.h"

/*
 * Record of binder:binder_transaction (drivers/android/binder_trace.h; rust_binder_events.h has the
 * same). The feature test compares its places with the kernel's (user/probes/binder_event.c).
 */
struct binder_transaction_event {
	__u64 common;
	__s32 debug_id, target_node;
	__s32 to_proc, to_thread, reply;
	__u32 code, flags;
};

SEC("tp")
int jank_on_binder(struct binder_transaction_event *ctx)
{
	binder__sends(ctx->to_proc, ctx->code, ctx->flags, ctx->reply);
	return 0;
}

SEC("tp")
int jank_on_binder_got(void *ctx)
{
	binder__receives();
	return 0;
}
