/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streaming JSON writer: appends to a strbuf and handles commas and nesting. Strings may hold any
 * bytes; output is valid UTF-8 (invalid bytes become U+FFFD). Misuse (a value without a key in an
 * object, an unbalanced end, more than 32 levels) is an assertion, not a run-time error.
 */
#ifndef JANK_EXPORT_JSON_JSONW_H
#define JANK_EXPORT_JSON_JSONW_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

#define JSONW_DEPTH_MAX 32

struct jsonw {
	struct strbuf *out;
	unsigned depth;
	bool after_key;
	bool has_member[JSONW_DEPTH_MAX];
	bool is_object[JSONW_DEPTH_MAX];
};

void jsonw__init(struct jsonw *w, struct strbuf *out);
void jsonw__key(struct jsonw *w, const char *key);
void jsonw__object(struct jsonw *w); /* begins a value */
void jsonw__object_end(struct jsonw *w);
void jsonw__array(struct jsonw *w);
void jsonw__array_end(struct jsonw *w);
void jsonw__str(struct jsonw *w, const char *str); /* NULL writes null */
void jsonw__u64(struct jsonw *w, uint64_t v);
void jsonw__i64(struct jsonw *w, int64_t v);
void jsonw__fixed(struct jsonw *w, double v, int decimals); /* NaN and infinities write null */
void jsonw__bool(struct jsonw *w, bool v);

/* key and value at once */
void jsonw__kstr(struct jsonw *w, const char *key, const char *str);
void jsonw__kstr_known(struct jsonw *w, const char *key, const char *str); /* writes nothing for
									    * NULL */
void jsonw__karray(struct jsonw *w, const char *key);

#endif
