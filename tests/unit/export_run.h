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

#include "base/strbuf.h"
#include "export/sink.h"
#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"
#include "tests/unit/scratch.h"

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

#define READER "python3 tests/lib/blockcanary_reader.py"

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
	int err = sink->ops->record(sink, fixture__record(block));

	block__free(block);
	return err;
}

/* A block with empty parts only, as in a file of a later version. */
static inline int send_absent(struct sink *sink, Jankbpf__Record__TypeCase type)
{
	Jankbpf__Frame frame = JANKBPF__FRAME__INIT, *frames[] = { &frame, &frame };
	Jankbpf__WaitedFor waited = JANKBPF__WAITED_FOR__INIT;
	Jankbpf__Waker waker = JANKBPF__WAKER__INIT;
	Jankbpf__Sample sample = JANKBPF__SAMPLE__INIT, *samples[] = { &sample, &sample };
	Jankbpf__Preemptor preemptor = JANKBPF__PREEMPTOR__INIT, *preemptors[] = { &preemptor };
	Jankbpf__Link link = JANKBPF__LINK__INIT, *links[] = { &link };
	Jankbpf__ReadyFd ready = JANKBPF__READY_FD__INIT, *readies[] = { &ready };
	Jankbpf__Symbol symbol = JANKBPF__SYMBOL__INIT;
	Jankbpf__Message message = JANKBPF__MESSAGE__INIT;
	Jankbpf__Cause cause = JANKBPF__CAUSE__INIT;
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;
	Jankbpf__Record record = JANKBPF__RECORD__INIT;

	message.handler = message.callback = message.source = &symbol;
	message.n_also_ready = 1;
	message.also_ready = readies;
	message.ready = 3;
	waker.n_stack = sample.n_stack = link.n_stack = link.n_wake_stack = 2;
	waker.stack = sample.stack = link.stack = link.wake_stack = frames;
	waker.tid = 1;
	sample.waited_for = link.waited_for = &waited;
	sample.waker = &waker;
	link.n_preemptors = block.n_preemptors = block.n_chain = 1;
	link.preemptors = block.preemptors = preemptors;
	block.chain = links;
	block.has_chain_sample = true;
	block.n_samples = 2;
	block.samples = samples;
	block.message = &message;
	cause.kind = "later";
	cause.frame = &frame;
	block.cause = &cause;
	record.type_case = type;
	record.block = &block; /* or hang: the same place */
	return sink->ops->record(sink, &record);
}

static inline int send_summary(struct sink *sink, bool losses)
{
	struct summary summary = fixture__summary();
	int err;

	if (losses)
		fixture__add_losses(&summary);
	err = sink->ops->record(sink, fixture__summary_record(&summary));
	summary__free(&summary);
	return err;
}

#endif
