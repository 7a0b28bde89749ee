/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the client share: client.c has the process, client_ops.c and client_elf.c the
 * operations.
 */
#ifndef JANK_NAME_CLIENT_H
#define JANK_NAME_CLIENT_H

#include "base/hash.h"
#include "files/broker.h"
#include "name/name.h"
#include "name/wire.h"
#include "symbol/elf/elffunc.h"
#include "symbol/modules/fetch.h"
#include "symbol/modules/module.h"
#include "symbol/names/cache.h"
#include <pthread.h>

/* A process that the broker may be asked about. */
struct name_target {
	uint32_t pid;
	uint64_t start_nr;  /* of the process that has read its mappings; 0: none yet */
	unsigned death_cnt; /* of the process, by requests about this one */
	UT_hash_handle hh;
};

#define SUSPECTS_MAX 64

/* A file that was being read when the process ended. */
struct name_suspect {
	uint64_t dev, inode;
};

struct name_client {
	enum name_task task;
	int sock;	 /* -1: the process ended */
	int broker_sock; /* the broker's end, until name_client__open */
	int mark_fd;
	struct module_mark *mark; /* shared with the process */
	_Atomic pid_t pid;
	_Atomic bool hurries;
	uint64_t start_nr;  /* counts starts of the process */
	unsigned death_cnt; /* since the last answer */
	_Atomic uint64_t restart_cnt, forbidden_cnt;
	bool gave_up, reported;
	uint64_t again_ns; /* CLOCK_MONOTONIC: when it is tried again */
	int status;	   /* of the process that ended last, as of waitpid */
	struct broker *broker;
	struct fetch *fetch;
	struct name_target *targets;
	struct name_suspect suspects[SUSPECTS_MAX]; /* a ring */
	unsigned suspect_cnt;
	struct strbuf in, out; /* of the answer; of the request */
	struct strbuf mapped;  /* mappings that are not sent yet */
	uint64_t mapped_cnt;
	struct pool pool; /* texts of frames */
	uint64_t cut_cnt, cut_before, leased_cnt, leased_before;
	char *leased;
	pthread_mutex_t lock;	  /* client_elf.c: held while a file is open */
	struct name_suspect file; /* the one that it has open */
};

extern const struct symbolizer_ops name_client_ops;
extern const struct elffunc_ops name_client_elf_ops;

/*
 * Sends a request with the bytes in client->out, and waits for its answer. Returns its result, with
 * *ret on its bytes, which are valid until the next request; or -ECHILD: there is no answer,
 * because the process ended.
 */
int64_t name_client__ask(struct name_client *client, const struct name_request *req,
			 struct wire *ret);

/* Sends the mappings that wait. */
void name_client__flush(struct name_client *client);

/*
 * Finds the process, which is made known if it is new. 0, -ENOMEM, or -ECHILD: too many requests
 * about it had no answer, so nothing is asked any more.
 */
int name_client__target(struct name_client *client, uint32_t pid, struct name_target **ret);

bool name_client__knows(const struct name_client *client, uint32_t pid);
int name_client__know(struct name_client *client, uint32_t pid); /* 0 or -ENOMEM */
void name_client__forget(struct name_client *client, uint32_t pid);

#endif
