/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the process share: server.c has its loop, server_elf.c the files for probes. */
#ifndef JANK_NAME_SERVER_H
#define JANK_NAME_SERVER_H

#include "name/wire.h"
#include "symbol/elf/elffunc.h"
#include "symbol/unwind/unwind.h"

struct server {
	struct symbolizer *sym;
	struct strbuf in, out;
	struct unwound unwound; /* too large for a stack */
	struct elffunc elf;	/* fd -1: none is open */
};

/*
 * Serves a request with the bytes in `in`, and puts the bytes of its answer into s->out. Returns
 * its result.
 */
typedef int64_t (*serve_fn)(struct server *s, const struct name_request *req, struct wire *in);

int64_t serve_elf_open(struct server *s, const struct name_request *req, struct wire *in);
int64_t serve_elf_find(struct server *s, const struct name_request *req, struct wire *in);
int64_t serve_elf_section(struct server *s, const struct name_request *req, struct wire *in);
int64_t serve_elf_close(struct server *s, const struct name_request *req, struct wire *in);
int64_t serve_elf_entry(struct server *s, const struct name_request *req, struct wire *in);
int64_t serve_elf_package(struct server *s, const struct name_request *req, struct wire *in);

#endif
