/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"

#define BACKLOG	   16
#define PATIENCE_S 5	      /* of the asking side */
#define ANSWER_MAX (64 << 10) /* likewise */

const char *const control_words[] = {
	[CONTROL_STATUS] = "status",
	[CONTROL_STATUS_JSON] = "status json",
	[CONTROL_PAUSE] = "pause",
	[CONTROL_RESUME] = "resume",
};

#define WORD_CNT (sizeof(control_words) / sizeof(*control_words))

static int address_of(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	strcpy(ret->sun_path, path);
	return 0;
}

/* A socket that nobody serves is left of an agent that was killed. */
static int remove_stale(const struct sockaddr_un *address)
{
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), res;
	struct stat st;

	if (sock < 0)
		return -errno;
	res = connect(sock, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
	close(sock);
	if (!res || res == -EAGAIN)
		return -EADDRINUSE;
	if (res != -ECONNREFUSED)
		return res == -ENOENT ? 0 : res;
	if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlink(address->sun_path) ? -errno : 0;
}

/* Only its last part: a missing /run is another problem. */
static void make_directory(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *end = strrchr(path, '/');

	if (!end || end == path)
		return;
	snprintf(dir, sizeof(dir), "%.*s", (int)(end - path), path);
	mkdir(dir, 0700); /* what is wrong with it, bind says */
}

static int listen_at(int sock, const struct sockaddr_un *address)
{
	mode_t before = umask(0177);
	int res = bind(sock, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;

	umask(before);
	return res ?: listen(sock, BACKLOG) ? -errno : 0;
}

static const char *remedy_of(int res)
{
	switch (res) {
	case -EADDRINUSE:
		return ": another agent answers there; stop it, or give another control in "
		       "[agent]";
	case -EEXIST:
		return ": it is no socket; remove it, or give another control in [agent]";
	default:
		return "; give another control in [agent], or off";
	}
}

int control__open(struct control *control, const char *path, struct err *err)
{
	struct sockaddr_un address;
	int sock = -1, res = address_of(path, &address);

	*control = (struct control){ .sock = -1, .path = path };
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		control->clients[i].fd = -1;
	if (!res) {
		make_directory(path);
		res = remove_stale(&address);
	}
	if (!res) {
		sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		res = sock < 0 ? -errno : listen_at(sock, &address);
	}
	if (res) {
		if (sock >= 0)
			close(sock);
		return err__set(err, -res, "'%.100s': no control socket: %s%s", path,
				strerror(-res), remedy_of(res));
	}
	control->sock = sock;
	return 0;
}

void control__close(struct control *control)
{
	if (control->sock < 0)
		return;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (control->clients[i].fd >= 0)
			close(control->clients[i].fd);
	close(control->sock);
	control->sock = -1;
	unlinkat(AT_FDCWD, control->path, 0); /* else the next agent does it */
}

/* --- clients */

/* The mode of the socket says the same; a directory's owner could have moved it. */
static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && size == sizeof(peer) &&
	       (!peer.uid || peer.uid == geteuid());
}

static struct control_client *place_for(struct control *control)
{
	struct control_client *ret = control->clients;

	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		struct control_client *client = &control->clients[i];

		if (client->fd < 0)
			return client;
		if (client->nr < ret->nr)
			ret = client;
	}
	return ret;
}

int control__accept(struct control *control, int *ret_dropped)
{
	int fd = accept4(control->sock, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct control_client *place;

	*ret_dropped = -1;
	if (fd < 0)
		return -errno;
	if (!may_ask(fd)) {
		close(fd);
		return -EPERM;
	}
	place = place_for(control);
	*ret_dropped = place->fd;
	*place = (struct control_client){ .fd = fd, .nr = ++control->client_cnt };
	return fd;
}

static struct control_client *find(struct control *control, int fd)
{
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (control->clients[i].fd == fd)
			return &control->clients[i];
	return NULL;
}

static void drop(struct control_client *client)
{
	close(client->fd);
	client->fd = -1;
}

int control__read(struct control *control, int fd, enum control_request *ret)
{
	struct control_client *client = find(control, fd);
	ssize_t n;
	char *end;

	if (!client)
		return -EBADF;
	n = recv(fd, client->line + client->len, sizeof(client->line) - client->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	client->len += n > 0 ? (size_t)n : 0;
	end = n > 0 ? memchr(client->line, '\n', client->len) : NULL;
	if (!end && n > 0 && client->len < sizeof(client->line))
		return 0;
	for (size_t i = 0; end && i < WORD_CNT; i++) {
		if (strlen(control_words[i]) == (size_t)(end - client->line) &&
		    !memcmp(client->line, control_words[i], end - client->line)) {
			*ret = i;
			return 1;
		}
	}
	if (n > 0)
		send(fd, "error: not a request\n", 21, MSG_DONTWAIT | MSG_NOSIGNAL);
	drop(client);
	return -EBADMSG;
}

/* What finds no room in the socket is lost: the answer is far smaller than that. */
void control__answer(struct control *control, int fd, const char *error, const char *text)
{
	struct control_client *client = find(control, fd);
	struct strbuf sb = STRBUF_INIT;

	if (!client)
		return;
	if (error)
		strbuf__addf(&sb, "error: %s\n", error);
	else
		strbuf__addf(&sb, "ok\n%s", text);
	if (!sb.failed && send(fd, sb.data, sb.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		/* The client is gone. */
	}
	strbuf__free(&sb);
	drop(client);
}

/* --- the asking side */

static int receive_all(int sock, struct strbuf *ret)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(sock, buf, sizeof(buf), 0)) > 0 && ret->len < ANSWER_MAX)
		strbuf__add(ret, buf, (size_t)n);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return ret->failed ? -ENOMEM : n ? -EMSGSIZE : 0;
}

static int exchange(int sock, const struct sockaddr_un *address, enum control_request request,
		    struct strbuf *ret)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct strbuf line = STRBUF_INIT;
	int res = 0;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	strbuf__addf(&line, "%s\n", control_words[request]);
	if (connect(sock, (const struct sockaddr *)address, sizeof(*address)) ||
	    send(sock, strbuf__str(&line), line.len, MSG_NOSIGNAL) < 0)
		res = -errno;
	strbuf__free(&line);
	return res ?: receive_all(sock, ret);
}

static int explain(const char *path, int res, struct err *err)
{
	const char *remedy = res == -ENOENT || res == -ECONNREFUSED
				     ? "; no agent runs with this control: systemctl status jankbpf"
			     : res == -EACCES || res == -EPERM ? "; only root may ask: use sudo"
			     : res == -ETIMEDOUT ? "; the agent does not answer: see its log"
						 : "";

	return err__set(err, -res, "'%.100s': %s%s", path, strerror(-res), remedy);
}

int control__ask(const char *path, enum control_request request, struct strbuf *ret,
		 struct err *err)
{
	struct strbuf answer = STRBUF_INIT;
	struct sockaddr_un address;
	int sock = -1, res = address_of(path, &address);

	if (!res) {
		sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		res = sock < 0 ? -errno : exchange(sock, &address, request, &answer);
	}
	if (sock >= 0)
		close(sock);
	if (!res && !answer.len)
		res = -EPERM; /* it closed the connection */
	if (res)
		explain(path, res, err);
	else if (!strncmp(strbuf__str(&answer), "ok\n", 3))
		strbuf__adds(ret, strbuf__str(&answer) + 3);
	else
		res = err__set(err, EPROTO, "'%.100s': %.200s", path, strbuf__str(&answer));
	strbuf__free(&answer);
	return res;
}
