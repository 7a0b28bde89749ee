/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calibration: a small BPF object runs once in a process of ours, where the answers are known,
 * before the probes are loaded.
 */
#ifndef JANK_PROBES_CALIBRATION_H
#define JANK_PROBES_CALIBRATION_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct calibration {
	uint32_t thread_sz;    /* bytes of a kernel stack up to the end of the registers */
	bool found_regs;       /* that is no usual value: registers were found there */
	uint64_t user_ip_mask; /* the bits that a user-space address of this kernel can have */
	uint32_t pid_level;    /* of our pid namespace; 0: the machine's, or not known */
	uint64_t pid_ns;       /* see struct jank_conf */
	uint64_t fair_class;   /* see struct jank_conf */
};

struct kernel_types;

/*
 * types: the kernel's own, or NULL; btf_path: a file to take instead, or NULL. When the object
 * cannot run (before 5.10), uses the usual values. Returns 0, or -errno with JANK_EXIT_CANNOT when
 * the types belong to another kernel.
 */
int calibration__get(struct kernel_types *types, const char *btf_path, struct calibration *ret,
		     struct err *err);

#endif
