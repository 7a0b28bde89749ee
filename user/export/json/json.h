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
 * Reads one object. *ret belongs to the caller, who frees it by
 * jankbpf__record__free_unpacked(*ret, NULL). Members that this version does not know are counted
 * in *ret_unknown_cnt and left out. 0; -EBADMSG: no record (err says what is wrong); -ENOMEM.
 */
int json__read_record(const char *text, size_t len, Jankbpf__Record **ret,
		      uint64_t *ret_unknown_cnt, struct err *err);

#endif
