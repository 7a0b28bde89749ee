/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of a request, before anything is done for it: does it come from our own page, and from
 * somebody who knows the token? Pure functions of texts.
 */
#ifndef JANK_SERVE_REQUEST_H
#define JANK_SERVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_LEN    32 /* hexadecimal digits: 128 bits */
#define TOKEN_HEADER "X-Jankbpf-Token"

/* 0 or -errno. */
int token__make(char token[TOKEN_LEN + 1]);
/* Takes the same time wherever they differ. given may be NULL. */
bool token__is(const char *token, const char *given);

/*
 * True for 127.x.y.z, localhost and [::1], with or without a port: any port, since ssh forwards
 * another one. Else the page of another site has made its name point at us (DNS rebinding).
 */
bool request__is_own_host(const char *host);

/* What of a request says where it comes from. NULL: the header is missing. */
struct request_source {
	const char *host, *origin, *fetch_site;
};

/* False if a browser says that another site's page asks. */
bool request__is_own_page(const struct request_source *source);

/* A decimal number of at most 19 digits, and nothing else. text may be NULL. */
bool request__number(const char *text, uint64_t *ret);

#endif
