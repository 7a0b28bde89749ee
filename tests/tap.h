/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP (the Test Anything Protocol) for tests written in C: each is a program with its own main()
 * that ends with `return tap__done();`, and `prove` sums them up. Header only and free of other
 * libraries, so that a test can be linked statically and run in a VM's initramfs. A skip is a
 * result with a reason. The plan comes last, so that a test which dies in the middle counts as
 * failed.
 *
 * 	ok(n > 0, "found %d", n);         is_int(got, want, "…");    is_str(got, want, "…");
 * 	has_str(text, part, "…");         lacks_str(text, part, "…"); is_mem(got, want, len, "…");
 * 	skip(2, "no cgroup v2 here");     skip_all("needs root");     diag("…");
 *
 * Each check returns whether it passed. Arguments may be NULL where they are strings.
 */
#ifndef JANK_TAP_H
#define JANK_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAP_PRINTF(fmt, args) __attribute__((unused, format(printf, fmt, args)))

#define ok(cond, ...)		  tap__ok(__FILE__, __LINE__, (cond), __VA_ARGS__)
#define is_int(got, want, ...)	  tap__int(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
#define is_uint(got, want, ...)	  tap__uint(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
#define is_str(got, want, ...)	  tap__str(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
#define is_mem(got, want, n, ...) tap__mem(__FILE__, __LINE__, (got), (want), (n), __VA_ARGS__)
#define has_str(str, part, ...)	  tap__part(__FILE__, __LINE__, (str), (part), true, __VA_ARGS__)
#define lacks_str(str, part, ...) tap__part(__FILE__, __LINE__, (str), (part), false, __VA_ARGS__)
#define diag(...)		  tap__diag(__VA_ARGS__)
#define skip(count, ...)	  tap__skip((count), __VA_ARGS__)
#define skip_all(...)		  tap__skip_all(__VA_ARGS__)

static struct {
	int run, failed;
} tap;

/* A '#' would begin a directive and a newline another line: escape the one, replace the other. */
static inline void tap__put(const char *text, const char *hash)
{
	for (; *text; text++) {
		if (*text == '#')
			fputs(hash, stdout);
		else
			putchar(*text == '\n' ? ' ' : *text);
	}
}

static inline void tap__vname(const char *fmt, va_list ap)
{
	char name[512];

	vsnprintf(name, sizeof(name), fmt, ap);
	tap__put(name, "\\#");
}

/* A line of output for people, no result. */
static inline void TAP_PRINTF(1, 2) tap__diag(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("# ", stdout);
	tap__put(text, "#");
	putchar('\n');
	fflush(stdout);
}

/*
 * Flush at once: a test that forks must not print twice, and one that dies must show what passed.
 */
static inline bool tap__result(const char *file, int line, bool pass, const char *fmt, va_list ap)
{
	tap.run++;
	tap.failed += !pass;
	printf("%s %d - ", pass ? "ok" : "not ok", tap.run);
	tap__vname(fmt, ap);
	putchar('\n');
	fflush(stdout);
	if (!pass)
		tap__diag("  failed at %s:%d", file, line);
	return pass;
}

#define TAP_RESULT(pass)                                                                           \
	do {                                                                                       \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		tap__result(file, line, (pass), fmt, ap);                                          \
		va_end(ap);                                                                        \
	} while (0)

static inline bool TAP_PRINTF(4, 5)
	tap__ok(const char *file, int line, bool pass, const char *fmt, ...)
{
	TAP_RESULT(pass);
	return pass;
}

static inline bool TAP_PRINTF(5, 6)
	tap__int(const char *file, int line, long long got, long long want, const char *fmt, ...)
{
	TAP_RESULT(got == want);
	if (got != want)
		tap__diag("  got %lld, want %lld", got, want);
	return got == want;
}

static inline bool TAP_PRINTF(5, 6) tap__uint(const char *file, int line, unsigned long long got,
					      unsigned long long want, const char *fmt, ...)
{
	TAP_RESULT(got == want);
	if (got != want)
		tap__diag("  got %llu, want %llu", got, want);
	return got == want;
}

static inline bool TAP_PRINTF(5, 6) tap__str(const char *file, int line, const char *got,
					     const char *want, const char *fmt, ...)
{
	bool pass = got && want ? !strcmp(got, want) : got == want;

	TAP_RESULT(pass);
	if (!pass) {
		tap__diag("  got:  %s", got ? got : "(null)");
		tap__diag("  want: %s", want ? want : "(null)");
	}
	return pass;
}

static inline bool TAP_PRINTF(6, 7) tap__mem(const char *file, int line, const void *got,
					     const void *want, size_t len, const char *fmt, ...)
{
	const unsigned char *a = got, *b = want;
	size_t at = 0;

	while (at < len && a[at] == b[at])
		at++;
	TAP_RESULT(at == len);
	if (at < len)
		tap__diag("  byte %zu of %zu: got 0x%02x, want 0x%02x", at, len, a[at], b[at]);
	return at == len;
}

static inline bool TAP_PRINTF(6, 7) tap__part(const char *file, int line, const char *str,
					      const char *part, bool wanted, const char *fmt, ...)
{
	bool pass = str && !!strstr(str, part) == wanted;

	TAP_RESULT(pass);
	if (!pass) {
		tap__diag("  in:   %s", str ? str : "(null)");
		tap__diag("  %s: %s", wanted ? "want" : "lack", part);
	}
	return pass;
}

/* `count` results that are not possible here, with the reason. */
static inline void TAP_PRINTF(2, 3) tap__skip(int count, const char *fmt, ...)
{
	va_list ap;

	while (count-- > 0) {
		printf("ok %d # SKIP ", ++tap.run);
		va_start(ap, fmt);
		tap__vname(fmt, ap);
		va_end(ap);
		putchar('\n');
	}
	fflush(stdout);
}

/* Before any result: the whole program cannot run here. Exits. */
static inline void __attribute__((noreturn)) TAP_PRINTF(1, 2) tap__skip_all(const char *fmt, ...)
{
	va_list ap;

	printf("1..0 # SKIP ");
	va_start(ap, fmt);
	tap__vname(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(0);
}

/* Prints the plan and returns the exit status. A test without any check is a failure. */
static inline int tap__done(void)
{
	if (!tap.run) {
		tap__ok(__FILE__, __LINE__, false, "the test checks something");
		tap.run = 1;
	}
	printf("1..%d\n", tap.run);
	fflush(stdout);
	return tap.failed ? 1 : 0;
}

#endif
