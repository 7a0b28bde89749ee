/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of actors, and its part of the truth. */
#include "simjank_actors.h"

#include <stdbool.h>
#include <string.h>

#include "simjank_scenario.h"

void actors__add(struct actors *cast, const char *name, pid_t pid, pid_t tid)
{
	if (cast->member_cnt < CAST_MEMBER_MAX)
		cast->members[cast->member_cnt++] = (struct member){ name, pid, tid };
}

void actors__add_object(struct actors *cast, const char *name, const char *type, const char *text)
{
	struct object *object = &cast->objects[cast->object_cnt];

	if (cast->object_cnt == CAST_OBJECT_MAX)
		return;
	object->name = name;
	object->type = type;
	snprintf(object->text, sizeof(object->text), "%s", text);
	cast->object_cnt++;
}

static struct member member__at(const struct actors *cast, size_t i, pid_t late_tid)
{
	struct member member = cast->members[i];

	if (!member.tid)
		member.tid = late_tid;
	if (!member.pid)
		member.pid = member.tid;
	return member;
}

/* Is this the word at this place, up to a blank or the end? */
static bool word__is(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(name, word, len);
}

/* The tids of all actors with one of these names, in the order of the names; the last of them. */
static struct member members__print(FILE *out, const char *key, const struct actors *cast,
				    const char *names, pid_t late_tid)
{
	struct member last = { 0 };
	const char *comma = "";

	fprintf(out, ",\"%s\":[", key);
	for (size_t len; *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		for (size_t i = 0; i < cast->member_cnt; i++) {
			if (!word__is(names, len, cast->members[i].name))
				continue;
			last = member__at(cast, i, late_tid);
			fprintf(out, "%s%d", comma, last.tid);
			comma = ",";
		}
	}
	fputc(']', out);
	return last;
}

/* A path may have any byte but 0. */
static void text__print(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned)*text);
		else
			fputc(*text, out);
	}
}

static void object__print(FILE *out, const struct actors *cast, const char *name)
{
	for (size_t i = 0; i < cast->object_cnt; i++) {
		const struct object *object = &cast->objects[i];

		if (strcmp(object->name, name) != 0)
			continue;
		fprintf(out, ",\"object\":{\"%s\":\"", object->type);
		text__print(out, object->text);
		fputs("\"}", out);
		return;
	}
}

void actors__print(FILE *out, const struct actors *cast, const struct scenario *scenario,
		   pid_t late_tid)
{
	const struct blame *blame = &scenario->blame;

	if (*blame->what)
		fprintf(out, ",\"what\":\"%s\"", blame->what);
	if (*blame->chain) {
		struct member last = members__print(out, "chain", cast, blame->chain, late_tid);

		fprintf(out, ",\"culprit\":{\"pid\":%d,\"tid\":%d,\"comm\":\"%s\"}", last.pid,
			last.tid, last.name ? last.name : "");
	}
	if (*blame->preemptors)
		members__print(out, "preemptors", cast, blame->preemptors, late_tid);
	object__print(out, cast, blame->object);
}
