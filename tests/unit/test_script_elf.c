/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPython's and Ruby's variables in ELF files: found by either symbol table, and nothing else is
 * taken for them.
 */
#include "symbol/languages/interp.h"
#include "tests/fuzz/fuzz.h"
#include "tests/symbol_fixture.h"

#define ROUNDS 2000

static const char source[] = "char _PyRuntime[4096] = { 1 };\n"
			     "char PyCode_Type[400] = { 2 };\n"
			     "const unsigned long Py_Version = 0x030c01f0;\n"
			     "int f(void) { return _PyRuntime[0] + PyCode_Type[0]; }\n";

static size_t load(const char *name, uint8_t **ret)
{
	FILE *file = fopen(scratch__path(name), "rb");
	size_t size = 0;

	*ret = malloc(1 << 20);
	if (file) {
		size = fread(*ret, 1, 1 << 20, file);
		fclose(file);
	}
	return size;
}

static int find(const void *bytes, size_t size, struct interp_elf *ret)
{
	struct image img;
	struct elf elf;
	int res;

	image__of_mem(&img, bytes, size);
	res = elf__open(&elf, &img);
	if (res)
		return res;
	res = interp_elf__find(&elf, ret);
	elf__close(&elf);
	return res;
}

static void check(const char *name, int want)
{
	struct interp_elf found = {};
	uint8_t *bytes;
	size_t size = load(name, &bytes);

	is_int(find(bytes, size, &found), want, "%s", name);
	if (!want) {
		is_uint(found.version, 0x030c01f0, "%s: version", name);
		ok(found.runtime && found.code_type && found.runtime != found.code_type,
		   "%s: addresses", name);
	}
	free(bytes);
}

/* As in libruby where the compiler made a tail call: the function that waits has no name. */
static const char ruby[] = "void *ruby_current_vm_ptr;\n"
			   "const char ruby_version[] = \"3.1.2\";\n"
			   "__attribute__((noinline)) static long wait_for(long mutex, int flag)\n"
			   "{ __asm__ volatile(\".skip 256, 0x90\" : \"+r\"(mutex) : \"r\"(flag)); "
			   "return mutex + flag; }\n"
			   "long rb_mutex_lock(long self) { return wait_for(self, 1); }\n"
			   "long rb_mutex_sleep(long self) { return wait_for(self, 0); }\n";

static void check_ruby(void)
{
	struct interp_elf found = {};
	uint8_t *bytes;
	size_t size;

	scratch__write_text("ruby.c", ruby);
	fixture__sh("cd $D && cc -O2 -shared -fPIC -o libruby.so ruby.c && strip libruby.so");
	size = load("libruby.so", &bytes);
	is_int(find(bytes, size, &found), 0, "Ruby's library");
	ok(found.is_ruby && found.runtime, "is distinguished from Python's");
	is_uint(found.version, 0x03010200, "its version");
#ifdef __x86_64__
	ok(found.lock_begin && found.lock_end - found.lock_begin > 256,
	   "the lock's code begins where rb_mutex_lock jumps to");
#endif
	free(bytes);
}

static void check_damaged(void)
{
	struct fuzz fuzz = fuzz__begin(0);
	uint8_t *bytes, *exact;
	size_t size = load("lib.so", &bytes), taken = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t len = fuzz__chance(&fuzz, 4) ? fuzz__below(&fuzz, size) + 1 : size;
		struct interp_elf found;

		exact = malloc(len);
		memcpy(exact, bytes, len);
		for (size_t at = fuzz__below(&fuzz, 40); at; at--)
			exact[fuzz__below(&fuzz, len)] = fuzz__any(&fuzz);
		taken += !find(exact, len, &found);
		free(exact);
	}
	ok(taken && taken < ROUNDS, "damaged: %zu of %d are accepted", taken, ROUNDS);
	free(bytes);
}

int main(void)
{
	scratch__init();
	scratch__write_text("lib.c", source);
	scratch__write_text("other.c",
			    "char _PyRuntime[8]; int main(void) { return _PyRuntime[0]; }\n");
	fixture__sh("cd $D && cc -shared -fPIC -o lib.so lib.c && cp lib.so stripped.so && strip "
		    "stripped.so");
	fixture__sh("cd $D && sed 's/int f/int main/' lib.c >exe.c && cc -o exe exe.c && cc -o "
		    "other other.c");
	check("lib.so", 0);
	check("stripped.so", 0);
	check("exe", 0);
	fixture__sh("strip $D/exe");
	check("exe", -ENOENT);
	check("other", -ENOENT);
	check_ruby();
	check_damaged();
	return tap__done();
}
