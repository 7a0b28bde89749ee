/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer's side of the process that sends records. */
#include "deliver/sender_process.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own_process.h"
#include "base/strbuf.h"
#include "options/options_table.h"

#define END_MS 1000

struct sender_process {
	int sock;
	_Atomic pid_t parent; /* the first one */
	struct sender_shared *shared;
	size_t shared_sz;
};

static bool is_asked_for(const struct options *opts)
{
	for (int i = 0; i < SEND_CNT; i++)
		if (opts->sends[i].url_cnt)
			return true;
	return false;
}

/* --- the options, as words of a command line */

static void add_word(struct strbuf *sb, const char *prefix, const char *word, size_t len)
{
	strbuf__adds(sb, prefix);
	strbuf__add(sb, word, len);
	strbuf__addc(sb, '\0');
}

/* Each argument of the option that was given. Returns the number of words. */
static uint32_t add_option(struct strbuf *sb, const struct option_row *row, const char *values)
{
	uint32_t cnt = 0;

	while (*values) {
		size_t len = strcspn(values, "\n");

		add_word(sb, "--", row->name, strlen(row->name));
		cnt++;
		if (row->arg) {
			add_word(sb, "", values, len);
			cnt++;
		}
		values += len + (values[len] == '\n');
	}
	return cnt;
}

static uint32_t add_options(struct strbuf *sb, const struct options *opts)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < option_row_cnt; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->name && row->commands & (1u << CMD_SEND) && opts->values[i])
			cnt += add_option(sb, row, opts->values[i]);
	}
	return cnt;
}

/* Puts them into memory of both processes. Returns its descriptor, or -errno. */
static int share(struct sender_process *s, const struct options *opts)
{
	struct strbuf words = STRBUF_INIT;
	int fd;

	if (opts->records_user)
		add_word(&words, "", opts->records_user, strlen(opts->records_user));

	const struct sender_shared shared = { .command = opts->command,
					      .has_user = opts->records_user != NULL,
					      .word_cnt = add_options(&words, opts) };

	s->shared_sz = sizeof(shared) + words.len;
	fd = words.failed ? -ENOMEM : own_process__shared("jankbpf-send", s->shared_sz);
	if (fd >= 0) {
		s->shared = mmap(NULL, s->shared_sz, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (s->shared == MAP_FAILED) {
			s->shared = NULL;
			close(fd);
			fd = -ENOMEM;
		} else {
			memcpy(s->shared, &shared, sizeof(shared));
			memcpy(s->shared + 1, words.data, words.len);
		}
	}
	strbuf__free(&words);
	return fd;
}

/* --- start and end */

static int spawn(struct sender_process *s, const struct options *opts)
{
	int ends[2], fd, res;
	pid_t pid = 0;

	fd = share(s, opts);
	if (fd < 0)
		return fd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		res = -errno;
		close(fd);
		return res;
	}
	const struct own_process_fd fds[] = { { ends[1], SENDER_SOCKET_FD },
					      { fd, SENDER_SHARED_FD } };

	res = own_process__start("jankbpf-send", SENDER_WORD, fds, 2, &pid);
	close(ends[1]);
	close(fd);
	s->sock = ends[0];
	s->parent = pid;
	return res;
}

int sender_process__start(const struct options *opts, struct sender_process **ret, struct err *err)
{
	struct sender_process *s;
	int res;

	*ret = NULL;
	if (!is_asked_for(opts))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err__set(err, ENOMEM, "out of memory");
	s->sock = -1;
	res = spawn(s, opts);
	if (!res) {
		*ret = s;
		return 0;
	}
	sender_process__free(s);
	return err__set(err, -res, "cannot start the process that sends records: %s",
			strerror(-res));
}

/* A process that took the place of the parent is no child of ours: its end of the socket tells. */
static void wait_for_end(const struct sender_process *s)
{
	struct pollfd end = { .fd = s->sock, .events = POLLIN };

	if (s->sock >= 0 && !shutdown(s->sock, SHUT_WR))
		poll(&end, 1, END_MS);
}

void sender_process__free(struct sender_process *s)
{
	int status;

	if (!s)
		return;
	wait_for_end(s);
	own_process__end(&s->parent, &s->sock, false, &status);
	if (s->shared)
		munmap(s->shared, s->shared_sz);
	free(s);
}

int sender_process__fd(const struct sender_process *s)
{
	return s ? s->sock : -1;
}

pid_t sender_process__parent(const struct sender_process *s)
{
	return s && s->shared && s->shared->parent > 0 ? s->shared->parent : 0;
}

pid_t sender_process__pid(const struct sender_process *s)
{
	return s && s->shared && s->shared->pid > 0 ? s->shared->pid : 0;
}
