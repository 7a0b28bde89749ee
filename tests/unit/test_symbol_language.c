/* SPDX-License-Identifier: GPL-2.0 */
/* Function names as runtimes write them, and names that only look like those. */
#include "symbol/languages/runtime.h"
#include "tests/tap.h"

static void check_split(void)
{
	static const struct {
		const char *name, *function, *file;
	} names[] = {
		{ "JS:~handle /srv/app.js:3:1", "handle", "/srv/app.js" },
		{ "JS:*get x file:///srv/a b.mjs:3:1", "get x file:///srv/a", "b.mjs" },
		{ "LazyCompile:^emit node:events:471:44", "emit", "node:events" },
		{ "JS:o*spin file:///srv/app.js:1:14", "spin", "/srv/app.js" },
		{ "JS:o /srv/app.js:1:14", "o", "/srv/app.js" },
		{ "Function:~ node:internal/timers:5:1", "anonymous", "node:internal/timers" },
		{ "JS:handle app.js", "handle", "app.js" },
		{ "JSC-FTL: parse#DkOfVG", "parse", NULL },
		{ "JSC-Baseline: #priv#DkOfVG", "#priv", NULL },
		{ "JSC-DFG: #Dvwv4u", "anonymous#Dvwv4u", NULL },
		{ "JSC-DFG: ", NULL, NULL },
		{ "RegExp:a b", NULL, NULL },
		{ "JS:", NULL, NULL },
		{ "JS:x ", NULL, NULL },
		{ "Lcom/example/Main;::run x", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *function = NULL, *file = NULL;
		char name[64];

		strcpy(name, names[i].name);
		javascript__split(name, &function, &file);
		is_str(function, names[i].function, "'%s': its function", names[i].name);
		is_str(file, names[i].file, "'%s': its file", names[i].name);
	}
}

int main(void)
{
	static const struct {
		const char *name, *language;
	} names[] = {
		{ "JS:~handle /srv/app.js:3:1", "javascript" },
		{ "JS:*handle file:///srv/app.mjs:3:1", "javascript" },
		{ "LazyCompile:^handle /srv/app.js:3:1", "javascript" },
		{ "Function:~ node:internal/timers:5:1", "javascript" },
		{ "Script:~ /srv/app.js:1:1", "javascript" },
		{ "RegExp:a+b", "javascript" },
		{ "JSC-FTL: parse#DkOfVG", "javascript" },
		{ "JSC-Thunk: charAt", NULL },
		{ "Builtin:CEntry", NULL },
		{ "BytecodeHandler:LdaSmi", NULL },
		{ "Stub:CEntryStub", NULL },
		{ "Lcom/example/Main;::run", "java" },
		{ "Ljava/lang/String;::hashCode", "java" },
		{ "Lock::acquire", NULL },
		{ "int java.lang.String.hashCode()", "java" },
		{ "java.lang.String[] com.example.Main$Inner.<init>(int, java.lang.String)",
		  "java" },
		{ "int[] a.B$$Lambda/0x0000000098013ad8.partition(java.lang.Object, int)", "java" },
		{ "int[] a.B$$Lambda$14+0x0000000098013ad8.partition(int)", "java" },
		{ "C1 Runtime deoptimize_blob", NULL },
		{ "I2C/C2I adapters(0xba)", NULL },
		{ "void com.example.Main.main(java.lang.String[])", "java" },
		{ "Interpreter", NULL },
		{ "StubRoutines (1)", NULL },
		{ "void run()", NULL },
		{ "void ns::Class::run(int)", NULL },
		{ "py::handle:/srv/app.py", "python" },
		{ "void [System.Private.CoreLib] "
		  "System.Threading.Thread::StartCallback()[OptimizedTier1]",
		  "dotnet" },
		{ "instance void [app] Example.Main::Run(string)[PreJIT]", "dotnet" },
		{ "Slow:Compute ()", "dotnet" },
		{ "System.Collections.Generic.List`1<T_REF>:Add (T_REF)", "dotnet" },
		{ "(wrapper managed-to-native) Slow:epoll_wait (int,byte[],int,int)", NULL },
		{ "generic_trampoline_jit", NULL },
		{ "ns:: (int)", NULL },
		{ ": ()", NULL },
		{ "a b:c ()", NULL },
		{ "stub<1> GenerateResolveStub", NULL },
		{ "operator[]::x", NULL },
		{ "ns::list[3]", NULL },
		{ "", NULL },
		{ "]", NULL },
		{ " (", NULL },
		{ "L;::", NULL },
		{ "a b.c)", NULL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is_str(language__of(names[i].name), names[i].language, "'%s'", names[i].name);
	check_split();
	return tap__done();
}
