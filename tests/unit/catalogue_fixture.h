/* SPDX-License-Identifier: GPL-2.0 */
/* Catalogues with a test's own rows beside the built-in ones. */
#ifndef JANK_CATALOGUE_FIXTURE_H
#define JANK_CATALOGUE_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "files/file.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* The mandatory keys of a row. */
#define ROW "[a]\nlibrary = x\nwait = epoll\n"

/* Opens the catalogue with one file of that text; errors as of catalogue__open. */
static inline int fixture__open_len(const char *text, size_t len, struct catalogue **ret,
				    struct err *err)
{
	char path[] = "/tmp/jank-loop-XXXXXX";
	const char *files[] = { path };
	int fd = mkstemp(path), code;

	*err = (struct err){ 0 };
	if (fd < 0 || file__write_all(fd, text, len))
		abort();
	close(fd);
	code = catalogue__open(files, 1, ret, err);
	unlink(path);
	return code;
}

static inline int fixture__open(const char *text, struct catalogue **ret, struct err *err)
{
	return fixture__open_len(text, strlen(text), ret, err);
}

/* The first row of that name or id, or NULL. */
static inline const struct catalogue_row *fixture__row(const struct catalogue *cat,
						       const char *name)
{
	size_t at = 0;

	return catalogue__named(cat, name, &at);
}

#endif
