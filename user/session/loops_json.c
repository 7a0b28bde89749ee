/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loops of running processes as JSON: "jankbpf-loops/1" of docs/contract.md. stdout. */
#include <errno.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "export/json/json.h"
#include "session/loops_report.h"

static void add_mark(struct jsonw *w, const struct loop_mark *found)
{
	const struct catalogue_mark *mark = found->mark;

	jsonw__object(w);
	jsonw__kstr_known(w, "function", mark->symbol);
	jsonw__kbool(w, "probed", loop_mark__is_there(found));
	if (loop_mark__is_there(found))
		jsonw__kstr(w, "file", found->file);
	else
		jsonw__kstr(w, "reason", loop_mark__reason(found));
	jsonw__karray(w, "fields");
	for (uint32_t i = 0; i < mark->spec.field_cnt; i++)
		if (mark->fields[i].role != ROLE_CHECK)
			jsonw__str(w, catalogue_role__key(mark->fields[i].role));
	jsonw__array_end(w);
	jsonw__object_end(w);
}

static void add_marks(struct jsonw *w, const struct loop_marks *marks)
{
	jsonw__key(w, "messages");
	jsonw__object(w);
	jsonw__ku64(w, "functions", marks->cnt);
	jsonw__ku64(w, "probed", marks->there_cnt);
	if (marks->cnt && !marks->there_cnt)
		jsonw__kstr(w, "reason", loop_marks__reason(marks));
	jsonw__karray(w, "marks");
	for (unsigned i = 0; i < marks->cnt; i++)
		add_mark(w, &marks->marks[i]);
	jsonw__array_end(w);
	jsonw__object_end(w);
}

static void add_frames(struct jsonw *w, const struct loop_line *line)
{
	jsonw__karray(w, "frames");
	for (size_t i = 0; i < line->frame_cnt; i++) {
		jsonw__object(w);
		jsonw__kstr_known(w, "function", line->frames[i].function);
		jsonw__kstr_known(w, "module", line->frames[i].module);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

/* marks: of the line, or of the one before with the same row */
static void add_line(struct jsonw *w, const struct loop_line *line, const struct loop_marks *marks)
{
	const struct jank_rec_wait *rec = &line->rec;
	const struct catalogue_row *row = line->row;

	jsonw__object(w);
	jsonw__kstr(w, "loop", catalogue__name_of_wait(row, rec->loop));
	jsonw__ku64(w, "tid", rec->hdr.tid);
	jsonw__kstr(w, "thread", rec->comm);
	jsonw__kstr_known(w, "waits_in", loop_line__wait(line));
	if (rec->fd_cnt)
		jsonw__ku64(w, "descriptors", rec->fd_cnt);
	if (rec->loop != JANK_LOOP_EPOLL && rec->turn_cnt)
		jsonw__ku64(w, "turns", rec->turn_cnt);
	jsonw__kbool(w, "in_wait", jank_rec__is_now(&line->rec));
	add_frames(w, line);
	jsonw__kbool(w, "in_catalogue", row);
	if (row) {
		if (marks)
			add_marks(w, marks);
		jsonw__kstr_known(w, "note", *row->note ? row->note : NULL);
		jsonw__kbool(w, "only_with_l", row->is_off);
		jsonw__kbool(w, "untested", row->is_untested);
	}
	jsonw__object_end(w);
}

static void begin_process(struct jsonw *w, const struct loop_line *line)
{
	jsonw__object(w);
	jsonw__ku64(w, "pid", line->rec.hdr.tgid);
	jsonw__kstr(w, "process", line->process);
	jsonw__kstr_known(w, "exe", line->exe);
	jsonw__karray(w, "loops");
}

static void end_process(struct jsonw *w)
{
	jsonw__array_end(w);
	jsonw__object_end(w);
}

static void add_processes(struct jsonw *w, const struct loops_list *list)
{
	const struct loop_marks *marks = NULL;

	jsonw__karray(w, "processes");
	for (size_t i = 0; i < list->cnt; i++) {
		const struct loop_line *line = &list->lines[i];

		if (line->is_first && i)
			end_process(w);
		if (line->is_first)
			begin_process(w, line);
		if (!line->is_again)
			marks = line->marks;
		add_line(w, line, marks);
	}
	if (list->cnt)
		end_process(w);
	jsonw__array_end(w);
}

int loops_json__print(const struct loops_list *list)
{
	struct strbuf sb = STRBUF_INIT;
	struct jsonw w;
	bool failed;

	jsonw__init(&w, &sb);
	jsonw__object(&w);
	jsonw__kstr(&w, "schema", "jankbpf-loops/1");
	add_processes(&w, list);
	jsonw__kbool(&w, "complete", !list->failed);
	jsonw__object_end(&w);
	failed = sb.failed;
	if (!failed)
		puts(strbuf__str(&sb));
	strbuf__free(&sb);
	return failed ? -ENOMEM : 0;
}
