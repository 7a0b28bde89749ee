/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loops of running processes as text. stdout. */
#include <stdio.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "session/loops_report.h"

static void add_fields(struct strbuf *sb, const struct catalogue_mark *mark)
{
	for (uint32_t i = 0; i < mark->spec.field_cnt; i++)
		if (mark->fields[i].role != ROLE_CHECK)
			strbuf__addf(sb, "%s%s", sb->len ? ", " : "",
				     catalogue_role__key(mark->fields[i].role));
}

static void print_mark(const struct loop_mark *found)
{
	struct strbuf fields = STRBUF_INIT, file = STRBUF_INIT;

	add_fields(&fields, found->mark);
	printf("        %-28s ", found->mark->symbol ? found->mark->symbol : "(by its address)");
	if (loop_mark__is_there(found)) {
		text__add_clean(&file, found->file);
		printf("%s%sin %s\n", strbuf__str(&fields), fields.len ? ", " : "",
		       strbuf__str(&file));
	} else {
		printf("not probed: %s\n", loop_mark__reason(found));
	}
	strbuf__free(&fields);
	strbuf__free(&file);
}

static void print_marks(const struct loop_marks *marks, bool verbose)
{
	if (!marks->cnt)
		printf("      messages: a block is a turn of the loop; only epoll shows "
		       "what was ready\n");
	else if (!marks->there_cnt)
		printf("      messages: none of %u functions can be probed (%s); a block is a "
		       "turn\n",
		       marks->cnt, loop_marks__reason(marks));
	else
		printf("      messages: by %u of %u functions\n", marks->there_cnt, marks->cnt);
	for (unsigned i = 0; verbose && i < marks->cnt; i++)
		print_mark(&marks->marks[i]);
}

static void print_process(const struct loop_line *line)
{
	struct strbuf sb = STRBUF_INIT;

	text__add_clean(&sb, line->process);
	printf("%s (pid %u)", strbuf__str(&sb), line->rec.hdr.tgid);
	strbuf__reset(&sb);
	if (line->exe)
		text__add_clean(&sb, line->exe);
	printf("%s%s\n", line->exe ? " " : "", strbuf__str(&sb));
	strbuf__free(&sb);
}

/*
 * The nearest frame is the caller, if the thread was still in its wait. Frames further out may
 * belong to calls that returned long ago.
 */
static void print_callers(const struct loop_line *line, bool verbose)
{
	struct strbuf raw = STRBUF_INIT, sb = STRBUF_INIT;

	for (size_t i = 0; i < line->frame_cnt && (verbose || !i); i++) {
		const struct loop_frame *frame = &line->frames[i];

		strbuf__adds(&raw, i > 1			  ? ", "
				   : i				  ? "; further out on its stack: "
				   : jank_rec__is_now(&line->rec) ? ", called by "
								  : ", near which its stack has ");
		strbuf__addf(&raw, "%s (%s)",
			     frame->function ? frame->function : "a function without a name",
			     text__base_name(frame->module));
	}
	text__add_clean(&sb, strbuf__str(&raw));
	fputs(strbuf__str(&sb), stdout);
	strbuf__free(&raw);
	strbuf__free(&sb);
}

static void print_evidence(const struct loop_line *line, bool verbose)
{
	const struct jank_rec_wait *rec = &line->rec;
	const char *wait = loop_line__wait(line);

	printf("      waits in %s", wait ? wait : "a function that is probed");
	if (rec->fd_cnt)
		printf(" for %u descriptors", rec->fd_cnt);
	if (rec->loop != JANK_LOOP_EPOLL && rec->turn_cnt)
		printf(", %u times in a row from the same place", rec->turn_cnt);
	print_callers(line, verbose);
	putchar('\n');
	if (!line->row)
		printf("      this loop has no row in the catalogue: add one with --loop-file\n");
}

static void print_row(const struct loop_line *line, bool verbose)
{
	const struct catalogue_row *row = line->row;

	if (!row)
		return;
	if (line->marks)
		print_marks(line->marks, verbose);
	if (*row->note)
		printf("      %s\n", row->note);
	if (row->is_off)
		printf("      traced only with -l %s\n", row->name);
	if (row->is_untested)
		printf("      nobody has seen this row at work yet\n");
}

static void print_line(const struct loop_line *line, bool verbose)
{
	struct strbuf name = STRBUF_INIT;

	text__add_clean(&name, line->rec.comm);
	printf("  %-14s thread %u %s\n", catalogue__name_of_wait(line->row, line->rec.loop),
	       line->rec.hdr.tid, strbuf__str(&name));
	print_evidence(line, verbose);
	if (!line->is_again)
		print_row(line, verbose);
	strbuf__free(&name);
}

void loops_text__print(const struct loops_list *list, bool verbose)
{
	for (size_t i = 0; i < list->cnt; i++) {
		if (list->lines[i].is_first)
			print_process(&list->lines[i]);
		print_line(&list->lines[i], verbose);
	}
	if (!list->cnt)
		printf("no loop was seen\n");
	if (list->failed)
		printf("out of memory: some are missing\n");
}
