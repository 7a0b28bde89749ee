/* SPDX-License-Identifier: GPL-2.0 */
/* What the probes are configured with, from the options and what the kernel said. */
#ifndef JANK_PROBES_CONF_H
#define JANK_PROBES_CONF_H

#include "probes/calibrate.h"
#include "probes/loader.h"

/* infer_begin: see wait__turn in bpf/wait.bpf.h; compat_apart: struct jank_conf */
void conf__fill(struct jank_conf *conf, const struct loader_opts *opts,
		const struct calibration *calibration, bool infer_begin, bool compat_apart);

/* The maps that go with it, after load. 0 or -errno. Each may be -1: not there. */
struct conf_maps {
	int globs_fd, cgroups_fd, marks_fd;
};
int conf__fill_maps(const struct conf_maps *maps, const struct loader_opts *opts, struct err *err);

#endif
