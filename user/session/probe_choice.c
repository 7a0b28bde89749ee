/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of the probes, and 32-bit programs. Waits of a 32-bit program are visible only through the
 * tracepoints of all system calls. If such a program is known at the start, these are the probes.
 * Otherwise they are attached beside the others while such programs exist, since every system call
 * of the machine pays for them.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "probes/bpf_log.h"
#include "probes/btf_source.h"
#include "probes/compat32.h"
#include "session/session_parts.h"

#define LOOK_EVERY_NS NS_PER_SEC
#define LOOK_SHARE    500 /* at most one part in this many of our CPU time */
#define EMPTY_LOOKS   3

#ifdef __aarch64__
#define NO_UPROBES "the kernel has no uprobes in those"
#else
#define NO_UPROBES "uprobes are for 64-bit ones"
#endif

/* Names the first 32-bit target; false: there is none. */
static bool find_compat(const struct options *opts, struct strbuf *ret)
{
	for (size_t i = 0; i < opts->pid_cnt; i++)
		if (compat32__process(opts->pids[i])) {
			strbuf__addf(ret, "process %d", opts->pids[i]);
			return true;
		}
	if (!opts->argv || !compat32__command(opts->argv[0]))
		return false;
	strbuf__addf(ret, "'%s'", opts->argv[0]);
	return true;
}

static int choose(const struct session *s, const char *who, struct loader_opts *ret,
		  struct err *err)
{
	if (s->opts->backend == BACKEND_UPROBE)
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "--backend uprobe: %s is a 32-bit program, and " NO_UPROBES
				     "; --backend kernel sees its waits",
				     who);
	if (!features__has(&s->features, FEATURE_RAW_SYSCALLS))
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "%s is a 32-bit program, whose waits are seen through "
				     "raw_syscalls alone: this kernel has none; see `jankbpf "
				     "doctor`",
				     who);
	ret->compat_waits = true;
	log__info("%s is a 32-bit program, and " NO_UPROBES ": waits are seen through "
		  "raw_syscalls, an android::Looper as the epoll loop beneath",
		  who);
	return 0;
}

int session__choose_waits(const struct session *s, struct loader_opts *ret, struct err *err)
{
	struct strbuf who = STRBUF_INIT;
	int res = 0;

	if (find_compat(s->opts, &who))
		res = choose(s, strbuf__str(&who), ret, err);
	strbuf__free(&who);
	return res;
}

/* --- 32-bit programs that start during the run */

static void tell_unseen(const struct session *s, uint32_t pid, int why)
{
	const char *reason = strerror(why);

	if (loader__wait_probe(s->loader) == WAIT_UPROBES)
		reason = NO_UPROBES "; --backend kernel sees them";
	else if (why == ENOTSUP)
		reason = "this kernel has no raw_syscalls; see `jankbpf doctor`";
	log__warn("process %u runs a 32-bit program now: its waits and blocks are lost: %s", pid,
		  reason);
}

/* Attaches the probes. The log gets one line about such programs, with success or failure. */
static void see(struct session *s, uint32_t pid)
{
	struct compat_watch *compat = &s->compat;
	uint64_t begin = clock__mono_ns();
	int res = loader__see_compat(s->loader, true);

	compat->seen = !res;
	if (res && !compat->told)
		tell_unseen(s, pid, -res);
	else if (!res && !compat->told)
		log__info("process %u runs a 32-bit program: its waits are seen through "
			  "raw_syscalls, which every system call of the machine passes",
			  pid);
	compat->told = true;
	if (!res)
		log__verbose("raw_syscalls attached for process %u in %llu us", pid,
			     (clock__mono_ns() - begin) / NS_PER_US);
}

/*
 * True if the process has traced threads, or would have. Threads that the filters once admitted
 * stay traced.
 */
static bool is_wanted(struct session *s, pid_t pid)
{
	return session__traced(s, pid) || filter__admits(&s->filter, pid);
}

static bool on_compat(void *ctx, pid_t pid)
{
	struct session *s = ctx;

	s->compat.some = true;
	if (is_wanted(s, pid))
		s->compat.last = pid;
	return s->compat.last;
}

/* Look at all processes only when the known one is gone. */
static void look(struct session *s)
{
	struct compat_watch *compat = &s->compat;

	if (compat->last && is_wanted(s, compat->last) && compat32__process(compat->last))
		return;
	compat->some = false;
	compat->last = 0;
	compat32__each(on_compat, s);
}

/*
 * With -a. A look that finds none may miss a process whose parent ends meanwhile. Where one such
 * program ran, another is likely to follow. So the probes are detached only after EMPTY_LOOKS empty
 * looks.
 */
static void follow(struct session *s)
{
	struct compat_watch *compat = &s->compat;

	compat->empty_cnt = compat->last ? 0 : compat->empty_cnt + 1;
	if (compat->last && !compat->seen)
		see(s, compat->last);
	if (!compat->seen || compat->empty_cnt < EMPTY_LOOKS)
		return;
	loader__see_compat(s->loader, false);
	compat->seen = false;
	log__verbose("no 32-bit program is left whose waits are to be seen");
}

void session__find_compat(struct session *s)
{
	struct compat_watch *compat = &s->compat;
	uint64_t now = clock__mono_ns(), every = compat->cost_ns * LOOK_SHARE;
	bool first = !compat->look_ns;

	if (!s->opts->filter.all || loader__wait_probe(s->loader) != WAIT_SYSCALL_TRACEPOINTS)
		return;
	if (!first && ((!compat->some && !compat->seen) ||
		       now - compat->look_ns < (every > LOOK_EVERY_NS ? every : LOOK_EVERY_NS)))
		return;
	look(s);
	follow(s);
	compat->look_ns = clock__mono_ns();
	compat->cost_ns = compat->look_ns - now;
}

void session__on_compat_exec(struct session *s, uint32_t pid)
{
	struct compat_watch *compat = &s->compat;

	if (loader__wait_probe(s->loader) == WAIT_RAW_SYSCALLS || compat->seen)
		return;
	compat->some = true;
	if (s->opts->filter.all && !is_wanted(s, pid))
		return;
	compat->last = pid;
	compat->empty_cnt = 0;
	see(s, pid);
}

/* --- opening the probes, and messages about those that cannot be opened */

#define REFUSAL_LINES 40

static bool can_sample(const struct features *feats)
{
	return features__has(feats, FEATURE_PERF_EVENT) &&
	       (features__has(feats, FEATURE_CPU_CLOCK) || features__has(feats, FEATURE_HW_CYCLES));
}

/* Logs the end of the verifier's log, line by line. */
static void tell_refusal(void)
{
	const char *line = bpf_log__tail(REFUSAL_LINES);

	while (*line) {
		size_t len = strcspn(line, "\n");

		log__debug("%.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

int session__open_probes(struct session *s, struct err *err)
{
	const struct options *opts = s->opts;
	struct loader_opts loader_opts = {
		.features = &s->features,
		.threshold_ns = opts->threshold_ns,
		.hang_ns = opts->hang_ns,
		.filter = &s->filter,
		.catalogue = s->catalogue,
		.debugging = opts->debugging,
		.follow = opts->follow,
		.uprobe_waits = opts->backend == BACKEND_UPROBE,
		.no_marks = opts->marks == MARKS_NEVER,
		.frequency_hz = opts->frequency_hz,
		.stack_sz = opts->stack_sz,
	};
	struct btf_source types;
	int res = session__choose_waits(s, &loader_opts, err);

	if (res)
		return res;
	if (!opts->follow && opts->pid_cnt + (opts->argv != NULL) == 1)
		loader_opts.only_pid = opts->argv ? s->workload.pid : opts->pids[0];
	if (loader_opts.frequency_hz && !can_sample(&s->features)) {
		log__warn("no samples of running code: this kernel has no clock for BPF to sample "
			  "by; see `jankbpf doctor`");
		loader_opts.frequency_hz = 0;
	}
	if (opts->hang_ns && !features__can_look(&s->features))
		log__warn("a hang is told at its end only: this kernel lacks what a look at "
			  "sleeping threads takes; see `jankbpf doctor`");
	res = btf_source__open(opts->btf_path, features__has(&s->features, FEATURE_BTF), &types,
			       err);
	loader_opts.btf_path = btf_source__path(&types);
	if (!res)
		res = loader__new(&loader_opts, &s->loader, err);
	btf_source__close(&types);
	if (res) {
		tell_refusal();
		return res;
	}
	if (opts->backend == BACKEND_KERNEL && loader__wait_probe(s->loader) == WAIT_UPROBES)
		return err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"--backend kernel: this kernel has no system-call tracepoints; see "
			"`jankbpf doctor`");
	res = loader__park_maps(s->loader, &s->park_maps);
	if (!res)
		res = loader__copy_maps(s->loader, &s->copy_maps);
	if (!res)
		res = loader__script_maps(s->loader, &s->script_maps);
	if (res)
		return err__set(err, -res, "cannot talk to the probes: %s", strerror(-res));
	return ring__new(loader__ring_fd(s->loader), session__on_record, s, &s->ring, err);
}
