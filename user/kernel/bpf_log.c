/* SPDX-License-Identifier: GPL-2.0 */
/* A bounded tail of libbpf's warnings. */
#include "kernel/bpf_log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#define LOG_SZ (64 * 1024)

static char text[LOG_SZ];
static size_t used;

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	int len;

	if (level != LIBBPF_WARN)
		return 0;
	if (used > LOG_SZ / 2) { /* the newer half is the one that says why */
		memmove(text, text + used - LOG_SZ / 4, LOG_SZ / 4);
		used = LOG_SZ / 4;
	}
	len = vsnprintf(text + used, LOG_SZ - used, fmt, ap);
	if (len > 0)
		used += (size_t)len < LOG_SZ - used ? (size_t)len : LOG_SZ - used - 1;
	return 0;
}

void bpf_log__capture(void)
{
	used = 0;
	text[0] = '\0';
	libbpf_set_print(keep);
}

const char *bpf_log__all(void)
{
	return text;
}

/* Lines that only frame the reason. */
static int is_noise(const char *line, size_t len)
{
	static const char *const noise[] = { "-- BEGIN", "-- END", "processed ", "libbpf: failed",
					     "libbpf: prog" };

	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (len >= strlen(noise[i]) && !memcmp(line, noise[i], strlen(noise[i])))
			return 1;
	return len < 3;
}

const char *bpf_log__last(void)
{
	static char last[200];
	const char *line = text;

	last[0] = '\0';
	while (*line) {
		size_t len = strcspn(line, "\n");

		if (!is_noise(line, len))
			snprintf(last, sizeof(last), "%.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
	return last;
}
