/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPython's and Ruby's variables in ELF files: found by either symbol table, and nothing else is
 * taken for them.
 */
#include "symbol/languages/python.h"
#include "symbol/languages/ruby.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/symbol_fixture.h"

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

/* As the file of a path. *ret: allocated; NULL: nothing found. */
static int find(const char *path, const void *bytes, size_t size, struct language_file **ret)
{
	struct image img;
	struct elf elf;
	int res;

	*ret = NULL;
	image__of_mem(&img, bytes, size);
	res = elf__open(&elf, &img);
	if (res)
		return res;
	*ret = language_file__of(&elf, path);
	elf__close(&elf);
	return *ret ? 0 : -ENOENT;
}

static void check(const char *name, int want)
{
	struct language_file *found = NULL;
	const struct python_file *python;
	uint8_t *bytes;
	size_t size = load(name, &bytes);

	is_int(find("/usr/bin/python3", bytes, size, &found), want, "%s", name);
	if (!want && ok(found->language == &language_python && found->content, "is Python")) {
		python = found->content;
		is_uint(python->version, 0x030c01f0, "%s: version", name);
		ok(python->runtime && python->code_type && python->runtime != python->code_type,
		   "%s: addresses", name);
	}
	language_file__free(found);
	is_int(find("/usr/lib/_json.cpython-312.so", bytes, size, &found), -ENOENT,
	       "%s: not under another name", name);
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
	struct language_file *found = NULL;
	const struct ruby *in_file;
	uint8_t *bytes;
	size_t size;

	scratch__write_text("ruby.c", ruby);
	fixture__sh("cd $D && cc -O2 -shared -fPIC -o libruby.so ruby.c && strip libruby.so");
	size = load("libruby.so", &bytes);
	is_int(find("libruby-3.1.so.3.1", bytes, size, &found), 0, "Ruby's library");
	ok(found && found->language == &language_ruby, "is Ruby's");
#ifdef __x86_64__
	in_file = found->content;
	is_uint(in_file->offsets->version, 0x03010000, "its version");
	ok(in_file->vm_ptr && in_file->lock_begin && in_file->lock_end - in_file->lock_begin > 256,
	   "the lock's code begins where rb_mutex_lock jumps to");
#endif
	language_file__free(found);
	free(bytes);
}

static void check_damaged(void)
{
	struct fuzz fuzz = fuzz__begin(0);
	uint8_t *bytes, *exact;
	size_t size = load("lib.so", &bytes), taken = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t len = fuzz__chance(&fuzz, 4) ? fuzz__below(&fuzz, size) + 1 : size;
		struct language_file *found;

		exact = malloc(len);
		memcpy(exact, bytes, len);
		for (size_t at = fuzz__below(&fuzz, 40); at; at--)
			exact[fuzz__below(&fuzz, len)] = fuzz__any(&fuzz);
		taken += !find("python3", exact, len, &found);
		language_file__free(found);
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
