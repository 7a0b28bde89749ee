/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a frame to the original ones, by the rules of R8's retrace. See r8_mapping.h. */
#include "symbol/languages/r8_mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/block.h"

#define NAME_MAX_SZ 1024

/* Methods of one line of code, innermost first: those but the last were inlined. */
struct inlining {
	struct r8_member members[R8_FRAMES_MAX];
	bool synthesized[R8_FRAMES_MAX]; /* by R8: hidden beside others */
	uint32_t cnt;
};

/* How well an inlining fits the line of a frame. */
enum fit { FIT_NONE, FIT_OTHER_LINES, FIT_ANY_LINE, FIT_LINE };

struct search {
	const struct r8_class *class;
	const char *method; /* its given name */
	uint32_t method_len, line;
	struct inlining now, best;
	enum fit fit;	   /* of the best */
	bool repeated;	   /* others of that fit have the same function */
	bool is_ambiguous; /* or another */
};

static bool same(const char *a, uint32_t a_len, const char *b, uint32_t b_len)
{
	return a_len == b_len && (!a_len || !memcmp(a, b, a_len));
}

/* The function that contains the others, but not one of R8's own. */
static const struct r8_member *outer(const struct inlining *inlining)
{
	uint32_t i = inlining->cnt - 1;

	while (i && inlining->synthesized[i])
		i--;
	return &inlining->members[inlining->synthesized[i] ? inlining->cnt - 1 : i];
}

static enum fit fit_of(const struct search *s, const struct r8_member *m)
{
	if (!same(m->given, m->given_len, s->method, s->method_len))
		return FIT_NONE;
	if (!m->has_range)
		return FIT_ANY_LINE;
	return s->line >= m->begin && s->line <= m->end && s->line ? FIT_LINE : FIT_OTHER_LINES;
}

/* All lines of the inlining are read. */
static void finish(struct search *s)
{
	const struct r8_member *a, *b;
	enum fit fit = s->now.cnt ? fit_of(s, &s->now.members[0]) : FIT_NONE;

	if (fit > s->fit) {
		s->best = s->now;
		s->fit = fit;
		s->repeated = s->is_ambiguous = false;
	} else if (fit && fit == s->fit) {
		a = outer(&s->now);
		b = outer(&s->best);
		s->repeated = true;
		s->is_ambiguous |= !same(a->class, a->class_len, b->class, b->class_len) ||
				   !same(a->name, a->name_len, b->name, b->name_len);
	}
	s->now.cnt = 0;
}

static bool continues(const struct inlining *now, const struct r8_member *m)
{
	const struct r8_member *last = now->cnt ? &now->members[now->cnt - 1] : NULL;

	return last && last->has_range && m->has_range && last->begin == m->begin &&
	       last->end == m->end && same(last->given, last->given_len, m->given, m->given_len);
}

static void add_line(struct search *s, const char *line, size_t len)
{
	static const char id[] = "\"com.android.tools.r8.synthesized\"";
	struct inlining *now = &s->now;
	struct r8_member member;

	if (memmem(line, len, id, strlen(id)) && now->cnt)
		now->synthesized[now->cnt - 1] = true;
	if (!r8_member__parse(line, len, &member) || !member.is_method)
		return;
	if (!continues(now, &member))
		finish(s);
	else if (now->cnt == R8_FRAMES_MAX)
		now->cnt--; /* the outermost one is the one that counts */
	now->synthesized[now->cnt] = false;
	now->members[now->cnt++] = member;
}

static void search_class(struct search *s)
{
	const char *at = s->class->members, *end = at + s->class->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', end - at) ?: end;
		size_t len = newline - at;

		if (len && at[len - 1] == '\r')
			len--;
		if (len)
			add_line(s, at, len);
		at = newline + 1;
	}
	finish(s);
}

/* --- names */

/* Without a statement the file is that of the outermost class: "Main$1" of Main.java. */
static const char *file_of(struct r8_mapping *mapping, const struct r8_class *class,
			   const char *name, uint32_t name_len)
{
	const char *dot = memrchr(name, '.', name_len), *simple = dot ? dot + 1 : name, *dollar;
	uint32_t len = name + name_len - simple;
	char file[NAME_MAX_SZ + 8];
	bool is_kotlin;

	if (class && class->source)
		return pool__add(&mapping->pool, class->source,
				 strchr(class->source, '"') - class->source);
	dollar = len > 1 ? memchr(simple + 1, '$', len - 1) : NULL;
	if (dollar)
		len = dollar - simple;
	if (!len || len >= NAME_MAX_SZ)
		return NULL;
	is_kotlin = len > 2 && !memcmp(simple + len - 2, "Kt", 2);
	len = snprintf(file, sizeof(file), "%.*s.%s", (int)len - 2 * is_kotlin, simple,
		       is_kotlin ? "kt" : "java");
	return pool__add(&mapping->pool, file, len);
}

/* name: of a member, in the original class or another one. Returns false when out of memory. */
static bool make_frame(struct r8_mapping *mapping, const struct r8_class *class,
		       const struct r8_member *member, uint32_t line, struct r8_frame *ret)
{
	bool is_own = !member->class_len;
	const char *of = is_own ? class->original : member->class;
	uint32_t len = is_own ? strlen(of) : member->class_len;
	char name[NAME_MAX_SZ];

	snprintf(name, sizeof(name), "%.*s.%.*s", (int)len, of, (int)member->name_len,
		 member->name);
	ret->function = pool__add(&mapping->pool, name, strlen(name));
	ret->file = file_of(mapping, is_own ? class : NULL, of, len);
	ret->line = line;
	return ret->function;
}

static size_t make_frames(struct r8_mapping *mapping, const struct search *s, struct r8_frame *ret)
{
	/* A method that the file does not have keeps its name; one of several is not decided. */
	const struct r8_member given = { .name = s->method, .name_len = s->method_len };
	const struct r8_member *whole;
	size_t cnt = 0;

	if (!s->fit || s->is_ambiguous)
		return make_frame(mapping, s->class, &given, s->fit ? 0 : s->line, ret);
	whole = outer(&s->best);
	if (s->fit < FIT_LINE || s->repeated)
		return make_frame(mapping, s->class, whole,
				  s->fit == FIT_ANY_LINE && !s->repeated
					  ? r8_member__line(whole, s->line)
					  : 0,
				  ret);
	for (uint32_t i = 0; i < s->best.cnt; i++) {
		const struct r8_member *member = &s->best.members[i];

		if (s->best.synthesized[i] && member != whole)
			continue;
		if (!make_frame(mapping, s->class, member, r8_member__line(member, s->line),
				&ret[cnt]))
			return 0;
		cnt++;
	}
	return cnt;
}

static const struct r8_class *find_class(const struct r8_mapping *mapping, const char *given)
{
	size_t low = 0, high = mapping->class_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(mapping->classes[mid].given, given);

		if (!order)
			return &mapping->classes[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* Splits "void a.b.c.m(int)" into "a.b.c" and "m". Returns false when it is no such name. */
static bool split(const char *function, char name[NAME_MAX_SZ], const char **ret_method)
{
	size_t len = strcspn(function, "(");
	const char *space = memrchr(function, ' ', len);
	char *dot;

	if (space) {
		len -= space + 1 - function;
		function = space + 1;
	}
	if (!len || len >= NAME_MAX_SZ)
		return false;
	memcpy(name, function, len);
	name[len] = '\0';
	dot = strrchr(name, '.');
	if (!dot || dot == name || !dot[1])
		return false;
	*dot = '\0';
	*ret_method = dot + 1;
	return true;
}

size_t r8_mapping__retrace(struct r8_mapping *mapping, const char *function, uint32_t line,
			   struct r8_frame ret[R8_FRAMES_MAX])
{
	struct search *s = NULL;
	const struct r8_class *class;
	char name[NAME_MAX_SZ];
	const char *method;
	size_t cnt;

	if (!split(function, name, &method))
		return 0;
	class = find_class(mapping, name);
	s = class ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return 0;
	s->class = class;
	s->method = method;
	s->method_len = strlen(method);
	s->line = line;
	search_class(s);
	cnt = make_frames(mapping, s, ret);
	free(s);
	return cnt;
}

/* --- stacks */

bool r8_mapping__applies(const char *language, const char *module)
{
	static const char *const ends[] = {
		".oat", ".odex", ".art", ".vdex", ".dex", ".apk", ".jar"
	};
	static const char *const begins[] = { "[jit]", "[anon:dalvik-", "/memfd:jit-" };
	size_t len = module ? strlen(module) : 0;

	if (language)
		return !strcmp(language, "java");
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (len > strlen(ends[i]) && !strcmp(module + len - strlen(ends[i]), ends[i]))
			return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (module && text__begins(module, begins[i]))
			return true;
	return false;
}

static size_t retrace_frame(struct r8_mapping *mapping, const struct frame *frame,
			    struct frame ret[R8_FRAMES_MAX])
{
	struct r8_frame found[R8_FRAMES_MAX];
	size_t cnt = 0;

	if (frame->function && !frame->kernel &&
	    r8_mapping__applies(frame->language, frame->module))
		cnt = r8_mapping__retrace(mapping, frame->function, frame->line, found);
	for (size_t i = 0; i < cnt; i++) {
		ret[i] = *frame;
		ret[i].function = found[i].function;
		ret[i].file = found[i].file;
		ret[i].line = found[i].line;
		if (i + 1 == cnt)
			continue;
		ret[i].inlined = true;
		ret[i].app = false;
	}
	if (!cnt)
		ret[0] = *frame;
	return cnt ?: 1;
}

int r8_mapping__stack(struct r8_mapping *mapping, struct stack *stack)
{
	struct frame found[R8_FRAMES_MAX], *list = NULL;
	size_t cnt = 0, cap = 0;

	for (size_t i = 0; i < stack->frame_cnt; i++) {
		size_t more = retrace_frame(mapping, &stack->frames[i], found);

		if (cnt + more > cap) {
			struct frame *larger;

			cap = 2 * cap + more;
			larger = realloc(list, cap * sizeof(*list));
			if (!larger) {
				free(list);
				return -ENOMEM;
			}
			list = larger;
		}
		memcpy(list + cnt, found, more * sizeof(*list));
		cnt += more;
	}
	if (!list)
		return 0;
	free(stack->frames);
	stack->frames = list;
	stack->frame_cnt = cnt;
	return 0;
}
