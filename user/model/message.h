/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a slow dispatch handled: the raw values as the probes sent them, and what they stand for, as far as
 * it could be found out. Data only. What isn't known is NULL, -1 or 0, never guessed.
 *
 * Everything reachable is owned by the message and freed by message__free.
 */
#ifndef JANK_MODEL_MESSAGE_H
#define JANK_MODEL_MESSAGE_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function, class or text. Of a function without a name only module and offset are known. */
struct message_name {
	char *symbol;
	char *module;	 /* path, or "[jit]" */
	uint64_t offset; /* in the module's file; only where there is no symbol */
};

#define MESSAGE_FD_CLOSED                                                                          \
	"already closed" /* the target of a descriptor that could not be named in time */

/* A descriptor that was ready, or that the message belongs to. */
struct message_fd {
	int32_t fd;	 /* -1: not known */
	uint32_t events; /* EPOLL*; 0: not known */
	char *target;	 /* what it is: "tcp 127.0.0.1:80->127.0.0.1:5012"; NULL: not known */
};

struct message {
	struct jank_rec_message raw;
	char *what; /* its number, or the number's name */
	struct message_name handler, callback, source;
	struct message_fd fd; /* the mark's, or the first that the wait returned */
	struct message_fd also[JANK_READY_MAX - 1]; /* the next that it returned */
	unsigned also_cnt;
	uint32_t ready_cnt; /* how many it returned in all; 0: no message of a wait */
	bool was_queued;    /* queued_ns is known */
	uint64_t queued_ns; /* from the time it was due to the dispatch's begin */
	bool too_many_fds; /* what was ready was not sought: the process has too many descriptors */
};

/* With nothing but the raw values; NULL: out of memory. */
struct message *message__new(const struct jank_rec_message *raw);
void message__free(struct message *message);	      /* accepts NULL */
size_t message__bytes(const struct message *message); /* of memory, about; accepts NULL */

/* Whether anything of it can be shown; accepts NULL. */
bool message__is_known(const struct message *message);
bool message_name__is_known(const struct message_name *name);

#endif
