/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A Wayland server: a descriptor, a timer and an idle of its loop, and requests of a real client,
 * its child, which binds a global for each byte that it gets. The loop waits for duplicates of the
 * descriptors that it is given; only the loop knows their numbers.
 */
#include <string.h>
#include <sys/socket.h>
#include <wayland-client.h>
#include <wayland-server.h>

#include "stall.h"

static struct wl_event_source *tick, *timer;
static int fds[2], orders[2], pair[2];

static int on_timer(void *data)
{
	STALL_CALLBACK("timer");
	return 0;
}

static int on_fd(int fd, uint32_t mask, void *data)
{
	char byte;

	if (read(fd, &byte, 1) == 1)
		STALL("fd", "\"callback\":\"%s\",\"fd_target\":\"pipe\"", __func__);
	return 0;
}

static void on_idle(void *data)
{
	STALL_CALLBACK("idle");
}

static void on_bind(struct wl_client *client, void *data, uint32_t version, uint32_t id)
{
	wl_resource_create(client, &wl_output_interface, version, id);
	STALL("client", "\"fd_target\":\"unix\"");
}

static void poke(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static int on_tick(void *display)
{
	struct wl_event_loop *loop = wl_display_get_event_loop(display);

	wl_event_source_timer_update(tick, STALL_TICK_MS);
	switch (stall__due(4)) {
	case 0:
		wl_event_source_timer_update(timer, 1);
		break;
	case 1:
		poke(fds[1]);
		break;
	case 2:
		wl_event_loop_add_idle(loop, on_idle, NULL);
		break;
	case 3:
		poke(orders[1]);
		break;
	case STALL_OVER:
		wl_display_terminate(display);
	}
	return 0;
}

static void on_global(void *name_of_output, struct wl_registry *registry, uint32_t name,
		      const char *interface, uint32_t version)
{
	if (!strcmp(interface, wl_output_interface.name))
		*(uint32_t *)name_of_output = name;
}

static void on_global_remove(void *data, struct wl_registry *registry, uint32_t name)
{
}

static int client(void)
{
	static const struct wl_registry_listener listener = { on_global, on_global_remove };
	struct wl_display *display = wl_display_connect_to_fd(pair[1]);
	struct wl_registry *registry = wl_display_get_registry(display);
	uint32_t name = 0;
	char byte;

	stall__open();
	wl_registry_add_listener(registry, &listener, &name);
	if (wl_display_roundtrip(display) < 0 || !name)
		return 1;
	while (read(orders[0], &byte, 1) == 1) {
		wl_registry_bind(registry, name, &wl_output_interface, 1);
		wl_display_roundtrip(display);
	}
	return 0;
}

int main(void)
{
	struct wl_display *display;
	struct wl_event_loop *loop;

	stall__open();
	if (pipe(fds) || pipe(orders) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return 1;
	if (!fork())
		return close(orders[1]), close(pair[0]), client();
	close(pair[1]);
	display = wl_display_create();
	loop = wl_display_get_event_loop(display);
	wl_global_create(display, &wl_output_interface, 1, NULL, on_bind);
	wl_client_create(display, pair[0]);
	wl_event_loop_add_fd(loop, fds[0], WL_EVENT_READABLE, on_fd, NULL);
	timer = wl_event_loop_add_timer(loop, on_timer, NULL);
	tick = wl_event_loop_add_timer(loop, on_tick, display);
	wl_event_source_timer_update(tick, STALL_TICK_MS);
	wl_display_run(display);
	return 0;
}
