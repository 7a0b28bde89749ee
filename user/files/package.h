/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The package that a file comes from, as the file itself says. */
#ifndef JANK_FILES_PACKAGE_H
#define JANK_FILES_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

#define PACKAGE_TEXT_SZ 128 /* with the final zero; longer texts are cut at a character */

/* Texts are UTF-8 without control characters; "" and 0: the file does not say. */
struct package {
	char name[PACKAGE_TEXT_SZ];    /* "org.example.app", "nginx" */
	char version[PACKAGE_TEXT_SZ]; /* "1.2.3" */
	uint64_t code;		       /* Android's version code */
};

/* Stores a text of any bytes. ret: PACKAGE_TEXT_SZ bytes. */
void package__set_text(char *ret, const char *text);

/*
 * Reads the package of an APK from its manifest. fd: the archive, borrowed. Returns 0; -ENOENT: it
 * has no manifest; -ENOEXEC: it is no archive, or its manifest is broken; -EFBIG: its
 * manifest has more than 1 MiB, packed; or -errno.
 *
 * Format: ResourceTypes.h of Android's frameworks/base/libs/androidfw (binary XML).
 */
int apk__package(int fd, struct package *ret);

/* The same for the bytes of a manifest. 0 or -ENOEXEC. */
int manifest__package(const void *bytes, size_t len, struct package *ret);

#endif
