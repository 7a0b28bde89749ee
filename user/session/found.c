/* SPDX-License-Identifier: GPL-2.0 */
/* The loops that were seen, by process and thread. */
#include "session/found.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/syscall_name.h"
#include "base/text.h"
#include "catalogue/idle_waits.h"
#include "procfs/procinfo.h"
#include "session/found_marks.h"

#define FRAMES_SHOWN  8
#define LOOKS	      4
#define LOOK_EVERY_US 15000

struct line {
	struct jank_rec_wait rec;
	const struct catalogue_row *row;
	const char *exe;
	char *callers;
};

struct found {
	const struct found_opts *opts;
	struct whose *whose;
	struct line *lines;
	size_t cnt;
	bool failed;
	const char *exe; /* of the process that is looked at */
};

/* --- threads that wait all the while */

/* A record of /proc has no kind; it tells of a thread that waits now, so that its stack is the wait's. */
static bool is_now(const struct jank_rec_wait *rec)
{
	return !rec->hdr.kind;
}

static void on_idle(void *ctx, const struct jank_rec_wait *now)
{
	struct found *found = ctx;
	const struct jank_rec_wait *seen = whose__noted(found->whose, now->hdr.tid);
	struct jank_rec_wait rec = *now;
	struct wait_note *note;

	if (seen ? is_now(seen) || seen->loop != now->loop || seen->sp != now->sp
		 : found->opts->filter->main_thread && now->hdr.tid != now->hdr.tgid)
		return;
	if (seen)
		rec.turn_cnt = seen->turn_cnt;
	note = wait_note__of_memory(&rec, found->exe);
	found->failed |= !note || whose__note(found->whose, note);
	wait_note__free(note);
}

static void add_idle_of(struct found *found, uint32_t pid)
{
	struct proc_info info;

	if (procinfo__read(pid, &info, NULL))
		return;
	symbolizer__process(found->opts->symbolizer, pid, NULL);
	found->exe = info.exe;
	idle_waits__each(pid, on_idle, found);
	procinfo__free(&info);
}

static void add_idle_of_all(struct found *found)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		uint32_t pid = strtoul(entry->d_name, NULL, 10);

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    filter__admits(found->opts->filter, pid))
			add_idle_of(found, pid);
	}
	if (proc)
		closedir(proc);
}

/* Some looks, since a loop that works is in its wait now and then only. */
static void add_idle(struct found *found)
{
	for (int look = 0; look < LOOKS; look++) {
		if (look)
			usleep(LOOK_EVERY_US);
		if (found->opts->filter->all)
			add_idle_of_all(found);
		for (size_t i = 0; i < found->opts->pid_cnt; i++)
			add_idle_of(found, found->opts->pids[i]);
	}
}

/* --- collecting */

static void add_frame(struct strbuf *sb, const struct frame *frame)
{
	strbuf__addf(sb, "%s (%s)", frame->function ? frame->function : "a function without a name",
		     text__base_name(frame->module));
}

/*
 * The nearest one is who called, if the thread was still in its wait. What lies further out may be a call's
 * that returned long ago.
 */
static char *callers_of(const struct whose_loop *loop, bool verbose)
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

static bool is_shown(const struct found *found, const struct whose_loop *loop)
{
	const struct jank_rec_wait *rec = loop->rec;

	/* One that polls now may do so once; whose library it is tells more. */
	if (rec->loop == JANK_LOOP_POLL && !rec->turn_cnt && !loop->row)
		return false;
	return found->opts->choice->any ||
	       loop_choice__takes(found->opts->choice, loop->row, rec->loop);
}

static void collect(void *ctx, const struct whose_loop *loop)
{
	struct found *found = ctx;
	struct line *lines;

	if (!is_shown(found, loop))
		return;
	lines = reallocarray(found->lines, found->cnt + 1, sizeof(*lines));
	if (!lines) {
		found->failed = true;
		return;
	}
	found->lines = lines;
	lines[found->cnt++] = (struct line){ .rec = *loop->rec,
					     .row = loop->row,
					     .exe = loop->exe,
					     .callers = callers_of(loop, found->opts->verbose) };
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
		printf("      whose loop it is, is not known: --loop-file can tell\n");
}

static void print_row(const struct found *found, const struct line *line)
{
	const struct catalogue_row *row = line->row;

	if (!row)
		return;
	found_marks__print(found->opts->catalogue, row, line->rec.hdr.tgid, line->exe,
			   found->opts->verbose);
	if (*row->note)
		printf("      %s\n", row->note);
	if (row->is_off)
		printf("      traced only with -l %s\n", row->name);
	if (row->is_untested)
		printf("      nobody has seen this row at work yet\n");
}

static void print_line(const struct found *found, const struct line *line, bool again)
{
	struct strbuf name = STRBUF_INIT;

	text__add_clean(&name, line->rec.comm);
	printf("  %-14s thread %u %s\n", catalogue__name_of_wait(line->row, line->rec.loop),
	       line->rec.hdr.tid, strbuf__str(&name));
	print_evidence(line);
	if (!again)
		print_row(found, line);
	strbuf__free(&name);
}

static void print_all(const struct found *found)
{
	for (size_t i = 0; i < found->cnt; i++) {
		const struct line *line = &found->lines[i], *before = i ? line - 1 : NULL;
		bool same = before && before->rec.hdr.tgid == line->rec.hdr.tgid;

		if (!same)
			print_process(line);
		print_line(found, line, same && before->row == line->row);
	}
	if (!found->cnt)
		printf("no loop was seen\n");
	if (found->failed)
		printf("out of memory: some are missing\n");
}

void found__tell(const struct found_opts *opts, struct whose *whose)
{
	struct found found = { .opts = opts, .whose = whose };

	add_idle(&found);
	whose__each(whose, collect, &found);
	if (found.cnt)
		qsort(found.lines, found.cnt, sizeof(*found.lines), by_thread);
	print_all(&found);
	for (size_t i = 0; i < found.cnt; i++)
		free(found.lines[i].callers);
	free(found.lines);
}
