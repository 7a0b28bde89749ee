/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backend of a fleet, such as ClickHouse: how a batch of records becomes the bodies of requests.
 * Encoders are pure: the same batch always has the same bytes, so that a backend can recognize a
 * request that is sent again. They do no input or output; user/send has the network. Any thread.
 */
#ifndef JANK_EXPORT_BACKEND_H
#define JANK_EXPORT_BACKEND_H

#include "base/err.h"
#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Records of one agent, as the spool has them: whole, in order, redacted. */
struct batch {
	const char *agent; /* identity of the spool: 32 hexadecimal digits; never changes */
	uint64_t nr;	   /* of the batch in the spool: from 1, each one more than the last */
	Jankbpf__Record *const *records;
	size_t record_cnt;
	/*
	 * Place of the first of these records in the batch of the spool; not 0 after a request that
	 * was too large is split.
	 */
	size_t first;
};

/* One request of a batch: a table, or a signal. */
struct backend_part {
	const char *name; /* for messages and metrics */
	/*
	 * Appended to the URL of the user, which has no slash at its end. The text is encoded for
	 * URLs where needed. %s is the database of the configuration.
	 */
	const char *path;
	/* Adds the body to ret. 0; -ENODATA: the batch has nothing for this part; -ENOMEM. */
	int (*encode)(const struct batch *batch, struct strbuf *ret);
	const char *items; /* what an answer of this part counts: "log records"; NULL: records */
	/*
	 * True for a record that is lost if all items of a batch are refused. NULL: each record of
	 * which the part has something.
	 */
	bool (*is_counted)(const Jankbpf__Record *record);
};

struct backend {
	const char *name;	  /* and section of the configuration */
	const char *content_type; /* of all parts */
	const struct backend_part *parts;
	size_t part_cnt;
	const char *parts_key; /* of the configuration: chooses the parts; NULL: all are needed */
	/*
	 * Reads the body of an answer of a part with status 200, at most 64 KB of it. 0;
	 * *ret_rejected items of the part were refused for good and *why has the backend's reason;
	 * with 0 items a message in *why is a warning; -EBADMSG: not an answer of such a backend.
	 * NULL: the status says all.
	 */
	int (*check)(const struct backend_part *part, const void *body, size_t len,
		     uint64_t *ret_rejected, struct err *why);
	const char *error_header; /* an answer with it failed, whatever its status. NULL: none */
};

extern const struct backend clickhouse_backend; /* clickhouse/clickhouse.c */
extern const struct backend otlp_backend;	/* otlp/otlp.c */

#endif
