/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as JSON, schema "jankbpf/1": one writer and one reader for every message, driven by the
 * descriptors of schema/blockinfo.proto and a generated table. Any thread.
 */
#ifndef JANK_EXPORT_JSON_JSON_H
#define JANK_EXPORT_JSON_JSON_H

#include "base/err.h"
#include "base/strbuf.h"
#include "schema/blockinfo.pb-c.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
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

/*
 * json_own.c: the same for text in the form that json__add_record writes, and only for that:
 * -EBADMSG says nothing about other JSON. For json__read_record.
 */
int json__read_own(const char *text, size_t len, Jankbpf__Record **ret);

/*
 * --- Table of the record's fields: what JSON needs in addition to the descriptors of
 * schema/blockinfo.proto. schema/generate.py generates it from schema/fields.tbl. Rows of a message
 * are in the order of its descriptor's fields.
 */

enum field_format {
	FIELD_NUMBER,
	FIELD_FIXED, /* a number with a fixed count of decimals */
	FIELD_TEXT,
	FIELD_BOOL,
	FIELD_HEX, /* a number as the string "0x…" */
	FIELD_OBJECT,
};

/* What --redact does with a field; schema/fields.tbl describes the classes. */
enum redact {
	REDACT_PATHS = 1,
	REDACT_PEERS = 2,
	REDACT_MESSAGES = 4,
	REDACT_CODE = 8,
	REDACT_SENTENCE = 16,
};

struct field {
	enum field_format format;
	unsigned char decimals;
	bool empty;		    /* the array is written even without elements */
	int64_t min;		    /* of a FIELD_NUMBER */
	uint64_t max;		    /* of a FIELD_NUMBER */
	unsigned redact;	    /* bits of enum redact */
	bool live;		    /* see schema/fields.tbl */
	const struct field *fields; /* of a FIELD_OBJECT's message */
};

extern const struct field *const fields__of_record, *const fields__of_block;
/* What is missing because of a loss: `takes` of fields.tbl. */
enum loss_takes { LOSS_TAKES_BLOCKS, LOSS_TAKES_TIMES, LOSS_TAKES_DETAIL };

/* What each loss means, in the order of Lost. */
struct loss_meaning {
	const char *text;
	enum loss_takes takes;
};

extern const struct loss_meaning fields__of_losses[];

/*
 * Size in bytes of one value of the field in its message or array. Only for types that the schema
 * uses.
 */
static inline size_t field__value_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_INT32:
		return sizeof(uint32_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return sizeof(uint64_t);
	}
}

/*
 * --- jsonw.c: streaming JSON writer. It appends to a strbuf and handles commas and nesting.
 * Strings may hold any bytes; output is by the rule of text__add_clean. Misuse (a value
 * without a key in an object, an unbalanced end, more than 32 levels) is an assertion, not a
 * run-time error.
 */

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
void jsonw__ku64(struct jsonw *w, const char *key, uint64_t v);
void jsonw__kbool(struct jsonw *w, const char *key, bool v);
void jsonw__karray(struct jsonw *w, const char *key);

#endif
