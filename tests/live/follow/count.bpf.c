/* SPDX-License-Identifier: GPL-2.0 */
/* Counts hits by the attach cookie and the probed function's argument. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

struct key {
	__u64 cookie, tag;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, __u64);
} hits SEC(".maps");

SEC("uprobe")
int on_mark(struct pt_regs *ctx)
{
	struct key key = { bpf_get_attach_cookie(ctx), PT_REGS_PARM1(ctx) };
	__u64 one = 1, *cnt = bpf_map_lookup_elem(&hits, &key);

	if (cnt)
		__sync_fetch_and_add(cnt, 1);
	else
		bpf_map_update_elem(&hits, &key, &one, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
