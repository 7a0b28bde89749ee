/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the records of two directories, files or times. */
#include "cli/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/diff_output.h"
#include "cli/report_input.h"
#include "export/diff/diff.h"
#include "session/event_loop.h"

struct taking {
	struct diff *diff;
	unsigned side;
};

static int take(void *ctx, const Jankbpf__Record *record)
{
	const struct taking *taking = ctx;

	return diff__add(taking->diff, taking->side, record);
}

/* "PATH[@FROM..TO]". A file of that very name comes first. *ret: the path, owned by the caller. */
static int read_operand(const char *word, struct diff_input *input, char **ret, struct err *err)
{
	size_t len = strlen(word);
	int res = 0;

	if (access(word, F_OK))
		res = time_range__read(word, &len, &input->from_ns, &input->to_ns, err);
	if (res)
		return res;
	*ret = strndup(word, len);
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

int cmd_diff__run(const struct options *opts, struct err *err)
{
	struct diff_findings findings = {};
	struct diff diff;
	int res = 0;

	diff__init(&diff);
	signals__write_errors();
	for (unsigned side = 0; side < DIFF_SIDES && !res; side++)
		res = read_side(&diff, side, opts, err);
	if (!res && diff__compare(&diff, &findings))
		res = err__set(err, ENOMEM, "out of memory");
	if (!res)
		res = diff__print(&diff, &findings, &opts->files[DIFF_A], opts, err);
	res = diff__exit_status(res, &findings, err);
	free(findings.list);
	diff__free(&diff);
	return res;
}
