/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the catalogue as JSON. */
#include "cli/kinds_json.h"

#include <inttypes.h>
#include <stdio.h>

static void add_waits(struct jsonw *w, const struct catalogue_row *row)
{
	jsonw__karray(w, "waits");
	for (uint32_t loop = 0; loop < 32; loop++)
		if (row->waits & 1u << loop)
			jsonw__str(w, catalogue__name_of_wait(NULL, loop));
	jsonw__array_end(w);
}

static void add_known_by(struct jsonw *w, const struct catalogue_row *row)
{
	jsonw__karray(w, "known_by");
	for (size_t i = 0; i < row->library_cnt; i++) {
		const struct catalogue_library *library = &row->libraries[i];

		jsonw__object(w);
		jsonw__kstr(w,
			    library->is_section ? "section"
			    : library->is_exe	? "program"
						: "library",
			    library->glob);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

static void add_functions(struct jsonw *w, const char *key, const struct catalogue_functions *list)
{
	if (!list->cnt)
		return;
	jsonw__karray(w, key);
	for (size_t i = 0; i < list->cnt; i++)
		jsonw__str(w, list->globs[i]);
	jsonw__array_end(w);
}

static void add_mark(struct jsonw *w, const struct catalogue_mark *mark)
{
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, mark->address);
	jsonw__object(w);
	jsonw__kstr(w, mark->symbol ? "function" : "address", mark->symbol ?: address);
	jsonw__karray(w, "fields");
	for (uint32_t i = 0; i < mark->spec.field_cnt; i++)
		if (mark->fields[i].role != ROLE_CHECK)
			jsonw__str(w, catalogue_role__key(mark->fields[i].role));
	jsonw__array_end(w);
	jsonw__object_end(w);
}

static void add_source(struct jsonw *w, const struct catalogue_row *row)
{
	if (row->is_builtin)
		return;
	jsonw__kstr(w, "file", row->file);
	jsonw__ku64(w, "line", row->line);
}

void kinds_json__add(struct jsonw *w, const struct catalogue *cat, const struct catalogue_row *row)
{
	jsonw__object(w);
	jsonw__kstr(w, "loop", row->name);
	jsonw__kstr(w, "id", row->id);
	add_waits(w, row);
	jsonw__kstr_known(w, "about", *row->about ? row->about : NULL);
	jsonw__kbool(w, "untested", row->is_untested);
	jsonw__kbool(w, "only_with_l", row->is_off);
	add_known_by(w, row);
	add_functions(w, "called_by", &row->callers);
	add_functions(w, "parked_by", &row->parks);
	jsonw__kstr_known(w, "over", row->over);
	jsonw__karray(w, "marks");
	for (unsigned i = 0; i < row->mark_cnt; i++)
		if (!catalogue__mark(cat, row->mark_first + i)->is_layout)
			add_mark(w, catalogue__mark(cat, row->mark_first + i));
	jsonw__array_end(w);
	jsonw__kstr_known(w, "note", *row->note ? row->note : NULL);
	add_source(w, row);
	jsonw__object_end(w);
}
