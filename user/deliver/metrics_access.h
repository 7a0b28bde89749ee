/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What protects the metrics: TLS, a user with a password. The tracer reads the files as root;
 * jankbpf-deliver gets their contents with its setup.
 */
#ifndef JANK_DELIVER_METRICS_ACCESS_H
#define JANK_DELIVER_METRICS_ACCESS_H

#include "base/err.h"
#include "options/options.h"

#define METRICS_FILE_MAX     (64u << 10) /* bytes of a certificate with its chain, or a key */
#define METRICS_PASSWORD_MAX 1024

struct metrics_access {
	const char *cert, *key;	     /* PEM; NULL: plain HTTP */
	const char *user, *password; /* NULL: everyone may read */
};

/*
 * Reads the files that the options name; the caller frees ret. 0, or -errno with a message.
 */
int metrics_access__read(const struct options *opts, struct metrics_access *ret, struct err *err);
/* Only for what metrics_access__read has set. Clears the secrets. */
void metrics_access__free(struct metrics_access *access);

/* Reads the files and checks what they contain, for --check-config. 0, or -errno with a message. */
int metrics_access__check(const struct options *opts, struct err *err);

/* True if both are those of access. The time does not depend on how much of them is right. */
bool metrics_access__allows(const struct metrics_access *access, const char *user,
			    const char *password);

/* --- metrics_tls.c */

/*
 * Checks by GnuTLS, which it loads, that these are a certificate and its key; warns if it is not
 * valid now. access may have neither. 0, or -errno with a message.
 */
int metrics_tls__check(const struct metrics_access *access, struct err *err);

#endif
