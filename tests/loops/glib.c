/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GLib's main loop: a timeout, an idle, a descriptor, a GIOChannel, a source of its own kind with a
 * name.
 */
#include <glib-unix.h>
#include <glib.h>

#include "stall.h"

static int fd_pipe[2], channel_pipe[2];
static gboolean own_ready;
static GSource *own;

static gboolean on_timeout(gpointer data)
{
	STALL("timeout", "\"callback\":\"%s\",\"source\":\"jank-timeout\"", __func__);
	return G_SOURCE_REMOVE;
}

static gboolean on_idle(gpointer data)
{
	STALL_CALLBACK("idle");
	return G_SOURCE_REMOVE;
}

static gboolean on_unix_fd(gint fd, GIOCondition condition, gpointer data)
{
	char byte;

	if (read(fd, &byte, 1) == 1)
		STALL("unix-fd", "\"callback\":\"%s\"", __func__);
	return G_SOURCE_CONTINUE;
}

static gboolean on_channel(GIOChannel *channel, GIOCondition condition, gpointer data)
{
	char byte;

	if (read(g_io_channel_unix_get_fd(channel), &byte, 1) == 1)
		STALL("channel", "\"callback\":\"%s\"", __func__);
	return G_SOURCE_CONTINUE;
}

static gboolean own_prepare(GSource *source, gint *timeout)
{
	*timeout = -1;
	return own_ready;
}

static gboolean own_check(GSource *source)
{
	return own_ready;
}

static gboolean own_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
	own_ready = FALSE;
	return callback(data);
}

static gboolean on_own(gpointer data)
{
	STALL("own", "\"handler\":\"own_dispatch\",\"callback\":\"%s\",\"source\":\"jank-own\"",
	      __func__);
	return G_SOURCE_CONTINUE;
}

static void poke(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static gboolean on_tick(gpointer loop)
{
	switch (stall__due(5)) {
	case 0:
		g_source_set_name_by_id(g_timeout_add(1, on_timeout, NULL), "jank-timeout");
		break;
	case 1:
		g_idle_add(on_idle, NULL);
		break;
	case 2:
		poke(fd_pipe[1]);
		break;
	case 3:
		poke(channel_pipe[1]);
		break;
	case 4:
		own_ready = TRUE;
		break;
	case STALL_OVER:
		g_main_loop_quit(loop);
	}
	return G_SOURCE_CONTINUE;
}

static void add_own(void)
{
	static GSourceFuncs funcs = { .prepare = own_prepare,
				      .check = own_check,
				      .dispatch = own_dispatch };

	own = g_source_new(&funcs, sizeof(GSource));
	g_source_set_name(own, "jank-own");
	g_source_set_callback(own, on_own, NULL, NULL);
	g_source_attach(own, NULL);
}

int main(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	stall__open();
	if (pipe(fd_pipe) || pipe(channel_pipe))
		return 1;
	g_unix_fd_add(fd_pipe[0], G_IO_IN, on_unix_fd, NULL);
	g_io_add_watch(g_io_channel_unix_new(channel_pipe[0]), G_IO_IN, on_channel, NULL);
	add_own();
	g_timeout_add(STALL_TICK_MS, on_tick, loop);
	g_main_loop_run(loop);
	return 0;
}
