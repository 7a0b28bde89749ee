/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of functions, shortened, and of system calls. Demangled C++ repeats every type, so a stack
 * of such names is hard to read, and BlockCanary's reader treats parentheses and angle brackets as
 * syntax. Names come from untrusted symbol tables: every scan is bounded and linear.
 */
#include "base/text.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define NAME_MAX_LEN 4096
#define SELF_DEPTH   4

struct shorten {
	struct strbuf *out;
	const char *templ;
	bool plain;
	size_t begin; /* start of the name in out */
	size_t word;  /* after the last space that may end a return type; 0 for none */
	bool operator_name;
};

static bool has_prefix(const char *p, const char *end, const char *prefix)
{
	size_t len = strlen(prefix);

	return (size_t)(end - p) >= len && !memcmp(p, prefix, len);
}

/* The bracket that closes the one at p, or NULL. The '>' of an arrow ("->") closes nothing. */
static const char *match(const char *p, const char *end, char open, char close)
{
	int depth = 0;

	for (const char *q = p; q < end; q++) {
		if (*q == open)
			depth++;
		else if (*q == close && !(close == '>' && q > p && q[-1] == '-') && --depth == 0)
			return q;
	}
	return NULL;
}

static const char *find(const char *p, const char *end, const char *needle)
{
	return memmem(p, end - p, needle, strlen(needle));
}

/* Length of "operator" with its symbol, when one begins at p; 8 for `operator new`. */
static size_t operator_len(const char *start, const char *p, const char *end)
{
	const char *q = p + 8;

	if (!has_prefix(p, end, "operator"))
		return 0;
	if (p > start && (isalnum((unsigned char)p[-1]) || p[-1] == '_'))
		return 0;
	if (q < end && (isalnum((unsigned char)*q) || *q == '_'))
		return 0;
	if (has_prefix(q, end, "()") || has_prefix(q, end, "[]"))
		return 10;
	while (q < end && q - p < 11 && strchr("<>=!+-*/%^&|~,", *q))
		q++;
	return q - p;
}

/* `{lambda(int)#1}` without its arguments. */
static const char *add_braces(struct shorten *s, const char *p, const char *end)
{
	const char *close = match(p, end, '{', '}');

	if (!close)
		return end;
	while (p <= close) {
		const char *paren = *p == '(' ? match(p, close, '(', ')') : NULL;

		if (paren)
			p = paren + 1;
		else
			strbuf__addc(s->out, *p++);
	}
	return close + 1;
}

static void add_range(struct shorten *s, const char *p, const char *end, int depth);

/* Rust: the type in `<T as Trait>::f` and `<impl Trait for T>::f`. */
static void add_self(struct shorten *s, const char *p, const char *end, int depth)
{
	const char *as = p, *next;

	if (has_prefix(p, end, "impl ")) {
		next = find(p, end, " for ");
		p = next ? next + 5 : p;
	} else {
		while ((next = find(as, end, " as "))) {
			const char *open = memchr(p, '<', next - p);
			const char *close = open ? match(open, end, '<', '>') : NULL;

			if (!close || close < next)
				break;
			as = close; /* that one lies inside a type's arguments */
		}
		end = next ? next : end;
	}
	if (depth < SELF_DEPTH)
		add_range(s, p, end, depth + 1);
}

static const char *add_angle(struct shorten *s, const char *p, const char *end, int depth)
{
	const char *close = match(p, end, '<', '>');
	size_t len = s->out->len;

	if (!close)
		return end;
	if (len == s->begin || has_prefix(p, end, "<impl ")) {
		add_self(s, p + 1, close, depth);
	} else if (s->out->data[len - 1] == '.' || has_prefix(p, end, "<anonymous>")) {
		/* a name from Java or JavaScript, such as <init> */
		strbuf__add(s->out, p + s->plain, close + 1 - p - 2 * s->plain);
	} else if (*s->templ) {
		strbuf__adds(s->out, s->templ);
	} else if (has_prefix(close + 1, end, "::") && s->out->data[len - 1] == ':') {
		return close + 3; /* Rust's `f::<u8>::g` */
	}
	return close + 1;
}

/* At the end of an argument list: the text before the name's last space was the return type. */
static void drop_return_type(struct shorten *s)
{
	struct strbuf *out = s->out;

	if (s->word > s->begin && s->word < out->len && !out->failed) {
		memmove(out->data + s->begin, out->data + s->word, out->len - s->word + 1);
		out->len -= s->word - s->begin;
	}
	s->word = 0;
	s->operator_name = false;
}

static const char *add_paren(struct shorten *s, const char *p, const char *end)
{
	const char *close = match(p, end, '(', ')'), *next;

	if (!close)
		return end;
	if (has_prefix(p, end, "(auto)")) /* decltype(auto), a return type */
		return close + 1;
	if (has_prefix(p, end, "(anonymous namespace)")) {
		strbuf__adds(s->out, s->plain ? "anonymous" : "{anonymous}");
		return close + 1;
	}
	if (s->out->len > s->begin && s->out->data[s->out->len - 1] == '.') { /* Go's receiver */
		strbuf__add(s->out, p + s->plain, close + 1 - p - 2 * s->plain);
		return close + 1;
	}
	drop_return_type(s);
	next = find(close, end, "::"); /* a name local to this function, or its qualifiers */
	return next ? next : end;
}

/* Skip `[abi:cxx11]` and `[clone .cold]`: they mean nothing to a person. */
static const char *skip_bracket(struct shorten *s, const char *p, const char *end)
{
	const char *close = NULL;

	if (has_prefix(p, end, "[abi:") || has_prefix(p, end, "[clone "))
		close = memchr(p, ']', end - p);
	if (close)
		return close + 1;
	strbuf__addc(s->out, *p);
	return p + 1;
}

static void add_space(struct shorten *s)
{
	if (s->out->len == s->begin)
		return;
	strbuf__addc(s->out, ' ');
	if (!s->operator_name)
		s->word = s->out->len;
}

static void add_range(struct shorten *s, const char *p, const char *end, int depth)
{
	const char *start = p;

	while (p < end && !s->out->failed) {
		size_t len = operator_len(start, p, end);

		if (len) {
			bool call = s->plain && has_prefix(p + 8, end, "()");

			strbuf__add(s->out, p, call ? 8 : len);
			s->operator_name = true;
			p += len;
		} else if (*p == '<') {
			p = add_angle(s, p, end, depth);
		} else if (*p == '(') {
			p = add_paren(s, p, end);
		} else if (*p == '{') {
			p = add_braces(s, p, end);
		} else if (*p == '[') {
			p = skip_bracket(s, p, end);
		} else if (*p == ' ') {
			add_space(s);
			p++;
		} else {
			strbuf__addc(s->out, *p++);
		}
	}
}

void function__add_short(struct strbuf *sb, const char *name, const char *templ, bool plain)
{
	struct shorten s = { .out = sb, .templ = templ, .plain = plain, .begin = sb->len };
	size_t len = strnlen(name, NAME_MAX_LEN);

	add_range(&s, name, name + len, 0);
	while (sb->len > s.begin && sb->data[sb->len - 1] == ' ')
		sb->data[--sb->len] = '\0';
	if (sb->len == s.begin)
		strbuf__add(sb, name, len);
}

/*
 * --- system calls. The tables are generated: one from the C library's numbers (see the Makefile),
 * one from syscalls_32.tbl.
 */

/* From this number on, a call has the same number on all architectures. */
#define FIRST_COMMON 424

static const char *const calls[] = {
#include "syscall_names.h"
};

static const char *const calls_32[] = {
#include "syscall_names_32.h"
};

const char *syscall__name_32(int nr)
{
	return nr >= 0 && (size_t)nr < sizeof(calls_32) / sizeof(calls_32[0]) ? calls_32[nr] : NULL;
}

/* The 32-bit table also has calls that are newer than the C library's headers. */
const char *syscall__name(int nr)
{
	if (nr >= 0 && (size_t)nr < sizeof(calls) / sizeof(calls[0]) && calls[nr])
		return calls[nr];
	return nr >= FIRST_COMMON ? syscall__name_32(nr) : NULL;
}

int syscall__nr(const char *name)
{
	const size_t cnt = sizeof(calls) / sizeof(calls[0]);
	const size_t cnt_32 = sizeof(calls_32) / sizeof(calls_32[0]);
	const int end = (int)(cnt > cnt_32 ? cnt : cnt_32);

	for (int nr = 0; name && nr < end; nr++)
		if (syscall__name(nr) && !strcmp(syscall__name(nr), name))
			return nr;
	return -1;
}

bool syscall__sends(const char *name)
{
	static const char *const names[] = { "sendto",	"sendmsg",  "sendmmsg", "sendfile",
					     "write",	"writev",   "pwritev",	"pwritev2",
					     "splice",	"shutdown", "close",	"connect",
					     "accept4", "accept",   "send",	"sendfile64",
					     "tee",	"vmsplice", "pwrite64" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
