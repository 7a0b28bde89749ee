/* SPDX-License-Identifier: GPL-2.0 */
/* The classes of an android.os.Message's handler and callback, by the names on the stacks. */
#include "verdict/java_message.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/message_fixture.h"

#define DISPATCH "android.os.Handler.dispatchMessage"
#define H	 "android.app.ActivityThread$H"

/*
 * Adds a sample; its functions are from the outside inwards, NULL ends them. Those with a dot are
 * Java's, but for clones of a compiler.
 */
static void add(struct block *block, const char *const *functions)
{
	struct sample *sample;
	size_t cnt = 0;

	block->samples = realloc(block->samples, (block->sample_cnt + 1) * sizeof(*sample));
	sample = &block->samples[block->sample_cnt++];
	*sample = (struct sample){ .syscall = -1 };
	while (functions[cnt])
		cnt++;
	sample->stack.frames = calloc(cnt ? cnt : 1, sizeof(struct frame));
	sample->stack.frame_cnt = (uint32_t)cnt;
	for (size_t i = 0; i < cnt; i++) {
		bool is_java = strchr(functions[i], '.') && !strstr(functions[i], ".isra.");

		sample->stack.frames[cnt - 1 - i] =
			(struct frame){ .function = *functions[i] ? functions[i] : NULL,
					.language = is_java ? "java" : NULL };
	}
}
#define ADD(block, ...) add(block, (const char *const[]){ __VA_ARGS__, NULL })

static struct block *handles(const char *what)
{
	static const struct jank_rec_message raw = { .mark = 1 };
	struct block *block = block__new();

	message_fixture__set(block, &raw, &(struct message){ .what = what, .fd.fd = -1 });
	return block;
}

static void check(struct block *block, const char *what, const char *handler, const char *callback,
		  const char *name)
{
	struct message m;

	is_int(java_message__name(block), 0, "%s", name);
	m = message_fixture__of(block);
	is_str(m.what, what, "%s: the message", name);
	is_str(m.handler.symbol, handler, "%s: the handler", name);
	is_str(m.callback.symbol, callback, "%s: the callback", name);
	block__free(block);
}

static void test_named(void)
{
	struct block *block = handles("159");

	ADD(block, "main", "art_quick_invoke_stub", "android.os.Looper.loopOnce", DISPATCH,
	    H ".handleMessage", "android.app.Activity.onCreate");
	check(block, "159 EXECUTE_TRANSACTION", H, NULL, "a Handler of the framework");
	block = handles("159");
	ADD(block, DISPATCH, "nterp_helper", "", "invoke.isra.0",
	    "art::interpreter::Execute(art::Thread *)", "com.example.A.handleMessage");
	check(block, "159", "com.example.A", NULL, "one of an app, with ART's functions between");
	block = handles("0");
	ADD(block, DISPATCH, "android.os.Handler.handleCallback", "com.example.-$$Lambda$1.run");
	ADD(block, DISPATCH, "android.os.Handler.handleCallback");
	check(block, "0", NULL, "com.example.-$$Lambda$1", "a callback, once not entered yet");
	block = handles("999");
	ADD(block, DISPATCH, H ".handleMessage");
	check(block, "999", H, NULL, "a number that has no name");
}

static void test_unknown(void)
{
	struct block *block = handles("159");

	ADD(block, DISPATCH, H ".handleMessage");
	ADD(block, DISPATCH, "com.example.A.handleMessage");
	check(block, "159", NULL, NULL, "two handlers in one dispatch");
	block = handles("159");
	ADD(block, DISPATCH, H ".handleMessage");
	ADD(block, DISPATCH, "android.os.Handler.handleCallback", "com.example.B.run");
	check(block, "159", NULL, NULL, "a handler and a callback");
	block = handles("159");
	ADD(block, "main", H ".handleMessage");
	check(block, "159", NULL, NULL, "a handler that was called in another way");
	block = handles("159");
	ADD(block, DISPATCH, "com.example.A.work", H ".handleMessage");
	check(block, "159", NULL, NULL, "a handler that overrides dispatchMessage");
	block = handles("159");
	block->live->message->handler =
		message_fixture__symbol(&(struct message_name){ .symbol = "Mine" });
	ADD(block, DISPATCH, H ".handleMessage");
	check(block, "159", "Mine", NULL, "a handler that a mark has told");
}

int main(void)
{
	struct block *block = block__new();

	test_named();
	test_unknown();
	ADD(block, DISPATCH, "com.example.A.handleMessage");
	check(block, NULL, "com.example.A", NULL, "no mark");
	block = block__new();
	ADD(block, "main");
	is_int(java_message__name(block), 0, "a loop of another kind");
	ok(!block->message, "… has no message after it, either");
	block__free(block);
	return tap__done();
}
