/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/diff_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/sink.h"
#include "options/options_table.h"

#define EXIT_WORSE 3 /* something is worse */

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

int time_range__read(const char *word, size_t *len, uint64_t *from_ns, uint64_t *to_ns,
		     struct err *err)
{
	const char *at = strrchr(word, '@'), *dots = at ? strstr(at, "..") : NULL;
	int res;

	*len = strlen(word);
	if (!dots)
		return 0;
	res = read_moment(at + 1, (size_t)(dots - at - 1), from_ns, err);
	if (!res)
		res = read_moment(dots + 2, strlen(dots + 2), to_ns, err);
	if (!res && *to_ns && *to_ns <= *from_ns)
		res = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				    "'%.200s': the time after .. is not later than the one before",
				    word);
	*len = (size_t)(at - word);
	return res;
}

int diff__print(const struct diff *diff, const struct diff_findings *findings,
		const char *const *names, const struct options *opts, struct err *err)
{
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

int diff__exit_status(int res, const struct diff_findings *findings, const struct err *err)
{
	if (res)
		return err->exit ? err->exit : JANK_EXIT_FAILED;
	return findings->cnt && diff_finding__is_worse(&findings->list[0]) ? EXIT_WORSE
									   : JANK_EXIT_OK;
}
