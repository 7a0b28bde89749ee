/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GTK 3: a button's handler by a real X event, the same handler called by a timer, and a slow
 * drawing.
 */
#include <X11/extensions/XTest.h>
#include <gdk/gdkx.h>
#include <gtk/gtk.h>

#include "stall.h"

static GtkWidget *window, *button, *area;
static gboolean slow_draw, by_timer;

static void on_clicked(GtkButton *which, gpointer data)
{
	STALL(by_timer ? "timer" : "click",
	      by_timer ? "\"callback\":\"on_timer\"" : "\"source\":\"GDK X11 Event source\"");
}

static gboolean on_timer(gpointer data)
{
	by_timer = TRUE;
	gtk_button_clicked(GTK_BUTTON(button));
	by_timer = FALSE;
	return G_SOURCE_REMOVE;
}

static gboolean on_draw(GtkWidget *widget, cairo_t *cairo, gpointer data)
{
	if (slow_draw)
		STALL("draw", "\"source\":\"gdk_frame_clock_paint_idle\"");
	slow_draw = FALSE;
	return FALSE;
}

/* As a mouse does it, through the X server. GDK's own simulation knows only the core protocol. */
static void press(gboolean down)
{
	GdkWindow *where = gtk_button_get_event_window(GTK_BUTTON(button));
	Display *display = gdk_x11_get_default_xdisplay();
	int x, y;

	gdk_window_get_root_coords(where, 5, 5, &x, &y);
	XTestFakeMotionEvent(display, -1, x, y, CurrentTime);
	XTestFakeButtonEvent(display, 1, down, CurrentTime);
	XFlush(display);
}

static gboolean on_tick(gpointer data)
{
	press(FALSE);
	switch (stall__due(3)) {
	case 0:
		press(TRUE); /* the next tick releases it */
		break;
	case 1:
		g_timeout_add(1, on_timer, NULL);
		break;
	case 2:
		slow_draw = TRUE;
		gtk_widget_queue_draw(area);
		break;
	case STALL_OVER:
		gtk_main_quit();
	}
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GtkWidget *box;

	stall__open();
	if (!gtk_init_check(&argc, &argv))
		stall__cannot("no display");
	window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
	button = gtk_button_new_with_label("stall");
	area = gtk_drawing_area_new();
	box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_set_size_request(area, 100, 100);
	gtk_container_add(GTK_CONTAINER(window), box);
	gtk_container_add(GTK_CONTAINER(box), button);
	gtk_container_add(GTK_CONTAINER(box), area);
	g_signal_connect(button, "clicked", G_CALLBACK(on_clicked), NULL);
	g_signal_connect(area, "draw", G_CALLBACK(on_draw), NULL);
	gtk_widget_show_all(window);
	g_timeout_add(STALL_TICK_MS, on_tick, NULL);
	gtk_main();
	return 0;
}
