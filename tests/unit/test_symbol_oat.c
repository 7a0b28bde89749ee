/* SPDX-License-Identifier: GPL-2.0 */
/* Code that Android's runtime compiled ahead of time: which symbols are Java's, and whose. */
#include "tests/unit/symbol_fixture.h"

static const char oat[] = "void own(void) __asm__(\"com.example.Main.run\"); void own(void) {}\n"
			  "void os(void) __asm__(\"android.os.Looper.loop\"); void os(void) {}\n"
			  "void art_jni_trampoline(void) {}\n";
static const char program[] =
	"#include <stdio.h>\n"
	"void own(void) __asm__(\"com.example.Main.run\");\n"
	"void os(void) __asm__(\"android.os.Looper.loop\");\n"
	"void art_jni_trampoline(void);\n"
	"#define SHOW(f) printf(#f \" %lx\\n\", (unsigned long)&f)\n"
	"int main(void) { SHOW(main); SHOW(own); SHOW(os); SHOW(art_jni_trampoline);\n"
	"  puts(\"ready\"); fflush(stdout); for (;;) getchar(); }\n";

static void check(struct symbolizer *sym, const struct fixture *fx, const char *symbol,
		  const char *name, const char *language, bool app)
{
	struct frame frame;

	if (symbolizer__function(sym, fx->pid, fixture__addr(fx, symbol), &frame))
		abort();
	is_str(frame.function, name, "%s: its name", name);
	is_str(frame.language, language, "%s: its language", name);
	is_int(frame.app, app, "%s: %s be the application's", name, app ? "may" : "cannot");
}

int main(void)
{
	struct symbolizer *sym;
	struct fixture fx;

	scratch__init();
	scratch__write_text("oat.c", oat);
	scratch__write_text("p.c", program);
	if (!fixture__sh("cc -O1 -shared -fPIC -o $D/base.odex $D/oat.c && "
			 "cc -w -o $D/p $D/p.c $D/base.odex -Wl,-rpath,$D"))
		return tap__done();
	fixture__run(&fx, "p");
	sym = fixture__symbolizer("/nowhere", NULL);
	check(sym, &fx, "own", "com.example.Main.run", "java", true);
	check(sym, &fx, "os", "android.os.Looper.loop", "java", true); /* there is no other frame */
	check(sym, &fx, "art_jni_trampoline", "art_jni_trampoline", NULL, false);
	check(sym, &fx, "main", "main", NULL, true);
	symbolizer__free(sym);
	fixture__stop(&fx);
	return tap__done();
}
