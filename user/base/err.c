/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills in a struct err; prints nothing. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static int __attribute__((format(printf, 4, 0)))
err__vset(struct err *err, int exit, int code, const char *fmt, va_list ap)
{
	if (err) {
		err->exit = exit;
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	}
	return -code;
}

int err__set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = err__vset(err, JANK_EXIT_FAILED, code, fmt, ap);
	va_end(ap);
	return code;
}

int err__set_exit(struct err *err, int exit, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	code = err__vset(err, exit, code, fmt, ap);
	va_end(ap);
	return code;
}
