/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Redaction of a whole record before any sink gets it. The table of fields decides what is changed,
 * so a new field needs only its class in schema/fields.tbl.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/siphash.h"
#include "export/json/json.h"
#include "export/record/record.h"
#include "files/file.h"

#define HASH_SZ sizeof("redacted-0123456789abcdef")

/* Words of ours that stand in a path's place. */
static bool is_word(const char *text)
{
	static const char *const words[] = { "", "[vdso]", "[jit]", "vmlinux", "complete" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i]))
			return true;
	return false;
}

static char *hash_of(struct record *r, const char *text)
{
	char *ret = record__take(r, HASH_SZ);

	snprintf(ret, HASH_SZ, "redacted-%016llx",
		 (unsigned long long)siphash(r->redaction.key, text, strlen(text)));
	return ret;
}

static bool is_hashed(const struct record *r, const struct field *row, const char *text)
{
	if (row->redact & REDACT_CODE)
		return r->redaction.classes & REDACT_PATHS && strchr(text, '/');
	return row->redact & r->redaction.classes && !is_word(text);
}

static void redact_value(struct record *r, const ProtobufCFieldDescriptor *field,
			 const struct field *row, void *value)
{
	char **text = value;

	if (field->type == PROTOBUF_C_TYPE_MESSAGE && *(ProtobufCMessage **)value)
		record__redact(r, *(ProtobufCMessage **)value, row->fields);
	else if (field->type == PROTOBUF_C_TYPE_STRING && *text && is_hashed(r, row, *text))
		*text = hash_of(r, *text);
}

static void redact_field(struct record *r, ProtobufCMessage *message,
			 const ProtobufCFieldDescriptor *field, const struct field *row)
{
	char *base = (char *)message, *values = base + field->offset;
	size_t cnt = 1;

	if (row->redact & REDACT_SENTENCE) {
		if (field->type == PROTOBUF_C_TYPE_STRING)
			*(char **)values = NULL;
		else
			*(protobuf_c_boolean *)(base + field->quantifier_offset) = false;
		return;
	}
	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		cnt = *(size_t *)(base + field->quantifier_offset);
		values = *(char **)values;
	}
	for (size_t i = 0; i < cnt; i++)
		redact_value(r, field, row, values + i * field__value_size(field));
}

void record__redact(struct record *r, ProtobufCMessage *message, const struct field *rows)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++)
		redact_field(r, message, &message->descriptor->fields[i], &rows[i]);
}

/* --- the key */

static int check_key(const char *path, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode) || st->st_size != SIPHASH_KEY_SZ)
		return err__set(err, EINVAL,
				"the key '%s' is not a file of %d bytes: make one with head -c %d "
				"/dev/urandom >'%s'",
				path, SIPHASH_KEY_SZ, SIPHASH_KEY_SZ, path);
	if (st->st_uid != geteuid())
		return err__set(err, EPERM, "the key '%s' belongs to another user: use your own",
				path);
	if (st->st_mode & 077)
		return err__set(err, EPERM,
				"the key '%s' is open to other users: run chmod 600 '%s'", path,
				path);
	return 0;
}

static int read_key(const char *path, uint8_t key[SIPHASH_KEY_SZ], struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), res;
	struct stat st;

	if (fd < 0)
		return err__set(err, errno, "cannot open the key '%s': %s", path, strerror(errno));
	res = fstat(fd, &st)
		      ? err__set(err, errno, "cannot stat the key '%s': %s", path, strerror(errno))
		      : check_key(path, &st, err);
	if (!res && file__read_exactly(fd, key, SIPHASH_KEY_SZ, 0))
		res = err__set(err, EIO, "cannot read the key '%s'", path);
	close(fd);
	return res;
}

int record__set_redaction(struct record *r, unsigned classes, const char *key_path, struct err *err)
{
	uint8_t *key = r->redaction.key;

	r->redaction.classes = classes;
	if (!classes)
		return 0;
	if (key_path)
		return read_key(key_path, key, err);
	if (getrandom(key, SIPHASH_KEY_SZ, 0) != SIPHASH_KEY_SZ)
		return err__set(err, errno, "no random key for --redact: %s", strerror(errno));
	return 0;
}
