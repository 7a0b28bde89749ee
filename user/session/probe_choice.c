/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of the probes. Waits of a 32-bit program are visible only through the tracepoints of all
 * system calls: if such a program is known at the start, these are the probes.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "probes/bpf_log.h"
#include "probes/btf.h"
#include "procfs/procinfo.h"
#include "session/limits.h"
#include "session/session_parts.h"

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
		return err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"--backend uprobe: %s is a 32-bit program, and " COMPAT_NO_UPROBES
			"; --backend kernel sees its waits",
			who);
	if (!features__has(&s->features, FEATURE_RAW_SYSCALLS))
		return err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"%s is a 32-bit program: only raw_syscalls shows its waits, and "
			"this kernel has none; see `jankbpf doctor`",
			who);
	ret->compat_waits = true;
	log__info("%s is a 32-bit program, and " COMPAT_NO_UPROBES ": waits are seen through "
		  "raw_syscalls, an android::Looper as the epoll loop beneath",
		  who);
	return 0;
}

static int choose_waits(const struct session *s, struct loader_opts *ret, struct err *err)
{
	struct strbuf who = STRBUF_INIT;
	int res = 0;

	if (find_compat(s->opts, &who))
		res = choose(s, strbuf__str(&who), ret, err);
	strbuf__free(&who);
	return res;
}

/* --- opening the probes, and messages about those that cannot be opened */

#define REFUSAL_LINES 40

static bool can_sample(const struct features *feats)
{
	return features__has(feats, FEATURE_PERF_EVENT) &&
	       (features__has(feats, FEATURE_CPU_CLOCK) || features__has(feats, FEATURE_HW_CYCLES));
}

/* Logs the end of the verifier's log, line by line. */
static void log_refusal(void)
{
	const char *line = bpf_log__tail(REFUSAL_LINES);

	while (*line) {
		size_t len = strcspn(line, "\n");

		log__debug("%.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* The CPUs that may be there, or come later: their numbers are below this count. */
static int choose_history(const struct session *s, struct history_size *ret, struct err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!s->opts->record_ns)
		return 0;
	if (!features__has(&s->features, FEATURE_ARRAY_MMAP))
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "--record: this kernel cannot share a BPF array with a "
				     "program (before 5.5); see `jankbpf doctor`");
	*ret = history_size__of(s->opts->record_ns + NS_PER_SEC, s->opts->record_entries,
				cpus > 0 ? cpus : 1);
	return 0;
}

/*
 * A command has not begun; who asks for a number of blocks wants whole ones; an agent would take a
 * fault without a stack for another one; `loops` reports what all probes say.
 */
static bool in_parts(const struct options *opts)
{
	return !opts->argv && !opts->count && opts->command != CMD_AGENT &&
	       opts->command != CMD_LOOPS;
}

/* What this kernel cannot do of what is asked. */
static void reduce(const struct session *s, struct loader_opts *opts)
{
	if (opts->frequency_hz && !can_sample(&s->features)) {
		log__warn("no samples of running code: this kernel has no clock for BPF to sample "
			  "by; see `jankbpf doctor`");
		opts->frequency_hz = 0;
	}
	if (opts->hang_ns && !features__can_look(&s->features))
		log__warn("a hang is reported only at its end: on this kernel sleeping threads "
			  "cannot be checked; see `jankbpf doctor`");
}

int session__open_probes(struct session *s, struct err *err)
{
	const struct options *opts = s->opts;
	uint64_t hang_limits[JANK_HANG_LIMITS];
	struct loader_opts loader_opts = {
		.features = &s->features,
		.types = features__has(&s->features, FEATURE_BTF) ? s->types : NULL,
		.name_pid = name_client__pid(s->names),
		.threshold_ns = opts->threshold_ns,
		.hang_ns = override__least_hang(opts),
		.hang_limits = hang_limits,
		.startup_ns = startups__threshold(opts, &s->features),
		.evidence_ns = override__least_of_all(opts),
		.filter = &s->selection.filter,
		.catalogue = s->selection.catalogue,
		.debugging = opts->debugging,
		.adjustable = options__has_screen(opts) || opts->command == CMD_AGENT,
		.in_parts = in_parts(opts),
		.load_threads = limits__load_threads(),
		.follow = opts->follow,
		.uprobe_waits = opts->backend == BACKEND_UPROBE,
		.no_marks = opts->marks == MARKS_NEVER,
		.own_waits = catalogue__waits_itself(s->selection.catalogue),
		.marks_hz = opts->marks == MARKS_AUTO ? MARKS_BUSY_HZ : 0,
		.frequency_hz = opts->frequency_hz,
		.stack_sz = opts->stack_sz,
	};
	struct btf_source types;
	int res = choose_waits(s, &loader_opts, err);

	override__hang_limits(opts, hang_limits);
	if (!res)
		res = choose_history(s, &loader_opts.history, err);
	if (res)
		return res;
	if (!opts->follow && opts->pid_cnt + (opts->argv != NULL) == 1)
		loader_opts.only_pid = opts->argv ? s->workload.pid : opts->pids[0];
	reduce(s, &loader_opts);
	res = btf_source__open(opts->btf_path, features__has(&s->features, FEATURE_BTF), &types,
			       err);
	loader_opts.btf_path = btf_source__path(&types);
	if (!res)
		res = loader__new(&loader_opts, &s->loader, err);
	btf_source__close(&types);
	if (res) {
		log_refusal();
		return res;
	}
	if (opts->backend == BACKEND_KERNEL && loader__wait_probe(s->loader) == WAIT_UPROBES)
		return err__set_exit(
			err, JANK_EXIT_CANNOT, ENOTSUP,
			"--backend kernel: this kernel has no system-call tracepoints; see "
			"`jankbpf doctor`");
	return 0;
}
