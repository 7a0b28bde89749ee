/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One backend of the sender, with its thread: uploader.c sends batches, attempt.c one request. */
#ifndef JANK_SEND_UPLOADER_H
#define JANK_SEND_UPLOADER_H

#include "export/spool/spool.h"
#include "send/http.h"
#include "send/send.h"
#include <pthread.h>

struct uploader {
	const struct sender_opts *opts;
	const struct backend *backend;
	const struct backend_options *settings;
	int dirfd; /* of the spool; borrowed */
	pthread_t thread;
	struct http *http;
	struct spool_reader reader;
	struct spool_position position;
	struct target target;
	struct backoff backoff;
	struct backoff refusals; /* batches in a row that were refused as a whole */
	bool stops, all_sent;
	bool takes;	  /* the backend took a request of this batch */
	uint64_t stop_ns; /* CLOCK_MONOTONIC: later nothing is waited for; 0: none */
	long reported;	  /* the problem that was printed last; 0: none */
	bool refusal_reported, absence_reported, position_reported, warning_reported;
	bool damage_reported, memory_reported;
};

/* 0 or -errno with a message. The caller frees it with uploader__end. */
int uploader__begin(struct uploader *uploader, struct err *err);
void *uploader__run(void *uploader); /* the thread */
void uploader__end(struct uploader *uploader);

/* --- uploader_end.c */

/* Waits. True: the run ends. */
bool uploader__wait(struct uploader *uploader, uint64_t ms);

/* True if a request under way is to end now. */
bool uploader__is_over(struct uploader *uploader);

/* --- attempt.c */

enum outcome {
	OUTCOME_DONE,
	OUTCOME_AGAIN,	 /* the backend is away or busy */
	OUTCOME_USER,	 /* only a change of the settings helps: try again, later */
	OUTCOME_FAULT,	 /* of the server, perhaps of this request: try again, not for ever */
	OUTCOME_SLOW,	 /* not done in time: try again, then less of it */
	OUTCOME_SPLIT,	 /* too large */
	OUTCOME_REFUSED, /* for good */
	OUTCOME_ABSENT,	 /* the backend has no such signal, which is alpha */
	OUTCOME_STOPPED,
};

/* Answers to one request by which it may be the request that the server cannot take. */
struct faults {
	unsigned cnt;
	uint64_t first_ns; /* CLOCK_MONOTONIC */
};

/* True: it is refused for good. */
bool faults__are_final(const struct faults *faults, uint64_t now_ns);

/* What an answer means, without its body. */
enum outcome outcome__of(const struct http_answer *answer);

/*
 * Sends a request to the replicas until one has it, again and again while that can help. Adds
 * items of the part that the backend refused to *refused. divisible: it has more than one record.
 * Returns DONE, SPLIT, REFUSED, ABSENT or STOPPED.
 */
enum outcome attempt__send(struct uploader *uploader, const struct request *request, bool divisible,
			   uint64_t *refused);

/* --- uploader.c */

/* Records that are lost with this number of refused items of a part: at most those that it has. */
uint64_t uploader__refused(const struct backend_part *part, const struct batch *batch,
			   uint64_t items);

#endif
