/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A signature: where it occurs, its stacks, its worst block. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "fleet/fleet.h"

#define STACKS_SHOWN 5
#define FRAMES_SHOWN 12

struct shown {
	struct strbuf *out, *record;
	char *signature; /* the whole one */
	size_t found;	 /* signatures that begin so */
	struct {
		char *hash;
		uint64_t ns, blocks;
	} stacks[STACKS_SHOWN];
	size_t stack_cnt;
};

static int no_memory(struct err *err)
{
	return err__set(err, ENOMEM, "out of memory");
}

/* --- the signature */

static int take_signature(void *ctx, const json_t *row, struct err *err)
{
	struct shown *shown = ctx;

	if (shown->found++)
		return 0;
	shown->signature = strdup(row__str(row, "key"));
	return shown->signature ? 0 : no_memory(err);
}

static int find_signature(struct fleet *fleet, const struct fleet_filter *filter, const char *begin,
			  struct shown *shown, struct err *err)
{
	const struct fleet_value values[] = { FLEET_VALUES(filter),
					      { .name = "signature", .text = begin } };
	int res = fleet__ask(fleet, "signatures", values, sizeof(values) / sizeof(*values),
			     take_signature, shown, err);

	if (!res && !shown->found)
		res = err__set(err, ENODATA,
			       "'%.32s': no block with this signature in this time: give another "
			       "one by --since; jankbpf fleet top lists them",
			       begin);
	if (!res && shown->found > 1)
		res = err__set(err, EINVAL, "'%.32s': %zu signatures begin so: give more digits",
			       begin, shown->found);
	return res;
}

/* --- places */

static void add_hosts(struct strbuf *sb, const json_t *hosts)
{
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		strbuf__adds(sb, i ? ", " : "");
		fleet__add_name(sb, json_string_value(json_array_get(hosts, i)) ?: "?");
	}
}

static int take_place(void *ctx, const json_t *row, struct err *err)
{
	struct shown *shown = ctx;
	struct strbuf *sb = shown->out;

	strbuf__adds(sb, "    ");
	fleet__add_name(sb, row__str(row, "process"));
	strbuf__adds(sb, " · ");
	fleet__add_name(sb, row__str(row, "loop"));
	if (*row__str(row, "unit")) {
		strbuf__adds(sb, " · ");
		fleet__add_name(sb, row__str(row, "unit"));
	}
	if (*row__str(row, "version")) {
		strbuf__adds(sb, " · version ");
		fleet__add_name(sb, row__str(row, "version"));
	}
	strbuf__adds(sb, "\n        ");
	fleet__add_count(sb, row__u64(row, "blocks"), "block");
	strbuf__adds(sb, " on ");
	fleet__add_count(sb, row__u64(row, "hosts"), "host");
	strbuf__adds(sb, ", most on ");
	add_hosts(sb, json_object_get(row, "worst_hosts"));
	strbuf__adds(sb, "; longest ");
	clock__add_duration(sb, row__u64(row, "max_ns"));
	strbuf__adds(sb, "\n        ");
	fleet__add_time(sb, row__u64(row, "first"));
	strbuf__adds(sb, " to ");
	fleet__add_time(sb, row__u64(row, "last"));
	strbuf__addc(sb, '\n');
	return sb->failed ? no_memory(err) : 0;
}

/* --- stacks */

static int take_stack(void *ctx, const json_t *row, struct err *err)
{
	struct shown *shown = ctx;
	size_t nr = shown->stack_cnt;

	if (nr == STACKS_SHOWN)
		return 0;
	shown->stacks[nr].hash = strdup(row__str(row, "hash"));
	shown->stacks[nr].ns = row__u64(row, "ns");
	shown->stacks[nr].blocks = row__u64(row, "blocks");
	shown->stack_cnt++;
	return shown->stacks[nr].hash ? 0 : no_memory(err);
}

static int take_frames(void *ctx, const json_t *row, struct err *err)
{
	struct shown *shown = ctx;
	const json_t *frames = json_object_get(row, "frames");
	struct strbuf *sb = shown->out;
	size_t nr = 0, cnt = json_array_size(frames);

	while (nr < shown->stack_cnt && strcmp(shown->stacks[nr].hash, row__str(row, "hash")))
		nr++;
	if (nr == shown->stack_cnt)
		return 0;
	strbuf__adds(sb, "\n    ");
	clock__add_duration(sb, shown->stacks[nr].ns);
	strbuf__adds(sb, " in ");
	fleet__add_count(sb, shown->stacks[nr].blocks, "block");
	strbuf__addc(sb, '\n');
	for (size_t i = 0; i < cnt && i < FRAMES_SHOWN; i++) {
		struct strbuf name = STRBUF_INIT;

		function__add_short(&name, json_string_value(json_array_get(frames, i)) ?: "?",
				    "<…>", false);
		strbuf__adds(sb, "        ");
		fleet__add_name(sb, strbuf__str(&name));
		strbuf__addc(sb, '\n');
		strbuf__free(&name);
	}
	if (cnt > FRAMES_SHOWN)
		strbuf__addf(sb, "        … and %zu more\n", cnt - FRAMES_SHOWN);
	return sb->failed ? no_memory(err) : 0;
}

/* Each stack has one question, so that they come in their order. */
static int show_stacks(struct fleet *fleet, struct shown *shown, struct err *err)
{
	int res = 0;

	strbuf__adds(shown->out, shown->stack_cnt ? "\nWhere its blocks spent most time:\n" : "");
	for (size_t i = 0; i < shown->stack_cnt && !res; i++) {
		struct strbuf keys = STRBUF_INIT;
		struct fleet_value value = { .name = "keys" };

		number__add_to_list(&keys, shown->stacks[i].hash);
		value.raw = strbuf__str(&keys);
		if (keys.len)
			res = fleet__ask(fleet, "frames", &value, 1, take_frames, shown, err);
		strbuf__free(&keys);
	}
	return res;
}

/* --- the worst block */

static int take_worst(void *ctx, const json_t *row, struct err *err)
{
	struct shown *shown = ctx;

	strbuf__reset(shown->record);
	strbuf__adds(shown->record, row__str(row, "record"));
	strbuf__adds(shown->out, "\nIts longest block, on ");
	fleet__add_name(shown->out, row__str(row, "host"));
	strbuf__adds(shown->out, ":\n\n");
	return shown->record->failed ? no_memory(err) : 0;
}

int fleet__show(struct fleet *fleet, const struct fleet_filter *filter, const char *signature,
		unsigned limit, struct strbuf *ret, struct strbuf *ret_record, struct err *err)
{
	struct shown shown = { .out = ret, .record = ret_record };
	int res = find_signature(fleet, filter, signature, &shown, err);
	const struct fleet_value values[] = {
		FLEET_VALUES(filter),
		{ .name = "signature", .text = shown.signature ?: "" },
		{ .name = "limit", .number = limit ?: FLEET_ROWS_MAX },
	};
	size_t cnt = sizeof(values) / sizeof(*values);

	if (!res) {
		strbuf__adds(ret, "signature ");
		fleet__add_name(ret, shown.signature);
		strbuf__adds(ret, "\n");
		res = fleet__ask(fleet, "places", values, cnt, take_place, &shown, err);
	}
	if (!res)
		res = fleet__ask(fleet, "stacks", values, cnt, take_stack, &shown, err);
	if (!res)
		res = show_stacks(fleet, &shown, err);
	if (!res)
		res = fleet__ask(fleet, "worst", values, cnt, take_worst, &shown, err);
	if (!res && !ret_record->len)
		strbuf__adds(ret,
			     "\nNone of its blocks has a record: the limits of the agents left "
			     "them out, or they were too large\n");
	for (size_t i = 0; i < shown.stack_cnt; i++)
		free(shown.stacks[i].hash);
	free(shown.signature);
	return !res && ret->failed ? no_memory(err) : res;
}
