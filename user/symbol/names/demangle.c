/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Demangling with bounded output. A mangled name may refer back to its own parts, so that a short
 * name can expand to a text of any length. We use libiberty's callback forms, which print in
 * pieces, and leave them by longjmp when the buffer is full. They keep nothing on the heap, so this
 * leaks nothing (except a few hundred bytes for Rust's punycode).
 */
#include "symbol/names/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#define MANGLED_MAX 4096 /* libiberty itself gives up on C++ names over 1 KiB */

struct output {
	char *buf;
	size_t len, cap;
	jmp_buf full;
};

static void add(const char *piece, size_t len, void *opaque)
{
	struct output *out = opaque;
	size_t room = out->cap - 1 - out->len;

	memcpy(out->buf + out->len, piece, len < room ? len : room);
	out->len += len < room ? len : room;
	if (len >= room)
		longjmp(out->full, 1);
}

/* Rust first: its older names are also valid C++ names, with a hash at the end. */
static bool demangle(const char *name, struct output *out)
{
	if (rust_demangle_callback(name, DMGL_NO_OPTS, add, out))
		return true;
	out->len = 0;
	return cplus_demangle_v3_callback(name, DMGL_NO_OPTS, add, out);
}

/* A separate stack frame, so that longjmp does not clobber the caller's variables. */
static bool demangle_until_full(const char *name, struct output *out)
{
	return setjmp(out->full) || demangle(name, out);
}

size_t demangle__name(const char *name, char *buf, size_t cap)
{
	struct output out = { .buf = buf, .cap = cap };

	if (name[0] != '_' || strlen(name) > MANGLED_MAX)
		return 0;
	if (!demangle_until_full(name, &out))
		out.len = 0;
	buf[out.len] = 0;
	return out.len;
}
