/* SPDX-License-Identifier: GPL-2.0 */
/* What the machine did meanwhile, and how it scheduled the thread, as JSON. */
#include <math.h>

#include "export/json_parts.h"
#include "export/priority.h"

static bool is_pct(double pct)
{
	return pct >= 0 && isfinite(pct);
}

static void add_pct(struct jsonw *w, const char *key, double pct)
{
	if (is_pct(pct))
		jsonw__kfixed(w, key, pct, 1);
}

static void add_psi(struct jsonw *w, const struct machine_load *load)
{
	if (!is_pct(load->psi_cpu_pct) && !is_pct(load->psi_memory_pct) &&
	    !is_pct(load->psi_io_pct))
		return;
	jsonw__kobject(w, "psi");
	add_pct(w, "cpu", load->psi_cpu_pct);
	add_pct(w, "memory", load->psi_memory_pct);
	add_pct(w, "io", load->psi_io_pct);
	jsonw__object_end(w);
}

static void add_load(struct jsonw *w, const struct machine_load *load)
{
	jsonw__kobject(w, "cpu");
	jsonw__kbool(w, "busy", load->busy);
	add_pct(w, "total_pct", load->total_pct);
	add_pct(w, "process_pct", load->process_pct);
	add_pct(w, "user_pct", load->user_pct);
	add_pct(w, "system_pct", load->system_pct);
	add_pct(w, "iowait_pct", load->iowait_pct);
	add_pct(w, "steal_pct", load->steal_pct);
	add_psi(w, load);
	jsonw__object_end(w);
}

static void add_known(struct jsonw *w, const char *key, uint64_t value)
{
	if (value)
		jsonw__ku64(w, key, value);
}

static void add_scheduling(struct jsonw *w, const struct facts *facts)
{
	jsonw__kobject(w, "scheduling");
	json__add_priority(w, facts->prio);
	jsonw__kstr_known(w, "policy", policy__name(facts->policy));
	add_known(w, "cpus_allowed", facts->cpus_allowed);
	jsonw__ku64(w, "throttled_ns", facts->throttled_ns);
	jsonw__ku64(w, "stolen_ns", facts->stolen_ns);
	jsonw__kstr_known(w, "quota_cgroup", facts->quota_cgroup);
	add_known(w, "quota_ns", facts->quota_ns);
	add_known(w, "quota_period_ns", facts->quota_period_ns);
	add_known(w, "cpu_capacity", facts->cpu_capacity);
	add_known(w, "cpu_khz", facts->cpu_khz);
	add_known(w, "cpu_max_khz", facts->cpu_max_khz);
	if (facts->thermal_throttled)
		jsonw__kbool(w, "thermal_throttled", true);
	jsonw__object_end(w);
}

static void add_faults(struct jsonw *w, const struct facts *facts)
{
	jsonw__kobject(w, "faults");
	jsonw__ku64(w, "major", facts->maj_flt_cnt);
	jsonw__ku64(w, "minor", facts->min_flt_cnt);
	jsonw__object_end(w);
}

void json__add_frames(struct jsonw *w, const struct missed_frames *frames)
{
	if (!frames->missed)
		return;
	jsonw__kobject(w, "frames");
	jsonw__ku64(w, "missed", frames->missed);
	if (frames->hz > 0 && isfinite(frames->hz))
		jsonw__kfixed(w, "refresh_hz", frames->hz, 1);
	jsonw__ku64(w, "crtc", frames->crtc);
	jsonw__object_end(w);
}

void json__add_machine(struct jsonw *w, const struct block *block)
{
	add_load(w, &block->load);
	if (!block->facts.known)
		return;
	add_scheduling(w, &block->facts);
	add_faults(w, &block->facts);
}
