/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which frames of a Java stack are the application's, and the code by which HotSpot leaves a frame.
 */
#include "symbol/languages/runtime.h"
#include "symbol/unwind/walk.h"
#include "tests/tap.h"

#define JIT(name)                                                                                  \
	{                                                                                          \
		.function = (name), .module = "[jit]", .app = true                                 \
	}
#define JAVA(name)                                                                                 \
	{                                                                                          \
		.function = (name), .module = "[jit]", .language = "java", .app = true             \
	}
#define LIB(name, file)                                                                            \
	{                                                                                          \
		.function = (name), .module = (file), .app = true                                  \
	}
#define CNT(array) (sizeof(array) / sizeof(*(array)))

/* The numbers of the application's frames, as bits. */
static unsigned settled(struct frame *frames, size_t cnt)
{
	unsigned ret = 0;

	java__resolve_all(frames, cnt);
	for (size_t i = 0; i < cnt; i++)
		ret |= (unsigned)frames[i].app << i;
	return ret;
}

static void test_settle(void)
{
	struct frame own[] = {
		{ .function = "futex_wait", .kernel = true },
		{ .function = "pthread_cond_wait", .module = "/lib/libc.so.6" },
		LIB("os::PlatformEvent::park", "/usr/lib/jvm/java-17/lib/server/libjvm.so"),
		JIT("Interpreter"),
		JAVA("void java.lang.Thread.sleep(long)"),
		JAVA("void com.example.Main.nap()"),
		JAVA("java.lang.String com.example.Main.run(java.lang.String)"),
		JIT("StubRoutines (1)"),
		LIB("JavaMain", "/usr/lib/jvm/java-17/lib/libjli.so"),
	};
	struct frame of_jdk[] = { JAVA("Ljava/lang/Thread;::run"), JIT("Interpreter"),
				  JAVA("void javaxyz.A.b()") };
	struct frame library[] = { JAVA("Ljava/lang/Thread;::run"), JIT("Interpreter") };
	struct frame interpreted[] = { LIB("Parker::park", "/x/libjvm.so"), JIT("Interpreter"),
				       JIT("StubRoutines (1)") };
	struct frame machine[] = { LIB("GCTask::run", "/x/libjvm.so"), LIB(NULL, "/x/libjvm.so") };
	struct frame native[] = { LIB("compress", "/srv/libnative.so"), JAVA("void a.B.c()") };
	struct frame android[] = { LIB("art_jni_trampoline", "/x/boot.oat"),
				   JAVA("android.os.Handler.dispatchMessage"),
				   JAVA("androidx.a.B.c"),
				   JAVA("com.example.Main.handleMessage"),
				   JAVA("kotlin.collections.A.b"),
				   JAVA("com.android.internal.os.ZygoteInit.main") };
	struct frame nameless[] = { LIB("Parker::park", "/x/libjvm.so"), JIT(NULL) };

	is_uint(settled(own, CNT(own)), 1 << 5 | 1 << 6, "the program's own classes");
	android[0].app = false; /* by resolve.c */
	is_uint(settled(android, CNT(android)), 1 << 3, "an app's own class on Android");
	is_uint(settled(of_jdk, CNT(of_jdk)), 1 << 2,
		"a package whose name only begins like the JDK's");
	is_uint(settled(library, CNT(library)), 1, "the class library if there is nothing else");
	is_uint(settled(interpreted, CNT(interpreted)), 1 << 1, "only the interpreter");
	is_uint(settled(machine, CNT(machine)), 3, "only the virtual machine");
	is_uint(settled(native, CNT(native)), 3, "the program's own library is its own, too");
	is_uint(settled(nameless, CNT(nameless)), 2, "code without a name may be its own");
	is_uint(settled(NULL, 0), 0, "no frame");
	ok(java__is_scratch("C1 temporary CodeBuffer") &&
		   !java__is_scratch("void com.example.Compile.run()"),
	   "a compiler's memory");
	ok(java__is_machine("/a/libjvm.so") && java__is_machine("libjvm.so") &&
		   !java__is_machine("/a/libjvm.so.1") && !java__is_machine("/libjvm.so/a"),
	   "its library identifies HotSpot");
}

static void test_returns(void)
{
	static const struct {
		uint8_t code[JAVA_RETURN_BYTES];
		bool want;
		const char *what;
	} rows[] = {
		{ { 0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0 },
		  true,
		  "JDK 17's interpreter" },
		{ { 0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd, 0x00, 0x48, 0xc7, 0x45, 0xf0 },
		  true,
		  "JDK 25's" },
		{ { 0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0, 1 },
		  false,
		  "another constant" },
		{ { 0x48, 0x8b, 0x65, 0xe0, 0x48, 0xc7, 0x45, 0xf0 }, false, "another slot" },
		{ { 0x41, 0x85, 0x02 }, true, "a safepoint poll by r10" },
		{ { 0x85, 0x00 }, true, "a safepoint poll by rax" },
		{ { 0x85, 0xc0 }, false, "test %eax, %eax" },
		{ { 0x85, 0x04, 0x24 }, false, "with an index" },
		{ { 0x90 }, false, "a no-operation" },
	};

	for (size_t i = 0; i < CNT(rows); i++)
		ok(java_code__is_return(rows[i].code) == rows[i].want, "returned to: %s",
		   rows[i].what);
}

static void test_frames(void)
{
	uint8_t code[JAVA_PROLOGUE_BYTES] = { 0x89, 0x84, 0x24, 0,    0xc0, 0xfe,
					      0xff, 0x55, 0x48, 0x8b, 0xec };
	size_t at = 0;

	ok(java_code__keeps_frame(code, &at) && at == 11, "a frame pointer after the stack bang");
	code[9] = 0x83; /* sub $…, %rsp */
	ok(!java_code__keeps_frame(code, &at), "none");
	ok(java_code__is_tail_jump((uint8_t[]){ 0xff, 0xe6 }) &&
		   java_code__is_tail_jump((uint8_t[]){ 0x41, 0xff, 0xe2 }) &&
		   java_code__is_tail_jump((uint8_t[]){ 0xff, 0x63, 0x50 }) &&
		   !java_code__is_tail_jump((uint8_t[]){ 0x41, 0xff, 0x24, 0xda }),
	   "jumps in place of calls");
}

/*
 * Bits of the registers that an instruction leaves unchanged, by a decoder that reports too many as
 * changed.
 */
static uint32_t kept_by(const uint8_t *code, bool *ret_ok)
{
	struct path_state state = { .sp.base = PATH_SP };
	uint32_t ret = 0;

	*ret_ok = path_state__run(&state, code, UINT32_MAX, false);
	for (unsigned i = 0; i < PATH_REGS; i++)
		ret |= (uint32_t)(state.regs[i].base == PATH_KEPT) << i;
	return ret;
}

static void test_vectors(void)
{
	static const uint8_t load[16] = { 0xc5, 0xfb, 0x10, 0x6c, 0x24, 0x28 };
	static const uint8_t long_load[16] = { 0xc4, 0xc1, 0x7b, 0x10, 0x6c, 0x24, 0x28 };
	static const uint8_t to_general[16] = { 0xc5, 0xf9, 0x7e, 0xcd };
	static const uint8_t other[16] = { 0x48, 0x31, 0xe4 };
	bool known;

	is_uint(kept_by(load, &known), 0xffff, "vmovsd 40(%%rsp), %%xmm5 leaves rbp alone");
	ok(known, "… and rsp");
	is_uint(kept_by(long_load, &known), 0xffff, "in the longer form, too");
	ok(!(kept_by(to_general, &known) >> PATH_RBP & 1) && known, "vmovd %%xmm1, %%ebp does not");
	kept_by(other, &known);
	ok(!known, "xor %%rsp, %%rsp loses the stack pointer");
}

int main(void)
{
	test_vectors();
	test_settle();
	test_returns();
	test_frames();
	return tap__done();
}
