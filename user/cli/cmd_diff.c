/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the records of two directories, files or times. */
#include "cli/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/report_input.h"
#include "export/diff/diff.h"
#include "export/sink.h"
#include "options/options_table.h"
#include "session/event_loop.h"

#define EXIT_WORSE 3 /* something is worse */

struct taking {
	struct diff *diff;
	unsigned side;
};

static int take(void *ctx, const Jankbpf__Record *record)
{
	const struct taking *taking = ctx;

	return diff__add(taking->diff, taking->side, record);
}

/* One end of FROM..TO; an empty one is no limit. */
static int read_moment(const char *text, size_t len, uint64_t *ret, struct err *err)
{
	char *copy = strndup(text, len);
	int res = 0;

	if (!copy)
		return err__set(err, ENOMEM, "out of memory");
	if (len)
		res = parse__moment(copy, "a time after @", clock__real_ns(), ret, err);
	free(copy);
	return res;
}

/* "PATH[@FROM..TO]". A file of that very name comes first. *ret: the path, owned by the caller. */
static int read_operand(const char *word, struct diff_input *input, char **ret, struct err *err)
{
	const char *at = strrchr(word, '@'), *dots = at ? strstr(at, "..") : NULL;
	int res = 0;

	if (!dots || !access(word, F_OK)) {
		*ret = strdup(word);
		return *ret ? 0 : err__set(err, ENOMEM, "out of memory");
	}
	res = read_moment(at + 1, (size_t)(dots - at - 1), &input->from_ns, err);
	if (!res)
		res = read_moment(dots + 2, strlen(dots + 2), &input->to_ns, err);
	if (!res && input->to_ns && input->to_ns <= input->from_ns)
		res = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				    "'%.200s': the time after .. is not later than the one before",
				    word);
	if (res)
		return res;
	*ret = strndup(word, (size_t)(at - word));
	return *ret ? 0 : err__set(err, ENOMEM, "out of memory");
}

static int read_side(struct diff *diff, unsigned side, const struct options *opts, struct err *err)
{
	struct taking taking = { diff, side };
	struct report_input in = { .opts = opts, .take = take, .ctx = &taking };
	struct diff_input *input = &diff->inputs[side];
	const char *word = opts->files[side];
	char *path = NULL;
	int res = read_operand(word, input, &path, err);

	if (!res)
		res = report_input__read(&in, path, err);
	free(path);
	if (res)
		return err->msg[0] ? res
				   : err__set(err, -res, "'%.200s': cannot read: %s", word,
					      strerror(-res));
	if (!in.record_cnt)
		return err__set(err, ENODATA,
				"'%.200s': no record of jankbpf in it: give what --json, -o or "
				"--journal wrote",
				word);
	if (!input->dispatch_cnt && (input->from_ns || input->to_ns))
		return err__set(err, ENODATA,
				"'%.200s': no interval began in this time: only records of "
				"--interval can be chosen by time",
				word);
	if (!input->dispatch_cnt)
		return err__set(err, ENODATA,
				"'%.200s': it has no dispatches, so that nothing can be compared: "
				"neither a summary nor an interval; a run that was killed needs "
				"--interval",
				word);
	return 0;
}

static int print(const struct diff *diff, const struct options *opts,
		 const struct diff_findings *findings, struct err *err)
{
	const char *const names[] = { opts->files[DIFF_A], opts->files[DIFF_B] };
	struct strbuf sb = STRBUF_INIT;
	int res;

	if (opts->format == FORMAT_JSON)
		diff__add_json(&sb, diff, findings, names);
	else
		diff__add_text(&sb, diff, findings, names, opts->verbosity > 0);
	res = sb.failed ? -ENOMEM : output__write(STDOUT_FILENO, sb.data, sb.len);
	strbuf__free(&sb);
	if (!res || res == -EPIPE)
		return 0;
	return err__set(err, -res, "cannot write to stdout: %s", strerror(-res));
}

static bool any_worse(const struct diff_findings *findings)
{
	return findings->cnt && diff_finding__is_worse(&findings->list[0]);
}

int cmd_diff__run(const struct options *opts, struct err *err)
{
	struct diff_findings findings = {};
	struct diff diff = {};
	int res = 0;

	signals__write_errors();
	for (unsigned side = 0; side < DIFF_SIDES && !res; side++)
		res = read_side(&diff, side, opts, err);
	if (!res && diff__compare(&diff, &findings))
		res = err__set(err, ENOMEM, "out of memory");
	if (!res)
		res = print(&diff, opts, &findings, err);
	if (!res)
		res = any_worse(&findings) ? EXIT_WORSE : JANK_EXIT_OK;
	else
		res = err->exit ? err->exit : JANK_EXIT_FAILED;
	free(findings.list);
	diff__free(&diff);
	return res;
}
