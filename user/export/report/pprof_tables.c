/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of a pprof profile: texts, mappings, functions, locations. An entry is written when it is
 * new; protobuf merges the parts of a repeated field, in any order.
 */
#include "export/arena.h"
#include "export/report/pprof.h"
#include "export/values.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

#define PLAIN_MAX (256 << 10)
#define CUT_TEXT  1 /* numbers in the profile; ids of entries that are for the cut ones */

static int compress_plain(struct pprof_tables *tables, int flush)
{
	int res = gzip__add(&tables->zip, &tables->plain, flush, &tables->out->bytes);

	strbuf__reset(&tables->plain);
	return res ?: report_out__added(tables->out);
}

int pprof_tables__add(struct pprof_tables *tables, const Perftools__Profiles__Profile *part)
{
	strbuf__add_message(&tables->plain, &part->base);
	return tables->plain.failed || tables->plain.len >= PLAIN_MAX
		       ? compress_plain(tables, Z_NO_FLUSH)
		       : 0;
}

int pprof_tables__end(struct pprof_tables *tables)
{
	return compress_plain(tables, Z_FINISH);
}

int pprof_tables__init(struct pprof_tables *tables, struct report_out *out)
{
	tables->out = out;
	tables->texts = intern__new();
	tables->functions = intern__new();
	tables->mappings = intern__new();
	tables->locations = intern__new();
	if (!tables->texts || !tables->functions || !tables->mappings || !tables->locations)
		return -ENOMEM;
	if (gzip__begin(&tables->zip, Z_DEFAULT_COMPRESSION))
		return -ENOMEM;
	pprof__text(tables, "");
	pprof__text(tables, "[cut]");
	pprof__no_stack(tables, "[cut]");
	return 0;
}

void pprof_tables__free(struct pprof_tables *tables)
{
	gzip__free(&tables->zip);
	intern__free(tables->texts);
	intern__free(tables->functions);
	intern__free(tables->mappings);
	intern__free(tables->locations);
	strbuf__free(&tables->plain);
	strbuf__free(&tables->text);
}

/* Texts of the profile are valid UTF-8: some readers refuse others. */
int64_t pprof__text(struct pprof_tables *tables, const char *text)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	struct strbuf *clean = &tables->text;
	bool is_new;
	uint32_t nr;
	char *list[1];

	strbuf__reset(clean);
	text__add_clean(clean, text ?: "");
	nr = intern__get(tables->texts, clean->data, clean->len, &is_new);
	if (!nr) {
		tables->cut_cnt++;
		return CUT_TEXT;
	}
	if (is_new) {
		list[0] = clean->len ? clean->data : (char *)"";
		part.string_table = list;
		part.n_string_table = 1;
		pprof_tables__add(tables, &part);
	}
	return nr - 1;
}

static uint64_t get_function(struct pprof_tables *tables, int64_t name, int64_t file)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Function function = PERFTOOLS__PROFILES__FUNCTION__INIT, *list[1];
	const int64_t key[] = { name, file };
	bool is_new;
	uint32_t nr = intern__get(tables->functions, key, sizeof(key), &is_new);

	if (!nr) {
		tables->cut_cnt++;
		return CUT_TEXT;
	}
	if (!is_new)
		return nr;
	function.id = nr;
	function.name = function.system_name = name;
	function.filename = file;
	list[0] = &function;
	part.function = list;
	part.n_function = 1;
	pprof_tables__add(tables, &part);
	return nr;
}

/*
 * The mapping of a whole file: records have no load addresses. pprof takes this range for addresses
 * that need no shift.
 */
static uint64_t get_mapping(struct pprof_tables *tables, const Jankbpf__Frame *frame)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Mapping mapping = PERFTOOLS__PROFILES__MAPPING__INIT, *list[1];
	int64_t key[2];
	bool is_new;
	uint32_t nr;

	if (!frame->module)
		return 0;
	key[0] = pprof__text(tables, frame->module);
	key[1] = pprof__text(tables, frame->build_id);
	nr = intern__get(tables->mappings, key, sizeof(key), &is_new);
	if (!nr) {
		tables->cut_cnt++;
		return 0;
	}
	if (!is_new)
		return nr;
	mapping.id = nr;
	mapping.memory_limit = UINT64_MAX;
	mapping.filename = key[0];
	mapping.build_id = key[1];
	mapping.has_functions = mapping.has_filenames = true;
	mapping.has_line_numbers = mapping.has_inline_frames = true;
	list[0] = &mapping;
	part.mapping = list;
	part.n_mapping = 1;
	pprof_tables__add(tables, &part);
	return nr;
}

void pprof__main_mapping(struct pprof_tables *tables, const Jankbpf__Block *block)
{
	for (size_t i = 0; block->exe && i < block->n_samples; i++)
		for (size_t j = 0; j < block->samples[i]->n_stack; j++) {
			const Jankbpf__Frame *frame = block->samples[i]->stack[j];

			if (frame->module && !strcmp(frame->module, block->exe)) {
				get_mapping(tables, frame);
				return;
			}
		}
}

/* A location as a key of its table. */
struct place {
	uint64_t mapping, address;
	struct {
		uint64_t function, line;
	} lines[PPROF_LINES_MAX];
};

static uint64_t get_location(struct pprof_tables *tables, const struct place *place, size_t cnt)
{
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Location location = PERFTOOLS__PROFILES__LOCATION__INIT, *list[1];
	Perftools__Profiles__Line lines[PPROF_LINES_MAX], *line_list[PPROF_LINES_MAX];
	size_t len = offsetof(struct place, lines) + cnt * sizeof(place->lines[0]);
	bool is_new;
	uint32_t nr = intern__get(tables->locations, place, len, &is_new);

	if (!nr) {
		tables->cut_cnt++;
		return CUT_TEXT;
	}
	if (!is_new)
		return nr;
	for (size_t i = 0; i < cnt; i++) {
		perftools__profiles__line__init(&lines[i]);
		lines[i].function_id = place->lines[i].function;
		lines[i].line = (int64_t)place->lines[i].line;
		line_list[i] = &lines[i];
	}
	location.id = nr;
	location.mapping_id = place->mapping;
	location.address = place->address;
	location.line = line_list;
	location.n_line = cnt;
	list[0] = &location;
	part.location = list;
	part.n_location = 1;
	pprof_tables__add(tables, &part);
	return nr;
}

uint64_t pprof__no_stack(struct pprof_tables *tables, const char *label)
{
	struct place place = {};

	place.lines[0].function = get_function(tables, pprof__text(tables, label), 0);
	return get_location(tables, &place, 1);
}

static void add_line(struct pprof_tables *tables, struct place *place, size_t at,
		     const Jankbpf__Frame *frame)
{
	struct strbuf name = STRBUF_INIT;
	int64_t text;

	frame__add_place(&name, frame, false);
	text = pprof__text(tables, strbuf__str(&name));
	strbuf__free(&name);
	place->lines[at].function = get_function(tables, text, pprof__text(tables, frame->file));
	place->lines[at].line = frame->line;
}

size_t pprof__locations(struct pprof_tables *tables, Jankbpf__Frame *const *stack, size_t cnt,
			uint64_t *ret)
{
	size_t ret_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct place place = {};
		size_t lines = 0;

		while (i + 1 < cnt && stack[i]->inlined && lines < PPROF_LINES_MAX - 1)
			add_line(tables, &place, lines++, stack[i++]);
		add_line(tables, &place, lines++, stack[i]);
		place.mapping = get_mapping(tables, stack[i]);
		/* A named frame has only the offset in its function. */
		if (!stack[i]->function)
			place.address = stack[i]->module ? stack[i]->offset : stack[i]->address;
		ret[ret_cnt++] = get_location(tables, &place, lines);
	}
	return ret_cnt;
}
