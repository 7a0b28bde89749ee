/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define HOST_MAX 64

int token__make(char token[TOKEN_LEN + 1])
{
	unsigned char bytes[TOKEN_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool token__is(const char *token, const char *given)
{
	volatile unsigned char differs = 0;

	if (!given || strlen(given) != TOKEN_LEN)
		return false;
	for (unsigned i = 0; i < TOKEN_LEN; i++)
		differs |= (unsigned char)(token[i] ^ given[i]);
	return !differs;
}

static bool is_port(const char *text)
{
	size_t len = strlen(text);

	return !len ||
	       (text[0] == ':' && len > 1 && len <= 6 && strspn(text + 1, "0123456789") == len - 1);
}

bool request__is_own_host(const char *host)
{
	static const char v6[] = "[::1]", name[] = "localhost";
	char text[HOST_MAX];
	struct in_addr in;
	size_t len;

	if (!host || strlen(host) >= sizeof(text))
		return false;
	if (!strncmp(host, v6, strlen(v6)))
		return is_port(host + strlen(v6));
	if (!strncasecmp(host, name, strlen(name)))
		return is_port(host + strlen(name));
	len = strcspn(host, ":");
	memcpy(text, host, len);
	text[len] = '\0';
	return inet_pton(AF_INET, text, &in) == 1 && ntohl(in.s_addr) >> 24 == 127 &&
	       is_port(host + len);
}

bool request__is_own_page(const struct request_source *source)
{
	static const char http[] = "http://";

	if (source->fetch_site && strcmp(source->fetch_site, "same-origin"))
		return false;
	if (!source->origin)
		return true;
	return source->host && !strncmp(source->origin, http, strlen(http)) &&
	       !strcmp(source->origin + strlen(http), source->host);
}

bool request__number(const char *text, uint64_t *ret)
{
	size_t len = text ? strlen(text) : 0;

	if (!len || len > 19 || strspn(text, "0123456789") != len)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}
