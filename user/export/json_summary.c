/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The summary as one JSON object. `lost` is always there, so that "nothing" is said, not left to
 * be assumed.
 */
#include "base/jsonw.h"
#include "export/json.h"
#include "export/sink.h"

static void add_cost(struct jsonw *w, const struct summary *summary)
{
	jsonw__kobject(w, "cost");
	if (summary->bpf_known) {
		jsonw__ku64(w, "bpf_ns", summary->bpf_ns);
		jsonw__ku64(w, "bpf_runs", summary->bpf_runs);
	}
	jsonw__ku64(w, "user_cpu_ns", summary->user_cpu_ns);
	jsonw__ku64(w, "rss_kb", summary->rss_kb);
	if (summary->bpf_known && summary->dispatch_cnt)
		jsonw__kfixed(w, "ns_per_dispatch",
			      (double)summary->bpf_ns / (double)summary->dispatch_cnt, 1);
	jsonw__object_end(w);
}

/*
 * Element i counts durations in [2^i, 2^(i+1)) ns; the zeros after the last non-zero one are left
 * out.
 */
static void add_hist(struct jsonw *w, const uint64_t *hist)
{
	size_t cnt = JANK_HIST_BUCKETS;

	while (cnt && !hist[cnt - 1])
		cnt--;
	jsonw__karray(w, "log2");
	for (size_t i = 0; i < cnt; i++)
		jsonw__u64(w, hist[i]);
	jsonw__array_end(w);
}

static void add_loop(struct jsonw *w, const struct loop_hist *loop)
{
	jsonw__object(w);
	jsonw__kstr(w, "loop", hist__loop(loop));
	jsonw__ku64(w, "pid", loop->pid);
	if (loop->process)
		jsonw__kstr(w, "process", loop->process);
	jsonw__ku64(w, "dispatches", loop->dispatch_cnt);
	jsonw__ku64(w, "blocks", loop->block_cnt);
	add_hist(w, loop->hist);
	jsonw__object_end(w);
}

void json__add_summary(struct strbuf *sb, const struct summary *summary)
{
	struct jsonw w;

	jsonw__init(&w, sb);
	jsonw__object(&w);
	jsonw__kstr(&w, "type", "summary");
	jsonw__kstr(&w, "schema", BLOCK_SCHEMA);
	jsonw__ku64(&w, "elapsed_ns", summary->elapsed_ns);
	jsonw__ku64(&w, "dispatches", summary->dispatch_cnt);
	jsonw__ku64(&w, "blocks", summary->block_cnt);
	jsonw__ku64(&w, "hangs", summary->hang_cnt);
	json__add_lost(&w, summary->lost, summary->lost_cnt);
	add_cost(&w, summary);
	jsonw__karray(&w, "loops");
	for (size_t i = 0; i < summary->loop_cnt; i++)
		add_loop(&w, &summary->loops[i]);
	jsonw__array_end(&w);
	jsonw__object_end(&w);
}
