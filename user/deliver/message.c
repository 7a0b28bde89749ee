/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/socket.h"
#include "deliver/metrics_access.h"

#define ERRNO_MAX 4095

/* --- bytes */

int message__send(int sock, uint64_t nr, const void *data, size_t size)
{
	const struct message_head head = { nr, size };

	return size > MESSAGE_MAX ? -EMSGSIZE : socket__send(sock, &head, sizeof(head), data, size);
}

int message__send_answer(int sock, const void *answer, size_t size)
{
	return socket__send(sock, answer, size, NULL, 0);
}

int message__receive_record(int sock, uint64_t *ret_nr, struct strbuf *sb)
{
	struct message_head head;
	int res = socket__receive(sock, &head, sizeof(head));

	if (res)
		return res;
	if (head.size > MESSAGE_MAX)
		return -EBADMSG;
	*ret_nr = head.nr;
	return socket__receive_bytes(sock, head.size, sb);
}

/* --- answers, which the tracer does not trust */

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

int greeting__receive(int sock, struct greeting *ret)
{
	int res = socket__receive(sock, ret, sizeof(*ret));

	if (res)
		return res;
	if (ret->size != sizeof(*ret) || ret->sink_cnt > SINK_MAX ||
	    !ends(ret->err.msg, sizeof(ret->err.msg)))
		return -EBADMSG;
	for (unsigned i = 0; i < ret->sink_cnt; i++)
		if (!ends(ret->names[i], SINK_NAME_MAX))
			return -EBADMSG;
	if (ret->err.msg[0] && ret->err.exit != JANK_EXIT_USAGE)
		ret->err.exit = JANK_EXIT_FAILED;
	return 0;
}

int answer__receive(int sock, uint64_t nr, unsigned sink_cnt, struct answer *ret)
{
	int res = socket__receive(sock, ret, sizeof(*ret));

	if (res)
		return res;
	if (ret->nr != nr)
		return -EBADMSG;
	for (unsigned i = 0; i < SINK_MAX; i++)
		if (ret->results[i] > 0 || ret->results[i] < (i < sink_cnt ? -ERRNO_MAX : 0))
			return -EBADMSG;
	return 0;
}

/* A pipe gives a message of this size whole. */
int command__receive(int pipe_fd, struct top_command *ret)
{
	ssize_t n = read(pipe_fd, ret, sizeof(*ret));

	if (n < 0)
		return -errno;
	if (n != sizeof(*ret) || (ret->kind != TOP_END && ret->kind != TOP_THRESHOLD) ||
	    (ret->kind == TOP_THRESHOLD && ret->threshold_ns < TOP_THRESHOLD_MIN_NS))
		return -EBADMSG;
	return 0;
}

/* --- the journal */

int journal_fd__send(int sock, int fd)
{
	char byte = 0;
	const struct iovec part = { &byte, 1 };

	return socket__send_fd(sock, &part, 1, fd);
}

int journal_fd__receive(int sock, int *ret_fd)
{
	char byte;
	const struct iovec part = { &byte, 1 };
	ssize_t n = socket__receive_fd(sock, &part, 1, ret_fd);

	return n < 0 ? (int)n : socket__check_file(*ret_fd);
}

/* --- the setup */

struct setup {
	uint64_t keep_ns, max_size, interval_ns, count, hang_ns;
	int32_t command, format, verbosity, batch;
	uint32_t color, each, stacks, top;
	uint32_t has_dir, has_qualifier, has_journal; /* strings that follow, with their NUL */
	uint32_t has_listen, has_textfile, max_signatures;
	uint32_t has_spool, has_user, has_tls, has_password;
	uint32_t journal_is_open; /* its string is for nobody */
	uint64_t spool_max;
	uint32_t sends[SEND_CNT]; /* true: to this backend */
};

static void add_string(struct strbuf *sb, const char *str)
{
	if (str)
		strbuf__add(sb, str, strlen(str) + 1);
}

void setup__pack(const struct options *opts, const struct metrics_access *access, struct strbuf *sb)
{
	struct setup setup = {
		.keep_ns = opts->keep_ns,
		.max_size = opts->max_size,
		.interval_ns = opts->interval_ns,
		.count = opts->count,
		.hang_ns = opts->hang_ns,
		.command = opts->command,
		.batch = opts->batch,
		.format = opts->format,
		.verbosity = opts->verbosity,
		.color = opts->color,
		.each = opts->each,
		.stacks = opts->stacks,
		.top = opts->top,
		.has_dir = opts->output_dir != NULL,
		.has_qualifier = opts->qualifier != NULL,
		.has_journal = opts->journal != NULL,
		.has_listen = opts->metrics_listen != NULL,
		.has_textfile = opts->metrics_textfile != NULL,
		.max_signatures = opts->max_signatures,
		.has_spool = opts->spool != NULL,
		.has_user = opts->records_user != NULL,
		.has_tls = access->cert != NULL,
		.has_password = access->password != NULL,
		.spool_max = opts->spool_max,
	};

	for (int i = 0; i < SEND_CNT; i++)
		setup.sends[i] = opts->sends[i].url_cnt > 0;
	strbuf__add(sb, &setup, sizeof(setup));
	add_string(sb, opts->output_dir);
	add_string(sb, opts->qualifier);
	add_string(sb, opts->journal);
	add_string(sb, opts->metrics_listen);
	add_string(sb, opts->metrics_textfile);
	add_string(sb, opts->spool);
	add_string(sb, opts->records_user);
	add_string(sb, access->cert);
	add_string(sb, access->key);
	add_string(sb, access->user);
	add_string(sb, access->password);
}

void setup__forget_journal(struct strbuf *sb)
{
	if (sb->len >= sizeof(struct setup))
		((struct setup *)(void *)sb->data)->journal_is_open = true;
}

/* Takes a string with its NUL, if there is one. */
static const char *take_string(const char **at, const char *end)
{
	const char *str = *at, *nul = memchr(str, '\0', (size_t)(end - str));

	if (nul)
		*at = nul + 1;
	return nul ? str : NULL;
}

static int take_access(const struct setup *setup, const char *at, const char *end,
		       struct metrics_access *ret)
{
	*ret = (struct metrics_access){};
	if (setup->has_tls &&
	    (!(ret->cert = take_string(&at, end)) || !(ret->key = take_string(&at, end))))
		return -EBADMSG;
	if (setup->has_password &&
	    (!(ret->user = take_string(&at, end)) || !(ret->password = take_string(&at, end))))
		return -EBADMSG;
	return 0;
}

int setup__unpack(const struct strbuf *sb, struct options *ret, struct metrics_access *access)
{
	const char *at = sb->data + sizeof(struct setup), *end = sb->data + sb->len;
	struct setup setup;

	if (sb->len < sizeof(setup))
		return -EBADMSG;
	memcpy(&setup, sb->data, sizeof(setup));
	*ret = (struct options){
		.command = (enum command)setup.command,
		.batch = setup.batch,
		.interval_ns = setup.interval_ns,
		.count = setup.count,
		.hang_ns = setup.hang_ns,
		.keep_ns = setup.keep_ns,
		.max_size = setup.max_size,
		.format = (enum format)setup.format,
		.verbosity = setup.verbosity,
		.color = (enum color)setup.color,
		.each = setup.each,
		.stacks = setup.stacks,
		.top = setup.top,
		.max_signatures = setup.max_signatures,
		.spool_max = setup.spool_max,
	};
	for (int i = 0; i < SEND_CNT; i++)
		ret->sends[i].url_cnt = setup.sends[i];
	if (setup.has_dir && !(ret->output_dir = take_string(&at, end)))
		return -EBADMSG;
	if (setup.has_qualifier && !(ret->qualifier = take_string(&at, end)))
		return -EBADMSG;
	if (setup.has_journal && !(ret->journal = take_string(&at, end)))
		return -EBADMSG;
	if (setup.journal_is_open)
		ret->journal = NULL;
	if (setup.has_listen && !(ret->metrics_listen = take_string(&at, end)))
		return -EBADMSG;
	if (setup.has_textfile && !(ret->metrics_textfile = take_string(&at, end)))
		return -EBADMSG;
	if (setup.has_spool && !(ret->spool = take_string(&at, end)))
		return -EBADMSG;
	if (setup.has_user && !(ret->records_user = take_string(&at, end)))
		return -EBADMSG;
	ret->metrics_access = access;
	return take_access(&setup, at, end, access);
}
