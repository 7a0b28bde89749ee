/* SPDX-License-Identifier: GPL-2.0 */
/* Which probes can be opened, and what is told of those that cannot. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "probes/bpf_log.h"
#include "probes/btf_source.h"
#include "session/session_parts.h"

#define REFUSAL_LINES 40

static bool can_sample(const struct features *feats)
{
	return features__has(feats, FEATURE_PERF_EVENT) &&
	       (features__has(feats, FEATURE_CPU_CLOCK) || features__has(feats, FEATURE_HW_CYCLES));
}

/* What the verifier said last, a line at a time. */
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
