/* SPDX-License-Identifier: GPL-2.0 */
/* The tables below the symbolizer: symbols, names, strings, the cache of addresses, demangling. */
#include "files/proc.h"
#include "symbol/elf/symtab.h"
#include "symbol/languages/runtime.h"
#include "symbol/names/cache.h"
#include "symbol/names/process.h"
#include "symbol/names/resolve.h"
#include "tests/tap.h"

static void add(struct symtab *tab, uint64_t addr, uint64_t size, unsigned rank, const char *name)
{
	int64_t off = names__add(&tab->names, name, strlen(name));

	symtab__add(tab, addr, size ? size : 0x1000, !size, rank, off);
}

static const char *find(const struct symtab *tab, uint64_t addr)
{
	static char buf[NAME_MAX_LEN];
	const struct symbol *sym = symtab__find(tab, addr);

	return sym && names__get(&tab->names, sym->name, buf, sizeof(buf)) ? buf : NULL;
}

static void check_empty(void)
{
	struct symtab tab;

	symtab__init(&tab);
	symtab__finish(&tab);
	is_str(find(&tab, 0), NULL, "an empty table holds nothing");
	symtab__free(&tab);
}

static void check_aliases(void)
{
	struct symtab tab;

	symtab__init(&tab);
	add(&tab, 0x100, 16, RANK_WEAK, "weak");
	add(&tab, 0x100, 16, RANK_LOCAL, "local");
	add(&tab, 0x100, 16, RANK_GLOBAL, "__libc_global");
	add(&tab, 0x100, 16, RANK_GLOBAL, "global");
	add(&tab, 0x100, 0, RANK_GLOBAL + RANK_UNTYPED, "a");
	add(&tab, 0x200, 0, RANK_GLOBAL, "unsized");
	add(&tab, 0x200, 8, RANK_WEAK, "sized");
	add(&tab, 0x300, 16, RANK_WEAK, "weak_only");
	add(&tab, 0x300, 16, RANK_LOCAL, "local_too");
	symtab__finish(&tab);
	is_str(find(&tab, 0x100), "global", "global wins, among equals the plainer name");
	is_str(find(&tab, 0x207), "unsized", "the better name takes its alias's size");
	is_str(find(&tab, 0x208), NULL, "and ends there");
	is_str(find(&tab, 0x300), "local_too", "local wins over weak");
	is_uint(tab.cnt, 3, "one symbol an address");
	symtab__free(&tab);
}

static void check_extents(void)
{
	struct symtab tab;

	symtab__init(&tab);
	add(&tab, 0x400, 0x100, RANK_GLOBAL, "outer");
	add(&tab, 0x440, 0x10, RANK_LOCAL, "inner");
	add(&tab, 0x460, 0, RANK_LOCAL, "label");
	add(&tab, 0x600, 0, RANK_LOCAL, "open");
	add(&tab, 0x620, 0, RANK_LOCAL, "last");
	symtab__finish(&tab);
	is_str(find(&tab, 0x3ff), NULL, "before the first");
	is_str(find(&tab, 0x43f), "outer", "before the inner function");
	is_str(find(&tab, 0x44f), "inner", "in it");
	is_str(find(&tab, 0x450), "outer", "after it, still in the outer one");
	is_str(find(&tab, 0x461), "outer", "a label in a sized function is no function");
	is_str(find(&tab, 0x4ff), "outer", "the outer one's last byte");
	is_str(find(&tab, 0x500), NULL, "after it");
	is_str(find(&tab, 0x61f), "open", "without a size: up to the next");
	is_str(find(&tab, 0x161f), "last", "the last one as far as possible");
	is_str(find(&tab, 0x1620), NULL, "and no further");
	is_str(find(&tab, ~0ull), NULL, "the highest address");
	symtab__free(&tab);
}

/* A hostile table: everything nested in everything. */
static void check_nested(void)
{
	struct symtab tab;
	uint64_t i;

	symtab__init(&tab);
	for (i = 0; i < 100000; i++)
		symtab__add(&tab, i, SYMTAB_SIZE_MAX, false, RANK_GLOBAL, 0);
	symtab__finish(&tab);
	ok(symtab__find(&tab, 99999) == &tab.syms[99999], "100,000 nested symbols: the innermost");
	ok(!symtab__find(&tab, SYMTAB_SIZE_MAX + 100000ull),
	   "after all of them: none, and at once");
	symtab__free(&tab);
}

static void check_latest(void)
{
	struct symtab tab;

	symtab__init(&tab);
	add(&tab, 0x100, 0x100, RANK_GLOBAL, "old");
	add(&tab, 0x180, 0x100, RANK_GLOBAL, "middle");
	add(&tab, 0x300, 0x10, RANK_GLOBAL, "first");
	add(&tab, 0x300, 0x10, RANK_GLOBAL, "second");
	add(&tab, 0x400, 0x10, RANK_GLOBAL, "small");
	add(&tab, 0x3f0, 0x100, RANK_GLOBAL, "large");
	symtab__finish_latest(&tab);
	is_str(find(&tab, 0x17f), NULL, "partly overwritten code is gone");
	is_str(find(&tab, 0x180), "middle", "the code that replaced it counts");
	is_str(find(&tab, 0x300), "second", "the same place again: the later one");
	is_str(find(&tab, 0x405), "large", "an older one inside a later one is gone");
	symtab__free(&tab);
}

static void check_names(void)
{
	struct names names;
	char *longer = malloc(2 * NAME_MAX_LEN), buf[NAME_MAX_LEN];
	struct image img;
	int64_t off;

	memset(longer, 'x', 2 * NAME_MAX_LEN);
	longer[2 * NAME_MAX_LEN - 1] = 0;
	names__init(&names);
	off = names__add(&names, longer, strlen(longer));
	is_uint(names__get(&names, off, buf, sizeof(buf)), NAME_MAX_LEN - 1, "a long name is cut");
	is_uint(names__get(&names, 1u << 30, buf, sizeof(buf)), 0, "an offset outside gives none");
	names__free(&names);
	image__of_mem(&img, "one\ntwo", 7);
	names__borrow(&names, &img, 0, 7, '\n');
	is_uint(names__get(&names, 0, buf, sizeof(buf)), 3, "a name that ends with a newline");
	is_uint(names__get(&names, 4, buf, sizeof(buf)), 3, "a name that ends with the image");
	is_uint(names__get(&names, 0, buf, 3), 2, "a small buffer truncates");
	is_int(names__keep(&names), 0, "names in memory are copied");
	is_uint(names__get(&names, 4, buf, sizeof(buf)), 3, "and the same");
	names__free(&names);
	free(longer);
}

static void check_pool(void)
{
	struct pool pool = { 0 };
	const char *first = pool__add(&pool, "name", 4), *other = NULL;
	char buf[32];
	bool same = true;
	int i;

	for (i = 0; i < 20000; i++) {
		snprintf(buf, sizeof(buf), "name%d", i % 10000);
		other = pool__add(&pool, buf, strlen(buf));
		same = same && !strcmp(other, buf);
	}
	ok(same, "10,000 strings come back unchanged");
	is_uint(pool.cnt, 10001, "each is kept once");
	ok(pool__add(&pool, "names", 4) == first, "the same string is the same pointer");
	ok(pool.bytes < 1 << 20, "in %zu bytes", pool.bytes);
	pool__free(&pool);
}

static void check_cache(void)
{
	struct cache cache = { 0 };
	uint64_t i, found = 0, wrong = 0;

	ok(!cache__find(&cache, 1), "an empty cache finds nothing");
	for (i = 0; i < 3000; i++)
		cache__add(&cache, &(struct cached){ .key = cache__key(i * 64, true), .base = i });
	for (i = 0; i < 3000; i++) {
		struct cached *entry = cache__find(&cache, cache__key(i * 64, true));

		found += entry != NULL;
		wrong += entry && entry->base != i;
		wrong += cache__find(&cache, cache__key(i * 64, false)) != NULL;
	}
	is_uint(found, 3000, "every entry is found");
	is_uint(wrong, 0, "with its own content; exact and return addresses are apart");
	for (i = 0; i < 1000000; i++)
		cache__add(&cache, &(struct cached){ .key = i });
	ok(cache__bytes(&cache) <= 2u << 20, "a million garbage addresses: %zu bytes",
	   cache__bytes(&cache));
	cache__clear(&cache);
}

static void check_demangled(const char *name, const char *want)
{
	char buf[DEMANGLE_MAX];

	is_str(demangle__name(name, buf, sizeof(buf)) ? buf : NULL, want, "demangled: %.60s", name);
}

/* T_ of T_ of …: each step doubles the text that the next one expands to. */
static void check_bomb(void)
{
	char name[1024] = "_Z1fI1a1bIS0_S0_E", buf[DEMANGLE_MAX];
	const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len;
	int i;

	for (i = 0; i < 30; i++) {
		len = strlen(name);
		snprintf(name + len, sizeof(name) - len, "S1_IS%c_S%c_E", digits[i + 2],
			 digits[i + 2]);
	}
	strcat(name, "Evv");
	len = demangle__name(name, buf, sizeof(buf));
	ok(len == sizeof(buf) - 1, "a name that expands to 2^30 others is cut: %zu bytes of %zu",
	   len, strlen(name));
	len = demangle__name("_ZN3fooILi1EE3barEv", buf, 6);
	is_uint(len, 5, "a small buffer truncates");
	is_str(buf, "foo<1", "after what fits");
}

static void check_demangling(void)
{
	char huge[8192];

	check_demangled("__dl__ZN6soinfo17call_constructorsEv", "soinfo::call_constructors");
	check_demangled("__dl_memset", NULL);
	check_demangled("_ZN2v88internal7Isolate3RunEPKcRSt6vectorIiSaIiEE",
			"v8::internal::Isolate::Run");
	check_demangled("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check_demangled("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example");
	check_demangled("_RNvC6_123foo3bar", "123foo::bar");
	check_demangled("_ZN3foo3barEv.part.0", "foo::bar");
	check_demangled("_ZN3foo", NULL);
	check_demangled("_Z", NULL);
	check_demangled("_R", NULL);
	check_demangled("__libc_start_main", NULL);
	check_demangled("main", NULL);
	check_demangled("", NULL);
	memset(huge, 'P', sizeof(huge));
	memcpy(huge, "_Z1f", 4);
	huge[sizeof(huge) - 1] = 0;
	check_demangled(huge, NULL);
	check_bomb();
}

static void check_runtime(void)
{
	static const char *const run_time[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/libc-2.31.so",
		"/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/ld-musl-x86_64.so.1",
		"/apex/com.android.runtime/lib64/bionic/libc.so",
		"/system/bin/linker64",
		"/system/lib64/libc++.so",
		"[vdso]",
		"libgcc_s.so.1",
		"/lib/libm.so.6",
		"libpthread-2.31.so",
	};
	static const char *const own[] = {
		"/usr/bin/node",
		"/usr/lib/libc-client.so.2007e",
		"/usr/lib/libmath.so",
		"[jit]",
		"/usr/lib/x86_64-linux-gnu/android/libutils.so.0",
		"/usr/bin/ld.bfd",
		"libcap.so.2",
	};
	size_t i;

	for (i = 0; i < sizeof(run_time) / sizeof(*run_time); i++)
		ok(runtime__is(run_time[i]), "%s is the runtime's", run_time[i]);
	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		ok(!runtime__is(own[i]), "%s is the program's", own[i]);
	ok(runtime__is_reserved("__lll_lock_wait") && runtime__is_reserved("_IO_file_write"),
	   "in a static program, names that begin with an underscore are the C library's");
	ok(runtime__is_reserved("fsync") && runtime__is_reserved("epoll_wait"),
	   "and so are functions that wait");
	ok(!runtime__is_reserved("_ZN3foo3barEv") && !runtime__is_reserved("_RNvC3foo3bar") &&
		   !runtime__is_reserved("do_lock"),
	   "except names of C++ and Rust");
	ok(runtime__is_glue("runtime.usleep") &&
		   runtime__is_glue("runtime/internal/syscall.Syscall6") &&
		   runtime__is_glue("internal/poll.(*FD).Read"),
	   "the functions in which Go programs wait are its runtime's");
	ok(!runtime__is_glue("main.serve") && !runtime__is_glue("net/http.(*conn).serve") &&
		   !runtime__is_glue("runtime.part.0") && !runtime__is_glue("runtimes.go"),
	   "its other packages are the program's, and so is a part of a C function");
	ok(runtime__is_glue("(wrapper managed-to-native) Slow:poll (int)") &&
		   !runtime__is_glue("Slow:Compute ()"),
	   "Mono's wrappers around methods");
}

static void check_hex(void)
{
	char text[] = "ffffffffffffffff 10000000000000000 zz", *at = text;
	uint64_t v = 0;

	is_int(lines__hex(&at, &v), 0, "the largest number");
	is_uint(v, ~0ull, "is all ones");
	at++;
	ok(lines__hex(&at, &v) < 0, "one more does not fit");
	at = strstr(text, "zz");
	ok(lines__hex(&at, &v) < 0, "no number");
	is_uint(v, ~0ull, "a failure leaves the value unchanged");
}

int main(void)
{
	check_empty();
	check_aliases();
	check_extents();
	check_nested();
	check_latest();
	check_names();
	check_pool();
	check_cache();
	check_demangling();
	check_runtime();
	check_hex();
	return tap__done();
}
