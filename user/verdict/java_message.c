/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * android.os.Handler.dispatchMessage (Handler.java) runs the message's callback by handleCallback,
 * else calls handleMessage of the Handler or of its Handler.Callback. Objects of Java move, so
 * their classes are taken from the names on the stacks: a dispatch is of one message.
 */
#include "verdict/java_message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "base/text.h"

#define DISPATCH "android.os.Handler.dispatchMessage"
#define CALLBACK "android.os.Handler.handleCallback"

struct java_what {
	const char *class, *number, *name;
};
#include "android_messages.inc" /* by tools/loops/messages */

/* A class by a frame's name, CLASS.METHOD. len 0: not known. */
struct class
{
	const char *name;
	size_t len;
};

/* The methods of a stack from the outside inwards, without native functions between them. */
struct walk {
	const struct stack *stack;
	size_t left;
};

static const char *next(struct walk *walk)
{
	while (walk->left) {
		const struct frame *frame = &walk->stack->frames[--walk->left];

		if (frame->function && text__same(frame->language, "java"))
			return frame->function;
	}
	return NULL;
}

static struct class class_of(const char *function, const char *method)
{
	const char *dot = function ? strrchr(function, '.') : NULL;

	return dot && !strcmp(dot + 1, method)
		       ? (struct class){ function, (size_t)(dot - function) }
		       : (struct class){};
}

static void look(const struct stack *stack, struct class *handler, struct class *callback)
{
	struct walk walk = { stack, stack->frame_cnt };
	const char *function;

	while (walk.left && !text__same(stack->frames[walk.left - 1].function, DISPATCH))
		walk.left--;
	if (!walk.left)
		return;
	walk.left--;
	function = next(&walk);
	if (text__same(function, CALLBACK))
		*callback = class_of(next(&walk), "run");
	else
		*handler = class_of(function, "handleMessage");
}

/* False if the two differ. */
static bool agree(struct class *all, struct class one)
{
	if (!all->len)
		*all = one;
	return !one.len || (all->len == one.len && !memcmp(all->name, one.name, one.len));
}

static int set(Jankbpf__Symbol **ret, struct class class)
{
	if (!class.len)
		return 0;
	if (!*ret)
		*ret = proto__new(&jankbpf__symbol__descriptor);
	if (*ret && !(*ret)->symbol)
		(*ret)->symbol = strndup(class.name, class.len);
	return *ret && (*ret)->symbol ? 0 : -ENOMEM;
}

static int name_what(Jankbpf__Message *message)
{
	const struct java_what *end = java_whats + sizeof(java_whats) / sizeof(*java_whats),
			       *what = java_whats;
	char *text;

	while (what < end &&
	       (!text__same(message->what, what->number) ||
		!text__same(message->handler ? message->handler->symbol : NULL, what->class)))
		what++;
	if (what == end)
		return 0;
	if (asprintf(&text, "%s %s", what->number, what->name) < 0)
		return -ENOMEM;
	free(message->what);
	message->what = text;
	return 0;
}

int java_message__name(struct block *block)
{
	static const struct jank_rec_message no_mark;
	struct class handler = {}, callback = {};

	if (block->live->message &&
	    (block->live->message->handler || block->live->message->callback))
		return 0;
	for (size_t i = 0; i < block->sample_cnt; i++) {
		struct class one = {}, called = {};

		look(&block->samples[i].stack, &one, &called);
		if (!agree(&handler, one) || !agree(&callback, called))
			return 0;
	}
	if (!handler.len == !callback.len)
		return 0;
	if (!block->message)
		block->message = message__new(&no_mark);
	if (!block->live->message)
		block->live->message = proto__new(&jankbpf__message__descriptor);
	if (!block->message || !block->live->message ||
	    set(&block->live->message->handler, handler) ||
	    set(&block->live->message->callback, callback))
		return -ENOMEM;
	return name_what(block->live->message);
}
