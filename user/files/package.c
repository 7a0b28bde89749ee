/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manifest of an APK: chunks of binary XML. Only the first element is read; it names the
 * package. The traced program controls every byte, so each access is checked.
 */
#include "files/package.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/file.h"
#include "files/zip.h"

#define MANIFEST       "AndroidManifest.xml"
#define MANIFEST_MAX   (1u << 20) /* its first element comes after the strings */
#define CHUNKS_MAX     64	  /* before the first element: strings, resource ids, namespaces */
#define ATTRIBUTES_MAX 64	  /* of the element; aapt writes about ten */
#define STRING_MAX     1024	  /* characters of a string that are read */

/* Kinds of chunks, and of values. */
#define CHUNK_STRINGS 0x0001
#define CHUNK_XML     0x0003
#define CHUNK_IDS     0x0180
#define CHUNK_ELEMENT 0x0102
#define VALUE_STRING  0x03
#define VALUE_DECIMAL 0x10
#define VALUE_HEX     0x11
#define UTF8	      0x100 /* a flag of the strings */
#define NO_STRING     UINT32_MAX

#define CHUNK_SZ     8	/* its header: kind, size of the header, size of all */
#define STRINGS_SZ   28 /* the header of the strings */
#define NODE_SZ	     16 /* the header of an element */
#define ATTRIBUTE_SZ 20

/* Ids of android:versionCode, android:versionName and android:versionCodeMajor. */
#define ID_CODE	      0x0101021b
#define ID_NAME	      0x0101021c
#define ID_CODE_MAJOR 0x01010576

struct bytes {
	const uint8_t *at;
	size_t len;
};

struct manifest {
	struct bytes strings, ids; /* whole chunks; len 0: not there yet */
};

/* --- bytes; what is beyond the end is 0 */

/* A number of size bytes, at most 4, the lowest first. */
static uint32_t get(const struct bytes *b, size_t at, size_t size)
{
	uint32_t value = 0;

	if (b->len < size || at > b->len - size)
		return 0;
	memcpy(&value, b->at + at, size);
	return le32toh(value);
}

static uint16_t get16(const struct bytes *b, size_t at)
{
	return (uint16_t)get(b, at, sizeof(uint16_t));
}

static uint32_t get32(const struct bytes *b, size_t at)
{
	return get(b, at, sizeof(uint32_t));
}

/* Takes the next chunk from b. False: there is none, or it is broken. */
static bool take_chunk(struct bytes *b, struct bytes *ret)
{
	uint32_t size = get32(b, 4);

	if (size < CHUNK_SZ || size > b->len)
		return false;
	*ret = (struct bytes){ b->at, size };
	b->at += size;
	b->len -= size;
	return true;
}

/* --- strings */

/* A length is one unit, or two if the first has its highest bit set. Advances *at. */
static size_t take_length(const struct bytes *b, size_t *at, bool utf8)
{
	size_t unit = utf8 ? 1 : 2, high = utf8 ? 0x80 : 0x8000;
	size_t first = get(b, *at, unit), second;

	*at += unit;
	if (!(first & high))
		return first;
	second = get(b, *at, unit);
	*at += unit;
	return (first & (high - 1)) << 8 * unit | second;
}

static void add_character(struct strbuf *sb, uint32_t c)
{
	const char four[] = { (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3f)),
			      (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)) };
	const char three[] = { (char)(0xe0 | c >> 12), four[2], four[3] };
	const char two[] = { (char)(0xc0 | c >> 6), four[3] };

	if (c < 0x80)
		strbuf__addc(sb, (char)c);
	else if (c < 0x800)
		strbuf__add(sb, two, sizeof(two));
	else if (c < 0x10000)
		strbuf__add(sb, three, sizeof(three));
	else
		strbuf__add(sb, four, sizeof(four));
}

/* A lone surrogate becomes three bytes that are not UTF-8; package__set_text replaces them. */
static void add_utf16(struct strbuf *sb, const struct bytes *b, size_t at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		uint32_t c = get16(b, at + 2 * i), low = get16(b, at + 2 * i + 2);

		if (c >> 10 == 0xd800 >> 10 && low >> 10 == 0xdc00 >> 10 && i + 1 < len) {
			c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
			i++;
		}
		add_character(sb, c);
	}
}

static void take_string(const struct manifest *m, uint32_t nr, struct strbuf *sb)
{
	const struct bytes *b = &m->strings;
	bool utf8 = get32(b, 16) & UTF8;
	size_t at, len;

	strbuf__reset(sb);
	if (nr >= get32(b, 8) || nr >= b->len / 4)
		return;
	at = (size_t)get32(b, 20) + get32(b, STRINGS_SZ + 4 * (size_t)nr);
	len = take_length(b, &at, utf8);
	if (utf8)
		len = take_length(b, &at, utf8); /* the first one counts UTF-16 units */
	if (len > STRING_MAX)
		len = STRING_MAX;
	if (at >= b->len || len > (b->len - at) / (utf8 ? 1 : 2))
		return;
	if (utf8)
		strbuf__add(sb, b->at + at, len);
	else
		add_utf16(sb, b, at, len);
}

void package__set_text(char *ret, const char *text)
{
	struct strbuf sb = STRBUF_INIT;
	size_t len;

	text__add_clean(&sb, text);
	len = text__cut(strbuf__str(&sb), PACKAGE_TEXT_SZ - 1);
	memcpy(ret, strbuf__str(&sb), len);
	ret[len] = '\0';
	strbuf__free(&sb);
}

/* --- the first element */

/* The resource id of an attribute's name; 0: it has none. */
static uint32_t id_of(const struct manifest *m, uint32_t name)
{
	return name < m->ids.len / 4 ? get32(&m->ids, CHUNK_SZ + 4 * (size_t)name) : 0;
}

static void take_attribute(const struct manifest *m, const struct bytes *attribute,
			   struct strbuf *text, struct package *ret)
{
	uint32_t name = get32(attribute, 4), data = get32(attribute, 16);
	uint8_t kind = (uint8_t)get(attribute, 15, 1);
	bool is_number = kind == VALUE_DECIMAL || kind == VALUE_HEX;

	switch (id_of(m, name)) {
	case ID_CODE:
		ret->code |= is_number ? data : 0;
		return;
	case ID_CODE_MAJOR:
		ret->code |= is_number ? (uint64_t)data << 32 : 0;
		return;
	case ID_NAME:
		take_string(m, kind == VALUE_STRING ? data : NO_STRING, text);
		package__set_text(ret->version, strbuf__str(text));
		return;
	}
	take_string(m, name, text);
	if (get32(attribute, 0) != NO_STRING || strcmp(strbuf__str(text), "package"))
		return;
	take_string(m, data, text);
	package__set_text(ret->name, strbuf__str(text));
}

static int take_element(const struct manifest *m, const struct bytes *element, struct package *ret)
{
	size_t at = (size_t)NODE_SZ + get16(element, NODE_SZ + 8);
	size_t size = get16(element, NODE_SZ + 10), cnt = get16(element, NODE_SZ + 12);
	struct strbuf text = STRBUF_INIT;

	take_string(m, get32(element, NODE_SZ + 4), &text);
	if (strcmp(strbuf__str(&text), "manifest"))
		cnt = 0;
	if (cnt > ATTRIBUTES_MAX)
		cnt = ATTRIBUTES_MAX;
	for (size_t i = 0; i < cnt && size >= ATTRIBUTE_SZ; i++, at += size) {
		if (at > element->len || element->len - at < ATTRIBUTE_SZ)
			break;
		take_attribute(m, &(struct bytes){ element->at + at, ATTRIBUTE_SZ }, &text, ret);
	}
	strbuf__free(&text);
	return ret->name[0] ? 0 : -ENOEXEC;
}

int manifest__package(const void *bytes, size_t len, struct package *ret)
{
	struct bytes left = { bytes, len }, chunk;
	struct manifest m = {};

	*ret = (struct package){};
	if (get16(&left, 0) != CHUNK_XML || len < CHUNK_SZ)
		return -ENOEXEC;
	left.at += CHUNK_SZ;
	left.len -= CHUNK_SZ;
	for (unsigned i = 0; i < CHUNKS_MAX && take_chunk(&left, &chunk); i++) {
		switch (get16(&chunk, 0)) {
		case CHUNK_STRINGS:
			m.strings = chunk;
			break;
		case CHUNK_IDS:
			m.ids = chunk;
			break;
		case CHUNK_ELEMENT:
			return take_element(&m, &chunk, ret);
		}
	}
	return -ENOEXEC;
}

/* --- the archive */

/* Returns the number of bytes, or -errno. */
static ssize_t read_member(int fd, const struct zip_member *member, void *buf)
{
	size_t len = member->size < MANIFEST_MAX ? member->size : MANIFEST_MAX;

	/* Empty blocks of deflate: packed bytes that unpack to none. */
	if (member->deflated && member->packed > MANIFEST_MAX)
		return -EFBIG;
	return member->deflated ? zip_unpack__head(fd, member, buf, len)
				: file__pread(fd, buf, len, member->offset);
}

int apk__package(int fd, struct package *ret)
{
	struct zip_directory dir;
	struct zip_member member;
	int res = zip_directory__read(&dir, fd);
	void *buf;
	ssize_t n;

	if (res)
		return res;
	res = zip_directory__find(&dir, MANIFEST, &member);
	zip_directory__free(&dir);
	if (res)
		return res;
	buf = malloc(MANIFEST_MAX);
	if (!buf)
		return -ENOMEM;
	n = read_member(fd, &member, buf);
	res = n < 0 ? (int)n : manifest__package(buf, (size_t)n, ret);
	free(buf);
	return res;
}
