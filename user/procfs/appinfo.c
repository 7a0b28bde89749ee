/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "procfs/appinfo.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/apart.h"
#include "procfs/procinfo.h"

#define ENVIRON_MAX (64 << 10)

static const char service_name_[] = "OTEL_SERVICE_NAME=";
static const char attributes_[] = "OTEL_RESOURCE_ATTRIBUTES=";

/* --- values */

static int hex_of(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

/* The text was cut, perhaps in the middle of a character. */
static void drop_half_character(struct strbuf *sb)
{
	for (size_t back = 1; back <= 3; back++) {
		char *at = sb->data + sb->len - back;

		if ((*at & 0xc0) == 0x80)
			continue;
		if ((*at & 0xc0) == 0xc0 && text__utf8_len(at, back) != back) {
			*at = '\0';
			sb->len -= back;
		}
		return;
	}
}

/* Percent-encoding, as of W3C's baggage. Control characters are left out: a value is one line. */
static int set(char **ret, const char *value, size_t len)
{
	struct strbuf sb = STRBUF_INIT;

	while (len && isspace((unsigned char)value[len - 1]))
		len--;
	while (len && isspace((unsigned char)*value)) {
		value++;
		len--;
	}
	for (size_t i = 0; i < len && sb.len < APPINFO_VALUE_MAX; i++) {
		char c = value[i];

		if (c == '%' && i + 2 < len && isxdigit((unsigned char)value[i + 1]) &&
		    isxdigit((unsigned char)value[i + 2])) {
			c = (char)(hex_of(value[i + 1]) << 4 | hex_of(value[i + 2]));
			i += 2;
		}
		if ((unsigned char)c >= ' ' && c != 0x7f)
			strbuf__add(&sb, &c, 1);
	}
	if (sb.len == APPINFO_VALUE_MAX)
		drop_half_character(&sb);
	if (!sb.len || sb.failed) {
		strbuf__free(&sb);
		return sb.failed ? -ENOMEM : 0;
	}
	free(*ret);
	*ret = sb.data;
	return 0;
}

struct attribute {
	const char *key;
	size_t offset;
};

/* The first one of a field counts. */
static const struct attribute kept[] = {
	{ "service.name", offsetof(Jankbpf__Identity, service_name) },
	{ "service.version", offsetof(Jankbpf__Identity, service_version) },
	{ "service.namespace", offsetof(Jankbpf__Identity, service_namespace) },
	{ "deployment.environment.name", offsetof(Jankbpf__Identity, deployment_environment) },
	{ "deployment.environment", offsetof(Jankbpf__Identity, deployment_environment) },
};

/* The value of a key in "key=value,key=value"; NULL: it is not there. */
static const char *find_attribute(const char *text, size_t len, const char *key, size_t *ret_len)
{
	const char *end = text + len;

	while (text < end) {
		size_t part = (const char *)memchr(text, ',', end - text)
				      ? (size_t)((const char *)memchr(text, ',', end - text) - text)
				      : (size_t)(end - text);
		const char *equal = memchr(text, '=', part);
		size_t key_len = equal ? (size_t)(equal - text) : 0;

		while (key_len && isspace((unsigned char)*text)) {
			text++;
			part--;
			key_len--;
		}
		while (key_len && isspace((unsigned char)text[key_len - 1]))
			key_len--;
		if (equal && key_len == strlen(key) && !memcmp(text, key, key_len)) {
			*ret_len = part - (size_t)(equal + 1 - text);
			return equal + 1;
		}
		text += part + 1;
	}
	return NULL;
}

static int take_attributes(const char *text, size_t len, Jankbpf__Identity *ret)
{
	int res = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) && !res; i++) {
		char **field = (char **)((char *)ret + kept[i].offset);
		size_t value_len;
		const char *value =
			*field ? NULL : find_attribute(text, len, kept[i].key, &value_len);

		if (value)
			res = set(field, value, value_len);
	}
	return res;
}

/* --- variables */

static const char *value_of(const char *word, size_t len, const char *name, size_t *ret_len)
{
	size_t name_len = strlen(name);

	if (len < name_len || memcmp(word, name, name_len))
		return NULL;
	*ret_len = len - name_len;
	return word + name_len;
}

int appinfo__parse(const char *words, size_t len, Jankbpf__Identity *ret)
{
	const char *attributes = NULL, *end, *value;
	size_t attributes_len = 0, value_len;
	int res = 0;

	for (const char *word = words; (end = memchr(word, '\0', words + len - word)) && !res;
	     word = end + 1) {
		value = value_of(word, end - word, service_name_, &value_len);
		if (value && !ret->service_name)
			res = set(&ret->service_name, value, value_len);
		value = value_of(word, end - word, attributes_, &value_len);
		if (value && !attributes) {
			attributes = value;
			attributes_len = value_len;
		}
		if (end + 1 == words + len)
			break;
	}
	/* OTEL_SERVICE_NAME comes before service.name, wherever it stands. */
	return res ?: attributes ? take_attributes(attributes, attributes_len, ret) : 0;
}

int appinfo__read(pid_t pid, Jankbpf__Identity *ret)
{
	uint64_t at, end, len;
	char *words;
	ssize_t n;
	int res;

	if (!procinfo__memory_at(pid, PROCINFO_ENVIRONMENT, &at, &end))
		return 0;
	len = end - at < ENVIRON_MAX ? end - at : ENVIRON_MAX;
	words = malloc(len);
	if (!words)
		return -ENOMEM;
	n = apart__memory((uint32_t)pid, at, words, len);
	res = n > 0 ? appinfo__parse(words, (size_t)n, ret) : 0;
	free(words);
	return res;
}
