/* SPDX-License-Identifier: GPL-2.0 */
/* Files, commands and sinks for the tests of the exports. */
#ifndef JANK_EXPORT_RUN_H
#define JANK_EXPORT_RUN_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "export/sink.h"
#include "tests/export_fixture.h"
#include "tests/scratch.h"
#include "tests/tap.h"

#define READ_MAX (64u << 20)

/*
 * Runs a shell command; its output replaces *out. Returns the exit status, -1 when a signal killed
 * it.
 */
static inline int __attribute__((format(printf, 2, 3)))
run(struct strbuf *out, const char *fmt, ...)
{
	char chunk[4096], command[4096];
	va_list ap;
	size_t n;
	FILE *pipe;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	strbuf__reset(out);
	fflush(stdout);
	pipe = popen(command, "r");
	if (!pipe)
		return -1;
	while ((n = fread(chunk, 1, sizeof(chunk), pipe)))
		strbuf__add(out, chunk, n);
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void slurp(const char *path, struct strbuf *out)
{
	strbuf__reset(out);
	file__read(path, READ_MAX, out);
}

static inline void spew(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || file__write_all(fd, text, strlen(text)))
		abort();
	close(fd);
}

/* As main does: report errors as EPIPE and EFBIG, not as signals. */
static inline void ignore_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static inline void limit_file_size(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	if (setrlimit(RLIMIT_FSIZE, &limit))
		abort();
}

#define READER "python3 tests/blockcanary_reader.py"

/* Does the reader accept the logs of a directory? Shows its complaints. */
static inline bool logs_pass(const char *dir)
{
	struct strbuf complaints = STRBUF_INIT;
	bool pass = run(&complaints, READER " --lint %s/looper-*.log 2>&1", dir) == 0;

	if (!pass)
		diag("%s", strbuf__str(&complaints));
	strbuf__free(&complaints);
	return pass;
}

/* Sends one fixture block. */
static inline int send_block(struct sink *sink, struct block *block)
{
	int err = sink->ops->block(sink, block);

	block__free(block);
	return err;
}

static inline int send_summary(struct sink *sink, bool losses)
{
	struct summary summary = fixture__summary();
	int err;

	if (losses)
		fixture__add_losses(&summary);
	err = sink->ops->summary(sink, &summary);
	summary__free(&summary);
	return err;
}

#endif
