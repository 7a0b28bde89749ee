/* SPDX-License-Identifier: GPL-2.0 */
/*
 * jit-PID.dump: found among the mappings, read as it grows, never trusted. This process is its own
 * JIT compiler.
 */
#include <sys/mman.h>
#include <time.h>

#include "symbol/languages/jit.h"
#include "tests/unit/symbol_fixture.h"

static unsigned char *code;
static FILE *dump;
static void *marker;

static void put(const void *data, size_t len)
{
	if (fwrite(data, 1, len, dump) != len)
		abort();
}

static void put_u32(uint32_t v)
{
	put(&v, sizeof(v));
}

static void put_u64(uint64_t v)
{
	put(&v, sizeof(v));
}

static void put_head(uint32_t id, uint32_t size)
{
	put_u32(id);
	put_u32(16 + size);
	put_u64(1);
}

static void load_code(unsigned off, unsigned size, const char *name)
{
	put_head(0, 40 + strlen(name) + 1 + size);
	put_u32(getpid());
	put_u32(getpid());
	put_u64((uintptr_t)code + off);
	put_u64((uintptr_t)code + off);
	put_u64(size);
	put_u64(7);
	put(name, strlen(name) + 1);
	put(code, size);
}

static void move_code(unsigned from, unsigned to, unsigned size)
{
	put_head(1, 48);
	put_u32(getpid());
	put_u32(getpid());
	put_u64((uintptr_t)code + to);
	put_u64((uintptr_t)code + from);
	put_u64((uintptr_t)code + to);
	put_u64(size);
	put_u64(7);
}

static void put_line(unsigned off, unsigned line, const char *file)
{
	put_u64((uintptr_t)code + off);
	put_u32(line);
	put_u32(0);
	put(file, strlen(file) + 1);
}

/* Two lines of a.js, and one of another. */
static void add_lines(unsigned off)
{
	put_head(2, 16 + 3 * 16 + 5 + 2 + 5);
	put_u64((uintptr_t)code + off);
	put_u64(3);
	put_line(off, 11, "a.js");
	put_line(off + 8, 12, "\xff");
	put_line(off + 16, 5, "b.js");
}

static void begin_dump(const char *name)
{
	const char *path = scratch__path(name);
	static const uint32_t head[10] = { 0x4a695444, 1, 40, 62 };

	dump = fopen(path, "w+");
	if (!dump)
		abort();
	put(head, sizeof(head));
	fflush(dump);
	marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
	if (marker == MAP_FAILED)
		abort();
}

static void end_dump(void)
{
	munmap(marker, 4096);
	fclose(dump);
}

static struct frame frame_at(struct symbolizer *sym, unsigned off)
{
	struct timespec pause = { 0, 60000000 };

	fflush(dump);
	nanosleep(&pause, NULL); /* re-reading may have cost something */
	return fixture__frame(sym, getpid(), (uintptr_t)code + off, true);
}

static void check_growth(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct frame frame;

	begin_dump("jit-77.dump");
	add_lines(64);
	load_code(64, 64, "JS:*handle /srv/a.js:10:1");
	frame = frame_at(sym, 64 + 9);
	is_str(frame.function, "handle", "code that is there already");
	is_uint(frame.offset, 9, "with its offset");
	is_str(frame.module, "/srv/a.js", "and module");
	is_str(frame.language, "javascript", "and language");
	is_str(frame.file, "a.js", "and file, the same as on the line before");
	is_uint(frame.line, 12, "and line");
	frame = frame_at(sym, 64 + 17);
	is_str(frame.file, "b.js", "a line of another file");
	is_uint(frame.line, 5, "line");
	is_str(frame_at(sym, 256).function, NULL, "code that is not there yet has no name");
	load_code(256, 32, "later");
	frame = frame_at(sym, 256);
	is_str(frame.function, "later", "but later it has one");
	is_str(frame.language, NULL, "without a known language");
	is_uint(frame.line, 0, "or a line");
	load_code(64, 32, "other");
	frame = frame_at(sym, 64 + 9);
	is_str(frame.function, "other", "of two at one place the later counts");
	is_uint(frame.line, 12, "with the lines of that place");
	move_code(256, 512, 32);
	is_str(frame_at(sym, 512 + 3).function, "later", "code that was moved keeps its name");
	end_dump();
	symbolizer__free(sym);
}

static void check_half(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);

	begin_dump("jit-78.dump");
	load_code(64, 64, "one");
	put_head(0, 40 + 4 + 64);
	put_u64(0);
	is_str(frame_at(sym, 64).function, "one", "a half-written record hides none before");
	put_u64((uintptr_t)code + 128);
	put_u64((uintptr_t)code + 128);
	put_u64(64);
	put_u64(8);
	put("two", 4);
	put(code, 64);
	is_str(frame_at(sym, 128).function, "two", "and is read when it is whole");
	end_dump();
	symbolizer__free(sym);
}

static void check_hostile(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);

	begin_dump("jit-79.dump");
	load_code(64, 64, "good");
	put_head(2, 16); /* more entries than it has room for */
	put_u64((uintptr_t)code + 64);
	put_u64(UINT64_MAX);
	put_head(2, 16);
	put_u64((uintptr_t)code + 64);
	put_u64(15);
	put_head(0, 8); /* too short */
	put_u64(1);
	put_head(99, 8); /* an unknown kind */
	put_u64(1);
	move_code(4096, 64, 8); /* a move of missing code */
	load_code(256, 16, "");
	load_code(320, 16, "after all that");
	is_str(frame_at(sym, 64).function, "good", "earlier records count");
	is_str(frame_at(sym, 320).function, "after all that", "also after invalid ones");
	is_str(frame_at(sym, 256).function, NULL, "an empty name is none");
	put_u32(0);
	put_u32(3); /* shorter than its header: nothing can be found after it */
	put_u64(0);
	load_code(384, 16, "unseen");
	is_str(frame_at(sym, 384).function, NULL, "a record without an end ends the file");
	is_str(frame_at(sym, 64).function, "good", "but removes nothing");
	end_dump();
	symbolizer__free(sym);
}

static void check_found(const char *name, bool wanted, const char *what)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);

	begin_dump(name);
	load_code(64, 64, "found");
	is_str(frame_at(sym, 64).function, wanted ? "found" : NULL, "%s", what);
	if (wanted) {
		remove(scratch__path(name));
		load_code(128, 64, "more");
		is_str(frame_at(sym, 128).function, "more", "even if the file was deleted");
	}
	end_dump();
	symbolizer__free(sym);
}

static void check_owner(void)
{
	struct symbolizer *sym;

	if (geteuid()) {
		skip(1, "a file of another user needs root");
		return;
	}
	sym = fixture__symbolizer(NULL, NULL);
	begin_dump("jit-80.dump");
	load_code(64, 64, "forged");
	if (fchown(fileno(dump), 1234, 1234))
		abort();
	is_str(frame_at(sym, 64).function, NULL, "another user's file is ignored");
	end_dump();
	symbolizer__free(sym);
}

#define MOVES	    800 /* 51 kB of them: as many kinds as were there before */
#define MORE_MOVES  80000
#define STEPS_A_ONE 400

/* Moves of existing code: each piece to a place of its own, then back: A to B to A. */
static uint64_t steps_of_moves(unsigned cnt)
{
	struct jitdump read;
	uint64_t steps;
	const struct symbol *sym;

	begin_dump("jit-81.dump");
	for (unsigned i = 0; i < cnt / 2; i++)
		load_code(16 * (i % 1024), 16, "moved");
	for (unsigned i = 0; i < cnt; i++)
		move_code(16 * (i % 1024) + 16384 * (i & 1), 16 * (i % 1024) + 16384 * !(i & 1),
			  16);
	fflush(dump);
	jitdump__init(&read);
	jitdump__open(&read, dup(fileno(dump)), getuid(), "dump");
	do {
		read.next_ns = 0;
		jitdump__update(&read);
	} while (read.behind);
	steps = read.code.steps;
	sym = jitdump__find(&read, (uintptr_t)code + 16);
	ok(sym && !read.full, "%u moves: the code is found", cnt);
	jitdump__free(&read);
	end_dump();
	remove(scratch__path("jit-81.dump"));
	return steps;
}

static void check_cost(void)
{
	uint64_t few = steps_of_moves(MOVES), many = steps_of_moves(MORE_MOVES);

	ok(few < MOVES * STEPS_A_ONE, "%d moves take %llu steps", MOVES, (unsigned long long)few);
	ok(many < MORE_MOVES * STEPS_A_ONE, "%d take %llu", MORE_MOVES, (unsigned long long)many);
}

int main(void)
{
	scratch__init();
	code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (code == MAP_FAILED)
		skip_all("no executable memory");
	check_growth();
	check_half();
	check_hostile();
	check_found("jit-1.dump", true, "by its name");
	check_found("jit-12-34.dump", true, "Bun's, with the thread");
	check_found("jit-12-.dump", false, "not without the process");
	check_found("jit-x.dump", false, "not by another");
	check_found("jit-1.dumped", false, "nor a longer one");
	check_owner();
	check_cost();
	return tap__done();
}
