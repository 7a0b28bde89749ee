/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the tracer and the process that delivers its records, on a stream socket. The
 * tracer sends the setup, then records; the process answers each: the setup by a greeting, a record
 * by the result of each sink. Both run the same program file, so structs are sent as they are.
 *
 * The tracer trusts no answer: answers have a fixed size, and every field is checked.
 */
#ifndef JANK_DELIVER_MESSAGE_H
#define JANK_DELIVER_MESSAGE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "deliver/sinks.h"
#include "options/options.h"
#include <stddef.h>
#include <stdint.h>

/* Descriptors that the process gets, besides stdout and stderr. */
#define DELIVER_SOCKET_FD   0
#define DELIVER_PROGRESS_FD 3
/* With a screen: */
#define DELIVER_CONTROL_FD 4
#define DELIVER_KEYS_FD	   5
/* With metrics by HTTP: */
#define DELIVER_LISTEN_FD 4

#define MESSAGE_MAX   (64u << 20) /* bytes of a packed record or of the setup */
#define SINK_NAME_MAX 16

/* In front of the setup (nr 0) and of each packed record (nr from 1 on). */
struct message_head {
	uint64_t nr;
	uint64_t size; /* bytes that follow */
};

/*
 * Answer to the setup. err.msg is set if the sinks or the journal cannot be opened. One byte with
 * the descriptor of the journal follows, if there is one.
 */
struct greeting {
	uint32_t size; /* of this struct */
	uint32_t sink_cnt;
	char names[SINK_MAX][SINK_NAME_MAX];
	struct err err;
};

/* Answer to a record. */
struct answer {
	uint64_t nr;
	int32_t results[SINK_MAX]; /* 0 or -errno; unused ones are 0 */
	uint64_t dropped;	   /* of the run; see sink__add_dropped */
};

/* All return 0, -EPIPE if the other side is gone, or -errno. They wait and retry on EINTR. */
int message__send(int sock, uint64_t nr, const void *data, size_t size);
int message__send_answer(int sock, const void *answer, size_t size);

/* Receives a head and its bytes into sb, which it empties first. -EBADMSG: over MESSAGE_MAX. */
int message__receive_record(int sock, uint64_t *ret_nr, struct strbuf *sb);

/* Sends and receives the journal's descriptor. -EBADMSG: it is no regular file. */
int journal_fd__send(int sock, int fd);
int journal_fd__receive(int sock, int *ret_fd);

/* Tracer: receive and check. -EBADMSG: not what the process may answer. */
int greeting__receive(int sock, struct greeting *ret);
int answer__receive(int sock, uint64_t nr, unsigned sink_cnt, struct answer *ret);

/* Tracer: a command of the user, from a pipe. -EAGAIN: there is none. -EBADMSG: not valid. */
int command__receive(int pipe_fd, struct top_command *ret);

/*
 * Packs the options of sinks and the access to metrics. Unpacked options point to the unpacked
 * access; their strings are borrowed from data. 0 or -EBADMSG.
 */
void setup__pack(const struct options *opts, const struct metrics_access *access,
		 struct strbuf *sb);
/* For a process that is started again: the journal is open, and must not be emptied. */
void setup__forget_journal(struct strbuf *sb);
int setup__unpack(const struct strbuf *sb, struct options *ret, struct metrics_access *access);

#endif
