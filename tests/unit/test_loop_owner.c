/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loop that a wait belongs to, by words on a stack and the rows of a loop file; and the loops
 * that -l selects.
 */
#include "catalogue/loop_owner.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "catalogue/wait_note.h"
#include "tests/tap.h"
#include "tests/unit/caller.h"

static char file[] = "/tmp/jank-whose-XXXXXX";
static char exe[PATH_MAX];

/*
 * A row for the program itself, by a caller; above it a row for a library that it maps, by name
 * alone.
 */
static const char rows[] =
	"[ours]\nlibrary = exe:test_loop_owner\nwait = epoll\ncaller = our_wait*\n"
	"[off]\nlibrary = exe:test_loop_owner\nwait = poll\ntraced = no\n";

static __attribute__((noinline)) uint64_t our_wait_from(void)
{
	return CALLED_FROM();
}

static __attribute__((noinline)) uint64_t our_waiter(void)
{
	uint64_t ret = our_wait_from();

	__asm__ volatile("" ::: "memory");
	return ret;
}

static __attribute__((noinline)) uint64_t another(void)
{
	uint64_t ret = our_wait_from();

	__asm__ volatile("nop" ::: "memory"); /* else the compiler would merge it with the other */
	return ret;
}

/* An address in code to which no call returns. */
static uint64_t no_return_address(void)
{
	uintptr_t address = (uintptr_t)another + 16;

	while (is_behind_call(OWN_MACHINE, (const uint8_t *)address - CALL_BYTES))
		address++;
	return address;
}

static struct wait_note *note_of(uint32_t tid, uint32_t loop, uint64_t word)
{
	struct wait_note *note = calloc(1, sizeof(*note) + 3 * sizeof(uint64_t));

	note->rec = (struct jank_rec_wait){ .hdr.tgid = getpid(), .hdr.tid = tid, .loop = loop };
	note->exe = strdup(exe);
	note->words[0] = 0x123456789000; /* unmapped */
	note->words[1] = no_return_address();
	note->words[2] = word;
	note->cnt = 3;
	return note;
}

static const char *name_of(const struct loop_owner *owners, uint32_t pid, uint32_t loop)
{
	const struct catalogue_row *row = loop_owner__process_row(owners, pid, loop);

	return row ? row->name : NULL;
}

static void add(struct loop_owner *owners, uint32_t tid, uint32_t loop, uint64_t word)
{
	struct wait_note *note = note_of(tid, loop, word);

	is_int(loop_owner__record(owners, note), 0, "thread %u waits", tid);
	wait_note__free(note);
}

struct reported {
	unsigned cnt;
	char function[64];
};

static void on_loop(void *ctx, const struct recorded_loop *loop)
{
	struct reported *reported = ctx;

	reported->cnt++;
	if (loop->frame_cnt && loop->frames[0].function)
		snprintf(reported->function, sizeof(reported->function), "%s",
			 loop->frames[0].function);
}

static void test_rows(const struct catalogue *cat, struct symbolizer *sym)
{
	struct loop_owner *owners = loop_owner__new(cat, sym);
	const struct catalogue_row *row;
	struct reported reported = {};

	add(owners, 1, JANK_LOOP_EPOLL, our_waiter());
	add(owners, 2, JANK_LOOP_EPOLL, another());
	row = loop_owner__row(owners, getpid(), 1, JANK_LOOP_EPOLL);
	is_str(row ? row->name : NULL, "ours", "by a return address after its caller's call");
	ok(!loop_owner__row(owners, getpid(), 2, JANK_LOOP_EPOLL), "another function is not");
	ok(!loop_owner__row(owners, getpid(), 1, JANK_LOOP_POLL), "nor another wait");
	ok(!loop_owner__row(owners, getpid(), 3, JANK_LOOP_EPOLL), "nor another thread");
	ok(!name_of(owners, getpid(), JANK_LOOP_EPOLL), "the process has two kinds");
	add(owners, 2, JANK_LOOP_EPOLL, our_waiter());
	row = loop_owner__row(owners, getpid(), 2, JANK_LOOP_EPOLL);
	is_str(row ? row->name : NULL, "ours", "a thread may change its loop");
	ok(loop_owner__recorded(owners, 2) && !loop_owner__recorded(owners, 3),
	   "the thread's loop is known");
	loop_owner__each(owners, on_loop, &reported);
	is_uint(reported.cnt, 2, "each is reported");
	is_str(reported.function, "our_waiter", "with the caller");
	loop_owner__on_exit(owners, getpid());
	ok(!loop_owner__row(owners, getpid(), 1, JANK_LOOP_EPOLL), "they end with their process");
	loop_owner__free(owners);
	loop_owner__free(NULL);
}

/* Names for the summary: for loops without a request, by the file alone. */
static void test_names(const struct catalogue *cat, struct symbolizer *sym)
{
	struct loop_owner *owners = loop_owner__new(cat, sym);

	add(owners, 1, JANK_LOOP_POLL, another());
	ok(!name_of(owners, getpid(), JANK_LOOP_POLL), "a loop without a request has no name");
	loop_owner__resolve_all(owners);
	is_str(name_of(owners, getpid(), JANK_LOOP_POLL), "off", "until its file is resolved");
	add(owners, 2, JANK_LOOP_POLL, another());
	loop_owner__on_exit(owners, getpid());
	is_str(name_of(owners, getpid(), JANK_LOOP_POLL), "off", "and keeps it after its end");
	for (uint32_t tid = 1; tid < 9000; tid++) {
		struct wait_note *note = note_of(tid, JANK_LOOP_POLL, 0);

		loop_owner__record(owners, note);
		wait_note__free(note);
	}
	ok(!loop_owner__recorded(owners, 1) && loop_owner__recorded(owners, 8999),
	   "the oldest are dropped");
	loop_owner__free(owners);
}

/* Functions that were not looked up are not another loop's. */
static void test_unnamed(const struct catalogue *cat, struct symbolizer *sym)
{
	struct loop_owner *owners = loop_owner__new(cat, sym);

	add(owners, 1, JANK_LOOP_EPOLL, our_waiter());
	add(owners, 2, JANK_LOOP_EPOLL, our_waiter());
	loop_owner__row(owners, getpid(), 1, JANK_LOOP_EPOLL);
	loop_owner__resolve_all(owners);
	is_str(name_of(owners, getpid(), JANK_LOOP_EPOLL), "ours",
	       "the name of a requested loop stays");
	loop_owner__free(owners);
	owners = loop_owner__new(cat, sym);
	add(owners, 1, JANK_LOOP_EPOLL, our_waiter());
	loop_owner__resolve_all(owners);
	ok(!name_of(owners, getpid(), JANK_LOOP_EPOLL), "there is none without a request");
	loop_owner__free(owners);
}

static int ends[2];

/*
 * The sanitizers intercept libc's epoll_wait but not syscall(). This function keeps its return
 * address on the stack, which syscall() does not on every machine. A frame of AddressSanitizer has
 * gaps, with return addresses of earlier calls.
 */
static __attribute__((noinline, no_sanitize_address)) void sleep_in(int fd)
{
	struct epoll_event events[4] = {}; /* without a gap */

	syscall(SYS_epoll_pwait, fd, events, 4, -1, NULL, 0);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((no_sanitize_address)) void *our_waiting(void *tid)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &event);
	__atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
	sleep_in(fd);
	close(fd);
	return NULL;
}

/* A wait in which a thread sleeps, as the probes would report it. */
static bool see_wait(pid_t tid, struct jank_rec_wait *ret)
{
	unsigned long long sp = 0, ip = 0;
	char path[64];
	long nr = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	for (int i = 0; i < 1000 && nr != SYS_epoll_pwait; i++, usleep(1000)) {
		FILE *f = fopen(path, "re");

		if (!f || fscanf(f, "%ld %*x %*x %*x %*x %*x %*x %llx %llx", &nr, &sp, &ip) != 3)
			nr = -1;
		if (f)
			fclose(f);
	}
	*ret = (struct jank_rec_wait){ .hdr.tgid = getpid(),
				       .hdr.tid = tid,
				       .sp = sp,
				       .ip = ip,
				       .syscall = SYS_epoll_pwait,
				       .loop = JANK_LOOP_EPOLL };
	return nr == SYS_epoll_pwait;
}

/* A loop that always waits, for `jankbpf loops`: by its memory. */
static void test_sleeper(const struct catalogue *cat, struct symbolizer *sym)
{
	struct loop_owner *owners = loop_owner__new(cat, sym);
	const struct catalogue_row *row;
	struct jank_rec_wait rec;
	struct wait_note *note;
	pthread_t thread;
	pid_t tid = 0;

	if (pipe(ends) || pthread_create(&thread, NULL, our_waiting, &tid)) {
		ok(false, "a thread that waits");
		return;
	}
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	ok(see_wait(tid, &rec), "a thread waits");
	note = wait_note__of_memory(&rec, exe);
	ok(note && !loop_owner__record(owners, note), "its stack is read");
	wait_note__free(note);
	row = loop_owner__row(owners, getpid(), tid, JANK_LOOP_EPOLL);
	is_str(row ? row->name : NULL, "ours", "and identifies the loop");
	is_str(name_of(owners, getpid(), JANK_LOOP_EPOLL), "ours", "by its name");
	is_int(write(ends[1], "x", 1), 1, "it continues");
	pthread_join(thread, NULL);
	loop_owner__free(owners);
	close(ends[0]);
	close(ends[1]);
}

static void test_choice(const struct catalogue *cat)
{
	char *ours[] = { (char *)"ours" }, *waits[] = { (char *)"poll" },
	     *bad[] = { (char *)"x\n" };
	const struct catalogue_row *row, *off;
	struct loop_choice choice;
	struct err err = {};
	size_t at = 0;

	row = catalogue__named(cat, "ours", &at);
	at = 0;
	off = catalogue__named(cat, "off", &at);
	is_int(loop_choice__init(&choice, cat, NULL, 0, &err), 0, "no -l");
	is_uint(loop_choice__waits(&choice), 0, "any wait");
	ok(loop_choice__takes(&choice, row, 1) && loop_choice__takes(&choice, NULL, 1), "any loop");
	ok(!loop_choice__takes(&choice, off, 3), "except those that must be named");
	is_int(loop_choice__init(&choice, cat, ours, 1, &err), 0, "-l ours");
	is_uint(loop_choice__waits(&choice), 1 << JANK_LOOP_EPOLL, "its wait");
	ok(loop_choice__takes(&choice, row, JANK_LOOP_EPOLL), "its loops");
	ok(!loop_choice__takes(&choice, off, 3) && !loop_choice__takes(&choice, NULL, 1),
	   "no others");
	is_int(loop_choice__init(&choice, cat, waits, 1, &err), 0, "-l poll");
	is_uint(loop_choice__waits(&choice), 1 << JANK_LOOP_POLL, "that wait");
	ok(loop_choice__takes(&choice, off, JANK_LOOP_POLL), "whichever loop it is");
	ok(!loop_choice__takes(&choice, row, JANK_LOOP_EPOLL), "no other wait");
	is_int(loop_choice__init(&choice, cat, bad, 1, &err), -EINVAL, "-l x");
	is_int(err.exit, JANK_EXIT_USAGE, "is wrong usage");
	has_str(err.msg, "--loop 'x?': there are epoll, ", "with the list of loops");
	has_str(err.msg, "ours", "those of loop files, too");
}

int main(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "", .demangle = true };
	const char *files[] = { file };
	struct symbolizer *sym = NULL;
	struct catalogue *cat = NULL;
	struct err err = {};
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int fd = mkstemp(file);

	exe[len > 0 ? len : 0] = '\0';
	if (fd < 0 || write(fd, rows, strlen(rows)) != (ssize_t)strlen(rows) ||
	    catalogue__open(files, 1, &cat, &err) || symbolizer__new(&opts, &sym, &err) ||
	    symbolizer__process(sym, getpid(), &err)) {
		ok(false, "a catalogue and names: %s", err.msg);
		return tap__done();
	}
	test_rows(cat, sym);
	test_names(cat, sym);
	test_unnamed(cat, sym);
	test_sleeper(cat, sym);
	test_choice(cat);
	symbolizer__free(sym);
	catalogue__close(cat);
	close(fd);
	unlink(file);
	return tap__done();
}
