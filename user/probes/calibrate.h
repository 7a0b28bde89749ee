/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small BPF object, run once in our own context, where the answers are known, before the probes
 * are loaded.
 */
#ifndef JANK_PROBES_CALIBRATE_H
#define JANK_PROBES_CALIBRATE_H

#include "base/err.h"
#include <stdint.h>

struct calibration {
	uint32_t thread_sz; /* of a kernel stack up to the registers' end, bytes */
	uint64_t
		user_ip_mask; /* of the bits that an address of this kernel's user space can have */
};

/*
 * btf_path: the file with the kernel's types, or NULL for the kernel's own. 0, or -errno with
 * JANK_EXIT_CANNOT when the types are another kernel's. Where such an object can't be run (before
 * 5.10) the usual values are taken.
 */
int calibrate__run(const char *btf_path, struct calibration *ret, struct err *err);

#endif
