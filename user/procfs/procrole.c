/* SPDX-License-Identifier: GPL-2.0 */
/* /proc/PID/stat tells where the command line lies. */
#include "procfs/procrole.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "base/file.h"
#include "base/strbuf.h"

#define CMDLINE_MAX  4096
#define ROLE_MAX     64
#define STAT_MAX     4096
#define ARG_FIELD    48 /* arg_start in proc(5), counted from 1 */
#define AFTER_COMM   3	/* the field behind the name */
#define TYPE	     "--type="
#define SUB_TYPE     "--utility-sub-type="
#define CONTENT_PROC "-contentproc"

static bool command_line_at(pid_t pid, uint64_t *ret, uint64_t *ret_end)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long long start = 0, end = 0;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	at = file__read(path, STAT_MAX, &sb) ? NULL : strrchr(strbuf__str(&sb), ')');
	at = at ? strchr(at, ' ') : NULL;
	for (int field = AFTER_COMM; at && field < ARG_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (at)
		sscanf(at, " %llu %llu", &start, &end);
	strbuf__free(&sb);
	*ret = start;
	*ret_end = end;
	return start && end > start;
}

static bool is_name(const char *word)
{
	size_t len = strlen(word);

	return len && len < ROLE_MAX && *word != '-' &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
		       len;
}

/* "network.mojom.NetworkService": the last part says it all. */
static const char *service_of(const char *sub_type)
{
	const char *dot = strrchr(sub_type, '.');

	return dot ? dot + 1 : sub_type;
}

const char *procrole__parse(char *words, size_t len)
{
	const char *type = NULL, *sub_type = NULL, *last = NULL;
	bool content = false, first = true;

	for (size_t i = 0; i < len; i++)
		if (words[i] == ' ')
			words[i] = '\0';
	for (char *word = words; word < words + len;
	     word += strnlen(word, len - (word - words)) + 1) {
		if (words[len - 1] && word + strnlen(word, len - (word - words)) == words + len)
			break; /* cut */
		if (!*word)
			continue;
		if (!first && !type && !strncmp(word, TYPE, strlen(TYPE)))
			type = word + strlen(TYPE);
		if (!strncmp(word, SUB_TYPE, strlen(SUB_TYPE)))
			sub_type = service_of(word + strlen(SUB_TYPE));
		content |= !first && !strcmp(word, CONTENT_PROC);
		last = word;
		first = false;
	}
	if (content)
		type = last;
	else if (type && sub_type && !strcmp(type, "utility"))
		type = sub_type;
	return type && is_name(type) ? type : NULL;
}

/*
 * A title that was written over the arguments may reach into the environment behind them (get_mm_cmdline in fs/proc/base.c): Firefox'
 * content processes. Returns its length with the zero byte; 0: it has none within size bytes, or cannot be read.
 */
static ssize_t longer_title(pid_t pid, uint64_t start, char *words, size_t size)
{
	ssize_t n = 0;
	char *end;

	/* What lies behind may be less than that: the stack ends there. */
	for (; n <= 0 && size >= 512; size /= 2)
		n = apart__memory(pid, start, words, size);
	end = n > 0 ? memchr(words, '\0', n) : NULL;
	return end ? end - words + 1 : 0;
}

int procrole__read(pid_t pid, char **ret)
{
	char words[CMDLINE_MAX];
	uint64_t start, end, len;
	const char *role;
	ssize_t n;

	*ret = NULL;
	if (!command_line_at(pid, &start, &end))
		return 0;
	len = end - start < sizeof(words) ? end - start : sizeof(words);
	n = apart__memory(pid, start, words, len);
	if (n > 0 && words[n - 1] && len < sizeof(words))
		n = longer_title(pid, start, words, sizeof(words)) ?: n;
	role = n > 0 ? procrole__parse(words, n) : NULL;
	if (role)
		*ret = strdup(role);
	return role && !*ret ? -ENOMEM : 0;
}
