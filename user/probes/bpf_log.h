/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of libbpf: kept, not printed, so that an error can show the reason of a refusal. */
#ifndef JANK_PROBES_BPF_LOG_H
#define JANK_PROBES_BPF_LOG_H

#include <stdbool.h>

void bpf_log__capture(void);

/* Adds the verifier's log of a program that libbpf did not load. From any thread. */
void bpf_log__add_refusal(const char *name, const char *log);

/*
 * The last captured lines, at most `lines`, newest last: they contain the reason of a refusal. "":
 * nothing was captured.
 */
const char *bpf_log__tail(unsigned lines);

/* Did the verifier refuse a program, rather than the kernel refuse the user? */
bool bpf_log__has_refusal(void);

/* The last line of the verifier's or libbpf's message that states a reason. */
const char *bpf_log__last(void);

#endif
