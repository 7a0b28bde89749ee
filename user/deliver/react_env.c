/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The environment of a command: texts of a record are a traced program's, so they become values of
 * variables, which a shell does not read as commands.
 */
#include "deliver/react.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "export/values.h"

#define PREFIX	   "JANKBPF_"
#define VALUE_MAX  1000 /* columns of a text */
#define FIELDS_MAX 40

struct env {
	char **list;
	size_t cnt, max;
	bool failed;
};

const char *reaction__option(enum reaction reaction)
{
	static const char *const names[REACTION_CNT] = {
		[REACTION_BLOCK] = "--on-block",
		[REACTION_HANG] = "--on-hang",
		[REACTION_NEW] = "--on-new",
	};

	return names[reaction];
}

/* Takes the buffer. */
static void add(struct env *env, struct strbuf *sb)
{
	strbuf__addc(sb, '\0');
	env->failed |= sb->failed || env->cnt == env->max;
	if (!env->failed)
		env->list[env->cnt++] = sb->data;
	else
		strbuf__free(sb);
}

static void add_text(struct env *env, const char *name, const char *value)
{
	struct strbuf sb = STRBUF_INIT;

	if (!value || !*value)
		return;
	strbuf__addf(&sb, PREFIX "%s=", name);
	cells__add(&sb, value, VALUE_MAX);
	add(env, &sb);
}

static void add_number(struct env *env, const char *name, bool known, uint64_t value)
{
	struct strbuf sb = STRBUF_INIT;

	if (!known)
		return;
	strbuf__addf(&sb, PREFIX "%s=%" PRIu64, name, value);
	add(env, &sb);
}

static void add_frame(struct env *env, const Jankbpf__Frame *frame)
{
	if (!frame)
		return;
	add_text(env, "FUNCTION", frame->function);
	add_text(env, "MODULE", frame->module);
	add_text(env, "FILE", frame->file);
	add_number(env, "LINE", frame->line, frame->line);
}

static void add_cause(struct env *env, const Jankbpf__Cause *cause)
{
	if (!cause)
		return;
	add_text(env, "KIND", cause->kind);
	add_text(env, "WHAT", cause->what);
	add_text(env, "SUMMARY", cause->summary);
	add_text(env, "SIGNATURE", cause->signature);
	add_number(env, "SIGNATURE_VERSION", cause->has_signature_version,
		   cause->signature_version);
	add_frame(env, cause->frame);
}

static void add_message(struct env *env, const Jankbpf__Message *message)
{
	struct strbuf phrase = STRBUF_INIT;

	message__add_phrase(&phrase, message);
	add_text(env, "MESSAGE", strbuf__str(&phrase));
	env->failed |= phrase.failed;
	strbuf__free(&phrase);
}

static void add_block(struct env *env, const Jankbpf__Block *block)
{
	add_text(env, "ID", block->id);
	add_text(env, "START", block->start);
	add_text(env, "SEVERITY", block->severity);
	add_number(env, "PID", block->has_pid, block->pid);
	add_number(env, "TID", block->has_tid, block->tid);
	add_number(env, "UID", block->has_uid, block->uid);
	add_text(env, "PROCESS", block->process);
	add_text(env, "THREAD", block->thread);
	add_text(env, "EXE", block->exe);
	add_text(env, "LOOP", block->loop);
	add_number(env, "DURATION_NS", block->has_duration_ns, block->duration_ns);
	add_number(env, "DELAY_NS", true, value__delay(block));
	add_number(env, "THRESHOLD_NS", block->has_threshold_ns, block->threshold_ns);
	add_number(env, "CPU_NS", block->has_cpu_ns, block->cpu_ns);
	add_number(env, "DROPPED_FRAMES", block->has_dropped_frames, block->dropped_frames);
	add_number(env, "OCCURRENCE", block->has_occurrence, block->occurrence);
	add_message(env, block->message);
	add_cause(env, block->cause);
}

/*
 * What a program needs to run, and a desktop notification to be shown. Not the rest: the tracer's
 * environment may hold what is not for a command's log, such as a backend's token.
 */
static bool is_passed(const char *variable)
{
	static const char *const list[] = { "PATH=",
					    "HOME=",
					    "USER=",
					    "LOGNAME=",
					    "SHELL=",
					    "LANG=",
					    "LC_",
					    "TZ=",
					    "XDG_RUNTIME_DIR=",
					    "DBUS_SESSION_BUS_ADDRESS=",
					    "DISPLAY=",
					    "WAYLAND_DISPLAY=" };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (text__begins(variable, list[i]))
			return true;
	return false;
}

static void add_own(struct env *env)
{
	for (char **at = environ; *at; at++) {
		struct strbuf sb = STRBUF_INIT;

		if (!is_passed(*at))
			continue;
		strbuf__adds(&sb, *at);
		add(env, &sb);
	}
}

char **react_env__new(const Jankbpf__Record *record, enum reaction reaction)
{
	const bool hang = record->type_case == JANKBPF__RECORD__TYPE_HANG;
	struct env env = { .max = FIELDS_MAX };

	if (!hang && record->type_case != JANKBPF__RECORD__TYPE_BLOCK)
		return NULL;
	for (char **at = environ; *at; at++)
		env.max++;
	env.list = calloc(env.max + 1, sizeof(*env.list));
	if (!env.list)
		return NULL;
	add_own(&env);
	add_text(&env, "REACTION", reaction__option(reaction) + strlen("--"));
	add_text(&env, "TYPE", hang ? "hang" : "block");
	add_block(&env, hang ? record->hang : record->block);
	if (!env.failed)
		return env.list;
	react_env__free(env.list);
	return NULL;
}

void react_env__free(char **env)
{
	for (char **at = env; at && *at; at++)
		free(*at);
	free(env);
}
