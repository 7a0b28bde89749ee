/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the last bytes of libbpf's warnings. */
#include "probes/bpf_log.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_SZ (64 * 1024)

static char text[LOG_SZ];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A verifier log is one message of up to megabytes, with the reason at its end. */
static void add(const char *msg, size_t len)
{
	if (len > LOG_SZ / 4) {
		msg += len - LOG_SZ / 4;
		len = LOG_SZ / 4;
	}
	if (used + len >= LOG_SZ) {
		memmove(text, text + used - LOG_SZ / 4, LOG_SZ / 4);
		used = LOG_SZ / 4;
	}
	memcpy(text + used, msg, len);
	used += len;
	text[used] = '\0';
}

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *msg;
	int len;

	if (level != LIBBPF_WARN)
		return 0;
	len = vasprintf(&msg, fmt, ap);
	if (len < 0)
		return 0;
	pthread_mutex_lock(&lock); /* uprobe_files has its own thread */
	add(msg, len);
	pthread_mutex_unlock(&lock);
	free(msg);
	return 0;
}

#define REFUSAL_END "-- END PROG LOAD LOG --"

void bpf_log__add_refusal(const char *name, const char *log)
{
	char *msg;
	int len = asprintf(&msg, "prog '%s': BPF program load failed:\n%s" REFUSAL_END "\n", name,
			   log);

	if (len < 0)
		return;
	pthread_mutex_lock(&lock);
	add(msg, len);
	pthread_mutex_unlock(&lock);
	free(msg);
}

void bpf_log__capture(void)
{
	used = 0;
	text[0] = '\0';
	libbpf_set_print(keep);
}

const char *bpf_log__tail(unsigned lines)
{
	const char *at = text + used;

	while (at > text && (at[-1] != '\n' || at == text + used || lines--))
		at--;
	return at;
}

/* libbpf puts this line after a verifier log, too. */
bool bpf_log__has_refusal(void)
{
	return strstr(text, REFUSAL_END) != NULL;
}

/* Lines that do not contain the reason. */
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
