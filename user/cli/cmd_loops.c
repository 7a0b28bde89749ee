/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the catalogue's rows. With a target, a session does the work. */
#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "catalogue/catalogue.h"
#include "cli/kinds_json.h"
#include "export/json/json.h"
#include "session/session.h"

#define NEVER_NS   (365 * 24 * 3600 * NS_PER_SEC) /* no dispatch exceeds this threshold */
#define DEFAULT_NS NS_PER_SEC

static void add_waits(struct strbuf *sb, const struct catalogue_row *row)
{
	for (uint32_t loop = 0; loop < 32; loop++)
		if (row->waits & 1u << loop)
			strbuf__addf(sb, "%s%s", sb->len ? "," : "",
				     catalogue__name_of_wait(NULL, loop));
}

static void print_row(const struct catalogue_row *row)
{
	struct strbuf waits = STRBUF_INIT;

	add_waits(&waits, row);
	printf("%-16s %-16s %s%s%s\n", row->name, strbuf__str(&waits), row->about,
	       row->is_untested ? " (untested)" : "", row->is_off ? " (only with -l)" : "");
	strbuf__free(&waits);
}

static void print_known_by(const struct catalogue_row *row)
{
	printf("    known by ");
	for (size_t i = 0; i < row->library_cnt; i++) {
		const struct catalogue_library *library = &row->libraries[i];

		printf("%s%s%s", i ? ", " : "",
		       library->is_section ? "the section "
		       : library->is_exe   ? "the program "
					   : "",
		       library->glob);
	}
	for (size_t i = 0; i < row->callers.cnt; i++)
		printf("%s%s", i ? ", " : "; called by ", row->callers.globs[i]);
	for (size_t i = 0; i < row->parks.cnt; i++)
		printf("%s%s", i ? ", " : "; parked by ", row->parks.globs[i]);
	if (row->over)
		printf("; over %s", row->over);
	putchar('\n');
}

static void print_mark(const struct catalogue_mark *mark)
{
	bool first = true;

	if (mark->is_layout)
		return;
	if (mark->symbol)
		printf("    message  %s", mark->symbol);
	else
		printf("    message  0x%" PRIx64, mark->address);
	for (uint32_t i = 0; i < mark->spec.field_cnt; i++) {
		if (mark->fields[i].role == ROLE_CHECK)
			continue;
		printf("%s%s", first ? ": " : ", ", catalogue_role__key(mark->fields[i].role));
		first = false;
	}
	putchar('\n');
}

static void print_more(const struct catalogue *cat, const struct catalogue_row *row)
{
	print_known_by(row);
	for (unsigned i = 0; i < row->mark_cnt; i++)
		print_mark(catalogue__mark(cat, row->mark_first + i));
	if (*row->note)
		printf("    note     %s\n", row->note);
	if (!row->is_builtin)
		printf("    from     %s:%u\n", row->file, row->line);
}

/* Calls fn for each row that -l names, or for all. */
static void each_row(const struct catalogue *cat, const struct loop_choice *choice,
		     void (*fn)(void *ctx, const struct catalogue *cat,
				const struct catalogue_row *row),
		     void *ctx)
{
	for (size_t i = 0; i < catalogue__row_cnt(cat); i++) {
		const struct catalogue_row *row = catalogue__row(cat, i);

		if (choice->any || loop_choice__takes(choice, row, 0))
			fn(ctx, cat, row);
	}
}

static void print_one(void *opts, const struct catalogue *cat, const struct catalogue_row *row)
{
	print_row(row);
	if (((const struct options *)opts)->verbosity > 0)
		print_more(cat, row);
}

static void add_one(void *w, const struct catalogue *cat, const struct catalogue_row *row)
{
	kinds_json__add(w, cat, row);
}

static int print_json(const struct catalogue *cat, const struct loop_choice *choice,
		      struct err *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct jsonw w;
	int res = 0;

	jsonw__init(&w, &sb);
	jsonw__object(&w);
	jsonw__kstr(&w, "schema", "jankbpf-loops/1");
	jsonw__karray(&w, "kinds");
	each_row(cat, choice, add_one, &w);
	jsonw__array_end(&w);
	jsonw__object_end(&w);
	if (sb.failed)
		res = err__set(err, ENOMEM, "out of memory");
	else
		puts(strbuf__str(&sb));
	strbuf__free(&sb);
	return res;
}

static int list(const struct options *opts, struct err *err)
{
	struct loop_choice choice;
	struct catalogue *cat;
	int res = catalogue__open(opts->loop_files, opts->loop_file_cnt, &cat, err);

	if (res)
		return err->exit;
	res = loop_choice__init(&choice, cat, opts->loops, opts->loop_cnt, err);
	if (!res && opts->format == FORMAT_JSON) {
		res = print_json(cat, &choice, err);
	} else if (!res) {
		printf("%-16s %-16s %s\n", "LOOP", "WAITS IN", "WHAT IT IS");
		each_row(cat, &choice, print_one, (void *)opts);
	}
	catalogue__close(cat);
	return res ? err->exit : JANK_EXIT_OK;
}

int cmd_loops__run(const struct options *opts, struct err *err)
{
	struct options watch = *opts;

	if (!opts->pid_cnt && !opts->filter.all)
		return list(opts, err);
	watch.threshold_ns = NEVER_NS;
	watch.hang_ns = 0;
	watch.frequency_hz = 0;
	if (!watch.duration_ns)
		watch.duration_ns = DEFAULT_NS;
	return session__run(&watch, err);
}
