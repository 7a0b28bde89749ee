/* SPDX-License-Identifier: GPL-2.0 */
/* What the machine did during a block, and that a block was left out. */
#include "app/recorder_parts.h"

#define PCT_DIGITS 12 /* what is rounded again for a record must not be rounded here */

void recorder__begin(struct recorder *rec, const struct block *block, struct jsonw *w)
{
	strbuf__reset(&rec->json);
	jsonw__init(w, &rec->json);
	jsonw__object(w);
	jsonw__ku64(w, "tid", block->tid);
	jsonw__ku64(w, "start_ns", block->start_ns);
	jsonw__kbool(w, "hang", block->type == BLOCK_HANG);
}

int recorder__write(struct recorder *rec, enum journal_kind kind, struct jsonw *w)
{
	jsonw__object_end(w);
	return journal_writer__json(rec->jw, kind, &rec->json);
}

int recorder__block(struct recorder *rec, const struct block *block)
{
	const struct machine_load *load = &block->load;
	struct jsonw w;
	int res;

	recorder__begin(rec, block, &w);
	if (block->loop_name)
		jsonw__kstr(&w, "loop", block->loop_name);
	jsonw__kfixed(&w, "total_pct", load->total_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "process_pct", load->process_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "user_pct", load->user_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "system_pct", load->system_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "iowait_pct", load->iowait_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "steal_pct", load->steal_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "psi_cpu_pct", load->psi_cpu_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "psi_memory_pct", load->psi_memory_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "psi_io_pct", load->psi_io_pct, PCT_DIGITS);
	jsonw__ki64(&w, "real_offset_ns", block->real_offset_ns);
	jsonw__ku64(&w, "mem_total_kb", block->host.mem_total_kb);
	jsonw__ku64(&w, "mem_free_kb", block->host.mem_free_kb);
	jsonw__ku64(&w, "mem_available_kb", block->host.mem_available_kb);
	if (block->frames.missed) {
		jsonw__ku64(&w, "missed_frames", block->frames.missed);
		jsonw__ku64(&w, "crtc", block->frames.crtc);
		jsonw__kfixed(&w, "refresh_hz", block->frames.hz, PCT_DIGITS);
	}
	res = recorder__write(rec, JOURNAL_LOAD, &w);
	return res ? res : journal_writer__flush(rec->jw);
}

int recorder__left_out(struct recorder *rec, const struct block *block)
{
	struct jsonw w;

	recorder__begin(rec, block, &w);
	jsonw__kbool(&w, "left_out", true);
	return recorder__write(rec, JOURNAL_LOAD, &w);
}
