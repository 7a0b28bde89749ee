/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapping.txt of R8 and ProGuard (user/symbol/languages/r8_mapping.h): retraced frames, stacks, and
 * the messages for files that are none.
 */
#include "model/block.h"
#include "symbol/languages/r8_mapping.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static const char mapping_text[] =
	"# compiler: R8\n"
	"# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n"
	"com.example.Loader -> a.a:\n"
	"# {\"id\":\"sourceFile\",\"fileName\":\"Loading.kt\"}\n"
	"    int count -> a\n"
	"    java.util.List items -> b\n"
	"    1:3:void <init>(int):20:22 -> <init>\n"
	"    1:1:int parse(java.lang.String):40:40 -> a\n"
	"    1:1:void load():55 -> a\n"
	"    2:4:void load():56:58 -> a\n"
	"    5:5:void com.example.Util.check(java.lang.Object,int[]):7:7 -> a\n"
	"    5:5:void com.example.Util$Checks.all():90 -> a\n"
	"    5:5:void load():59 -> a\n"
	"    9:12:void load():70:71 -> a\n" /* other numbers of lines */
	"    13:13:void store():80:80 -> a\n"
	"    void one() -> b\n"
	"    void two(int) -> b\n"
	"    void same() -> c\n"
	"    void same(int) -> c\n"
	"    1:4:void plain() -> d\n"
	"    void onlyLine():33 -> e\n"
	"com.example.MainKt -> a.b:\n"
	"    1:1:void com.example.Loader.lambda$go$0():12:12 -> run\n"
	"    1:1:void run():0 -> run\n"
	"      # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
	"    1:1:void alone():0:0 -> go\n"
	"      # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
	"com.example.Main$1 -> a.c:\r\n"
	"    7:7:void onClick(android.view.View):120:120 -> onClick\r\n"
	"Root -> b:\n"
	"    1:1:void <clinit>():3:3 -> <clinit>\n";

static struct r8_mapping *parse(const char *text, struct err *err)
{
	struct r8_mapping *ret = NULL;
	struct strbuf copy = STRBUF_INIT;

	strbuf__adds(&copy, text);
	if (r8_mapping__parse(&copy, "mapping.txt", &ret, err))
		return NULL;
	return ret;
}

/* "com.example.Loader.parse Loading.kt:40 < …", innermost first. "": not known. */
static const char *retrace(struct r8_mapping *mapping, const char *function, uint32_t line)
{
	static char ret[2048];
	struct r8_frame frames[R8_FRAMES_MAX];
	size_t cnt = r8_mapping__retrace(mapping, function, line, frames), len = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < cnt; i++)
		len += snprintf(ret + len, sizeof(ret) - len, "%s%s %s:%u", i ? " < " : "",
				frames[i].function, frames[i].file ?: "?", frames[i].line);
	return ret;
}

static void test_retrace(struct r8_mapping *mapping)
{
	static const struct {
		const char *what, *function;
		uint32_t line;
		const char *want;
	} cases[] = {
		{ "a constructor", "a.a.<init>", 2, "com.example.Loader.<init> Loading.kt:21" },
		{ "with its type", "void a.a.<init>(int)", 3,
		  "com.example.Loader.<init> Loading.kt:22" },
		{ "inlined", "a.a.a", 1,
		  "com.example.Loader.parse Loading.kt:40 < com.example.Loader.load Loading.kt:55" },
		{ "a range", "a.a.a", 3, "com.example.Loader.load Loading.kt:57" },
		{ "inlined from other classes", "a.a.a", 5,
		  "com.example.Util.check Util.java:7 < com.example.Util$Checks.all Util.java:90 < "
		  "com.example.Loader.load Loading.kt:59" },
		{ "ranges of other lengths", "a.a.a", 10, "com.example.Loader.load Loading.kt:0" },
		{ "another method of that name", "a.a.a", 13,
		  "com.example.Loader.store Loading.kt:80" },
		{ "one of several: no line", "a.a.a", 0, "com.example.Loader.a Loading.kt:0" },
		{ "a line in no range", "a.a.a", 8, "com.example.Loader.a Loading.kt:0" },
		{ "two methods without lines", "a.a.b", 4, "com.example.Loader.b Loading.kt:0" },
		{ "overloads", "a.a.c", 4, "com.example.Loader.same Loading.kt:0" },
		{ "lines that stay", "a.a.d", 4, "com.example.Loader.plain Loading.kt:4" },
		{ "a single original line", "a.a.e", 9,
		  "com.example.Loader.onlyLine Loading.kt:33" },
		{ "a method that kept its name", "a.a.toString", 6,
		  "com.example.Loader.toString Loading.kt:6" },
		{ "a method made by R8", "a.b.run", 1,
		  "com.example.Loader.lambda$go$0 Loader.java:12" },
		{ "only made by R8", "a.b.go", 1, "com.example.MainKt.alone Main.kt:0" },
		{ "an inner class, lines that end by CR", "a.c.onClick", 7,
		  "com.example.Main$1.onClick Main.java:120" },
		{ "without package", "b.<clinit>", 1, "Root.<clinit> Root.java:3" },
		{ "a class that kept its name", "android.os.Looper.loop", 1, "" },
		{ "a longer class", "a.a.b.c", 1, "" },
		{ "a class alone", "b", 1, "" },
		{ "nothing", "", 1, "" },
		{ "a dot", ".", 1, "" },
		{ "C++", "a::a(int)", 1, "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_str(retrace(mapping, cases[i].function, cases[i].line), cases[i].want, "%s",
		       cases[i].what);
}

static void test_deep(void)
{
	struct strbuf text = STRBUF_INIT;
	struct r8_mapping *mapping;
	struct r8_frame frames[R8_FRAMES_MAX];

	strbuf__adds(&text, "A -> a:\n");
	for (unsigned i = 0; i < 100; i++)
		strbuf__addf(&text, "    1:1:void m%u():%u:%u -> a\n", i, i + 1, i + 1);
	mapping = parse(strbuf__str(&text), NULL);
	is_uint(mapping ? r8_mapping__retrace(mapping, "a.a", 1, frames) : 0, R8_FRAMES_MAX,
		"too many inlined methods are cut");
	is_str(frames[R8_FRAMES_MAX - 1].function, "A.m99", "and the outermost one stays");
	strbuf__free(&text);
	r8_mapping__free(mapping);
}

static void test_bad(void)
{
	static const struct {
		const char *what, *text, *want;
	} cases[] = {
		{ "empty", "", "no class in it" },
		{ "comments only", "# a\n\n", "no class in it" },
		{ "another text", "# x\nHello, world\n", "line 2: neither a class" },
		{ "no colon", "A -> a\n", "line 1: neither a class" },
		{ "no name", "A -> :\n", "line 1: neither a class" },
		{ "a member first", "    int a -> b\n", "line 1: a member before the first class" },
		{ "no arrow", "A -> a:\n    int a\n", "line 2: no member" },
		{ "no type", "A -> a:\n    a -> b\n", "line 2: no member" },
		{ "no number", "A -> a:\n    1:x:void a() -> b\n", "line 2: no member" },
		{ "a range backwards", "A -> a:\n    5:1:void a() -> b\n", "line 2: no member" },
		{ "a huge number", "A -> a:\n    1:99999999999:void a() -> b\n",
		  "line 2: no member" },
		{ "no parenthesis", "A -> a:\n\n    void a( -> b\n", "line 3: no member" },
		{ "a class twice", "A -> a:\nB -> b:\nC -> a:\n",
		  "line 3: a class is named a for" },
		{ "a space", "A B -> a:\n", "line 1: a space" },
	};
	struct strbuf text = STRBUF_INIT;
	struct r8_mapping *mapping = NULL;
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		err.msg[0] = '\0';
		mapping = parse(cases[i].text, &err);
		ok(!mapping, "%s: refused", cases[i].what);
		has_str(err.msg, cases[i].want, "%s: with its line", cases[i].what);
		has_str(err.msg, "give the mapping.txt", "%s: with a remedy", cases[i].what);
		r8_mapping__free(mapping);
	}
	strbuf__add(&text, "A -> a:\n\0\n", 10);
	ok(r8_mapping__parse(&text, "m", &mapping, &err) < 0, "a NUL: refused");
	has_str(err.msg, "'m', line 2: a NUL", "a NUL: with its line");
	ok(r8_mapping__open("/nonexistent", &mapping, &err) < 0, "no file: refused");
	has_str(err.msg, "cannot read '/nonexistent'", "no file: with its name");
}

static void test_stack(struct r8_mapping *mapping)
{
	struct frame *frames = calloc(5, sizeof(*frames));
	struct stack stack = { .frames = frames, .frame_cnt = 5 };

	if (!frames)
		return;
	frames[0] = (struct frame){
		.function = "a.a.a", .line = 1, .app = true, .module = "/system/lib64/libx.so"
	};
	frames[1] = (struct frame){
		.function = "a.a.a", .language = "java", .line = 1, .app = true, .address = 7
	};
	frames[2] = (struct frame){ .function = "a.c.onClick", .module = "/data/app/x/base.odex" };
	frames[3] = (struct frame){ .function = "a.a.a", .kernel = true, .module = "x.odex" };
	frames[4] = (struct frame){ .module = "/data/app/x/base.odex" };
	is_int(r8_mapping__stack(mapping, &stack), 0, "a stack");
	is_uint(stack.frame_cnt, 6, "one frame more");
	is_str(stack.frames[0].function, "a.a.a", "a C function is left alone");
	is_str(stack.frames[1].function, "com.example.Loader.parse", "inlined");
	ok(stack.frames[1].inlined && !stack.frames[1].app && stack.frames[1].address == 7,
	   "and not blamed");
	is_str(stack.frames[2].function, "com.example.Loader.load", "its container");
	ok(!stack.frames[2].inlined && stack.frames[2].app && stack.frames[2].line == 55,
	   "is blamed");
	is_str(stack.frames[3].function, "com.example.Main$1.onClick", "compiled ahead of time");
	is_str(stack.frames[4].function, "a.a.a", "the kernel's is left alone");
	ok(!stack.frames[5].function, "no name, no name");
	free(stack.frames);
}

int main(void)
{
	struct err err = {};
	struct r8_mapping *mapping = parse(mapping_text, &err);

	if (!ok(mapping, "parse: %s", err.msg))
		return tap__done();
	is_uint(mapping->class_cnt, 4, "classes");
	test_retrace(mapping);
	test_stack(mapping);
	r8_mapping__free(mapping);
	test_deep();
	test_bad();
	return tap__done();
}
