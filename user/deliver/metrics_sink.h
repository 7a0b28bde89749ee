/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sink that counts records and shows the counts: by HTTP, and as a file for node_exporter. */
#ifndef JANK_DELIVER_METRICS_SINK_H
#define JANK_DELIVER_METRICS_SINK_H

#include "base/err.h"
#include "deliver/metrics_access.h"
#include "export/sink.h"
#include "send/send.h"
#include <stddef.h>
#include <stdint.h>

struct sink_metrics_opts {
	size_t max_signatures;
	uint64_t interval_ns;
	int listen_fd;			     /* of metrics_http__listen; -1: no server */
	const struct metrics_access *access; /* with a server; borrowed */
	const char *textfile;		     /* replaced at each interval; borrowed. NULL: none */
	const char *spool;		     /* whose state is shown; borrowed. NULL: none */
	struct send_names names;
};

/* 0, or -errno with a message. */
int sink_metrics__new(const struct sink_metrics_opts *opts, struct sink **ret, struct err *err);

#endif
