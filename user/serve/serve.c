/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/serve.h"

#include <errno.h>

#ifndef HAVE_MICROHTTPD

int serve__open(const char *dir, const char *listen, struct server **ret, uid_t *ret_user,
		struct err *err)
{
	return err__set(err, ENOSYS,
			"serve: this build has no HTTP server: install libmicrohttpd-dev (make "
			"deps) and build again; a static or cross build has none. `jankbpf report "
			"--format html` needs none");
}

void serve__free(struct server *server)
{
}

const char *serve__url(const struct server *server)
{
	return "";
}

int serve__run(struct server *server, int signal_fd, serve_left_out_fn *on_left_out,
	       struct err *err)
{
	return -ENOSYS;
}

#else
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/confine.h"
#include "export/record_file.h"
#include "files/own_path.h"
#include "files/user_account.h"
#include "serve/archive.h"
#include "serve/server.h"

#define FILES_MAX 256		   /* descriptors: connections, files of the directory */
#define WORK_NS	  (10 * NS_PER_MS) /* between two looks at the connections */
#define TICK_MS	  1000		   /* between looks at the directory without inotify */
#define STATE_MS  100
#define EVENTS_MASK                                                                                \
	(IN_CREATE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF |        \
	 IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR)

/* --- the directory */

static bool is_ours(const char *name)
{
	return name[0] == '.' || record_dir__knows(name);
}

/*
 * An empty directory waits for its first block; one of other files is a mistake. Deletes what a
 * killed server left.
 */
static int check_content(const char *path, int dirfd, struct err *err)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool ours = false, others = false;
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return err__set(err, errno, "'%s': %s", path, strerror(errno));
	}
	while ((entry = readdir(dir))) {
		removal__clean(dirfd, entry->d_name);
		ours |= is_ours(entry->d_name) && entry->d_name[0] != '.';
		others |= !is_ours(entry->d_name);
	}
	closedir(dir);
	if (others && !ours)
		return err__set(err, ENODATA,
				"'%s': it has other files, but no blocks.jsonl or blocks.pb: give "
				"the DIR of -o",
				path);
	return 0;
}

static int open_dir(const char *path, struct err *err)
{
	struct stat st;
	int fd, res;

	if (stat(path, &st))
		return err__set(err, errno, "'%s': %s: give the DIR of -o", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err__set(err, ENOTDIR,
				"'%s': not a directory: give the DIR of -o; records of a journal: "
				"`jankbpf replay -o DIR FILE`, then serve DIR",
				path);
	if (st.st_uid != geteuid())
		return err__set(err, EACCES,
				"'%s': it belongs to user id %u: run serve as that user", path,
				st.st_uid);
	fd = own_path__dir(path, 0, err);
	res = fd < 0 ? fd : check_content(path, fd, err);
	if (!res)
		return fd;
	if (fd >= 0)
		close(fd);
	return res;
}

/* --- privileges */

/* As other commands: the user of sudo; root itself has the directory's owner to choose. */
static int find_user(const char *dir, struct user_account *ret)
{
	struct stat st;
	char number[16];
	int res = user_account__of_sudo(ret);

	if (res != -ENOENT)
		return res;
	if (stat(dir, &st) || !st.st_uid)
		return -ENOENT;
	snprintf(number, sizeof(number), "%u", st.st_uid);
	res = user_account__find(number, ret);
	if (res != -ENOENT)
		return res;
	*ret = (struct user_account){ .uid = st.st_uid, .gid = st.st_gid };
	return 0;
}

static int take_user(const char *dir, uid_t *ret_user, struct err *err)
{
	struct user_account account = {};
	int res = geteuid() ? -ENOENT : find_user(dir, &account);

	*ret_user = (uid_t)-1;
	if (!res) {
		res = confine__drop_bounding_set() ?: user_account__take_ids(&account);
		*ret_user = account.uid;
	}
	user_account__free(&account);
	if (!res || res == -ENOENT)
		res = confine__drop_capabilities();
	return res ? err__set(err, -res, "cannot give up the privileges of root: %s",
			      strerror(-res))
		   : 0;
}

static int confine(struct err *err)
{
	const struct confine_limits limits = { FILES_MAX, 0, &serve_calls, NULL, NULL };
	int res = confine__limit(&limits);

	return res ? err__set(err, -res,
			      "cannot give up privileges: %s: a security module or container may "
			      "forbid it",
			      strerror(-res))
		   : 0;
}

/* --- start and end */

static int start(struct server *server, const char *dir, struct err *err)
{
	int fd = open_dir(dir, err), res;

	if (fd < 0)
		return fd;
	record_index__init(&server->index, dir, fd);
	res = mhd__load(err);
	if (res)
		return res;
	archive__load();
	server->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	res = token__make(server->token);
	if (res)
		return err__set(err, -res, "no random token: %s", strerror(-res));
	fd = address__listen(&server->address, err);
	return fd < 0 ? fd : server__start(server, fd, err);
}

int serve__open(const char *dir, const char *listen, struct server **ret, uid_t *ret_user,
		struct err *err)
{
	struct server *server = calloc(1, sizeof(*server));
	int res;

	*ret = server;
	if (!server)
		return err__set(err, ENOMEM, "out of memory");
	record_index__init(&server->index, dir, -1);
	server->watch_fd = -1;
	res = address__parse(listen, &server->address, err) ?: take_user(dir, ret_user, err) ?:
	      start(server, dir, err) ?: confine(err);
	if (res)
		return res;
	marks__load(&server->marks, server->index.dirfd);
	server->stale = server->working = true;
	record_index__look(&server->index);
	return 0;
}

void serve__free(struct server *server)
{
	bool started;

	if (!server)
		return;
	started = server->daemon;
	server__stop(server);
	if (started)
		address__remove(&server->address);
	marks__save(&server->marks, server->index.dirfd);
	if (server->removal)
		removal__free(server->removal);
	free(server->removal);
	marks__free(&server->marks);
	record_index__free(&server->index);
	strbuf__free(&server->state);
	if (server->watch_fd >= 0)
		close(server->watch_fd);
	free(server);
}

const char *serve__url(const struct server *server)
{
	static char url[160];
	const char *text = server->address.text;
	size_t host = server->address.port ? (size_t)(strrchr(text, ':') - text) : 0;

	if (!server->address.port)
		snprintf(url, sizeof(url), "http://127.0.0.1/#token=%s", server->token);
	else
		snprintf(url, sizeof(url), "http://%.*s:%u/#token=%s", (int)host, text,
			 server->address.port, server->token);
	return url;
}

/* --- the loop */

struct loop {
	struct server *server;
	int watch_fd; /* of the server */
	int watched;  /* dirfd that is watched */
	uint64_t next_tick_ns;
};

/* The directory may be another one than before. */
static void watch(struct loop *loop)
{
	struct server *server = loop->server;

	if (loop->watch_fd < 0 || loop->watched == server->index.dirfd)
		return;
	loop->watched = server->index.dirfd;
	if (loop->watched >= 0 &&
	    inotify_add_watch(loop->watch_fd, server->index.path, EVENTS_MASK) < 0)
		loop->watched = -1;
}

static void look(struct loop *loop)
{
	struct server *server = loop->server;
	int before = server->index.dirfd;

	if (record_index__look(&server->index))
		server->stale = server->working = true;
	if (server->index.dirfd != before)
		loop->watched = -1;
	watch(loop);
}

static void drain(int fd)
{
	char events[4096];

	while (read(fd, events, sizeof(events)) > 0)
		;
}

static void work_removal(struct server *server)
{
	int res = server->removal ? removal__work(server->removal, WORK_NS) : 0;

	if (!res)
		return;
	removal__free(server->removal);
	free(server->removal);
	server->removal = NULL;
	server->stale = server->working = true;
	server->pruned = false;
	server__removed(server, res < 0 ? res : 0);
}

static void say_left(struct server *server)
{
	for (int i = 0; !server->said_left && i < FILE_CNT; i++)
		server->said_left = server->index.files[i].left_cnt;
	if (server->said_left)
		server->on_left_out(server->index.path, server->index.limit);
}

static void work(struct server *server)
{
	if (server->working) {
		server->working = record_index__work(&server->index, WORK_NS);
		server->stale = true;
		if (!server->said_left)
			say_left(server);
	}
	work_removal(server);
	if (!server->working && !server->pruned) {
		server__prune(server);
		server->pruned = true;
	}
	if (server__look_at_state(server))
		events__send(server);
}

static void tick(struct loop *loop)
{
	uint64_t now = clock__mono_ns();
	struct server *server = loop->server;

	if (server->marks.due_ns && now >= server->marks.due_ns && server->index.dirfd >= 0) {
		server->stale |= server->marks.save_error;
		server->stale |= !!marks__save(&server->marks, server->index.dirfd);
	}
	if (now < loop->next_tick_ns)
		return;
	loop->next_tick_ns = now + TICK_MS * NS_PER_MS;
	look(loop);
	events__send(server);
	server__check_connections(server);
}

static int timeout_ms(const struct server *server)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int most = server->stale || server->marks.due_ns ? STATE_MS : TICK_MS;

	if (server->working || server->removal)
		return server->removal && server->removal->deadline_ns ? 5 : 0;
	if (mhd.get_timeout(server->daemon, &ms) == MHD_YES && ms < (unsigned)most)
		return (int)ms;
	return most;
}

int serve__run(struct server *server, int signal_fd, serve_left_out_fn *on_left_out,
	       struct err *err)
{
	const union MHD_DaemonInfo *info =
		mhd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct loop loop = { .server = server, .watched = -1, .watch_fd = server->watch_fd };
	struct pollfd fds[] = { { signal_fd, POLLIN, 0 },
				{ info->listen_fd, POLLIN, 0 },
				{ loop.watch_fd, POLLIN, 0 } };

	server->on_left_out = on_left_out;
	watch(&loop);
	for (;;) {
		if (poll(fds, 3, timeout_ms(server)) < 0 && errno != EINTR)
			return err__set(err, errno, "cannot wait for requests: %s",
					strerror(errno));
		if (fds[0].revents)
			return 0;
		if (fds[2].revents) {
			drain(loop.watch_fd);
			look(&loop);
		}
		server__run(server);
		tick(&loop);
		work(server);
	}
}
#endif
