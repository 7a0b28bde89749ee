/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes the sites that targets.c chooses in real processes. Each wait must pass WAIT_BEGIN and
 * WAIT_END once, however it ends. Instructions that insn_*.c calls emulated must cost less than the
 * others. Counting perf events are enough for that. First argument: the directory of the workers.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/code/insn.h"
#include "tests/tap.h"
#include "uprobes/targets.h"

#define WANTS(e, l) (&(const struct target_wants){ .epoll = (e), .looper = (l) })

#define SITES_MAX  64
#define FAST_COUNT "20000"
#define SLOW_COUNT "200"

static const char *const kinds[] = { "wait-begin", "wait-end", "looper" };
static const char *const cost_names[] = { "nop5", "emulated", "stepped" };

static int uprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int type = -1;

	if (file && fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

/* Counts the hits in pid and in its future threads. */
static int count_hits(pid_t pid, const char *path, uint64_t offset)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)uprobe_type(),
		.size = sizeof(attr),
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = offset,
		.inherit = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

struct worker {
	pid_t pid;
	int in;
	FILE *out;
};

static bool start(struct worker *worker, const char *const *argv)
{
	int in[2], out[2];
	char line[64];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	worker->pid = fork();
	if (!worker->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	worker->in = in[1];
	worker->out = fdopen(out[0], "r");
	return worker->pid > 0 && fgets(line, sizeof(line), worker->out) &&
	       !strcmp(line, "ready\n");
}

/* Lets it do its waits. Returns how long they took, or -1. */
static long long run(struct worker *worker)
{
	long long ns = -1;

	if (write(worker->in, "\n", 1) != 1 || fscanf(worker->out, "%lld", &ns) != 1)
		return -1;
	return ns;
}

static void stop(struct worker *worker)
{
	int status = -1;

	close(worker->in);
	waitpid(worker->pid, &status, 0);
	fclose(worker->out);
	is_int(status, 0, "the worker ended well");
}

static uint64_t hits(int fd)
{
	uint64_t n = 0;

	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : UINT64_MAX;
}

/* Counts all sites of a kind in one run; -1: all kinds, for the sum. */
static void check_counts(const char *name, const char *const *argv, bool looper)
{
	uint64_t sum[3] = { 0 }, want = strtoull(argv[4], NULL, 10);
	struct worker worker;
	struct targets targets;
	int fds[SITES_MAX], opened = 0;

	if (!ok(start(&worker, argv), "%s: the worker starts", name))
		return;
	ok(!targets__find(worker.pid, WANTS(!looper, looper), &targets, NULL) && targets.site_cnt &&
		   targets.site_cnt <= SITES_MAX,
	   "%s: sites are found", name);
	for (size_t i = 0; i < targets.site_cnt; i++) {
		const struct site *site = &targets.sites[i];

		fds[i] = count_hits(worker.pid, targets.libs[site->lib].open_path,
				    site->file_offset);
		opened += fds[i] >= 0;
	}
	is_int(opened, (long long)targets.site_cnt, "%s: the kernel accepts every site", name);
	ok(run(&worker) >= 0, "%s: it does its waits", name);
	for (size_t i = 0; i < targets.site_cnt; i++) {
		sum[targets.sites[i].kind] += hits(fds[i]);
		close(fds[i]);
	}
	if (looper) {
		is_uint(sum[SITE_LOOPER], want, "%s: each pollOnce hits once", name);
	} else {
		is_uint(sum[SITE_WAIT_BEGIN], want, "%s: each wait begins once", name);
		is_uint(sum[SITE_WAIT_END], want, "%s: each wait ends once", name);
	}
	targets__free(&targets);
	stop(&worker);
}

static void check_matrix(const char *dir, const char *worker, const char *const *functions)
{
	static const char *const situations[] = { "ready", "timeout", "eintr" };
	static const char *const threaded[] = { "0", "1" };
	char path[512], name[128];

	snprintf(path, sizeof(path), "%s/%s", dir, worker);
	if (access(path, X_OK)) {
		skip(1, "%s could not be built here", worker);
		return;
	}
	for (; *functions; functions++) {
		for (int i = 0; i < 6; i++) {
			const char *argv[] = {
				path,	    *functions, situations[i / 2], threaded[i % 2],
				SLOW_COUNT, NULL
			};

			snprintf(name, sizeof(name), "%s %s %s%s", worker, argv[1], argv[2],
				 i % 2 ? " threaded" : "");
			check_counts(name, argv, false);
		}
	}
}

static void check_looper(const char *dir)
{
	char path[512];
	const char *argv[] = { path, "-", "ready", "-", SLOW_COUNT, NULL };

	snprintf(path, sizeof(path), "%s/looper", dir);
	if (access(path, X_OK)) {
		skip(1, "no android-libutils-dev here");
		return;
	}
	check_counts("looper ready", argv, true);
	argv[2] = "timeout";
	check_counts("looper timeout", argv, true);
}

/* One run with at most one probed site (which: none for SIZE_MAX). Returns the time, or -1. */
static long long time_site(const char *const *argv, bool looper, size_t which, struct site *ret)
{
	struct worker worker;
	struct targets targets;
	long long ns = -1;
	int fd = -1;

	if (!start(&worker, argv) ||
	    targets__find(worker.pid, WANTS(!looper, looper), &targets, NULL))
		return -1;
	if (which < targets.site_cnt) {
		*ret = targets.sites[which];
		fd = count_hits(worker.pid, targets.libs[ret->lib].open_path, ret->file_offset);
	}
	if (which == SIZE_MAX || fd >= 0)
		ns = run(&worker);
	if (fd >= 0 && !hits(fd))
		ns = -1;
	if (fd >= 0)
		close(fd);
	close(worker.in);
	waitpid(worker.pid, NULL, 0);
	fclose(worker.out);
	targets__free(&targets);
	return ns;
}

/*
 * The cost of each site in a run of its own. It is printed for the reader; no result depends on it.
 */
static void show_costs(const char *dir, const char *worker, const char *function,
		       const char *threaded)
{
	char path[512];
	const char *argv[] = { path, function, "ready", threaded, FAST_COUNT, NULL };
	bool looper = !strcmp(worker, "looper");
	double count = strtod(FAST_COUNT, NULL);
	struct site site;
	long long base, ns;

	snprintf(path, sizeof(path), "%s/%s", dir, worker);
	if (access(path, X_OK))
		return;
	base = time_site(argv, looper, SIZE_MAX, &site);
	diag("%s %s%s: %.0f ns a wait without a probe", worker, function,
	     *threaded == '1' ? " threaded" : "", (double)base / count);
	for (size_t i = 0; i < (looper ? 1 : 9); i++) {
		ns = time_site(argv, looper, i, &site);
		if (ns >= 0)
			diag("  %-10s %-8s %-12s %+6.0f ns a hit", kinds[site.kind],
			     cost_names[site.cost], looper ? "pollOnce" : site.function,
			     (double)(ns - base) / count);
	}
}

/*
 * Functions that begin with the instruction in question. In asm, so that the compiler adds nothing
 * before it.
 */
#define TRY(name, text)                                                                            \
	extern const char try_##name[];                                                            \
	__asm__(".text\n.balign 16\n.type try_" #name ", @function\ntry_" #name ":\n" text "\n")

#ifdef __x86_64__
TRY(nop, "nop; ret");
TRY(nop5, ".byte 0x0f,0x1f,0x44,0,0; ret");
TRY(push, "push %rbp; pop %rbp; ret");
TRY(push_r12, "push %r12; pop %r12; ret");
TRY(je, "je 1f; 1: ret");
TRY(ja_near, ".byte 0x0f,0x87,0,0,0,0; ret");
TRY(jmp, "jmp 1f; 1: ret");
TRY(call, "call 1f; ret; 1: ret");
TRY(endbr, "endbr64; ret");
TRY(mov, "mov %edi,%eax; ret");
TRY(sub, "sub $8,%rsp; add $8,%rsp; ret");
TRY(cmp, "cmpl $0,try_nop(%rip); ret");
TRY(ret, "ret");

static const struct {
	const char *name, *code;
} tries[] = {
	{ "nop", try_nop },	   { "nop5", try_nop5 },
	{ "push %rbp", try_push }, { "push %r12", try_push_r12 },
	{ "je", try_je },	   { "ja near", try_ja_near },
	{ "jmp", try_jmp },	   { "call", try_call },
	{ "endbr64", try_endbr },  { "mov", try_mov },
	{ "sub", try_sub },	   { "cmp mem", try_cmp },
	{ "ret", try_ret },
};
#define NATIVE insn_x86
#elif defined(__aarch64__)
TRY(adr, "adr x1,.; ret");
TRY(b, "b 1f; 1: ret");
TRY(cbz, "cbz x1,1f; 1: ret");
TRY(ret, "ret");
TRY(mov, "mov x1,x2; ret");
TRY(cmp, "cmp x1,#0; ret");

static const struct {
	const char *name, *code;
} tries[] = {
	{ "adr", try_adr }, { "b", try_b },	{ "cbz", try_cbz },
	{ "ret", try_ret }, { "mov", try_mov }, { "cmp", try_cmp },
};
#define NATIVE insn_arm64
#endif

/* File offset of an address in this program, or 0. */
static uint64_t own_offset(const void *address)
{
	unsigned long start, end, offset;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	uint64_t ret = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)address >= start && (uintptr_t)address < end)
			ret = (uintptr_t)address - start + offset;
	}
	if (maps)
		fclose(maps);
	return ret;
}

static double time_calls(const char *code)
{
	void (*fn)(void);
	struct timespec a, b;
	double best = 1e18;

	memcpy(&fn, &code, sizeof(fn));
	for (int round = 0; round < 5; round++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < 2000; i++)
			fn();
		clock_gettime(CLOCK_MONOTONIC, &b);
		double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);

		best = ns / 2000 < best ? ns / 2000 : best;
	}
	return best;
}

/*
 * The cost of one probed instruction, and our class of it. Decode it first: the probe writes a
 * breakpoint over it.
 */
static void check_instruction(const char *name, const char *code, double *emulated, double *stepped)
{
	static const char *const classes[] = { "emulated", "nop5", "stepped", "never" };
	struct insn insn = { .probe = INSN_NEVER };
	int err = NATIVE.decode((const uint8_t *)code, 15, &insn);
	int fd = count_hits(0, "/proc/self/exe", own_offset(code));
	double ns;

	if (!ok(fd >= 0 && !err && insn.probe != INSN_NEVER, "%s: can be probed", name))
		return;
	ns = time_calls(code);
	ok(hits(fd) == 10000, "%s: hit by each call", name);
	close(fd);
	diag("  %-10s %8.0f ns a hit, %s", name, ns, classes[insn.probe]);
	if (insn.probe == INSN_EMULATED && ns > *emulated)
		*emulated = ns;
	if (insn.probe == INSN_STEPPED && ns < *stepped)
		*stepped = ns;
}

/*
 * On this kernel, are the instructions that the decoder calls emulated cheaper than those that it
 * calls stepped?
 */
static void check_instructions(void)
{
	double emulated = 0, stepped = 1e18;

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++)
		check_instruction(tries[i].name, tries[i].code, &emulated, &stepped);
	ok(emulated > 0 && stepped < 1e18, "there are emulated and stepped ones");
	ok(emulated < stepped,
	   "the most expensive emulated one, %.0f ns, costs less than the cheapest stepped one, %.0f",
	   emulated, stepped);
}

int main(int argc, char **argv)
{
	static const char *const glibc[] = { "wait", "pwait", "pwait2", NULL };
	static const char *const musl[] = { "wait", "pwait", NULL };

	if (argc != 2)
		return 2;
	if (geteuid() || uprobe_type() < 0)
		skip_all("needs root and the kernel's uprobe events");
	check_instructions();
	check_matrix(argv[1], "worker", glibc);
	check_matrix(argv[1], "worker-static", glibc);
	check_matrix(argv[1], "worker-musl", musl);
	check_looper(argv[1]);
	show_costs(argv[1], "worker", "wait", "0");
	show_costs(argv[1], "worker", "wait", "1");
	show_costs(argv[1], "looper", "-", "-");
	return tap__done();
}
