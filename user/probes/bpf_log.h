/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libbpf has to say: kept, not printed, so that a refusal can be shown with its reason. */
#ifndef JANK_PROBES_BPF_LOG_H
#define JANK_PROBES_BPF_LOG_H

#include <stdbool.h>

void bpf_log__capture(void);

/*
 * The end of what was captured, newest last, so many lines at most: where a refusal's reason is. ""
 * when there was nothing.
 */
const char *bpf_log__tail(unsigned lines);

/* Was a program refused by the verifier, rather than the user? */
bool bpf_log__has_refusal(void);

/* The last line of a verifier's or libbpf's complaint that says why. */
const char *bpf_log__last(void);

#endif
