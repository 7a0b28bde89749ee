// SPDX-License-Identifier: GPL-2.0
// An app on the stand-in for ART whose methods have no symbols: an epoll loop whose handler calls
// five methods, each in the next, the last of which spins for 50 ms. Their code is in base.odex
// (art_compiled_odex.S), or copied to JIT memory of which ART's list has nothing. Only the
// ArtMethod on each frame leads to their names: com.example.D<0 to 5>.level<0 to 4> of a DEX file.
// Every second turn has ArtMethods with a fault. Arguments: the DEX file and base.odex. Prints of
// each turn: its number, begin and end in ns of the wall clock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "art_dex.h"
#include "art_turns.h"

#define LEVELS	5
#define CLASSES 6
#define SPIN_NS 50000000ull
#define BEFORE	32 // bytes before a method's code: CodeInfo and header
#define SLOT_SZ 256
#define LOW	((void *)0x48000000) // references to objects have 32 bits
#define LOW_SZ	(1ul << 20)

// Kinds of a turn, in this order; art_method.t knows it. After each of these comes a right one,
// in turns of base.odex and of JIT memory.
enum kind {
	RIGHT,
	LARGE_INDEX,   // of no method of the file
	OTHER_CLASS,   // index of another class's method
	NO_CLASS,      // the class is no memory
	OTHER_CODE,    // the entry point is another code's
	NOT_ITS_CLASS, // the class has no such method
	NO_DEX,	       // the file is no DEX file
	OTHER_TYPE,    // the class has another type
	NO_CACHE,      // the class has no cache
	KINDS,
};

#ifdef __thumb__
#define ENTRY(code) ((code) + 1)
#else
#define ENTRY(code) (code)
#endif
#ifdef __i386__
#define METHOD __attribute__((regparm(2)))
#else
#define METHOD
#endif

// Android 12 to 15
struct art_method {
	uint32_t class, access, index;
	uint16_t method_index, hotness;
	void *data;
	const void *entry;
};

struct dex_cache {
	uint32_t class, monitor, loader, location;
	uint64_t dex_file;
};

struct dex_file {
	const void *vtable, *begin;
	size_t size;
};

struct class
{
	uint32_t class, monitor, loader, component, dex_cache, references[5];
	uint64_t fields, methods, static_fields;
	uint32_t access, flags, size, clinit;
	int32_t class_def, type;
	uint32_t rest[8];
};

struct methods {
	uint32_t cnt;
	struct art_method methods[LEVELS];
};

struct pair {
	const struct art_method *method;
	METHOD void (*code)(const void *method, void *pairs);
};

static uint8_t *low;
static const uint8_t *dex;
static size_t dex_size;
static const uint8_t *codes[2][LEVELS]; // in base.odex, in JIT memory
static struct methods *made[2][KINDS][CLASSES];

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

__attribute__((noinline)) METHOD void spin(const void *method, void *pairs)
{
	uint64_t end = now(CLOCK_MONOTONIC) + SPIN_NS;

	while (now(CLOCK_MONOTONIC) < end) {
#ifdef __arm__ // its vdso has no unwind table
		for (volatile int i = 0; i < 1000; i++)
			;
#endif
	}
}

static uint32_t word(uint32_t at)
{
	uint32_t ret;

	memcpy(&ret, dex + at, sizeof(ret));
	return ret;
}

// Strings of DEX files have their length before them: one byte here.
static int is_string(uint32_t index, const char *text)
{
	return !strcmp((const char *)dex + word(word(60) + 4 * index) + 1, text);
}

// Indexes of a class and of its method.
static uint32_t type_of(unsigned class)
{
	char name[64];

	snprintf(name, sizeof(name), "Lcom/example/D%u;", class);
	for (uint32_t i = 0; i < word(64); i++)
		if (is_string(word(word(68) + 4 * i), name))
			return i;
	abort();
}

static uint32_t class_def_of(uint32_t type)
{
	for (uint32_t i = 0; i < word(96); i++)
		if (word(word(100) + 32 * i) == type)
			return i;
	abort();
}

static uint32_t method_of(uint32_t type, unsigned level)
{
	char name[64];

	snprintf(name, sizeof(name), "level%u", level);
	for (uint32_t i = 0; i < word(88); i++)
		if ((word(word(92) + 8 * i) & 0xffff) == type &&
		    is_string(word(word(92) + 8 * i + 4), name))
			return i;
	abort();
}

static void *low_object(size_t size)
{
	void *ret = low;

	low += (size + 15) & ~15ul;
	return ret;
}

static uint32_t reference(const void *object)
{
	return (uint32_t)(uintptr_t)object;
}

static struct methods *make_class(unsigned jit, enum kind kind, unsigned class)
{
	struct class *of = low_object(sizeof(*of));
	struct dex_cache *cache = low_object(sizeof(*cache));
	struct dex_file *file = calloc(1, sizeof(*file));
	struct methods *methods = calloc(1, sizeof(*methods)), *none = calloc(1, sizeof(*none));
	uint32_t type = type_of(class), other = type_of((class + 1) % CLASSES);

	if (!file || !methods || !none)
		abort();
	file->begin = kind == NO_DEX ? dex + 64 : dex;
	file->size = dex_size;
	cache->dex_file = (uintptr_t)file;
	of->dex_cache = kind == NO_CACHE ? 0 : reference(cache);
	of->methods = (uintptr_t)(kind == NOT_ITS_CLASS ? none : methods);
	of->type = kind == OTHER_TYPE ? other : type;
	of->class_def = class_def_of(of->type);
	of->size = sizeof(*of);
	methods->cnt = LEVELS;
	for (unsigned i = 0; i < LEVELS; i++) {
		struct art_method *method = &methods->methods[i];

		method->class = kind == NO_CLASS ? 0x1000 : reference(of);
		method->index = kind == LARGE_INDEX
					? word(88) + i
					: method_of(kind == OTHER_CLASS ? other : type, i);
		method->entry = ENTRY(codes[jit][kind == OTHER_CODE ? (i + 1) % LEVELS : i]);
	}
	return methods;
}

static void handle(unsigned turn)
{
	enum kind kind = turn % 2 ? turn / 2 % (KINDS - 1) + 1 : RIGHT;
	unsigned jit = turn / 2 % 2;
	const struct methods *methods = made[jit][kind][turn % CLASSES];
	struct pair chain[LEVELS + 1];
	uint64_t begin = now(CLOCK_REALTIME);

	for (unsigned i = 0; i < LEVELS; i++)
		chain[i] = (struct pair){ &methods->methods[i], (void *)ENTRY(codes[jit][i]) };
	chain[LEVELS] = (struct pair){ NULL, spin };
	chain[0].code(chain[0].method, chain);
	printf("%u %llu %llu\n", turn, (unsigned long long)begin,
	       (unsigned long long)now(CLOCK_REALTIME));
	fflush(stdout);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		abort();
	dex_size = st.st_size;
	dex = mmap(NULL, dex_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (dex == MAP_FAILED)
		abort();
	close(fd);
	art_add_dex(dex, dex_size);
}

// The same code in both places.
static void load_code(const char *path)
{
	void *odex = dlopen(path, RTLD_NOW);
	const uint8_t *table = odex ? dlsym(odex, "oatdata") : NULL;
	int cache = memfd_create("jit-cache", 0), part[2];
	uint8_t *jit;

	if (!table || cache < 0 || ftruncate(cache, LEVELS * SLOT_SZ))
		abort();
	jit = mmap(NULL, LEVELS * SLOT_SZ, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, cache,
		   0);
	if (jit == MAP_FAILED)
		abort();
	for (unsigned i = 0; i < LEVELS; i++) {
		memcpy(part, table + sizeof(part) * i, sizeof(part));
		codes[0][i] = table + part[0];
		codes[1][i] = jit + i * SLOT_SZ + BEFORE;
		memcpy(jit + i * SLOT_SZ, codes[0][i] - BEFORE, BEFORE + part[1]);
	}
	__builtin___clear_cache((char *)jit, (char *)jit + LEVELS * SLOT_SZ);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	low = mmap(LOW, LOW_SZ, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (low != LOW)
		return 1;
	load(argv[1]);
	load_code(argv[2]);
	for (unsigned i = 0; i < 2 * KINDS * CLASSES; i++)
		made[i % 2][i / 2 % KINDS][i / 2 / KINDS] =
			make_class(i % 2, i / 2 % KINDS, i / 2 / KINDS);
	return art_turns(handle);
}
