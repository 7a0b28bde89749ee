/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as JSON, schema "jankbpf/1": one writer and one reader for every message, driven by the
 * descriptors of schema/blockinfo.proto and the table of fields.h. Any thread.
 */
#ifndef JANK_EXPORT_JSON_JSON_H
#define JANK_EXPORT_JSON_JSON_H

#include "base/err.h"
#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <stddef.h>
#include <stdint.h>

/* Adds the record as one object on one line, without a newline. */
void json__add_record(struct strbuf *sb, const Jankbpf__Record *record);

/*
 * Reads one object. The caller frees *ret with jankbpf__record__free_unpacked(*ret, NULL). Members
 * that this version does not know are skipped and counted in *ret_unknown_cnt. 0; -EBADMSG: not a
 * record (err gives the reason); -ENOMEM.
 */
int json__read_record(const char *text, size_t len, Jankbpf__Record **ret,
		      uint64_t *ret_unknown_cnt, struct err *err);

#endif
