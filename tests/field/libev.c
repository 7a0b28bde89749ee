/* SPDX-License-Identifier: GPL-2.0 */
/* libev with a timer; an `s` on the standard input is a stall (own_epoll.t). */
#include <ev.h>
#include <unistd.h>

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
}

static void on_input(struct ev_loop *loop, ev_io *io, int events)
{
	char letter;

	if (read(0, &letter, 1) <= 0)
		ev_break(loop, EVBREAK_ALL);
	else if (letter == 's')
		usleep(150000);
}

int main(void)
{
	struct ev_loop *loop = ev_default_loop(0);
	ev_timer timer;
	ev_io input;

	if (!loop)
		return 1; /* the backend does not exist here */
	ev_timer_init(&timer, on_timer, 0.3, 0.3);
	ev_timer_start(loop, &timer);
	ev_io_init(&input, on_input, 0, EV_READ);
	ev_io_start(loop, &input);
	ev_run(loop, 0);
	return 0;
}
