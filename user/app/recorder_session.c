/* SPDX-License-Identifier: GPL-2.0 */
/* What a journal holds once, or once for each process: no recorder is needed. */
#include "app/recorder.h"
#include "base/jsonw.h"

/* A process's loops by the names that the catalogue has for them. */
static void add_loops(struct jsonw *w, const struct summary *summary)
{
	jsonw__karray(w, "loops");
	for (size_t i = 0; i < summary->loop_cnt; i++) {
		const struct loop_hist *loop = &summary->loops[i];

		if (!loop->loop_name)
			continue;
		jsonw__object(w);
		jsonw__ku64(w, "pid", loop->pid);
		jsonw__ku64(w, "loop", loop->loop);
		jsonw__kstr(w, "name", loop->loop_name);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

static int add_json(struct journal_writer *jw, enum journal_kind kind, struct strbuf *json)
{
	int res = journal_writer__json(jw, kind, json);

	strbuf__free(json);
	return res;
}

int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns)
{
	const struct host_info *host = judge->host;
	struct strbuf json = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &json);
	jsonw__object(&w);
	jsonw__ku64(&w, "threshold_ns", judge->threshold_ns);
	jsonw__ku64(&w, "hang_ns", hang_ns);
	jsonw__ku64(&w, "fps", judge->fps);
	jsonw__ki64(&w, "real_offset_ns", judge->real_offset_ns);
	jsonw__kstr(&w, "name", host->name);
	jsonw__kstr(&w, "kernel", host->kernel);
	jsonw__kstr(&w, "arch", host->arch);
	jsonw__kstr(&w, "boot_id", host->boot_id);
	jsonw__ku64(&w, "cpus", host->cpus);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_SESSION, &json);
}

int journal__add_process(struct journal_writer *jw, const struct identity *process)
{
	struct strbuf json = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &json);
	jsonw__object(&w);
	jsonw__ku64(&w, "pid", process->pid);
	jsonw__ku64(&w, "uid", process->uid);
	jsonw__ku64(&w, "ns_pid", process->ns_pid);
	jsonw__kstr(&w, "name", process->name);
	jsonw__kstr(&w, "exe", process->exe);
	jsonw__kstr(&w, "cgroup", process->cgroup);
	jsonw__kstr(&w, "container", process->container);
	jsonw__kstr(&w, "pod", process->pod);
	jsonw__kstr(&w, "unit", process->unit);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_PROCESS, &json);
}

int journal__add_end(struct journal_writer *jw, const struct summary *summary)
{
	struct strbuf json = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &json);
	jsonw__object(&w);
	jsonw__ku64(&w, "elapsed_ns", summary->elapsed_ns);
	jsonw__kobject(&w, "lost");
	for (size_t i = 0; i < summary->lost_cnt; i++)
		jsonw__ku64(&w, summary->lost[i].reason, summary->lost[i].cnt);
	jsonw__object_end(&w);
	add_loops(&w, summary);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_END, &json);
}
