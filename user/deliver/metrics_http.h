/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP server of the metrics, by libmicrohttpd, on the thread of jankbpf-deliver: GET /metrics. The
 * tracer opens the socket before its filter of system calls; the process accepts connections only.
 */
#ifndef JANK_DELIVER_METRICS_HTTP_H
#define JANK_DELIVER_METRICS_HTTP_H

#include "base/err.h"
#include "deliver/metrics_access.h"
#include "export/metrics/metrics.h"

/*
 * Opens the listening socket of an address ("127.0.0.1:9435"). Returns a descriptor, or -errno with
 * a message. For the tracer.
 */
int metrics_http__listen(const char *address, struct err *err);

/* Loads the library: before the process gives up what that needs. 0, or -errno with a message. */
int metrics_http__load(struct err *err);

struct metrics_http;

/*
 * Serves the metrics on a listening socket, as access says; both are borrowed. 0, or -errno with a
 * message.
 */
int metrics_http__new(int listen_fd, const struct metrics *metrics,
		      const struct metrics_access *access, struct metrics_http **ret,
		      struct err *err);
void metrics_http__free(struct metrics_http *http); /* accepts NULL */

/* Answers requests until fd is readable or its other end is closed. 0 or -errno. */
int metrics_http__wait(struct metrics_http *http, int fd);

#endif
