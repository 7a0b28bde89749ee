/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/block_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/blockcanary/blockcanary.h"
#include "export/record_file.h"
#include "export/timed_name.h"
#include "serve/record_index.h"

#define LOG_MAX	     (4u << 20) /* bytes of a log that is read */
#define LOG_HEAD_MAX (64 << 10) /* of its part before the stacks, which has the id */
#define MISSING_MAX  16		/* names of logs that are gone already, before the search ends */
#define ID_LINE	     "\nx-id = "

static bool log_has_id(int dirfd, const char *name, uint64_t id)
{
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = malloc(LOG_HEAD_MAX + 1), *line;
	ssize_t n = fd >= 0 && text ? pread(fd, text, LOG_HEAD_MAX, 0) : -1;
	bool has = false;

	if (fd >= 0)
		close(fd);
	if (n >= 0) {
		text[n] = '\0';
		line = strstr(text, ID_LINE);
		if (line) {
			line += strlen(ID_LINE);
			line[strcspn(line, "\r\n")] = '\0';
			has = record_index__hash(line) == id;
		}
	}
	free(text);
	return has;
}

bool block_log__find(int dirfd, uint64_t end_ns, uint64_t id, struct strbuf *ret_name)
{
	unsigned missing = 0;
	uint64_t size;

	for (unsigned i = 0; !ret_name->failed && missing < MISSING_MAX; i++) {
		strbuf__reset(ret_name);
		timed_name__add(ret_name, &timed_name_log, end_ns, i);
		if (!own_file__size(dirfd, strbuf__str(ret_name), &size))
			missing++;
		else if (log_has_id(dirfd, strbuf__str(ret_name), id))
			return true;
	}
	return false;
}

bool block_log__read(int dirfd, uint64_t end_ns, uint64_t id, struct strbuf *ret)
{
	struct strbuf name = STRBUF_INIT;
	int fd = -1;
	char part[4096];
	ssize_t n = -1;

	if (block_log__find(dirfd, end_ns, id, &name))
		fd = openat(dirfd, strbuf__str(&name),
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	strbuf__free(&name);
	if (fd < 0)
		return false;
	while (ret->len < LOG_MAX && (n = read(fd, part, sizeof(part))) > 0)
		strbuf__add(ret, part, (size_t)n);
	close(fd);
	return !n;
}
