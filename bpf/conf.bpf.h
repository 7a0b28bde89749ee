/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Configuration of the session: read-only data, so that the verifier removes what is switched off.
 */
#ifndef JANK_CONF_BPF_H
#define JANK_CONF_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/jank_abi.h"

extern const volatile struct jank_conf jank_conf;

#endif
