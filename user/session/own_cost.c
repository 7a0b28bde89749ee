/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What we cost: CPU time and memory of our processes, time in our BPF programs. */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/file.h"
#include "session/session_parts.h"

#define WINDOW_FIRST_NS (2 * NS_PER_SEC)
#define WINDOW_MAX_NS	(64 * NS_PER_SEC)

static uint64_t cpu_ns(pid_t pid)
{
	uint64_t ns;

	return clock__process_ns(pid, &ns) ? 0 : ns;
}

static uint64_t rss_kb(pid_t pid)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long size = 0, resident = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (!file__read(path, 256, &sb) &&
	    sscanf(strbuf__str(&sb), "%lu %lu", &size, &resident) != 2)
		resident = 0;
	strbuf__free(&sb);
	return (uint64_t)resident * sysconf(_SC_PAGESIZE) / 1024;
}

/* Our processes share most of their pages: each page counts once. 0: not known. */
static uint64_t pss_kb(pid_t pid)
{
	struct strbuf sb = STRBUF_INIT;
	unsigned long kb = 0;
	const char *line = NULL;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	if (!file__read(path, 4096, &sb))
		line = strstr(strbuf__str(&sb), "\nPss:");
	if (line && sscanf(line, "\nPss: %lu", &kb) != 1)
		kb = 0;
	strbuf__free(&sb);
	return kb;
}

/* All our processes that live now; 0: none. */
static void list_own(const struct session *s, pid_t ret[OWN_PROCESSES])
{
	const pid_t pids[OWN_PROCESSES] = {
		getpid(),
		deliver__pid(s->deliver),
		downloader__pid(s->downloader),
		react__pid(s->react),
		name_client__pid(s->names),
		name_client__pid(s->sites),
		sender_process__parent(s->sender),
		sender_process__pid(s->sender),
	};

	memcpy(ret, pids, sizeof(pids));
}

uint64_t own_cpu__sum(struct own_cpu *own, const pid_t pids[OWN_PROCESSES],
		      uint64_t (*of)(pid_t pid))
{
	uint64_t sum;

	for (size_t i = 0; i < OWN_PROCESSES; i++) {
		uint64_t ns = pids[i] ? of(pids[i]) : 0;

		if (pids[i] != own->of[i].pid) {
			own->gone_ns += own->of[i].ns;
			own->of[i].pid = pids[i];
			own->of[i].ns = ns;
		} else if (ns > own->of[i].ns) { /* 0 once it has ended */
			own->of[i].ns = ns;
		}
	}
	sum = own->gone_ns;
	for (size_t i = 0; i < OWN_PROCESSES; i++)
		sum += own->of[i].ns;
	return sum;
}

uint64_t session__own_cpu_ns(struct session *s)
{
	pid_t pids[OWN_PROCESSES];

	list_own(s, pids);
	return own_cpu__sum(&s->own_cpu, pids, cpu_ns);
}

/* whole: 0 if it is not known of each process. */
static uint64_t sum_kb(const struct session *s, uint64_t (*of)(pid_t pid), bool whole)
{
	pid_t pids[OWN_PROCESSES];
	uint64_t sum = 0, kb;

	list_own(s, pids);
	for (size_t i = 0; i < OWN_PROCESSES; i++) {
		kb = pids[i] ? of(pids[i]) : 0;
		if (whole && pids[i] && !kb)
			return 0;
		sum += kb;
	}
	return sum;
}

uint64_t session__own_rss_kb(const struct session *s)
{
	return sum_kb(s, rss_kb, false);
}

uint64_t session__own_pss_kb(const struct session *s)
{
	return sum_kb(s, pss_kb, true);
}

static void end_window(struct cost_meter *meter, uint64_t now)
{
	close(meter->stats_fd);
	meter->stats_fd = -1;
	meter->windows_ns += now - meter->window_start_ns;
	meter->last_ns = now;
}

static bool stats_always_on(void)
{
	struct strbuf sb = STRBUF_INIT;
	bool on = !file__read("/proc/sys/kernel/bpf_stats_enabled", 16, &sb) &&
		  strbuf__str(&sb)[0] == '1';

	strbuf__free(&sb);
	return on;
}

void cost_meter__tick(struct cost_meter *meter)
{
	uint64_t now = clock__mono_ns();

	if (meter->always)
		return;
	if (meter->stats_fd >= 0) {
		end_window(meter, now);
		return;
	}
	if (meter->last_ns && now - meter->last_ns < meter->every_ns)
		return;
	meter->every_ns = meter->every_ns ? 2 * meter->every_ns : WINDOW_FIRST_NS;
	if (meter->every_ns > WINDOW_MAX_NS)
		meter->every_ns = WINDOW_MAX_NS;
	meter->always = !meter->last_ns && stats_always_on();
	if (!meter->always)
		meter->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	meter->window_start_ns = meter->last_ns = now;
}

bool cost_meter__bpf(struct cost_meter *meter, struct loader *loader, uint64_t elapsed_ns,
		     uint64_t *ret_ns, uint64_t *ret_runs)
{
	double scale = 1;

	if (meter->stats_fd >= 0)
		end_window(meter, clock__mono_ns());
	if (!loader__cost(loader, ret_ns, ret_runs))
		return false;
	if (!meter->always) {
		if (!meter->windows_ns)
			return false;
		scale = (double)elapsed_ns / meter->windows_ns;
	}
	*ret_ns *= scale;
	*ret_runs *= scale;
	return true;
}

void cost_meter__close(struct cost_meter *meter)
{
	if (meter->stats_fd >= 0)
		close(meter->stats_fd);
}
