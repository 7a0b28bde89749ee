/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of a row, one setter for each form of value. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/catalogue_data.h"

#define SYMBOL_MAX 250
#define TEXT_MAX   2048
#define LEN(a)	   (sizeof(a) / sizeof(*(a)))

#define SETTER(name)                                                                               \
	static int name(struct catalogue *cat, struct catalogue_row *row, const char *value,       \
			bool more, const struct catalogue_key *key, size_t first_enum,             \
			struct err *err)

static int wrong(struct err *err, const char *value, const char *wanted)
{
	return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "\"%s\": should be %s", value, wanted);
}

static int no_memory(struct err *err)
{
	return err__set(err, ENOMEM, "out of memory");
}

/*
 * The next word of *at, malloc'ed; NULL at the end or when out of memory (then *at is not at its
 * end).
 */
static char *next_word(const char **at)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strcspn(*at, " \t");
	if (!len)
		return NULL;
	*at += len;
	return strndup(*at - len, len);
}

static int grow(void *array, size_t cnt, size_t size, const char *noun, struct err *err)
{
	void *bigger;

	if (cnt == CATALOGUE_PATTERNS_MAX)
		return err__set_exit(err, JANK_EXIT_USAGE, E2BIG, "more than %d of %s",
				     CATALOGUE_PATTERNS_MAX, noun);
	bigger = realloc(*(void **)array, (cnt + 1) * size);
	if (!bigger)
		return no_memory(err);
	*(void **)array = bigger;
	return 0;
}

/* Sets a text that is only displayed. Further lines are joined by a space. */
SETTER(set_text)
{
	char **text = (char **)((char *)row + key->offset), *longer;
	size_t have = *text ? strlen(*text) : 0, len = strlen(value);

	if (have && !more)
		return wrong(err, value, "on an indented line: the key was given before");
	if (have + len > TEXT_MAX)
		return wrong(err, value, "shorter: a text has at most 2048 bytes");
	longer = realloc(*text, have + len + 2);
	if (!longer)
		return no_memory(err);
	*text = longer;
	if (have)
		longer[have++] = ' ';
	memcpy(longer + have, value, len + 1);
	return 0;
}

SETTER(set_name)
{
	size_t len = strlen(value);

	if (more || row->name || strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-_") != len ||
	    len >= 32)
		return wrong(err, value, "one name of at most 31 of a-z, 0-9, - and _");
	row->name = strdup(value);
	return row->name ? 0 : no_memory(err);
}

SETTER(set_over)
{
	if (more || row->over)
		return wrong(err, value, "given once");
	row->over = strdup(value);
	return row->over ? 0 : no_memory(err);
}

static const struct {
	const char *prefix;
	bool is_exe, is_section;
} prefixes[] = { { "exe:", true, false }, { "section:", false, true } };

static int add_library(struct catalogue_row *row, const char *word, struct err *err)
{
	struct catalogue_library library = { 0 };
	int code = grow(&row->libraries, row->library_cnt, sizeof(library), "library", err);

	if (code)
		return code;
	for (size_t i = 0; i < LEN(prefixes); i++) {
		if (strncmp(word, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			continue;
		word += strlen(prefixes[i].prefix);
		library.is_exe = prefixes[i].is_exe;
		library.is_section = prefixes[i].is_section;
		break;
	}
	if (!*word || strchr(word, '/'))
		return wrong(err, word, "the name of a file without its folder; * and ? may stand");
	library.glob = strdup(word);
	if (!library.glob)
		return no_memory(err);
	row->libraries[row->library_cnt++] = library;
	return 0;
}

SETTER(set_libraries)
{
	char *word;
	int code = 0;

	while (!code && (word = next_word(&value)) != NULL) {
		code = add_library(row, word, err);
		free(word);
	}
	return code ?: *value ? no_memory(err) : 0;
}

static int add_functions(struct catalogue_functions *list, const char *value, const char *noun,
			 struct err *err)
{
	char *word;
	int code;

	while ((word = next_word(&value)) != NULL) {
		code = grow(&list->globs, list->cnt, sizeof(*list->globs), noun, err);
		if (code) {
			free(word);
			return code;
		}
		list->globs[list->cnt++] = word;
	}
	return *value ? no_memory(err) : 0;
}

SETTER(set_callers)
{
	return add_functions(&row->callers, value, "caller", err);
}

SETTER(set_parks)
{
	row->waits |= 1u << JANK_LOOP_PARK;
	return add_functions(&row->parks, value, "park", err);
}

/* The probes compare names by prefix, and have little room. */
static bool is_thread_name(const char *word)
{
	size_t len = strcspn(word, "*?[");

	return len && len < JANK_COMM_SZ && (!word[len] || !strcmp(word + len, "*"));
}

SETTER(set_threads)
{
	size_t first = row->threads.cnt;
	int code = add_functions(&row->threads, value, "thread", err);

	row->waits |= 1u << JANK_LOOP_PARK;
	for (size_t i = first; i < row->threads.cnt && !code; i++)
		if (!is_thread_name(row->threads.globs[i]))
			code = wrong(err, value,
				     "names of threads of at most 15 bytes; * may end one");
	return code;
}

SETTER(set_through)
{
	return add_functions(&row->through, value, "through", err);
}

SETTER(set_runs)
{
	return add_functions(&row->runs, value, "run", err);
}

SETTER(set_calls)
{
	return add_functions(&row->calls, value, "call", err);
}

/* Parses a code position: a symbol's name, or "offset 0x…". */
static int parse_place(const char *value, char **ret_symbol, uint64_t *ret_address, struct err *err)
{
	unsigned long long address;
	char *end;

	if (strncmp(value, "offset ", 7)) {
		if (!*value || strlen(value) > SYMBOL_MAX || strpbrk(value, " \t"))
			return wrong(err, value, "one symbol as nm shows it, or offset 0x…");
		*ret_symbol = strdup(value);
		return *ret_symbol ? 0 : no_memory(err);
	}
	value += 7 + strspn(value + 7, " \t");
	errno = 0;
	address = strtoull(value, &end, 16);
	if (errno || end == value || *end || !address || !isxdigit((unsigned char)*value))
		return wrong(err, value, "an address as nm and objdump show it, e.g. 0x1f40");
	*ret_address = address;
	return 0;
}

static int add_wait_kind(struct catalogue_row *row, const char *word, struct err *err)
{
#define X_KIND(nr, NAME, key) { key, nr },
	static const struct {
		const char *key;
		uint32_t nr;
	} kinds[] = { JANK_LOOPS(X_KIND) };

	for (size_t i = 0; i < LEN(kinds); i++) {
		if (kinds[i].nr != JANK_LOOP_CUSTOM && kinds[i].nr != JANK_LOOP_PARK &&
		    !strcmp(word, kinds[i].key)) {
			row->waits |= 1u << kinds[i].nr;
			return 0;
		}
	}
	return wrong(err, word, "epoll, poll, android-looper, symbol NAME or offset 0x…");
}

SETTER(set_wait)
{
	bool by_symbol = !strncmp(value, "symbol ", 7);
	char *word;
	int code = 0;

	if (by_symbol || !strncmp(value, "offset ", 7)) {
		if (row->wait_symbol || row->wait_address)
			return wrong(err, value, "given once: a row has one wait function");
		row->waits |= 1u << JANK_LOOP_CUSTOM;
		value += by_symbol ? 7 + strspn(value + 7, " \t") : 0;
		return parse_place(value, &row->wait_symbol, &row->wait_address, err);
	}
	while (!code && (word = next_word(&value)) != NULL) {
		code = add_wait_kind(row, word, err);
		free(word);
	}
	return code ?: *value ? no_memory(err) : 0;
}

static int parse_bool(const char *value, bool *ret_no, struct err *err)
{
	bool no = !strcmp(value, "no");

	if (!no && strcmp(value, "yes"))
		return wrong(err, value, "yes or no");
	*ret_no = no;
	return 0;
}

SETTER(set_tested)
{
	return parse_bool(value, &row->is_untested, err);
}

SETTER(set_traced)
{
	return parse_bool(value, &row->is_off, err);
}

#define X_KEY(name, key) key,
static const char *const roles[] = { CATALOGUE_ROLES(X_KEY) };

static int find_role(const char *text, size_t len, enum catalogue_role *ret, struct err *err)
{
	char role[16];

	snprintf(role, sizeof(role), "%.*s", (int)len, text);
	for (unsigned i = 0; i < ROLE_CNT; i++) {
		if (len == strlen(roles[i]) && !strncmp(text, roles[i], len)) {
			*ret = i;
			return 0;
		}
	}
	return wrong(err, role, "what, handler, callback, source, fd, queued or check");
}

static int check_field(const struct catalogue_mark *mark, const struct catalogue_field *new,
		       struct err *err)
{
	for (unsigned i = 0; i < mark->spec.field_cnt; i++) {
		if (mark->fields[i].role == new->role)
			return wrong(err, roles[new->role], "given once for a mark");
		if (mark->fields[i].view == VIEW_TEXT && new->view == VIEW_TEXT)
			return wrong(err, roles[new->role],
				     "no text: a mark reads one, and has it");
	}
	if ((new->role == ROLE_QUEUED) != (new->view == VIEW_CLOCK))
		return wrong(err, roles[new->role],
			     "queued = clock_ms(…), clock_us(…) or clock_ns(…), and only queued");
	if (new->role == ROLE_FD &&new->view != VIEW_NUMBER)
		return wrong(err, roles[new->role], "fd = a number");
	return 0;
}

/* Parses "what = enum(qevent, u16 *(arg1 + 8))", on an indented line below its mark. */
static int add_field(struct catalogue *cat, struct catalogue_mark *mark, const char *value,
		     size_t first_enum, struct err *err)
{
	struct mark_enums enums = { cat->enums + first_enum, cat->enum_cnt - first_enum };
	struct jank_mark_field spec[2] = { 0 };
	struct catalogue_field field[2] = { 0 };
	size_t len = strcspn(value, "= \t");
	const char *equals = value + len + strspn(value + len, " \t");
	enum catalogue_role role = ROLE_CNT;
	unsigned cnt;
	int code;

	if (*equals != '=')
		return wrong(err, value, "FIELD = what is to be read");
	equals += 1 + strspn(equals + 1, " \t");
	code = find_role(value, len, &role, err);
	if (code)
		return code;
	cnt = role == ROLE_CHECK ? 2 : 1;
	code = role == ROLE_CHECK ? mark_expr__check(equals, spec, field, err)
				  : mark_expr__view(equals, &enums, spec, field, err);
	field[0].role = field[1].role = role;
	spec[0].is_fd = role == ROLE_FD;
	code = code ?: check_field(mark, field, err);
	if (!code && mark->spec.field_cnt + cnt > JANK_MARK_FIELD_MAX)
		code = wrong(err, value, "left out: a mark reads at most 4 (check counts as 2)");
	for (unsigned i = 0; i < cnt && !code; i++) {
		mark->spec.fields[mark->spec.field_cnt] = spec[i];
		mark->fields[mark->spec.field_cnt++] = field[i];
	}
	return code;
}

static int add_mark(struct catalogue *cat, struct catalogue_row *row, const char *value,
		    struct catalogue_mark **ret, struct err *err)
{
	if (cat->mark_cnt == JANK_MARK_MAX)
		return wrong(err, value, "left out: all rows together have at most 256 marks");
	if (!row->mark_cnt)
		row->mark_first = cat->mark_cnt;
	*ret = &cat->marks[cat->mark_cnt++];
	**ret = (struct catalogue_mark){ .row = row };
	row->mark_cnt++;
	return 0;
}

/* Tells the probe how to see that the object does not have this layout, but maybe the next. */
static int go_on_if_false(struct catalogue_mark *mark, const char *value, struct err *err)
{
	unsigned i = 0, bits;

	while (i < mark->spec.field_cnt && mark->fields[i].role != ROLE_CHECK)
		i++;
	if (i == mark->spec.field_cnt)
		return wrong(err, value, "behind a layout with check =");
	bits = mark->fields[i].bits < mark->fields[i + 1].bits ? mark->fields[i].bits
							       : mark->fields[i + 1].bits;
	mark->spec.has_next = 1;
	mark->spec.check = (uint8_t)i;
	mark->spec.check_shl = (uint8_t)(64 - bits);
	return 0;
}

/* "or", on an indented line: the fields that follow are of another layout. */
static int add_layout(struct catalogue *cat, struct catalogue_row *row, const char *value,
		      struct err *err)
{
	struct catalogue_mark *last = &cat->marks[cat->mark_cnt - 1], *mark = last;
	unsigned cnt = 2;
	int code;

	while (mark->is_layout) {
		mark--;
		cnt++;
	}
	if (cnt > JANK_MARK_LAYOUT_MAX)
		return wrong(err, value, "left out: a mark has at most 3 layouts");
	code = go_on_if_false(last, value, err) ?: add_mark(cat, row, value, &mark, err);
	if (code)
		return code;
	mark->is_layout = true;
	mark->address = last->address;
	mark->symbol = last->symbol ? strdup(last->symbol) : NULL;
	return last->symbol && !mark->symbol ? no_memory(err) : 0;
}

SETTER(set_mark)
{
	struct catalogue_mark *mark;
	int code;

	if (more && !strcmp(value, "or"))
		return add_layout(cat, row, value, err);
	if (more)
		return add_field(cat, &cat->marks[cat->mark_cnt - 1], value, first_enum, err);
	code = add_mark(cat, row, value, &mark, err);
	return code ?: parse_place(value, &mark->symbol, &mark->address, err);
}

#define AT(member) offsetof(struct catalogue_row, member)

const struct catalogue_key catalogue_keys[] = {
	{ "name", set_name, 0 },	{ "about", set_text, AT(about) },
	{ "note", set_text, AT(note) }, { "library", set_libraries, 0 },
	{ "wait", set_wait, 0 },	{ "caller", set_callers, 0 },
	{ "over", set_over, 0 },	{ "mark", set_mark, 0 },
	{ "tested", set_tested, 0 },	{ "traced", set_traced, 0 },
	{ "park", set_parks, 0 },	{ "through", set_through, 0 },
	{ "thread", set_threads, 0 },	{ "run", set_runs, 0 },
	{ "call", set_calls, 0 },
};
const size_t catalogue_key_cnt = LEN(catalogue_keys);

const char *catalogue_role__key(enum catalogue_role role)
{
	return role < ROLE_CNT ? roles[role] : "";
}

static void free_functions(struct catalogue_functions *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		free(list->globs[i]);
	free(list->globs);
}

void catalogue_row__free(struct catalogue_row *row)
{
	if (!row)
		return;
	for (size_t i = 0; i < row->library_cnt; i++)
		free(row->libraries[i].glob);
	free_functions(&row->callers);
	free_functions(&row->parks);
	free_functions(&row->threads);
	free_functions(&row->through);
	free_functions(&row->runs);
	free_functions(&row->calls);
	free(row->libraries);
	free(row->id);
	free(row->name);
	free(row->about);
	free(row->note);
	free(row->wait_symbol);
	free(row->over);
	free(row);
}
