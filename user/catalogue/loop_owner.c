/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of threads with their return addresses, and of the loops of their processes. */
#include "catalogue/loop_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "catalogue/wait_note.h"
#include "symbol/languages/runtime.h"

#define THREAD_MAX 8192 /* the oldest entry is dropped */
#define NAMES_MAX  4096
#define ROW_MAX	   8 /* rows checked per file to see whether a function name is needed */

struct thread {
	uint32_t tid;
	struct jank_rec_wait rec;
	char *exe;
	uint64_t addresses[OWNER_ADDRESS_MAX]; /* the wait's own, then return addresses */
	size_t cnt;
	bool resolved;
	const struct catalogue_row *row; /* once resolved */
	UT_hash_handle hh;
};

struct name_key {
	uint32_t pid, loop;
};

struct name {
	struct name_key key;
	uint32_t tid; /* of the first thread with this loop */
	const struct catalogue_row *row;
	bool differ;
	UT_hash_handle hh;
};

/* A program with a row that matches by ELF section. */
struct program {
	uint32_t pid;
	const struct catalogue_row *row;
	UT_hash_handle hh;
};

struct loop_owner {
	const struct catalogue *cat;
	struct symbolizer *sym;
	struct thread *threads;
	struct name *names;
	struct program *programs;
};

struct symbolizer *loop_owner__symbolizer(const struct loop_owner *owners)
{
	return owners->sym;
}

struct loop_owner *loop_owner__new(const struct catalogue *cat, struct symbolizer *sym)
{
	struct loop_owner *owners = calloc(1, sizeof(*owners));

	if (!owners)
		return NULL;
	owners->cat = cat;
	owners->sym = sym;
	return owners;
}

static void drop_thread(struct loop_owner *owners, struct thread *thread)
{
	HASH_DEL(owners->threads, thread);
	free(thread->exe);
	free(thread);
}

static void drop_program(struct loop_owner *owners, struct program *program)
{
	HASH_DEL(owners->programs, program);
	free(program);
}

void loop_owner__free(struct loop_owner *owners)
{
	struct name *name, *next;

	if (!owners)
		return;
	while (owners->threads)
		drop_thread(owners, owners->threads);
	HASH_ITER (hh, owners->names, name, next) {
		HASH_DEL(owners->names, name);
		free(name);
	}
	while (owners->programs)
		drop_program(owners, owners->programs);
	free(owners);
}

/* --- recorded waits */

static struct thread *find_thread(const struct loop_owner *owners, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, owners->threads, &tid, sizeof(tid), thread);
	return thread;
}

const struct jank_rec_wait *loop_owner__recorded(const struct loop_owner *owners, uint32_t tid)
{
	const struct thread *thread = find_thread(owners, tid);

	return thread ? &thread->rec : NULL;
}

/* Most stack words are not code addresses. */
size_t loop_owner__addresses(const struct loop_owner *owners, const struct wait_note *note,
			     uint64_t *ret)
{
	const struct code_opts exact = { .exact = true };
	uint32_t pid = note->rec.hdr.tgid;
	const struct code_of of = { owners->sym, pid };
	uint64_t words[OWNER_ADDRESS_MAX * 4];
	struct frame frame;
	size_t kept = 0;
	size_t cnt = symbolizer__keep_code(owners->sym, pid, note->words, note->cnt, words,
					   sizeof(words) / sizeof(*words));

	cnt = return_addresses__keep(&of, words, cnt);
	if (symbolizer__code(owners->sym, pid, note->rec.ip, exact, &frame))
		ret[kept++] = note->rec.ip;
	else
		ret[kept++] = 0; /* index 0 is the wait's own address */
	for (size_t i = 0; i < cnt && kept < OWNER_ADDRESS_MAX; i++)
		ret[kept++] = words[i];
	return kept;
}

int loop_owner__record(struct loop_owner *owners, const struct wait_note *note)
{
	struct thread *thread = find_thread(owners, note->rec.hdr.tid);

	/* Without a stack, the note adds nothing to a known wait of the same kind. */
	if (thread && !note->cnt && thread->rec.loop == note->rec.loop)
		return 0;
	if (thread)
		drop_thread(owners, thread);
	if (HASH_COUNT(owners->threads) >= THREAD_MAX)
		drop_thread(owners, owners->threads);
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->tid = note->rec.hdr.tid;
	HASH_ADD(hh, owners->threads, tid, sizeof(thread->tid), thread);
	if (!thread)
		return -ENOMEM;
	thread->rec = note->rec;
	thread->exe = note->exe ? strdup(note->exe) : NULL;
	thread->cnt = loop_owner__addresses(owners, note, thread->addresses);
	return 0;
}

/* --- rows of loops */

static void remember_name(struct loop_owner *owners, const struct thread *thread)
{
	struct name_key key = { thread->rec.hdr.tgid, thread->rec.loop };
	struct name *name;

	HASH_FIND(hh, owners->names, &key, sizeof(key), name);
	if (name && name->tid == thread->tid && !name->row) {
		name->row = thread->row;
		return;
	}
	if (name) {
		name->differ = name->differ || !name->row || !thread->row ||
			       strcmp(name->row->name, thread->row->name);
		return;
	}
	name = HASH_COUNT(owners->names) < NAMES_MAX ? calloc(1, sizeof(*name)) : NULL;
	if (!name)
		return;
	name->key = key;
	name->tid = thread->tid;
	name->row = thread->row;
	HASH_ADD(hh, owners->names, key, sizeof(key), name);
}

/* Reading a symbol table is slow, and most rows match a file by its name alone. */
static bool wants_function(const struct loop_owner *owners, const struct catalogue_file *file)
{
	const struct catalogue_row *rows[ROW_MAX];
	size_t cnt = catalogue__rows_of_file(owners->cat, file, rows, ROW_MAX);

	for (size_t i = 0; i < cnt; i++)
		if (rows[i]->callers.cnt)
			return true;
	return false;
}

/* The process's program. A row of the catalogue may name one of its ELF sections. */
struct program_of {
	struct symbolizer *sym;
	uint32_t pid;
};

static bool has_section(const void *ctx, const char *section)
{
	const struct program_of *of = ctx;

	return symbolizer__has_section(of->sym, of->pid, section);
}

/* Lets the catalogue ask for sections of the program's file. */
static void look_into(struct catalogue_file *file, const struct program_of *program)
{
	file->has_section = has_section;
	file->ctx = program;
}

/* Frames to name: none, those that a row needs, or all. */
enum naming { NAME_NONE, NAME_NEEDED, NAME_ALL };

/* Sets the thread's frames. Skips frames in files that are no longer mapped. */
static size_t set_frames(struct loop_owner *owners, const struct thread *thread,
			 const struct program_of *program, enum naming naming,
			 struct catalogue_frame *ret)
{
	size_t cnt = 0;

	for (size_t i = 0; i < thread->cnt; i++) {
		struct code_opts opts = { .exact = i == 0 };
		struct catalogue_file *file = &ret[cnt].file;
		struct frame frame;

		if (!thread->addresses[i] || !symbolizer__code(owners->sym, thread->rec.hdr.tgid,
							       thread->addresses[i], opts, &frame))
			continue;
		*file = (struct catalogue_file){ .path = frame.module };
		file->is_exe = thread->exe && !strcmp(thread->exe, file->path);
		if (file->is_exe && naming != NAME_NONE)
			look_into(file, program);
		opts.named = naming == NAME_ALL ||
			     (naming == NAME_NEEDED && wants_function(owners, file));
		if (opts.named)
			symbolizer__code(owners->sym, thread->rec.hdr.tgid, thread->addresses[i],
					 opts, &frame);
		ret[cnt++].function = opts.named ? frame.function : NULL;
	}
	return cnt;
}

const struct catalogue_row *loop_owner__program_row(const struct loop_owner *owners, uint32_t pid)
{
	struct program *program;

	HASH_FIND(hh, owners->programs, &pid, sizeof(pid), program);
	return program ? program->row : NULL;
}

static const struct catalogue_row *row_of_program(const struct loop_owner *owners, uint32_t pid,
						  uint32_t loop)
{
	const struct catalogue_row *row = loop_owner__program_row(owners, pid);

	return row && row->waits & 1u << loop ? row : NULL;
}

const struct catalogue_row *loop_owner__process_row(const struct loop_owner *owners, uint32_t pid,
						    uint32_t loop)
{
	struct name_key key = { pid, loop };
	struct name *name;

	HASH_FIND(hh, owners->names, &key, sizeof(key), name);
	return name && !name->differ ? name->row : NULL;
}

/* Fallback when the wait came without a stack, or the program could not be opened. */
static const struct catalogue_row *row_by_process(const struct loop_owner *owners,
						  const struct thread *thread,
						  const struct catalogue_frame *frames, size_t cnt)
{
	uint32_t pid = thread->rec.hdr.tgid, loop = thread->rec.loop;
	const struct catalogue_row *row;

	while (cnt && !frames->file.is_exe && runtime__is(frames->file.path)) {
		frames++;
		cnt--;
	}
	if (cnt && !frames->file.is_exe)
		return NULL; /* the innermost frame lies in another library */
	row = row_of_program(owners, pid, loop);
	return row || cnt ? row : loop_owner__process_row(owners, pid, loop);
}

int loop_owner__program(struct loop_owner *owners, uint32_t pid)
{
	const struct program_of of = { owners->sym, pid };
	struct catalogue_file file = { .path = "", .is_exe = true };
	const struct catalogue_row *row;
	struct program *program;

	look_into(&file, &of);
	row = catalogue__row_of_program(owners->cat, &file);
	HASH_FIND(hh, owners->programs, &pid, sizeof(pid), program);
	if (program)
		drop_program(owners, program);
	if (!row || HASH_COUNT(owners->programs) >= NAMES_MAX)
		return 0;
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->pid = pid;
	program->row = row;
	HASH_ADD(hh, owners->programs, pid, sizeof(program->pid), program);
	return program ? 0 : -ENOMEM;
}

static size_t resolve(struct loop_owner *owners, struct thread *thread, enum naming naming,
		      struct catalogue_frame *frames)
{
	const struct program_of program = { owners->sym, thread->rec.hdr.tgid };
	size_t cnt = set_frames(owners, thread, &program, naming, frames);
	const struct catalogue_row *before = thread->row;

	thread->row = thread->rec.loop == JANK_LOOP_PARK
			      ? catalogue__row_of_thread(owners->cat, thread->rec.comm)
			      : NULL;
	if (!thread->row)
		thread->row = catalogue__row_of_wait(owners->cat, thread->rec.loop, frames, cnt);
	if (!thread->row)
		thread->row = row_by_process(owners, thread, frames, cnt);
	/*
	 * A loop that only function names could match stays without a row, and does not set the
	 * process's row.
	 */
	if ((!thread->resolved && naming != NAME_NONE) || (thread->row && thread->row != before))
		remember_name(owners, thread);
	thread->resolved = true;
	return cnt;
}

const struct catalogue_row *loop_owner__row(struct loop_owner *owners, uint32_t pid, uint32_t tid,
					    uint32_t loop)
{
	struct catalogue_frame frames[OWNER_ADDRESS_MAX];
	struct thread *thread = find_thread(owners, tid);

	if (!thread || thread->rec.loop != loop)
		return row_of_program(owners, pid, loop)
			       ?: loop_owner__process_row(owners, pid, loop);
	if (!thread->resolved)
		resolve(owners, thread, NAME_NEEDED, frames);
	return thread->row;
}

/* A loop that no block asked for is matched by file names only, without symbol tables: 5 us. */
static void settle(struct loop_owner *owners, struct thread *thread)
{
	struct catalogue_frame frames[OWNER_ADDRESS_MAX];

	if (!thread->resolved)
		resolve(owners, thread, NAME_NONE, frames);
}

void loop_owner__on_exit(struct loop_owner *owners, uint32_t pid)
{
	struct thread *thread, *next;
	struct program *program;

	HASH_ITER (hh, owners->threads, thread, next) {
		if (thread->rec.hdr.tgid != pid)
			continue;
		settle(owners, thread);
		drop_thread(owners, thread);
	}
	HASH_FIND(hh, owners->programs, &pid, sizeof(pid), program);
	if (program)
		drop_program(owners, program);
}

void loop_owner__resolve_all(struct loop_owner *owners)
{
	struct thread *thread, *next;

	HASH_ITER (hh, owners->threads, thread, next)
		settle(owners, thread);
}

/* --- listing of all loops */

static void tell(struct loop_owner *owners, struct thread *thread,
		 void (*fn)(void *ctx, const struct recorded_loop *loop), void *ctx)
{
	struct catalogue_frame found[OWNER_ADDRESS_MAX];
	struct frame frames[OWNER_ADDRESS_MAX] = {};
	struct recorded_loop loop = { .rec = &thread->rec, .exe = thread->exe, .frames = frames };
	size_t cnt = resolve(owners, thread, NAME_ALL, found);

	for (size_t i = 0; i < cnt; i++) {
		if (runtime__is(found[i].file.path))
			continue;
		frames[loop.frame_cnt].module = found[i].file.path;
		frames[loop.frame_cnt++].function = found[i].function;
	}
	loop.row = thread->row;
	fn(ctx, &loop);
}

void loop_owner__each(struct loop_owner *owners,
		      void (*fn)(void *ctx, const struct recorded_loop *loop), void *ctx)
{
	struct thread *thread, *next;

	HASH_ITER (hh, owners->threads, thread, next)
		tell(owners, thread, fn, ctx);
}
