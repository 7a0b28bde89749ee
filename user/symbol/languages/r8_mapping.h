/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of mapping.txt, in which R8 and ProGuard write which names they gave to an app's classes
 * and methods, and which methods they inlined. Format:
 * https://r8.googlesource.com/r8/+/refs/heads/main/doc/retrace.md
 *
 * The file stays in memory, at most R8_FILE_MAX bytes, with 40 bytes for each class: it may be
 * replaced on disk by that of another build. A look-up reads the lines of one class. One thread
 * only.
 */
#ifndef JANK_SYMBOL_LANGUAGES_R8_MAPPING_H
#define JANK_SYMBOL_LANGUAGES_R8_MAPPING_H

#include "base/err.h"
#include "base/strbuf.h"
#include "symbol/names/cache.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define R8_FILE_MAX   (256u << 20)
#define R8_FRAMES_MAX 32 /* of one frame: an inlined method in each other */

struct stack;

struct r8_class {
	const char *given, *original; /* "a.b.c", "com.example.Main" */
	const char *members;	      /* its lines, up to the next class */
	const char *source;	      /* name of its file, up to a quote; NULL: not stated */
	uint32_t len, line;	      /* of the members; number of its line */
};

struct r8_mapping {
	struct strbuf text;
	struct r8_class *classes; /* by the given name */
	size_t class_cnt;
	struct pool pool; /* names of frames */
};

/*
 * Reads a file. Returns 0, or -errno with a message: -EBADMSG names the line that is wrong. Free it
 * with r8_mapping__free.
 */
int r8_mapping__open(const char *path, struct r8_mapping **ret, struct err *err);
void r8_mapping__free(struct r8_mapping *mapping); /* accepts NULL */

/* The same from text, which it takes over. name: of the file, for messages. */
int r8_mapping__parse(struct strbuf *text, const char *name, struct r8_mapping **ret,
		      struct err *err);

/* An original function; texts are the mapping's. */
struct r8_frame {
	const char *function, *file; /* file NULL: not known */
	uint32_t line;		     /* 0: not known */
};

/*
 * The original functions of "a.b.c.m" (also "void a.b.c.m(int)"), innermost first. line 0: not
 * known. A method that may be one of several keeps its given name, in its original class. Returns
 * their number; 0: the mapping does not know the class, or out of memory.
 */
size_t r8_mapping__retrace(struct r8_mapping *mapping, const char *function, uint32_t line,
			   struct r8_frame ret[R8_FRAMES_MAX]);

/*
 * True if a frame may be of the app: it is Java's, or code that ART compiled. Either may be NULL.
 */
bool r8_mapping__applies(const char *language, const char *module);

/*
 * Replaces the frames of a stack by the original ones. As with debug information, only the function
 * that contains the inlined ones stays `app`. 0, or -ENOMEM: the stack is unchanged.
 */
int r8_mapping__stack(struct r8_mapping *mapping, struct stack *stack);

/* --- r8_member.c */

/* "1:5:void com.other.Class.name(int):10:14 -> a"; parts of the text. */
struct r8_member {
	bool is_method;
	bool has_range, has_original;	       /* of lines */
	uint32_t begin, end;		       /* lines as compiled */
	uint32_t original_begin, original_end; /* original_end: the same for a single line */
	const char *class; /* another class, inlined from there; class_len 0: its own */
	const char *name, *given;
	uint32_t class_len, name_len, given_len;
};

/* Parses a line of len bytes. Returns false when it is none. */
bool r8_member__parse(const char *line, size_t len, struct r8_member *ret);

/* Original line of a compiled one; 0: not known. */
uint32_t r8_member__line(const struct r8_member *member, uint32_t line);

#endif
