/* SPDX-License-Identifier: GPL-2.0 */
/* The call in which a thread waits, by /proc: made-up texts, and a thread of this program. */
#include "catalogue/syscalls.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "catalogue/wait_note.h"
#include "tests/tap.h"

static void test_texts(void)
{
	struct jank_rec_wait rec = {};
	char text[256];

	snprintf(text, sizeof(text), "%d 0x5 0x7ffe0 0x400 0x64 0x0 0x8 0x7ffd1000 0x7f001234\n",
		 SYS_epoll_pwait);
	ok(idle_waits__parse(text, &rec), "epoll_pwait");
	ok(rec.loop == JANK_LOOP_EPOLL && rec.syscall == SYS_epoll_pwait, "is epoll's");
	ok(rec.sp == 0x7ffd1000 && rec.ip == 0x7f001234 && !rec.fd_cnt, "with its stack");
	snprintf(text, sizeof(text), "%d 0x5 0x7 0x400 0x64 0x0 0x8 0x1 0x2", SYS_ppoll);
	ok(idle_waits__parse(text, &rec) && rec.loop == JANK_LOOP_POLL, "ppoll");
	is_uint(rec.fd_cnt, 7, "waits for descriptors");
	ok(!idle_waits__parse("running\n", &rec), "a running thread");
	ok(!idle_waits__parse("-1 0x7ffd1000 0x7f001234\n", &rec), "one outside a call");
	snprintf(text, sizeof(text), "%d 0x5 0x7 0x400 0x64 0x0 0x8 0x1 0x2", SYS_read);
	ok(!idle_waits__parse(text, &rec), "a read is no loop's wait");
	ok(!idle_waits__parse("", &rec), "nothing");
	snprintf(text, sizeof(text), "%d 0x5 0x7 0x400", SYS_epoll_pwait);
	ok(!idle_waits__parse(text, &rec), "half of a line");
}

static int epfd, tid_pipe[2];

static void *wait_for_ever(void *arg)
{
	pid_t tid = syscall(SYS_gettid);
	struct epoll_event event;

	pthread_setname_np(pthread_self(), "a waiter");
	if (write(tid_pipe[1], &tid, sizeof(tid)) != sizeof(tid))
		return NULL;
	epoll_wait(epfd, &event, 1, -1);
	return arg;
}

struct seen {
	uint32_t tid;
	struct jank_rec_wait rec;
};

static void on_wait(void *ctx, const struct jank_rec_wait *rec)
{
	struct seen *seen = ctx;

	if (rec->hdr.tid == seen->tid)
		seen->rec = *rec;
}

static void test_thread(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct wait_note *note;
	struct seen seen = {};
	pthread_t thread;
	int end[2];

	epfd = epoll_create1(0);
	if (pipe(end) || pipe(tid_pipe) || epoll_ctl(epfd, EPOLL_CTL_ADD, end[0], &event) ||
	    pthread_create(&thread, NULL, wait_for_ever, NULL) ||
	    read(tid_pipe[0], &seen.tid, sizeof(seen.tid)) != sizeof(seen.tid)) {
		ok(false, "a waiting thread");
		return;
	}
	for (int i = 0; i < 1000 && !seen.rec.sp; i++) {
		idle_waits__each(getpid(), on_wait, &seen);
		usleep(1000);
	}
	ok(seen.rec.sp && seen.rec.loop == JANK_LOOP_EPOLL, "a thread that waits is found");
	is_str(seen.rec.comm, "a waiter", "with its name");
	is_uint(seen.rec.turn_cnt, 0, "and no other evidence");
	note = wait_note__of_memory(&seen.rec, "/bin/program");
	ok(note && note->cnt, "its stack has words that may be code addresses");
	is_str(note->exe, "/bin/program", "the note has the program");
	wait_note__free(note);
	seen.rec.sp = 16;
	note = wait_note__of_memory(&seen.rec, NULL);
	ok(note && !note->cnt && !note->exe, "a missing stack has none");
	wait_note__free(note);
	close(end[1]);
	pthread_join(thread, NULL);
}

/* --- the probes' copies */

static struct jank_rec_wait wait_of(uint32_t tid, uint64_t t_ns)
{
	return (struct jank_rec_wait){ .hdr.tid = tid, .hdr.ts_ns = t_ns, .sp = 0x7ffd00001000 };
}

static int put(struct wait_copies *copies, uint32_t tid, uint64_t t_ns, uint16_t flags)
{
	struct {
		struct jank_rec_copy rec;
		uint64_t words[4];
	} copy = {
		.rec = { .hdr = { .kind = JANK_REC_COPY, .flags = flags, .tid = tid },
			 .t_ns = t_ns,
			 .copy_sz = sizeof(copy.words) },
		.words = { 7, 0x7ffd00001100, 0x555500001234, 0x7f0000001234 },
	};

	copy.rec.regs[0] = copy.rec.regs[5] = 0x4000; /* the first argument, of either machine */
	return wait_copies__put(copies, &copy, sizeof(copy));
}

static void test_copies(void)
{
	struct jank_rec_wait wait = wait_of(7, 100), later = wait_of(7, 101);
	struct wait_copies copies = {};
	struct jank_rec_copy *copy;
	struct wait_note *note;

	is_int(put(&copies, 7, 100, 0), 0, "a sample's copy is another's");
	is_int(put(&copies, 7, 100, JANK_COPY_WAIT), 1, "a copy of a wait is kept");
	is_int(wait_copies__put(&copies,
				&(struct jank_rec_copy){
					.hdr = { .kind = JANK_REC_COPY, .flags = JANK_COPY_WAIT },
					.copy_sz = 8 },
				sizeof(struct jank_rec_copy)),
	       -EBADMSG, "unless it is shorter than its size");
	ok(!wait_copies__take(&copies, &later), "until its wait comes, not another one");
	copy = wait_copies__take(&copies, &wait);
	ok(copy && !wait_copies__take(&copies, &wait), "which takes it");
	note = wait_note__new(&wait, NULL, copy);
	ok(note && note->cnt == 2 && note->words[0] == 0x555500001234 && note->offsets[0] == 16 &&
		   note->words[1] == 0x7f0000001234 && note->offsets[1] == 24,
	   "the words that may be code addresses, with their positions");
	is_uint(note->arg0, 0x4000, "and the system call's first argument");
	ok(note->copy == copy, "which it keeps");
	wait_note__free(note);
	for (uint32_t i = 0; i < WAIT_COPY_MAX + 1; i++)
		put(&copies, 100 + i, 1, JANK_COPY_WAIT);
	wait = wait_of(100, 1);
	ok(!wait_copies__take(&copies, &wait), "the oldest make room");
	note = wait_note__new(&wait, "/bin/program", NULL);
	ok(note && !note->cnt, "without a copy there are no words");
	is_str(note->exe, "/bin/program", "but the program is there");
	wait_note__free(note);
	wait_copies__free(&copies);
}

/* Frames come with a copy, each in its own record. */
static void test_frames(void)
{
	struct {
		struct jank_rec_script rec;
		struct jank_script_frame frames[2];
	} script = {
		.rec = { .hdr = { .kind = JANK_REC_SCRIPT, .tid = 7 },
			 .t_ns = 100,
			 .frame_cnt = 2,
			 .identity = 5 },
	};
	struct jank_rec_wait wait = wait_of(7, 100);
	struct wait_copies copies = {};
	struct jank_rec_script *taken;

	is_int(wait_copies__put(&copies, &script, sizeof(script)), 0,
	       "a sample's frames are another's");
	script.rec.hdr.flags = JANK_SCRIPT_WAIT;
	is_int(wait_copies__put(&copies, &script, sizeof(script) - 1), -EBADMSG,
	       "fewer than the record says");
	is_int(wait_copies__put(&copies, &script, sizeof(script)), 1, "frames of a wait are kept");
	put(&copies, 7, 100, JANK_COPY_WAIT);
	taken = wait_copies__take_script(&copies, &wait);
	ok(taken && taken->frame_cnt == 2 && taken->identity == 5, "next to its copy");
	free(taken);
	ok(!wait_copies__take_script(&copies, &wait), "once");
	wait_copies__free(&copies);
}

int main(void)
{
	test_texts();
	test_copies();
	test_frames();
	test_thread();
	return tap__done();
}
