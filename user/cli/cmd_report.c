/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the blocks of records and journals in the format of another tool. */
#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/report_input.h"
#include "export/report/report.h"
#include "export/values.h"
#include "files/own_path.h"
#include "session/event_loop.h"
#include "symbol/languages/r8_mapping.h"

static const struct report_ops *const formats[] = {
	[REPORT_FOLDED] = &report_folded,
	[REPORT_PPROF] = &report_pprof,
	[REPORT_PERFETTO] = &report_perfetto,
	[REPORT_SPEEDSCOPE] = &report_speedscope,
	[REPORT_MD] = &report_md,
	[REPORT_HTML] = &report_html,
	[REPORT_BLOCKCANARY] = &report_blockcanary,
};

struct reporting {
	const struct options *opts;
	struct report_file file;
	int dirfd; /* of a format that is a directory; -1: none */
	struct report *report;
	struct hangs *hangs;
	struct r8_mapping *mapping; /* NULL: none */
	uint64_t block_cnt;	    /* that were read, hangs too */
	uint64_t signature_cnt;	    /* of these, those with the signature of --sig */
	uint64_t taken_cnt;
	bool failed; /* the report could not take a record */
};

/* By the wall time of its begin. A block without one is of no known time: --since leaves it out. */
static bool is_recent(const struct options *opts, const Jankbpf__Block *block)
{
	uint64_t real_ns;

	return !opts->since_ns || (block->start && clock__read_rfc3339(block->start, &real_ns) &&
				   real_ns >= opts->since_ns);
}

static bool is_wanted(struct reporting *r, const Jankbpf__Block *block)
{
	r->block_cnt++;
	if (!text__begins(block->cause ? block->cause->signature : NULL, r->opts->sig))
		return false;
	r->signature_cnt++;
	if (!is_recent(r->opts, block))
		return false;
	r->taken_cnt++;
	return true;
}

static int take(void *ctx, const Jankbpf__Record *record)
{
	struct reporting *r = ctx;
	const Jankbpf__Block *block = report__block(record);
	int res;

	if (block && !is_wanted(r, block))
		return 0;
	res = hangs__record(r->hangs, r->report, record);
	r->failed |= !!res;
	return res;
}

/* Fails before anything is written. */
static int check_inputs(const struct options *opts, struct err *err)
{
	struct stat st;

	for (size_t i = 0; i < opts->file_cnt; i++)
		if (strcmp(opts->files[i], "-") && stat(opts->files[i], &st))
			return err__set(err, errno, "'%s': %s", opts->files[i], strerror(errno));
	return 0;
}

static int open_output(struct reporting *r, const struct report_ops *ops, struct err *err)
{
	const char *path = r->opts->output_dir;

	if (!ops->is_directory)
		return report_file__open(&r->file, path, err);
	if (!path)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "--format %s writes several files: give their directory by -o "
				     "DIR",
				     ops->name);
	r->dirfd = own_path__dir(path, 0700, err);
	return r->dirfd < 0 ? r->dirfd : 0;
}

static int open_report(struct reporting *r, struct err *err)
{
	const struct report_ops *ops = formats[r->opts->report_format];
	int res = check_inputs(r->opts, err);

	if (!res && r->opts->mapping)
		res = r8_mapping__open(r->opts->mapping, &r->mapping, err);
	if (!res && ops->is_binary && !r->opts->output_dir && isatty(STDOUT_FILENO))
		res = err__set_exit(
			err, JANK_EXIT_USAGE, EINVAL,
			"stdout is a terminal and --format %s is not for one: send it to "
			"a file or a program, or give -o FILE",
			ops->name);
	if (!res)
		res = open_output(r, ops, err);
	if (res)
		return res;
	r->report = report__new(ops, &r->file.out);
	r->hangs = hangs__new();
	if (!r->report || !r->hangs)
		return err__set(err, ENOMEM, "out of memory");
	r->report->list = (struct report_list){ r->opts->sort, r->opts->top, r->opts->stacks };
	r->report->dirfd = r->dirfd;
	r->report->qualifier = r->opts->qualifier;
	return 0;
}

/* A report without any record, or without the asked signature, is none. */
static int check_found(const struct reporting *r, const struct report_input *in, struct err *err)
{
	const struct options *opts = r->opts;

	if (!in->record_cnt)
		return err__set(err, ENODATA,
				"'%s'%s: no record of jankbpf in it: give what --json, "
				"--format proto, -o or --journal wrote",
				opts->files[0], opts->file_cnt > 1 ? " and the others" : "");
	if (opts->sig && !r->signature_cnt)
		return err__set(err, ENOENT,
				"--sig %s: none of %" PRIu64
				" blocks has such a signature; a record has its own in "
				"cause.signature",
				opts->sig, r->block_cnt);
	if (!r->taken_cnt)
		log__warn("%s: the report is empty", r->block_cnt
							     ? "no block began at --since or later"
							     : "no block was read");
	return 0;
}

static int write_report(struct reporting *r, struct err *err)
{
	struct report_input in = { .opts = r->opts, .mapping = r->mapping, .take = take, .ctx = r };
	int res = 0;

	for (size_t i = 0; !res && i < r->opts->file_cnt; i++)
		res = report_input__read(&in, r->opts->files[i], err);
	if (!res)
		res = check_found(r, &in, err);
	if (res && !r->failed)
		return err->msg[0] ? res : err__set(err, -res, "cannot read: %s", strerror(-res));
	if (!res)
		res = hangs__finish(r->hangs, r->report);
	if (!res)
		res = r->report->ops->finish(r->report);
	if (!res)
		return r->dirfd < 0 ? report_file__commit(&r->file, err) : 0;
	if (res == -EPIPE)
		return res;
	return err__set(err, -res, "'%s': cannot write the report: %s",
			r->opts->output_dir ?: "stdout", strerror(-res));
}

int cmd_report__run(const struct options *opts, struct err *err)
{
	struct reporting r = { .opts = opts, .file.dirfd = -1, .file.out.fd = -1, .dirfd = -1 };
	int res;

	signals__write_errors();
	res = open_report(&r, err);
	if (!res)
		res = write_report(&r, err);
	if (!res && r.report->cut_cnt)
		log__warn("the report has %" PRIu64
			  " names or stacks less than the records: there are too many different "
			  "ones; give --since or --sig",
			  r.report->cut_cnt);
	report__free(r.report);
	hangs__free(r.hangs);
	r8_mapping__free(r.mapping);
	report_file__close(&r.file);
	if (r.dirfd >= 0)
		close(r.dirfd);
	if (!res || res == -EPIPE)
		return JANK_EXIT_OK;
	return err->exit ? err->exit : JANK_EXIT_FAILED;
}
