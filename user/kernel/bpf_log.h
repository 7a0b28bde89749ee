/* SPDX-License-Identifier: GPL-2.0 */
/* What libbpf has to say: kept, not printed, so that a refusal can be shown with its reason. */
#ifndef JANK_BPF_LOG_H
#define JANK_BPF_LOG_H

void bpf_log__capture(void);

/* The captured warnings, newest last, at most some 64 KiB; "" when there were none. */
const char *bpf_log__all(void);

/* The last line of a verifier's or libbpf's complaint that says why. */
const char *bpf_log__last(void);

#endif
