/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block as BlockCanary's log. Its reader is strict: keys match by prefix, an empty value ends the
 * parse, and a log that seems corrupt is deleted. So every value goes through add_value(), integers
 * are integers, and our own keys all begin with "x-".
 */
#include "export/blockcanary/blockcanary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/values.h"

#ifndef JANK_VERSION
#define JANK_VERSION "0.0.0"
#endif

#define CRLF	       "\r\n"
#define VALUE_MAX      1024
#define PREEMPTORS_MAX 5
#define UID_UNKNOWN    UINT32_MAX /* the reader wants an integer */

uint64_t blockcanary__time_ns(const Jankbpf__Block *block)
{
	return value__real_ns(block, block->start_ns + block->duration_ns);
}

/* The reader would cut a value at " = ". */
static void defuse_separators(char *value, size_t len)
{
	for (size_t i = 1; i + 1 < len; i++)
		if (value[i] == '=' && value[i - 1] == ' ' && value[i + 1] == ' ')
			value[i] = ':';
}

/* Adds a cleaned value: no blanks around it, never empty. */
static void add_value(struct strbuf *sb, const char *value)
{
	struct strbuf clean = STRBUF_INIT;
	char *begin;

	cells__add(&clean, value ? value : "", VALUE_MAX);
	while (clean.len && clean.data[clean.len - 1] == ' ')
		clean.data[--clean.len] = '\0';
	if (clean.data)
		defuse_separators(clean.data, clean.len);
	begin = clean.data ? clean.data + strspn(clean.data, " ") : NULL;
	strbuf__adds(sb, begin && *begin ? begin : "unknown");
	sb->failed |= clean.failed;
	strbuf__free(&clean);
}

static void add_str(struct strbuf *sb, const char *key, const char *value)
{
	strbuf__addf(sb, "%s = ", key);
	add_value(sb, value);
	strbuf__adds(sb, CRLF);
}

static void add_u64(struct strbuf *sb, const char *key, uint64_t value)
{
	strbuf__addf(sb, "%s = %" PRIu64 CRLF, key, value);
}

/* --- the verdict, with our own keys: the sentence, and a line for each thread of the chain */

static void add_cause(struct strbuf *sb, const Jankbpf__Cause *cause)
{
	if (!cause || !cause->kind)
		return;
	add_str(sb, "x-cause", cause->kind);
	if (cause->what)
		add_str(sb, "x-cause-what", cause->what);
	if (cause->summary) {
		add_str(sb, "x-cause-summary", cause->summary);
		strbuf__addf(sb, "x-cause-confidence = %.2f" CRLF, value__share(cause->confidence));
	}
	strbuf__addf(sb, "x-cause-share = %.4f" CRLF, value__share(cause->share));
	if (cause->frame && cause->frame->function)
		add_str(sb, "x-cause-frame", cause->frame->function);
	if (cause->signature)
		add_str(sb, "x-signature", cause->signature);
}

static void add_link(struct strbuf *sb, const Jankbpf__Link *link)
{
	struct strbuf line = STRBUF_INIT;

	strbuf__addf(&line, "%s pid %" PRIu32 " tid %" PRIu32 " %s", value__name(link->comm),
		     link->pid, link->tid, value__name(link->role));
	if (link->state)
		strbuf__addf(&line, " %s ns %" PRIu64, link->state,
			     value__in_state(link->time, value__state(link->state)));
	if (link->syscall)
		strbuf__addf(&line, " %s", link->syscall);
	add_str(sb, "x-chain", strbuf__str(&line));
	sb->failed |= line.failed;
	strbuf__free(&line);
}

/* Adds the keys of cause and chain; nothing where nothing is known. */
static void add_verdict(struct strbuf *sb, const Jankbpf__Block *block)
{
	add_cause(sb, block->cause);
	for (size_t i = 0; i < block->n_chain; i++)
		add_link(sb, block->chain[i]);
}

/*
 * --- what was handled. BlockCanary's format has no key for it, although its monitor parses this
 * line of Looper's: ">>>>> Dispatching to HANDLER CALLBACK: WHAT". The line is written where the
 * loop's messages have handlers; the parts follow with our own keys.
 */

#define DISPATCHING ">>>>> Dispatching to "

static void add_name(struct strbuf *sb, const Jankbpf__Symbol *symbol, const char *absent)
{
	if (symbol)
		symbol__add_short(sb, symbol, false);
	else
		strbuf__adds(sb, absent);
}

/* As Looper.java's Printer: "Handler (CLASS) {HASH} CALLBACK: WHAT"; the hash is not known. */
static void add_handler(struct strbuf *line, const Jankbpf__Block *block)
{
	bool is_java = text__same(block->loop, "android-looper");

	strbuf__adds(line, is_java ? "Handler (" : "");
	add_name(line, block->message->handler, is_java ? "?" : "");
	strbuf__adds(line, is_java ? ") " : " ");
}

/* Android writes "null" for a missing part. */
static void add_line(struct strbuf *line, const Jankbpf__Block *block)
{
	const Jankbpf__Message *message = block->message;

	if (!message->handler &&
	    !(message->callback && text__same(block->loop, "android-looper"))) {
		message__add_phrase(line, message);
		return;
	}
	strbuf__adds(line, DISPATCHING);
	add_handler(line, block);
	add_name(line, message->callback, "null");
	if (message->what)
		strbuf__addf(line, ": %s", message->what);
}

static void add_name_key(struct strbuf *sb, const char *key, const Jankbpf__Symbol *symbol)
{
	struct strbuf text = STRBUF_INIT;

	if (!symbol)
		return;
	symbol__add(&text, symbol);
	if (symbol->module)
		strbuf__addf(&text, " (%s)", symbol->module);
	add_str(sb, key, strbuf__str(&text));
	strbuf__free(&text);
}

static void add_fds(struct strbuf *sb, const Jankbpf__Message *message)
{
	if (message->has_fd)
		add_u64(sb, "x-message-fd", message->fd);
	if (message->fd_target)
		add_str(sb, "x-message-fd-target", message->fd_target);
	if (message->ready)
		add_u64(sb, "x-message-ready", message->ready);
}

/* Adds the keys of the handled message; nothing where nothing is known. */
static void add_message(struct strbuf *sb, const Jankbpf__Block *block)
{
	const Jankbpf__Message *message = block->message;
	struct strbuf line = STRBUF_INIT;

	if (!message)
		return;
	add_line(&line, block);
	if (line.len)
		add_str(sb, "x-message", strbuf__str(&line));
	sb->failed |= line.failed;
	strbuf__free(&line);
	if (message->what)
		add_str(sb, "x-message-what", message->what);
	add_name_key(sb, "x-message-handler", message->handler);
	add_name_key(sb, "x-message-callback", message->callback);
	add_name_key(sb, "x-message-source", message->source);
	add_fds(sb, message);
	if (message->has_queued_ns)
		add_u64(sb, "x-message-queued-ns", message->queued_ns);
}

/* --- the log */

/*
 * BlockCanary's parser expects an int: of Android's version code the part that is no major version,
 * else the first 28 bits of the build id, 0 for none.
 */
static uint32_t version_code(const Jankbpf__Block *block)
{
	const char *build_id = block->app_build_id;
	char digits[8] = "";

	if (block->package_code)
		return (uint32_t)block->package_code;
	if (build_id && strlen(build_id) >= sizeof(digits))
		memcpy(digits, build_id, sizeof(digits) - 1);
	return (uint32_t)strtoul(digits, NULL, 16);
}

/* The block's end, not now: a log that is written again after a kill has the same bytes. */
static void add_header(struct strbuf *sb, const Jankbpf__Block *block)
{
	strbuf__adds(sb, CRLF "**********************" CRLF);
	clock__add_local(sb, "%Y-%m-%d %H:%M:%S", blockcanary__time_ns(block));
	strbuf__adds(sb, "(write log time)" CRLF CRLF);
}

/* Android's level and release; here those of the kernel: "6 6.18.5". */
static void add_api_level(struct strbuf *sb, const Jankbpf__Host *host)
{
	const char *kernel = host->kernel ? host->kernel : "";

	strbuf__addf(sb, "api-level = %lu ", strtoul(kernel, NULL, 10));
	add_value(sb, kernel);
	strbuf__adds(sb, CRLF);
}

static void add_host(struct strbuf *sb, const Jankbpf__Host *host)
{
	add_str(sb, "model", host->name);
	add_api_level(sb, host);
	add_u64(sb, "cpu-core", host->cpus);
}

/* Android's free memory is the available memory, not the unused memory. */
static void add_memory(struct strbuf *sb, const Jankbpf__Host *host)
{
	add_u64(sb, "freeMemory",
		host->mem_available_kb ? host->mem_available_kb : host->mem_free_kb);
	add_u64(sb, "totalMemory", host->mem_total_kb);
}

static void add_basics(struct strbuf *sb, const Jankbpf__Block *block, const char *qualifier)
{
	static const Jankbpf__Host unknown = JANKBPF__HOST__INIT;
	const Jankbpf__Host *host = block->host ? block->host : &unknown;

	add_str(sb, "qua", qualifier ? qualifier : "jankbpf " JANK_VERSION);
	add_str(sb, "versionName", block->package_version ?: block->app_build_id);
	add_u64(sb, "versionCode", version_code(block));
	add_str(sb, "imei", "empty_imei");
	add_u64(sb, "uid", block->has_uid ? block->uid : UID_UNKNOWN);
	add_str(sb, "network", block->network);
	add_host(sb, host);
	add_str(sb, "process", block->process);
	add_memory(sb, host);
}

static void add_time_key(struct strbuf *sb, const char *key, const Jankbpf__Block *block,
			 uint64_t mono_ns)
{
	strbuf__addf(sb, "%s = ", key);
	blockcanary__add_time(sb, block, mono_ns);
	strbuf__adds(sb, CRLF);
}

static void add_times(struct strbuf *sb, const Jankbpf__Block *block)
{
	add_u64(sb, "time", value__delay(block) / NS_PER_MS);
	add_u64(sb, "thread-time", block->cpu_ns / NS_PER_MS);
	add_time_key(sb, "time-start", block, value__due(block));
	add_time_key(sb, "time-end", block, block->start_ns + block->duration_ns);
}

static void add_our_account(struct strbuf *sb, const Jankbpf__Block *block)
{
	add_u64(sb, "x-duration-ns", block->duration_ns);
	if (block->has_start_delay_ns)
		add_u64(sb, "x-start-delay-ns", block->start_delay_ns);
	add_u64(sb, "x-threshold-ns", block->threshold_ns);
	add_u64(sb, "x-cpu-ns", block->cpu_ns);
	for (uint32_t i = 0; i < JANK_STATE_CNT; i++) {
		const char *blocked = i < JANK_STATE_FIRST_BLOCKED ? "" : "blocked-";
		uint64_t ns = value__in_state(block->time, i);

		if (ns)
			strbuf__addf(sb, "x-%s%s-ns = %" PRIu64 CRLF, blocked, value__state_word(i),
				     ns);
	}
}

static void add_our_evidence(struct strbuf *sb, const Jankbpf__Block *block)
{
	struct strbuf line = STRBUF_INIT;
	struct loss_count loss;

	for (size_t i = 0; i < block->n_preemptors && i < PREEMPTORS_MAX; i++) {
		const Jankbpf__Preemptor *task = block->preemptors[i];

		strbuf__reset(&line);
		strbuf__addf(&line, "%s pid %" PRIu32 " tid %" PRIu32 " ns %" PRIu64,
			     value__name(task->comm), task->pid, task->tid, task->ns);
		add_str(sb, "x-preemptor", strbuf__str(&line));
	}
	strbuf__free(&line);
	add_str(sb, "x-stack-quality", block->stack_quality);
	for (unsigned i = 0; value__next_loss(block->lost, &i, &loss);)
		strbuf__addf(sb, "x-lost-%s = %" PRIu64 CRLF, loss.reason, loss.cnt);
}

/* Facts without a BlockCanary key; its reader skips these. */
static void add_ours(struct strbuf *sb, const Jankbpf__Block *block)
{
	add_str(sb, "x-id", block->id);
	add_str(sb, "x-severity", block->severity);
	add_str(sb, "x-loop", block->loop);
	add_u64(sb, "x-pid", block->pid);
	add_u64(sb, "x-tid", block->tid);
	add_str(sb, "x-thread", block->thread);
	if (block->exe)
		add_str(sb, "x-exe", block->exe);
	if (block->cgroup)
		add_str(sb, "x-cgroup", block->cgroup);
	if (block->container)
		add_str(sb, "x-container", block->container);
	if (block->pod)
		add_str(sb, "x-pod", block->pod);
	if (block->unit)
		add_str(sb, "x-unit", block->unit);
	if (block->ns_pid)
		add_u64(sb, "x-ns-pid", block->ns_pid);
	add_message(sb, block);
	add_u64(sb, "x-dropped-frames", block->dropped_frames);
	add_our_account(sb, block);
	add_verdict(sb, block);
	add_our_evidence(sb, block);
}

/*
 * As JSON has it, with one decimal: so a log that is made of a record in JSON has the same whole
 * numbers (87.46 would be 87, 87.5 is 88).
 */
static double one_decimal(double pct)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", pct);
	return strtod(text, NULL);
}

/*
 * An empty line must follow a reading, and must not follow when there is none: the reader skips up
 * to it.
 */
static void add_cpu(struct strbuf *sb, const Jankbpf__Block *block)
{
	static const Jankbpf__Cpu unknown = JANKBPF__CPU__INIT;
	const Jankbpf__Cpu *cpu = block->cpu ? block->cpu : &unknown;

	add_str(sb, "cpu-busy", cpu->busy ? "true" : "false");
	strbuf__adds(sb, "cpu-rate = ");
	if (cpu->has_total_pct && cpu->has_process_pct && cpu->has_user_pct &&
	    cpu->has_system_pct && cpu->has_iowait_pct) {
		blockcanary__add_time(sb, block, block->start_ns + block->duration_ns);
		strbuf__addf(
			sb,
			" cpu:%.0f%% app:%.0f%% [user:%.0f%% system:%.0f%% ioWait:%.0f%% ]" CRLF,
			one_decimal(cpu->total_pct), one_decimal(cpu->process_pct),
			one_decimal(cpu->user_pct), one_decimal(cpu->system_pct),
			one_decimal(cpu->iowait_pct));
	}
	strbuf__adds(sb, CRLF);
}

void blockcanary__add_log(struct strbuf *sb, const Jankbpf__Block *block, const char *qualifier)
{
	add_header(sb, block);
	add_basics(sb, block, qualifier);
	add_times(sb, block);
	add_ours(sb, block);
	add_cpu(sb, block);
	blockcanary__add_stacks(sb, block);
}
