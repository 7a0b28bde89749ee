/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small BPF object that runs once in our own context, where the answers are known, before the
 * probes are loaded.
 */
#ifndef JANK_PROBES_CALIBRATE_H
#define JANK_PROBES_CALIBRATE_H

#include "base/err.h"
#include <stdint.h>

struct calibration {
	uint32_t thread_sz;    /* bytes of a kernel stack up to the end of the registers */
	uint64_t user_ip_mask; /* the bits that a user-space address of this kernel can have */
};

/*
 * btf_path: the file with the kernel's types, or NULL for the kernel's own. When the object cannot
 * run (before 5.10), uses the usual values. Returns 0, or -errno with JANK_EXIT_CANNOT when the
 * types belong to another kernel.
 */
int calibrate__run(const char *btf_path, struct calibration *ret, struct err *err);

#endif
