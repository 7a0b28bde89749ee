/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records line by line: a frame is any object that has module, build id and offset, wherever it stands. A line in which
 * there is nothing to name goes out as it came.
 */
#include "app/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/named_json.h"
#include "app/signals.h"
#include "base/log.h"

#define LINE_MAX_SZ (256 << 20)

struct symbolizing {
	struct named_json named;
	const char *path;
	uint64_t line_nr, odd_cnt; /* odd: lines that are no JSON */
};

static int write_line(const char *line, size_t len)
{
	bool ended = len && line[len - 1] == '\n';

	if (fwrite(line, 1, len, stdout) != len || (!ended && putchar('\n') == EOF))
		return -errno;
	return 0;
}

static int put_line(struct symbolizing *c, const char *line, size_t len)
{
	json_t *json = len < LINE_MAX_SZ ? json_loadb(line, len, 0, NULL) : NULL;
	char *text = NULL;
	int res = 0;

	c->odd_cnt += !json;
	if (json && named_json__fill(&c->named, json))
		text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (text)
		res = write_line(text, strlen(text));
	else
		res = write_line(line, len);
	free(text);
	json_decref(json);
	return res;
}

static int put_file(struct symbolizing *c, FILE *file, struct err *err)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int res = 0;

	while (!res && (len = getline(&line, &cap, file)) > 0)
		res = put_line(c, line, len);
	free(line);
	if (ferror(file))
		return err__set(err, errno, "cannot read '%s': %s", c->path, strerror(errno));
	if (res && res != -EPIPE)
		err__set(err, -res, "cannot write to stdout: %s", strerror(-res));
	return res;
}

static int put_path(struct symbolizing *c, const char *path, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int res;

	c->path = path;
	if (!file)
		return err__set(err, errno, "cannot open '%s': %s", path, strerror(errno));
	res = put_file(c, file, err);
	if (!is_stdin)
		fclose(file);
	return res;
}

static void tell(const struct symbolizing *c)
{
	const struct named_json *named = &c->named;

	log__info("%llu of %llu frames without a name have one now",
		  (unsigned long long)named->named_cnt, (unsigned long long)named->nameless_cnt);
	if (c->odd_cnt)
		log__warn("%llu lines are no JSON and were left as they are: symbolize reads what "
			  "--json "
			  "and -o write",
			  (unsigned long long)c->odd_cnt);
	for (const struct missing *m = named->missing; m; m = m->hh.next) {
		if (m->found)
			log__warn("%s: %llu frames stay without a name: the file of build id %s "
				  "that was "
				  "found has none for them; its debug file would",
				  m->module, (unsigned long long)m->cnt, m->build_id);
		else
			log__warn("%s: %llu frames stay without a name: there is no file of build "
				  "id %s; "
				  "give the directory of the program or its debug file by "
				  "--debug-dir",
				  m->module, (unsigned long long)m->cnt, m->build_id);
	}
	if (offline__refused(named->offline))
		log__warn("%s", offline__refused(named->offline));
	if (named->lost_cnt)
		log__warn("%llu frames have no build id, so that no file can be known as theirs",
			  (unsigned long long)named->lost_cnt);
}

int symbolize__run(const struct options *opts, struct err *err)
{
	struct symbolizing c = {};
	int res = offline__new(opts->debug_dirs, opts->debug_dir_cnt, &c.named.offline, err);

	signals__write_errors();
	for (size_t i = 0; !res && i < opts->file_cnt; i++)
		res = put_path(&c, opts->files[i], err);
	if (!res)
		tell(&c);
	named_json__free(&c.named);
	return !res || res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
