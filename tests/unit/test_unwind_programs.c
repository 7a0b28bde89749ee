/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks through programs of the distribution, compared with gdb's of the same stopped thread: no
 * frame may differ from gdb's. JANK_UNWIND_SAMPLES: the number for each program, 25 by default.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "symbol/unwind/unwind.h"
#include "tests/unit/child.h"
#include "tests/unit/symbol_fixture.h"

#define BYTES	  65536
#define FRAME_MAX 512

struct shot {
	uint64_t regs[JANK_REG_MAX];
	uint32_t size, flags, frame_cnt, sure_cnt;
	uint8_t bytes[BYTES];
	uint64_t frames[FRAME_MAX];
};

struct score {
	unsigned samples, complete, wrong, shorter, longer;
	unsigned ends[STACK_END_DEEP + 1];
	uint64_t cold_ns, warm_ns, frames, used_max;
};

static const char *const end_names[] = { "unknown",  "complete", "copy", "hole",
					 "no table", "astray",	 "deep" };

static bool read_shot(FILE *file, struct shot *shot)
{
	return fread(shot->regs, sizeof(shot->regs), 1, file) == 1 &&
	       fread(&shot->size, 4 * sizeof(uint32_t), 1, file) == 1 && shot->size <= BYTES &&
	       shot->frame_cnt <= FRAME_MAX &&
	       fread(shot->bytes, 1, shot->size, file) == shot->size &&
	       fread(shot->frames, sizeof(uint64_t), shot->frame_cnt, file) == shot->frame_cnt;
}

static void show(const struct shot *shot, const struct unwound *got, struct symbolizer *sym,
		 pid_t pid)
{
	struct stack stack = { .addresses = (uint64_t *)got->addresses, .user_cnt = got->cnt };

	diag("the walk ended by %s in %s", end_names[got->end], got->module ?: "-");
	symbolizer__stack(sym, pid, &stack);
	for (uint32_t i = 0; i < got->cnt || i < shot->frame_cnt; i++)
		diag("%2u ours %12llx gdb's %12llx%s %s", i,
		     i < got->cnt ? (unsigned long long)got->addresses[i] : 0,
		     i < shot->frame_cnt ? (unsigned long long)shot->frames[i] : 0,
		     i < shot->sure_cnt ? "" : "?",
		     i < got->cnt ? stack.frames[i].function ?: stack.frames[i].module ?: "" : "");
	free(stack.frames);
}

static void compare(struct score *score, const struct shot *shot, const struct unwound *got,
		    struct symbolizer *sym, pid_t pid)
{
	uint32_t cnt = got->cnt < shot->sure_cnt ? got->cnt : shot->sure_cnt, i;

	for (i = 0; i < cnt && got->addresses[i] == shot->frames[i]; i++)
		;
	if (i < cnt && !score->wrong++)
		show(shot, got, sym, pid);
	score->samples++;
	score->frames += got->cnt;
	score->complete += got->end == STACK_END_COMPLETE;
	score->ends[got->end]++;
	if (got->used_sz > score->used_max)
		score->used_max = got->used_sz;
	if (shot->sure_cnt < shot->frame_cnt)
		return;
	score->shorter += got->cnt < shot->frame_cnt;
	score->longer += got->cnt > shot->frame_cnt;
	if ((got->cnt < shot->frame_cnt && score->shorter == 1) || getenv("JANK_UNWIND_SHOW"))
		show(shot, got, sym, pid);
}

static uint64_t timed(struct symbolizer *sym, pid_t pid, const struct shot *shot,
		      struct unwound *ret)
{
	struct copy_event copy = { .bytes = shot->bytes };
	uint64_t begin;

	copy.rec.hdr.flags = shot->flags;
	copy.rec.hdr.tgid = (uint32_t)pid;
	copy.rec.copy_sz = shot->size;
	copy.rec.asked_sz = BYTES;
	memcpy(copy.rec.regs, shot->regs, sizeof(shot->regs));
	begin = clock__mono_ns();
	if (symbolizer__unwind(sym, &copy, ret, 1))
		abort();
	return clock__mono_ns() - begin;
}

static void walk_all(const char *path, pid_t pid, struct score *score)
{
	struct symbolizer *sym = fixture__symbolizer("/nowhere", NULL);
	static struct shot shot;
	struct unwound got;
	FILE *file = fopen(path, "r");

	symbolizer__process(sym, pid, NULL);
	while (file && read_shot(file, &shot)) {
		score->cold_ns += timed(sym, pid, &shot, &got);
		score->warm_ns += timed(sym, pid, &shot, &got);
		compare(score, &shot, &got, sym, pid);
	}
	if (file)
		fclose(file);
	symbolizer__free(sym);
}

static void report(const char *name, const struct score *score)
{
	char ends[256] = "";

	for (unsigned i = 0; i <= STACK_END_DEEP; i++)
		if (score->ends[i])
			snprintf(ends + strlen(ends), sizeof(ends) - strlen(ends), " %s %u",
				 end_names[i], score->ends[i]);
	ok(score->samples && !score->wrong, "%s: %u samples, none has a wrong frame (%u)", name,
	   score->samples, score->wrong);
	if (score->samples)
		diag("%s: ended:%s; shorter %u, longer %u; %.1f frames, %llu bytes used at most, "
		     "first time %.1f us, again %.1f",
		     name, ends, score->shorter, score->longer,
		     (double)score->frames / score->samples, (unsigned long long)score->used_max,
		     score->cold_ns / 1e3 / score->samples, score->warm_ns / 1e3 / score->samples);
}

static bool has(const char *what)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", what);
	return !system(command);
}

struct program {
	const char *name, *file;
	const char *command, *load; /* of a shell; the load runs meanwhile */
};

static const struct program programs[] = {
	{ "redis", "redis-server",
	  "exec redis-server --port 0 --unixsocket $D/redis --save '' >/dev/null",
	  "exec redis-benchmark -s $D/redis -n 100000000 -q >/dev/null 2>&1" },
	{ "redis, asleep", "redis-server",
	  "exec redis-server --port 0 --unixsocket $D/redis2 --save '' >/dev/null", NULL },
	{ "nginx", "nginx",
	  "printf 'daemon off; master_process off; pid %s/p; error_log /dev/null; events {} http { "
	  "access_log "
	  "off; server { listen unix:%s/ng; location / { gzip on; gzip_min_length 1; gzip_types *; "
	  "root /usr/share/doc; } } }' $D $D > $D/c; "
	  "exec nginx -e /dev/null -c $D/c",
	  "while :; do curl -s --compressed --unix-socket $D/ng http://x/bash/copyright "
	  ">/dev/null; done" },
	{ "python3", "/usr/bin/python3",
	  "exec /usr/bin/python3 -c 'import json\nd = [{str(i): [i] * 9} for i in range(99)]\n"
	  "def f(n):\n  return json.loads(json.dumps(sorted(d, key=lambda x: str(x)))) if not n "
	  "else f(n - 1)\nwhile 1: f(5)'",
	  NULL },
	{ "node", "node",
	  "exec node -e 'const z = require(\"zlib\"); function f() { for (let i = 0; i < 20; i++) "
	  "{ "
	  "JSON.stringify(JSON.parse(\"[\" + \"1,\".repeat(999) + \"1]\")); "
	  "z.deflateSync(Buffer.alloc(9999)); } setTimeout(f, 1); } f()'",
	  NULL },
};

static pid_t start(const char *command)
{
	pid_t pid = child__fork();

	if (!pid) {
		setpgid(0, 0);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return pid;
}

static void finish(pid_t pid)
{
	kill(-pid, SIGKILL);
	child__end(pid);
}

static void test_program(const struct program *program)
{
	struct score score = {};
	pid_t pid, load = 0;
	char command[512];

	if (!has(program->file))
		return skip(1, "no %s", program->file);
	pid = start(program->command);
	sleep(1);
	if (program->load)
		load = start(program->load);
	usleep(300000);
	snprintf(command, sizeof(command),
		 "OUT=$D/shots COUNT=%s BYTES=%u timeout 100 gdb -nx -q -batch -p %d -x "
		 "tests/unit/gdb_stacks.py >$D/log 2>&1",
		 getenv("JANK_UNWIND_SAMPLES") ?: "25", BYTES, pid);
	if (system(command))
		system("tail -3 $D/log");
	walk_all(scratch__path("shots"), pid, &score);
	report(program->name, &score);
	if (load)
		finish(load);
	finish(pid);
}

int main(void)
{
	if (!has("gdb"))
		skip_all("no gdb: install gdb");
	scratch__init();
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!getenv("JANK_UNWIND_ONLY") ||
		    strstr(programs[i].name, getenv("JANK_UNWIND_ONLY")))
			test_program(&programs[i]);
	return tap__done();
}
