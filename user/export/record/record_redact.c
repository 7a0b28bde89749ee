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

#include "export/json/json.h"
#include "export/record/record.h"
#include "files/file.h"

/* --- SipHash-2-4, as its paper describes it */

static uint64_t load(const uint8_t *bytes, size_t len)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < len; i++)
		ret |= (uint64_t)bytes[i] << 8 * i;
	return ret;
}

static uint64_t rotate(uint64_t word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static void rounds(uint64_t v[4], unsigned cnt)
{
	while (cnt--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void take(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY_SZ], const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t k0 = load(key, 8), k1 = load(key + 8, 8);
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
			  k1 ^ 0x7465646279746573 };
	size_t whole = len - len % 8;

	for (size_t i = 0; i < whole; i += 8)
		take(v, load(bytes + i, 8));
	take(v, load(bytes + whole, len % 8) | (uint64_t)len << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* --- texts that become hashes */

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
