/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sender: reads a spool and posts its batches to backends, each from its own position and by a
 * thread of its own. A batch is at a backend at least once; a request that is tried again has the
 * same bytes. It prints its problems.
 */
#ifndef JANK_SEND_SEND_H
#define JANK_SEND_SEND_H

#include "base/err.h"
#include "export/backend.h"
#include "options/options.h"
#include <stdbool.h>
#include <stdint.h>

/* --- backends.c */

extern const struct backend *const backends[SEND_CNT]; /* in the order of options.sends */

/* Names of the backends that have a URL, NULL-terminated. Static strings. */
struct send_names {
	const char *list[SEND_CNT + 1];
};
struct send_names send__names(const struct options *opts);

/* --- sender.c */

struct sender_opts {
	const struct options *options;
	int stop_fd;	      /* ends the run when it is readable or hung up; -1: none */
	bool until_sent;      /* ends when the spool holds no more */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
};

/*
 * Sends until it is ended. Returns 0; -EAGAIN with a message: another process sends this spool, or
 * -errno with a message. One call for each process at a time.
 */
int sender__run(const struct sender_opts *opts, struct err *err);

/* --- backoff.c: the time until a request is tried again */

#define BACKOFF_MAX_MS 300000

struct backoff {
	unsigned failures; /* in a row */
	uint64_t random;   /* state of the generator; not 0 */
};

/*
 * Full jitter: any time up to 1 s, 2 s, 4 s … BACKOFF_MAX_MS. retry_after_s: what the server asked
 * for; then that, and up to a second more. In ms.
 */
uint64_t backoff__next_ms(struct backoff *backoff, uint64_t retry_after_s);

/* --- target.c: shards and replicas */

#define REPLICAS_MAX 16

/* The replicas of one shard. */
struct target {
	char *urls[REPLICAS_MAX]; /* owned; without a slash at the end */
	unsigned cnt, current;
};

/*
 * urls: each is a shard, as replicas with blanks between them. The same agent always has the same
 * shard of a number of shards. 0 or -ENOMEM.
 */
int target__choose(const char *const *urls, size_t url_cnt, const char *agent, struct target *ret);
void target__free(struct target *target);

/* --- request.c: the bytes of a request */

struct request {
	const struct backend_part *part;
	struct strbuf path; /* behind the URL of a replica */
	struct strbuf body;
	const char *encoding; /* Content-Encoding of the body; NULL: none */
};

/*
 * settings: database and compress. 0; -ENODATA: the part has nothing of this batch; -ENOMEM or
 * another -errno of the encoder. The same batch gives the same bytes. The caller frees ret in each
 * case.
 */
int request__make(const struct backend_part *part, const struct batch *batch,
		  const struct backend_options *settings, struct request *ret);
void request__free(struct request *request);

#endif
