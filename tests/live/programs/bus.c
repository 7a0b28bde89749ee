/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call over D-Bus that blocks, as GTK programs make them.
 *
 *	bus serve	owns a name on the session's bus; its method sleeps
 *	bus call	calls it from a timer of its main loop
 *
 * Each prints a line: the server when it has the name, the caller when it makes its first call. The
 * end of stdin ends them.
 */
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME	 "org.jankbpf.Slow"
#define SLEEP_US 800000
#define CALL_MS	 300

static const char interface[] =
	"<node><interface name='" NAME "'><method name='Sleep'/></interface></node>";

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void handle_sleep(GDBusConnection *bus, const char *sender, const char *path, const char *of,
			 const char *method, GVariant *args, GDBusMethodInvocation *invocation,
			 void *data)
{
	g_usleep(SLEEP_US);
	g_dbus_method_invocation_return_value(invocation, NULL);
}

static const GDBusInterfaceVTable methods = { .method_call = handle_sleep };

static void on_bus(GDBusConnection *bus, const char *name, void *data)
{
	GDBusNodeInfo *info = g_dbus_node_info_new_for_xml(interface, NULL);

	g_dbus_connection_register_object(bus, "/", info->interfaces[0], &methods, NULL, NULL,
					  NULL);
}

static void on_name(GDBusConnection *bus, const char *name, void *data)
{
	say("ready");
}

static void serve(void)
{
	g_bus_own_name(G_BUS_TYPE_SESSION, NAME, 0, on_bus, on_name, NULL, NULL, NULL);
}

static gboolean on_timer(void *bus)
{
	static int call_cnt;

	if (!call_cnt++)
		say("calls");
	g_dbus_connection_call_sync(bus, NAME, "/", NAME, "Sleep", NULL, NULL, 0, -1, NULL, NULL);
	return G_SOURCE_CONTINUE;
}

static gboolean on_input(int fd, GIOCondition condition, void *loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, loop);
	if (argc > 1 && !strcmp(argv[1], "serve"))
		serve();
	else
		g_timeout_add(CALL_MS, on_timer, g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL));
	g_main_loop_run(loop);
	return 0;
}
