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

#include "base/strbuf.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "catalogue/syscalls.h"
#include "procfs/procinfo.h"
#include "session/session_parts.h"
#include "symbol/elf/elffunc.h"
#include "symbol/elf/mapped_file.h"
#include "uprobes/sites.h"

/* --- marks: looks up each one in the process's files, as for a probe */

#define ROW_MAX 8

struct mark_search {
	const struct catalogue *cat;
	const struct catalogue_row *row;
	struct mark_site best[JANK_MARK_MAX]; /* by index in the row: found, or why not */
	const char *in[JANK_MARK_MAX];	      /* file with the mark; NULL: no file was searched */
	bool looked;
};

static void take(struct mark_search *marks, const struct mark_site *site, const char *path)
{
	unsigned i = site->mark - marks->row->mark_first;

	if (site->row != marks->row || site->mark == MARK_SITE_WAIT || i >= marks->row->mark_cnt)
		return;
	if (marks->in[i] && marks->best[i].absence == MARK_THERE)
		return;
	marks->best[i] = *site;
	marks->in[i] = path;
}

static void search(struct mark_search *marks, const struct catalogue_file *file)
{
	struct mark_site *sites;
	size_t cnt;

	if (mark_sites__find(marks->cat, file, &sites, &cnt))
		return;
	marks->looked = true;
	for (size_t i = 0; i < cnt; i++)
		take(marks, &sites[i], file->path);
	free(sites);
}

static bool is_of_row(const struct mark_search *marks, const struct catalogue_file *file)
{
	const struct catalogue_row *rows[ROW_MAX];
	size_t cnt = catalogue__rows_of_file(marks->cat, file, rows, ROW_MAX);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i] == marks->row)
			return true;
	return false;
}

static void look_into(struct mark_search *marks, uint32_t pid, const struct mapped *mapped,
		      struct catalogue_file *file)
{
	uint64_t size = mapped->archive ? mapped->size : UINT64_MAX;
	struct elffunc elf;
	struct stat st;
	int fd;

	if (!is_of_row(marks, file))
		return;
	fd = mapped_file__open("/proc", pid, mapped, &st);
	if (fd < 0 || elffunc__open_within(fd, mapped->begin, size, &elf))
		return;
	file->elf = &elf;
	search(marks, file);
	elffunc__close(&elf);
}

static void add_fields(struct strbuf *sb, const struct catalogue_mark *mark)
{
	for (uint32_t i = 0; i < mark->spec.field_cnt; i++)
		if (mark->fields[i].role != ROLE_CHECK)
			strbuf__addf(sb, "%s%s", sb->len ? ", " : "",
				     catalogue_role__key(mark->fields[i].role));
}

static void print_mark(const struct mark_search *marks, unsigned i)
{
	const struct catalogue_mark *mark = catalogue__mark(marks->cat, marks->row->mark_first + i);
	struct strbuf fields = STRBUF_INIT, file = STRBUF_INIT;
	bool there = marks->in[i] && marks->best[i].absence == MARK_THERE;

	add_fields(&fields, mark);
	printf("        %-28s ", mark->symbol ? mark->symbol : "(by its address)");
	if (there) {
		text__add_clean(&file, marks->in[i]);
		printf("%s%sin %s\n", strbuf__str(&fields), fields.len ? ", " : "",
		       strbuf__str(&file));
	} else {
		printf("not probed: %s\n", marks->in[i] ? mark_absence__text(marks->best[i].absence)
							: "no file that it maps has it");
	}
	strbuf__free(&fields);
	strbuf__free(&file);
}

static void print_sum(const struct mark_search *marks)
{
	const struct catalogue_row *row = marks->row;
	unsigned there = 0;

	for (unsigned i = 0; i < row->mark_cnt; i++)
		there += marks->in[i] && marks->best[i].absence == MARK_THERE;
	if (!row->mark_cnt)
		printf("      messages: a block is a turn of the loop; only epoll shows "
		       "what was ready\n");
	else if (!there)
		printf("      messages: none of %u functions can be probed (%s); a block is a "
		       "turn\n",
		       row->mark_cnt,
		       marks->looked ? mark_absence__text(marks->best[0].absence)
				     : "no file that it maps has them");
	else
		printf("      messages: by %u of %u functions\n", there, row->mark_cnt);
}

/* Prints some lines; verbose: one for each mark. exe may be NULL. */
static void loop_marks__print(const struct catalogue *cat, const struct catalogue_row *row,
			      uint32_t pid, const char *exe, bool verbose)
{
	struct mark_search *marks = calloc(1, sizeof(*marks));
	struct proc_maps maps = {}, none = {};
	struct mapped *mapped, *next;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (!marks || proc_maps__read(&maps, path))
		goto out;
	marks->cat = cat;
	marks->row = row;
	archive__split("/proc", pid, &none, &maps);
	HASH_ITER (hh, maps.mapped, mapped, next) {
		struct catalogue_file file = { .path = mapped->path };

		file.is_exe = exe && !strcmp(exe, mapped->path);
		if (mapped->kind == MAPPED_FILE)
			look_into(marks, pid, mapped, &file);
	}
	print_sum(marks);
	for (unsigned i = 0; verbose && i < row->mark_cnt; i++)
		print_mark(marks, i);
out:
	proc_maps__free(&maps);
	free(marks);
}

#define FRAMES_SHOWN  8
#define LOOKS	      4
#define LOOK_EVERY_US 15000

struct line {
	struct jank_rec_wait rec;
	const struct catalogue_row *row;
	const char *exe;
	char *callers;
};

struct loops_report {
	const struct session *session;
	struct loop_owner *loop_owner;
	struct line *lines;
	size_t cnt;
	bool failed;
	const char *exe; /* of the current process */
};

static bool is_verbose(const struct loops_report *report)
{
	return report->session->opts->verbosity > 0;
}

/* --- threads that wait all the time */

/*
 * Records read from /proc have no kind. They describe a thread that waits now, so its stack is that
 * of the wait.
 */
static bool is_now(const struct jank_rec_wait *rec)
{
	return !rec->hdr.kind;
}

static void on_idle(void *ctx, const struct jank_rec_wait *now)
{
	struct loops_report *report = ctx;
	const struct jank_rec_wait *seen = loop_owner__recorded(report->loop_owner, now->hdr.tid);
	struct jank_rec_wait rec = *now;
	struct wait_note *note;

	if (seen ? is_now(seen) || seen->loop != now->loop || seen->sp != now->sp
		 : report->session->selection.filter.main_thread && now->hdr.tid != now->hdr.tgid)
		return;
	if (seen)
		rec.turn_cnt = seen->turn_cnt;
	note = wait_note__of_memory(&rec, report->exe);
	report->failed |= !note || loop_owner__record(report->loop_owner, note);
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

static void add_frame(struct strbuf *sb, const struct frame *frame)
{
	strbuf__addf(sb, "%s (%s)", frame->function ? frame->function : "a function without a name",
		     text__base_name(frame->module));
}

/*
 * The nearest frame is the caller, if the thread was still in its wait. Frames further out may
 * belong to calls that returned long ago.
 */
static char *callers_of(const struct recorded_loop *loop, bool verbose)
{
	struct strbuf raw = STRBUF_INIT, sb = STRBUF_INIT;

	for (size_t i = 0; i < loop->frame_cnt && i < (verbose ? FRAMES_SHOWN : 1); i++) {
		strbuf__adds(&raw, i > 1	       ? ", "
				   : i		       ? "; further out on its stack: "
				   : is_now(loop->rec) ? ", called by "
						       : ", near which its stack has ");
		add_frame(&raw, &loop->frames[i]);
	}
	text__add_clean(&sb, strbuf__str(&raw));
	strbuf__free(&raw);
	return sb.data;
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
	struct line *lines;

	if (!is_shown(report, loop))
		return;
	lines = reallocarray(report->lines, report->cnt + 1, sizeof(*lines));
	if (!lines) {
		report->failed = true;
		return;
	}
	report->lines = lines;
	lines[report->cnt++] = (struct line){ .rec = *loop->rec,
					      .row = loop->row,
					      .exe = loop->exe,
					      .callers = callers_of(loop, is_verbose(report)) };
}

static int by_thread(const void *a, const void *b)
{
	const struct jank_rec *x = &((const struct line *)a)->rec.hdr;
	const struct jank_rec *y = &((const struct line *)b)->rec.hdr;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* --- printing */

static void print_process(const struct line *line)
{
	struct strbuf sb = STRBUF_INIT;
	struct proc_info info;

	if (!procinfo__read(line->rec.hdr.tgid, &info, NULL)) {
		text__add_clean(&sb, info.comm);
		procinfo__free(&info);
	} else {
		text__add_clean(&sb, line->rec.comm);
	}
	printf("%s (pid %u)", strbuf__str(&sb), line->rec.hdr.tgid);
	strbuf__reset(&sb);
	if (line->exe)
		text__add_clean(&sb, line->exe);
	printf("%s%s\n", line->exe ? " " : "", strbuf__str(&sb));
	strbuf__free(&sb);
}

static const char *wait_name(const struct jank_rec_wait *rec)
{
	const char *name = rec->syscall < 0 ? NULL
			   : rec->syscall < JANK_SYSCALL_32
				   ? syscall__name(rec->syscall)
				   : syscall__name_32(rec->syscall - JANK_SYSCALL_32);

	return name ? name : "a function that is probed";
}

static void print_evidence(const struct line *line)
{
	const struct jank_rec_wait *rec = &line->rec;

	printf("      waits in %s", wait_name(rec));
	if (rec->fd_cnt)
		printf(" for %u descriptors", rec->fd_cnt);
	if (rec->loop != JANK_LOOP_EPOLL && rec->turn_cnt)
		printf(", %u times in a row from the same place", rec->turn_cnt);
	if (line->callers && *line->callers)
		printf("%s", line->callers);
	putchar('\n');
	if (!line->row)
		printf("      this loop has no row in the catalogue: add one with --loop-file\n");
}

static void print_row(const struct loops_report *report, const struct line *line)
{
	const struct catalogue_row *row = line->row;

	if (!row)
		return;
	loop_marks__print(report->session->selection.catalogue, row, line->rec.hdr.tgid, line->exe,
			  is_verbose(report));
	if (*row->note)
		printf("      %s\n", row->note);
	if (row->is_off)
		printf("      traced only with -l %s\n", row->name);
	if (row->is_untested)
		printf("      nobody has seen this row at work yet\n");
}

static void print_line(const struct loops_report *report, const struct line *line, bool again)
{
	struct strbuf name = STRBUF_INIT;

	text__add_clean(&name, line->rec.comm);
	printf("  %-14s thread %u %s\n", catalogue__name_of_wait(line->row, line->rec.loop),
	       line->rec.hdr.tid, strbuf__str(&name));
	print_evidence(line);
	if (!again)
		print_row(report, line);
	strbuf__free(&name);
}

static void print_all(const struct loops_report *report)
{
	for (size_t i = 0; i < report->cnt; i++) {
		const struct line *line = &report->lines[i], *before = i ? line - 1 : NULL;
		bool same = before && before->rec.hdr.tgid == line->rec.hdr.tgid;

		if (!same)
			print_process(line);
		print_line(report, line, same && before->row == line->row);
	}
	if (!report->cnt)
		printf("no loop was seen\n");
	if (report->failed)
		printf("out of memory: some are missing\n");
}

void session__report_loops(void *session, struct loop_owner *loop_owner)
{
	struct loops_report report = { .session = session, .loop_owner = loop_owner };

	add_idle(&report);
	loop_owner__each(loop_owner, collect, &report);
	if (report.cnt)
		qsort(report.lines, report.cnt, sizeof(*report.lines), by_thread);
	print_all(&report);
	for (size_t i = 0; i < report.cnt; i++)
		free(report.lines[i].callers);
	free(report.lines);
}
