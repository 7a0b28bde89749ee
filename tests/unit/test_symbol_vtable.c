/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Classes by vtables: of C++ programs compiled on the spot, with and without RTTI and symbols; and
 * what is no vtable. Functions by their address. A read of memory that is not present does not
 * wait.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "files/proc.h"
#include "tests/unit/symbol_fixture.h"

static const char library[] = "struct Lib { virtual ~Lib(); virtual int f(); long x; };\n"
			      "Lib::~Lib() {}\n"
			      "int Lib::f() { return 1; }\n";

/* Prints the vtable pointer of each object, as a mark reads it. */
static const char program[] =
	"#include <cstdio>\n"
	"#include <cstring>\n"
	"#include <string>\n"
	"struct Lib { virtual ~Lib(); virtual int f(); long x; };\n"
	"namespace app {\n"
	"template <typename T> struct Box { virtual ~Box() {} T v; };\n"
	"struct Window { virtual ~Window() {} virtual int g() { return 2; } };\n"
	"struct Both : Window, Lib { int f() override { return 3; } };\n"
	"namespace { struct Hidden { virtual ~Hidden() {} }; }\n"
	"}\n"
	"struct Plain : Lib { };\n"
	"int callback(int v) { return v + 1; }\n"
	"static void show(const char *name, const void *object) {\n"
	"	void *vptr; std::memcpy(&vptr, object, sizeof(vptr));\n"
	"	std::printf(\"%s %p\\n\", name, vptr);\n"
	"}\n"
	"int main() {\n"
	"	Lib *lib = new Lib; app::Window *window = new app::Window; app::Both *both = new "
	"app::Both;\n"
	"	struct Local : app::Window { } *local = new Local;\n"
	"	show(\"lib\", lib); show(\"window\", window); show(\"both\", both);\n"
	"	show(\"base\", static_cast<Lib *>(both)); show(\"local\", local);\n"
	"	show(\"box\", new app::Box<std::string>); show(\"hidden\", new app::Hidden);\n"
	"	show(\"plain\", new Plain);\n"
	"	std::printf(\"fn %p\\nmain %p\\nheap %p\\nstring %p\\nready\\n\", (void "
	"*)callback, (void *)main,\n"
	"		    (void *)lib, (const void *)\"11InTheString\");\n"
	"	std::fflush(stdout);\n"
	"	return std::getchar();\n"
	"}\n";

static const char *class_of(struct symbolizer *sym, const struct fixture *fx, uint64_t vptr)
{
	struct frame frame;

	if (symbolizer__class(sym, fx->pid, vptr, &frame))
		abort();
	return frame.function;
}

#define IS_CLASS(name, want)                                                                       \
	is_str(class_of(sym, &fx, fixture__addr(&fx, name)), want, "%s: %s", what, name)

static void check_classes(const char *what, const char *build, const char *lib_module)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct frame frame;
	struct fixture fx;

	fixture__sh(build);
	fixture__run(&fx, "run");
	IS_CLASS("lib", "Lib");
	IS_CLASS("window", "app::Window");
	IS_CLASS("both", "app::Both");
	IS_CLASS("base", "app::Both");
	IS_CLASS("local", "main::Local");
	IS_CLASS("hidden", "app::(anonymous namespace)::Hidden");
	IS_CLASS("plain", "Plain");
	frame.function = class_of(sym, &fx, fixture__addr(&fx, "box"));
	ok(frame.function && !strncmp(frame.function, "app::Box<std::", 14), "%s: a template: %s",
	   what, frame.function ? frame.function : "none");
	symbolizer__class(sym, fx.pid, fixture__addr(&fx, "lib"), &frame);
	ok(frame.module && strstr(frame.module, lib_module) && frame.offset == 0,
	   "%s: a library's class has its module: %s", what, frame.module ? frame.module : "none");
	symbolizer__class(sym, fx.pid, fixture__addr(&fx, "window"), &frame);
	ok(frame.module && strstr(frame.module, "/run") && frame.app,
	   "%s: and so has the program's", what);
	is_str(class_of(sym, &fx, fixture__addr(&fx, "window")), "app::Window", "%s: a second time",
	       what);
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_nothing(void)
{
	static const uint64_t junk[] = {
		0, 1, 7, 8, 4096, INT64_MAX, UINT64_MAX, UINT64_MAX - 7, 0xffffffff81000000ull
	};
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;

	fixture__sh("c++ -O1 -fPIC -shared -o $D/liblib.so $D/lib.cc && "
		    "c++ -O1 -o $D/run $D/run.cc -L$D -llib -Wl,-rpath,$D");
	fixture__run(&fx, "run");
	for (size_t i = 0; i < sizeof(junk) / sizeof(*junk); i++)
		is_str(class_of(sym, &fx, junk[i]), NULL, "no class at %llx",
		       (unsigned long long)junk[i]);
	is_str(class_of(sym, &fx, fixture__addr(&fx, "fn")), NULL, "nor of a function");
	is_str(class_of(sym, &fx, fixture__addr(&fx, "heap")), NULL, "nor of an object");
	is_str(class_of(sym, &fx, fixture__addr(&fx, "string")), NULL, "nor of a text");
	is_str(class_of(sym, &fx, fixture__addr(&fx, "lib") + 8), "Lib",
	       "the middle of a vtable, by its symbol");
	fixture__stop(&fx);
	is_str(class_of(sym, &fx, fixture__addr(&fx, "window")), "app::Window",
	       "its file outlives the process");
	symbolizer__free(sym);
}

static void check_function(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct frame frame;
	struct fixture fx;

	fixture__run(&fx, "run");
	symbolizer__function(sym, fx.pid, fixture__addr(&fx, "fn"), &frame);
	is_str(frame.function, "callback", "a function by its address");
	is_uint(frame.offset, 0, "only at its begin");
	symbolizer__function(sym, fx.pid, fixture__addr(&fx, "heap"), &frame);
	is_str(frame.function, NULL, "there is none on the heap");
	fixture__stop(&fx);
	fixture__sh("strip -s $D/run");
	fixture__run(&fx, "run");
	symbolizer__function(sym, fx.pid, fixture__addr(&fx, "fn"), &frame);
	ok(!frame.function && frame.module && frame.offset, "stripped: its module and offset");
	is_str(class_of(sym, &fx, fixture__addr(&fx, "window")), "app::Window",
	       "stripped: its class");
	fixture__stop(&fx);
	symbolizer__free(sym);
}

static void check_memory(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *mem =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uintptr_t)mem;
	char buf[8] = "";

	memcpy(mem, "content", 8);
	is_int(memory__read("/proc", getpid(), at, buf, 8), 0, "memory is read");
	is_str(buf, "content", "unchanged");
	is_int(memory__read("/proc", getpid(), at + page, buf, 8), -ENODATA,
	       "a page that was never touched is not");
	ok(memory__read("/proc", getpid(), at + page - 4, buf, 8) == -EINVAL,
	   "nor is a range across such pages");
	is_int(memory__read("/proc", getpid(), at, buf, 0), -EINVAL, "nor is nothing");
	is_int(memory__read("/proc", getpid(), UINT64_MAX - 3, buf, 8), -EINVAL,
	       "nor is the kernel's memory");
	munmap(mem, 2 * page);
	ok(memory__read("/proc", getpid(), at, buf, 8) < 0, "nor is unmapped memory");
	is_int(memory__read("/nowhere", getpid(), at, buf, 8), -ENOENT, "nor is an unused pid's");
}

static void check_cost(void)
{
	struct symbolizer *sym = fixture__symbolizer(NULL, NULL);
	struct fixture fx;
	uint64_t begin, first, again;

	fixture__run(&fx, "run");
	class_of(sym, &fx, fixture__addr(&fx, "window")); /* loads the tables */
	begin = clock__thread_ns();
	class_of(sym, &fx, fixture__addr(&fx, "both"));
	first = clock__thread_ns() - begin;
	begin = clock__thread_ns();
	class_of(sym, &fx, fixture__addr(&fx, "both"));
	again = clock__thread_ns() - begin;
	ok(again < first / 2, "a class costs less the second time");
	diag("%llu µs of CPU, then %llu µs", (unsigned long long)first / 1000,
	     (unsigned long long)again / 1000);
	fixture__stop(&fx);
	symbolizer__free(sym);
}

int main(void)
{
	scratch__init();
	if (system("c++ --version >/dev/null 2>&1"))
		skip_all("no C++ compiler");
	scratch__write_text("lib.cc", library);
	scratch__write_text("run.cc", program);
#define BUILD(lib_flags, flags, more)                                                              \
	"c++ -O1 -fPIC " lib_flags " -shared -o $D/liblib.so $D/lib.cc && c++ -O1 " flags          \
	" -o $D/run $D/run.cc -L$D -llib -Wl,-rpath,$D && " more
	check_classes("RTTI, stripped", BUILD("", "", "strip -s $D/run $D/liblib.so"), "liblib.so");
	check_classes("not position-independent", BUILD("", "-fno-pie -no-pie", "true"),
		      "liblib.so");
	/* the program's copy of the library's vtable has a symbol, too */
	check_classes("symbols alone", BUILD("-fno-rtti", "-fno-rtti", "true"), "/run");
	check_nothing();
	check_function();
	check_cost();
	check_memory();
	return tap__done();
}
