/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GLib's main loop in a handler of GLib's main loop, as a modal dialog has it. The inner one is
 * idle for a while, which is no stall: it waits for the same events. Then one of its callbacks
 * stalls: `inner`.
 */
#include <glib.h>

#include "stall.h"

#define QUIET_MS 100

static gboolean on_inner(gpointer loop)
{
	STALL_CALLBACK("inner");
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_outer(gpointer data)
{
	GMainLoop *inner = g_main_loop_new(NULL, FALSE);

	g_timeout_add(QUIET_MS, on_inner, inner);
	g_main_loop_run(inner);
	g_main_loop_unref(inner);
	return G_SOURCE_REMOVE;
}

/* The inner loop also dispatches it; a stall then must not begin another. */
static gboolean on_tick(gpointer loop)
{
	if (g_main_depth() > 1)
		return G_SOURCE_CONTINUE;
	switch (stall__due(1)) {
	case 0:
		g_timeout_add(1, on_outer, NULL);
		break;
	case STALL_OVER:
		g_main_loop_quit(loop);
	}
	return G_SOURCE_CONTINUE;
}

int main(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	stall__open();
	g_timeout_add(STALL_TICK_MS, on_tick, loop);
	g_main_loop_run(loop);
	return 0;
}
