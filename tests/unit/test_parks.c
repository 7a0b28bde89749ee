/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parks: which functions make one, by rows; and on a thread's stack, with remains of earlier calls.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "catalogue/wait_note.h"
#include "enrich/interp_threads.h"
#include "enrich/parks.h"
#include "tests/tap.h"
#include "tests/unit/caller.h"
#include "tests/unit/catalogue_fixture.h"

#define LIBC(name)                                                                                 \
	{                                                                                          \
		{ .path = "/lib/libc.so.6" }, name                                                 \
	}
#define EXE(name)                                                                                  \
	{                                                                                          \
		{ .path = "/usr/bin/app", .is_exe = true }, name                                   \
	}

static const struct {
	const char *what, *row;
	bool parks;
	size_t cnt, frame; /* the frame that decided */
	struct catalogue_frame frames[5];
} cases[] = {
	{ "a worker's park, by std's condition variable",
	  "tokio",
	  true,
	  4,
	  3,
	  { LIBC("syscall"), EXE("_ZN3std3sys4unix5futex10futex_wait17hE"),
	    EXE("_ZN3std3sys4unix5locks5futex7Condvar4wait17hE"),
	    EXE("_ZN5tokio7runtime9scheduler12multi_thread4park6Parker4park17hE") } },
	{ "the same with other names, through a wrapper",
	  "tokio",
	  true,
	  4,
	  3,
	  { LIBC("syscall"), EXE("_RNvNtNtC3abc_3std3sys5futex"), EXE("_ZN5tokio4loom3std4parkE"),
	    EXE("_RNvMs_NtNtC5tokio7runtime12multi_thread4park6Parker4park") } },
	{ "an older one's",
	  "tokio",
	  true,
	  2,
	  1,
	  { LIBC("pthread_cond_wait"),
	    EXE("_ZN104_$LT$tokio..runtime..thread_pool..park..Parker$u20$"
		"as$u20$tokio..park..Park$GT$4park17hE") } },
	{ "a task's mutex",
	  "tokio",
	  false,
	  5,
	  3,
	  { LIBC("syscall"), EXE("_ZN3std3sys4unix5futex10futex_wait17hE"),
	    EXE("_ZN3std3sys4unix5locks5futex5Mutex14lock_contended17hE"), EXE("_ZN3app4task17hE"),
	    EXE("_ZN5tokio7runtime9scheduler12multi_thread4park6Parker4park17hE") } },
	{ "a thread in block_on",
	  "tokio",
	  false,
	  2,
	  1,
	  { LIBC("syscall"), EXE("_ZN5tokio7runtime4park5Inner4park17hE") } },
	{ "a function without a name", "tokio", false, 2, 1, { LIBC("syscall"), EXE(NULL) } },
	{ "the C library alone", "tokio", false, 1, 1, { LIBC("syscall") } },
	{ "Go's sysmon", "go", true, 1, 0, { EXE("runtime.usleep.abi0") } },
	{ "a goroutine's sleep", "go", false, 1, 0, { EXE("syscall.Syscall") } },
};

static void test_rows(void)
{
	struct catalogue *cat;

	if (catalogue__open(NULL, 0, &cat, NULL))
		return;
	for (size_t i = 0; i < LEN(cases); i++) {
		size_t frame = 99;

		ok(catalogue_row__parks(fixture__row(cat, cases[i].row), cases[i].frames,
					cases[i].cnt, &frame) == cases[i].parks,
		   "%s", cases[i].what);
		is_uint(frame, cases[i].frame, "… by this frame");
	}
	ok(catalogue_row__parks_anywhere(fixture__row(cat, "go")) &&
		   catalogue_row__parks_somewhere(fixture__row(cat, "go")),
	   "any futex of Go is a park, and some sleeps are");
	ok(!catalogue_row__parks_anywhere(fixture__row(cat, "tokio")) &&
		   catalogue_row__parks_somewhere(fixture__row(cat, "tokio")),
	   "of Tokio only the named ones");
	ok(!catalogue_row__parks_anywhere(fixture__row(cat, "libuv")) &&
		   !catalogue_row__parks_somewhere(fixture__row(cat, "libuv")),
	   "libuv has none");
	catalogue__close(cat);
}

/* --- a stack: the wait, its callers, and remains of a finished call */

static __attribute__((noinline)) uint64_t our_wait(void)
{
	return CALLED_FROM();
}

static __attribute__((noinline)) uint64_t our_condvar(uint64_t *inner)
{
	*inner = our_wait();
	__asm__ volatile("" ::: "memory");
	return CALLED_FROM();
}

static __attribute__((noinline)) uint64_t our_park(uint64_t *inner)
{
	uint64_t ret = our_condvar(inner);

	__asm__ volatile("" ::: "memory");
	return ret;
}

static __attribute__((noinline)) uint64_t our_mutex(uint64_t *inner)
{
	uint64_t ret = our_condvar(inner);

	__asm__ volatile("nop" ::: "memory");
	return ret;
}

static __attribute__((noinline)) uint64_t other(void)
{
	__asm__ volatile("nop" ::: "memory"); /* else the compiler would merge it with our_wait */
	return CALLED_FROM();
}

static __attribute__((noinline)) uint64_t our_past(void)
{
	uint64_t ret = other();

	__asm__ volatile("" ::: "memory");
	return ret;
}

static const char rows[] = "[ours]\nlibrary = section:.text\nwait = epoll\npark = our_park\n"
			   "through = our_wait our_condvar\n";

static struct wait_note *note_of(const uint64_t *words, size_t cnt)
{
	struct wait_note *note = calloc(1, sizeof(*note) + cnt * (sizeof(*words) + 2));

	note->rec = (struct jank_rec_wait){
		.hdr.tgid = getpid(), .hdr.tid = 7, .loop = JANK_LOOP_PARK, .sp = 0x1000
	};
	note->rec.ip = (uintptr_t)our_wait + 4;
	note->cnt = cnt;
	note->offsets = (uint16_t *)(note->words + cnt);
	for (size_t i = 0; i < cnt; i++) {
		note->words[i] = words[i];
		note->offsets[i] = 16 * i;
	}
	return note;
}

static int ask(struct loop_owner *owners, const struct catalogue_row *row, const uint64_t *words,
	       size_t cnt, struct jank_park_chain *ret)
{
	struct wait_note *note = note_of(words, cnt);
	int res = loop_owner__parks(owners, note, row, ret);

	wait_note__free(note);
	return res;
}

static void test_stack(const struct catalogue *cat, struct symbolizer *sym)
{
	const struct catalogue_row *row = fixture__row(cat, "ours");
	struct loop_owner *owners = loop_owner__new(cat, sym);
	uint64_t inner, parks = our_park(&inner), locks = our_mutex(&inner), past = our_past();
	const struct code_of of = { sym, getpid() };
	struct jank_park_chain chain;

	is_uint(return_addresses__callee(&of, parks), (uintptr_t)our_condvar,
		"the function that a call leads to");
	is_int(ask(owners, row, (uint64_t[]){ past, inner, past, parks }, 4, &chain), 1,
	       "a park, with finished calls between its frames");
	ok(chain.verdict == JANK_PARK_YES && chain.ip == (uintptr_t)our_wait + 4 &&
		   chain.word_cnt == 2,
	   "recognised by two words");
	ok(chain.word[0] == inner && chain.offset[0] == 16 && chain.word[1] == parks &&
		   chain.offset[1] == 48,
	   "which are its callers'");
	is_int(ask(owners, row, (uint64_t[]){ inner, locks, parks }, 3, &chain), 0,
	       "a mutex is none, although a park is further out");
	ok(chain.verdict == JANK_PARK_NO && chain.word[1] == locks, "it is recognised as well");
	ok(loop_owner__is_park(owners, getpid(),
			       (uint64_t[]){ (uintptr_t)our_wait + 4, inner, parks }, 3, row) &&
		   !loop_owner__is_park(owners, getpid(),
					(uint64_t[]){ (uintptr_t)our_wait + 4, inner, locks }, 3,
					row),
	   "known callers are judged in the same way");
	is_int(ask(owners, row, NULL, 0, &chain), -ENODATA, "without a stack nothing is known");
	ok(!loop_owner__row(owners, getpid(), 7, JANK_LOOP_EPOLL), "an unknown thread");
	is_int(loop_owner__program(owners, getpid()), 0, "its program is read");
	ok(loop_owner__row(owners, getpid(), 7, JANK_LOOP_EPOLL) == row,
	   "one of its sections decides");
	ok(!loop_owner__row(owners, getpid(), 7, JANK_LOOP_POLL), "not of another wait");
	loop_owner__on_exit(owners, getpid());
	ok(!loop_owner__row(owners, getpid(), 7, JANK_LOOP_EPOLL), "and only as long as it lives");
	loop_owner__free(owners);
}

static uint32_t kinds_in(int fd, uint32_t pid)
{
	struct jank_parks parks = {};

	bpf_map_lookup_elem(fd, &pid, &parks);
	return parks.off_end ? UINT32_MAX : parks.kinds;
}

/* A process that is left alone for a while: switched off by the budget. */
static void test_left_alone(void)
{
	struct park_bpf_fds maps = PARK_MAPS_NONE;
	struct interp_threads *scripts = interp_threads__new(NULL, NULL);
	struct parks *parks = parks__new(&maps, NULL, scripts, NULL);
	int fd;

	fd = bpf_map_create(BPF_MAP_TYPE_HASH, "t", 4, sizeof(struct jank_parks), 8, NULL);
	maps.left_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "t", 4, 4, JANK_LEFT_MAX, NULL);
	maps.change_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "t", 4, 4, 1, NULL);
	maps.processes_fd = fd;
	if (!scripts || !parks || fd < 0 || maps.left_fd < 0 || maps.change_fd < 0) {
		ok(true, "no BPF maps for this user # SKIP");
	} else {
		parks__watch_idle(parks, 7, false);
		parks__leave_alone(parks, 7, 0, UINT64_MAX);
		is_uint(kinds_in(fd, 7), UINT32_MAX, "a process is left alone");
		parks__watch_again(parks, 7);
		is_uint(kinds_in(fd, 7), JANK_PARKS_MAIN, "its main thread is watched again");
		parks__leave_alone(parks, 8, 0, UINT64_MAX);
		parks__watch_idle(parks, 8, false);
		is_uint(kinds_in(fd, 8), UINT32_MAX, "that it may be watched changes nothing");
		parks__watch_again(parks, 8);
		is_uint(kinds_in(fd, 8), JANK_PARKS_MAIN, "until it is watched again");
		parks__leave_alone(parks, 9, 0, UINT64_MAX);
		parks__watch_again(parks, 9);
		ok(!park_bpf_fds__has_process(&maps, 9), "one without parks has none again");
	}
	parks__free(parks);
	interp_threads__free(scripts);
	park_bpf_fds__close(&maps);
}

int main(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "", .demangle = true };
	struct symbolizer *sym = NULL;
	struct catalogue *cat = NULL;
	struct err err = {};

	test_rows();
	test_left_alone();
	if (fixture__open(rows, &cat, &err) || symbolizer__new(&opts, &sym, &err) ||
	    symbolizer__process(sym, getpid(), &err))
		ok(false, "a catalogue and names: %s", err.msg);
	else
		test_stack(cat, sym);
	symbolizer__free(sym);
	catalogue__close(cat);
	return tap__done();
}
