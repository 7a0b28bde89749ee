/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Report of `jankbpf loops` on running processes, sorted by process and thread: each loop, its
 * evidence, and the readable parts of its messages or why there are none. Loops that waited all the
 * time are added to those seen.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "catalogue/syscalls.h"
#include "procfs/procinfo.h"
#include "session/loops_report.h"
#include "session/session_parts.h"

#define LOOKS	      4
#define LOOK_EVERY_US 15000

struct loops_report {
	const struct session *session;
	struct loop_owner *loop_owner;
	struct loops_list list;
	const char *exe; /* of the current process */
};

/* --- threads that wait all the time */

static void on_idle(void *ctx, const struct jank_rec_wait *now)
{
	struct loops_report *report = ctx;
	const struct jank_rec_wait *seen = loop_owner__recorded(report->loop_owner, now->hdr.tid);
	struct jank_rec_wait rec = *now;
	struct wait_note *note;

	if (seen ? jank_rec__is_now(seen) || seen->loop != now->loop || seen->sp != now->sp
		 : report->session->selection.filter.main_thread && now->hdr.tid != now->hdr.tgid)
		return;
	if (seen)
		rec.turn_cnt = seen->turn_cnt;
	note = wait_note__of_memory(&rec, report->exe);
	report->list.failed |= !note || loop_owner__record(report->loop_owner, note);
	wait_note__free(note);
}

static void add_idle_of(struct loops_report *report, uint32_t pid)
{
	struct proc_info info;

	if (procinfo__read(pid, &info, NULL))
		return;
	symbolizer__process(report->session->sink.symbolizer, pid, NULL);
	report->exe = info.exe;
	idle_waits__each(pid, on_idle, report);
	procinfo__free(&info);
}

static void add_idle_of_all(struct loops_report *report)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		uint32_t pid = strtoul(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    filter__admits(&report->session->selection.filter, pid))
			add_idle_of(report, pid);
	}
	if (proc)
		closedir(proc);
}

/* Take several looks: a busy loop is in its wait only from time to time. */
static void add_idle(struct loops_report *report)
{
	for (int look = 0; look < LOOKS; look++) {
		if (look)
			usleep(LOOK_EVERY_US);
		if (report->session->opts->filter.all)
			add_idle_of_all(report);
		for (size_t i = 0; i < report->session->opts->pid_cnt; i++)
			add_idle_of(report, report->session->opts->pids[i]);
	}
}

/* --- collecting */

static void copy_frames(struct loops_report *report, struct loop_line *line,
			const struct recorded_loop *loop)
{
	size_t cnt = loop->frame_cnt < LOOP_FRAMES_MAX ? loop->frame_cnt : LOOP_FRAMES_MAX;

	for (size_t i = 0; i < cnt; i++) {
		struct loop_frame *frame = &line->frames[line->frame_cnt++];

		if (text__copy(&frame->function, loop->frames[i].function) ||
		    text__copy(&frame->module, loop->frames[i].module))
			report->list.failed = true;
	}
}

static bool is_shown(const struct loops_report *report, const struct recorded_loop *loop)
{
	const struct jank_rec_wait *rec = loop->rec;

	/*
	 * A thread that polls now may do so only once; the row of its library is better evidence.
	 */
	if (rec->loop == JANK_LOOP_POLL && !rec->turn_cnt && !loop->row)
		return false;
	return report->session->selection.choice.any ||
	       loop_choice__takes(&report->session->selection.choice, loop->row, rec->loop);
}

static void collect(void *ctx, const struct recorded_loop *loop)
{
	struct loops_report *report = ctx;
	struct loops_list *list = &report->list;
	struct loop_line *lines;

	if (!is_shown(report, loop))
		return;
	lines = reallocarray(list->lines, list->cnt + 1, sizeof(*lines));
	if (!lines) {
		list->failed = true;
		return;
	}
	list->lines = lines;
	lines += list->cnt++;
	*lines = (struct loop_line){ .rec = *loop->rec, .row = loop->row, .exe = loop->exe };
	copy_frames(report, lines, loop);
}

static int by_thread(const void *a, const void *b)
{
	const struct jank_rec *x = &((const struct loop_line *)a)->rec.hdr;
	const struct jank_rec *y = &((const struct loop_line *)b)->rec.hdr;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void name_process(struct loop_line *line)
{
	struct proc_info info;

	if (procinfo__read(line->rec.hdr.tgid, &info, NULL)) {
		snprintf(line->process, sizeof(line->process), "%s", line->rec.comm);
		return;
	}
	snprintf(line->process, sizeof(line->process), "%s", info.comm);
	procinfo__free(&info);
}

/* Sorts the list and adds what belongs to a process: its name, and the marks of each row. */
static void complete(struct loops_report *report)
{
	struct loops_list *list = &report->list;

	if (list->cnt)
		qsort(list->lines, list->cnt, sizeof(*list->lines), by_thread);
	for (size_t i = 0; i < list->cnt; i++) {
		struct loop_line *line = &list->lines[i], *before = i ? line - 1 : NULL;

		line->is_first = !before || before->rec.hdr.tgid != line->rec.hdr.tgid;
		line->is_again = !line->is_first && before->row == line->row;
		if (line->is_first)
			name_process(line);
		if (line->row && !line->is_again)
			line->marks = loop_marks__find(report->session->selection.catalogue,
						       line->row, line->rec.hdr.tgid, line->exe);
	}
}

static void free_list(struct loops_list *list)
{
	for (size_t i = 0; i < list->cnt; i++) {
		struct loop_line *line = &list->lines[i];

		for (size_t k = 0; k < line->frame_cnt; k++) {
			free(line->frames[k].function);
			free(line->frames[k].module);
		}
		loop_marks__free(line->marks);
	}
	free(list->lines);
}

void session__report_loops(void *session, struct loop_owner *loop_owner)
{
	struct loops_report report = { .session = session, .loop_owner = loop_owner };
	const struct options *opts = report.session->opts;

	add_idle(&report);
	loop_owner__each(loop_owner, collect, &report);
	complete(&report);
	if (opts->format == FORMAT_TEXT)
		loops_text__print(&report.list, opts->verbosity > 0);
	else if (loops_json__print(&report.list))
		log__error("out of memory: the loops cannot be printed");
	free_list(&report.list);
}
