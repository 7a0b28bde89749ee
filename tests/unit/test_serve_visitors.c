/* SPDX-License-Identifier: GPL-2.0 */
/* Which connection makes room when a server has too many. */
#include "serve/visitors.h"

#include "tests/tap.h"

#ifdef HAVE_MICROHTTPD

#include <sys/socket.h>
#include <unistd.h>

#define MAX 4
#define CNT 40

/* What libmicrohttpd would have: a socket, and what visitors keeps with it. */
struct MHD_Connection {
	int fd, other; /* ours, the client's */
	void *ctx;
	union MHD_ConnectionInfo info;
};

static struct MHD_Connection connections[CNT];
static struct visitors visitors;

static const union MHD_ConnectionInfo *get_info(struct MHD_Connection *connection,
						enum MHD_ConnectionInfoType type, ...)
{
	if (type == MHD_CONNECTION_INFO_CONNECTION_FD)
		connection->info.connect_fd = connection->fd;
	else
		connection->info.socket_context = connection->ctx;
	return &connection->info;
}

static void come(struct MHD_Connection *connection)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds))
		return;
	connection->fd = fds[0];
	connection->other = fds[1];
	visitors__on_connection(&visitors, connection, &connection->ctx,
				MHD_CONNECTION_NOTIFY_STARTED);
}

static void leave(struct MHD_Connection *connection)
{
	visitors__on_connection(&visitors, connection, &connection->ctx,
				MHD_CONNECTION_NOTIFY_CLOSED);
	close(connection->fd);
	close(connection->other);
}

/* The client of an ended connection reads its end. */
static bool is_ended(const struct MHD_Connection *connection)
{
	char byte;

	return !recv(connection->other, &byte, 1, MSG_PEEK);
}

/* A digit for each of the first cnt connections: 1 for one that was ended. */
static const char *ended(unsigned cnt)
{
	static char text[CNT + 1];

	for (unsigned i = 0; i < cnt; i++)
		text[i] = is_ended(&connections[i]) ? '1' : '0';
	text[cnt] = '\0';
	return text;
}

static void begin(unsigned cnt)
{
	visitors = (struct visitors){ .first_ns = 3600ull * 1000 * 1000 * 1000, .max = MAX };
	for (unsigned i = 0; i < cnt; i++)
		come(&connections[i]);
}

static void finish(unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		leave(&connections[i]);
	ok(!visitors.cnt && !visitors.list, "none is left");
}

static void test_idle(void)
{
	begin(MAX);
	is_str(ended(MAX), "0000", "as many as there is room for");
	come(&connections[4]);
	is_str(ended(5), "10000", "one more: the oldest makes room");
	for (unsigned i = 5; i < CNT; i++)
		come(&connections[i]);
	is_str(ended(CNT) + CNT - 6, "110000", "of many, the newest stay");
	finish(CNT);
}

static void test_known(void)
{
	begin(MAX);
	visitors__welcome(&connections[0], true);
	visitors__welcome(&connections[2], true);
	come(&connections[4]);
	come(&connections[5]);
	is_str(ended(6), "010100", "one who is known stays");
	visitors__welcome(&connections[4], true);
	visitors__welcome(&connections[5], true);
	come(&connections[6]);
	is_str(ended(7), "0101000", "all are known: none is ended");
	come(&connections[7]);
	is_str(ended(8), "01010010", "but a new one is, for the next");
	finish(8);
}

static void test_seen(void)
{
	begin(MAX);
	usleep(1000);
	visitors__welcome(&connections[0], false);
	come(&connections[4]);
	is_str(ended(5), "01000", "a request by anybody makes a connection the newest");
	leave(&connections[2]);
	come(&connections[5]);
	is_str(ended(2), "01", "a place that became free is used first");
	ok(!is_ended(&connections[3]) && !is_ended(&connections[4]), "and nobody is ended for it");
	connections[2] = connections[5];
	finish(5);
}

static void test_slow(void)
{
	begin(3);
	visitors__give_time(&connections[0], 1);
	visitors__give_time(&connections[1], 0);
	usleep(1000);
	visitors__end_slow(&visitors);
	is_str(ended(3), "100", "only the slow one is ended");
	is_int(visitors.cnt, 2, "and counts no more");
	finish(3);
}

int main(void)
{
	mhd.get_connection_info = get_info;
	test_idle();
	test_known();
	test_seen();
	test_slow();
	return tap__done();
}

#else

int main(void)
{
	skip(1, "a build without libmicrohttpd");
	return tap__done();
}

#endif
