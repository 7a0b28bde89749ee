/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading of the file, and its classes. See r8_mapping.h. */
#include "symbol/languages/r8_mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/file.h"

static const char arrow[] = " -> ";

struct reading {
	struct r8_mapping *mapping;
	size_t cap;
	const char *name; /* of the file */
	uint32_t line;
};

static int __attribute__((format(printf, 3, 4)))
bad(const struct reading *r, struct err *err, const char *fmt, ...)
{
	struct strbuf what = STRBUF_INIT;
	va_list args;
	int ret;

	va_start(args, fmt);
	strbuf__vaddf(&what, fmt, args);
	va_end(args);
	ret = err__set(err, EBADMSG,
		       "'%s', line %u: %s; give the mapping.txt that R8 or ProGuard wrote", r->name,
		       r->line, strbuf__str(&what));
	strbuf__free(&what);
	return ret;
}

static struct r8_class *last_class(struct r8_mapping *mapping)
{
	return mapping->class_cnt ? &mapping->classes[mapping->class_cnt - 1] : NULL;
}

static int add_class(struct reading *r, const struct r8_class *class)
{
	struct r8_mapping *mapping = r->mapping;

	if (mapping->class_cnt == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 256;
		struct r8_class *grown = reallocarray(mapping->classes, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		mapping->classes = grown;
		r->cap = cap;
	}
	mapping->classes[mapping->class_cnt++] = *class;
	return 0;
}

/* "com.example.Main -> a.b.c:"; ends both names by a NUL, in the text. */
static int read_class(struct reading *r, char *line, size_t len, struct err *err)
{
	char *at = memmem(line, len, arrow, strlen(arrow));
	struct r8_class class = { .original = line, .line = r->line };

	if (!at || at == line || line[len - 1] != ':' ||
	    (size_t)(at - line) + strlen(arrow) + 1 >= len)
		return bad(r, err, "neither a class ('NAME -> NAME:') nor a member nor a comment");
	*at = '\0';
	line[len - 1] = '\0';
	class.given = at + strlen(arrow);
	class.members = line + len;
	if (strchr(class.given, ' ') || strchr(class.original, ' '))
		return bad(r, err, "a space in the name of a class");
	if (add_class(r, &class))
		return err__set(err, ENOMEM, "out of memory");
	return 0;
}

/* # {"id":"sourceFile","fileName":"Main.kt"} */
static void read_comment(struct reading *r, const char *line, size_t len)
{
	static const char id[] = "\"id\":\"sourceFile\"", key[] = "\"fileName\":\"";
	struct r8_class *class = last_class(r->mapping);
	const char *name;

	if (!class || class->source || !memmem(line, len, id, strlen(id)))
		return;
	name = memmem(line, len, key, strlen(key));
	if (!name)
		return;
	name += strlen(key);
	if (memchr(name, '"', line + len - name))
		class->source = name;
}

static int read_line(struct reading *r, char *line, size_t len, struct err *err)
{
	struct r8_member member;
	size_t blanks = 0;

	if (memchr(line, '\0', len))
		return bad(r, err, "a NUL byte");
	if (len && line[len - 1] == '\r')
		len--;
	while (blanks < len && (line[blanks] == ' ' || line[blanks] == '\t'))
		blanks++;
	if (blanks == len)
		return 0;
	if (line[blanks] == '#') {
		read_comment(r, line, len);
		return 0;
	}
	if (!blanks)
		return read_class(r, line, len, err);
	if (!r->mapping->class_cnt)
		return bad(r, err, "a member before the first class");
	if (!r8_member__parse(line, len, &member))
		return bad(r, err, "no member ('TYPE NAME -> NAME')");
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct r8_class *)a)->given, ((const struct r8_class *)b)->given);
}

/* A name that two classes were given says nothing. */
static int sort_classes(struct reading *r, struct err *err)
{
	struct r8_mapping *mapping = r->mapping;

	if (!mapping->class_cnt)
		return err__set(err, ENODATA,
				"'%s': no class in it; give the mapping.txt that R8 or ProGuard "
				"wrote",
				r->name);
	qsort(mapping->classes, mapping->class_cnt, sizeof(*mapping->classes), compare);
	for (size_t i = 1; i < mapping->class_cnt; i++) {
		const struct r8_class *a = &mapping->classes[i - 1], *b = a + 1;

		if (strcmp(a->given, b->given))
			continue;
		r->line = a->line > b->line ? a->line : b->line;
		return bad(r, err, "a class is named %.100s for the second time", b->given);
	}
	return 0;
}

int r8_mapping__parse(struct strbuf *text, const char *name, struct r8_mapping **ret,
		      struct err *err)
{
	struct reading r = { .mapping = calloc(1, sizeof(struct r8_mapping)), .name = name };
	char *at = text->data, *end;
	int res = 0;

	if (!r.mapping || text->failed) {
		strbuf__free(text);
		free(r.mapping);
		return err__set(err, ENOMEM, "out of memory");
	}
	r.mapping->text = *text;
	*text = (struct strbuf)STRBUF_INIT;
	end = at + r.mapping->text.len;
	while (!res && at < end) {
		char *newline = memchr(at, '\n', end - at) ?: end;
		struct r8_class *class;

		r.line++;
		res = read_line(&r, at, newline - at, err);
		class = last_class(r.mapping);
		at = newline + (newline < end);
		if (class && class->members < at)
			class->len = at - class->members;
	}
	if (!res)
		res = sort_classes(&r, err);
	if (res)
		r8_mapping__free(r.mapping);
	else
		*ret = r.mapping;
	return res;
}

int r8_mapping__open(const char *path, struct r8_mapping **ret, struct err *err)
{
	struct strbuf text = STRBUF_INIT;
	int res = file__read(path, R8_FILE_MAX, &text);

	if (!res)
		return r8_mapping__parse(&text, path, ret, err);
	strbuf__free(&text);
	if (res == -EFBIG)
		return err__set(err, EFBIG, "'%s' is larger than %u MiB: no mapping.txt is", path,
				R8_FILE_MAX >> 20);
	return err__set(err, -res, "cannot read '%s': %s", path, strerror(-res));
}

void r8_mapping__free(struct r8_mapping *mapping)
{
	if (!mapping)
		return;
	strbuf__free(&mapping->text);
	free(mapping->classes);
	pool__free(&mapping->pool);
	free(mapping);
}
