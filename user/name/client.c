/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that makes names, as the tracer sees it: its start, its answers, its end. */
#include "name/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own_process.h"
#include "base/socket.h"
#include "base/syscall_filter.h"
#include "name/patience.h"

#define DEATHS_MAX 5		     /* in a row, without an answer */
#define AGAIN_NS   (60 * NS_PER_SEC) /* after them, until the next try */
/* The run ends: each answer has so much less time. */
#define HURRY_NS NS_PER_SEC

static const struct task {
	const char *name, *does, *lacks;
	uint64_t stuck_ns;
} tasks[] = {
	[NAME_TASK_NAMES] = { "jankbpf-name", "makes names", "names", 5 * NS_PER_SEC },
	/* the ring's thread waits for it */
	[NAME_TASK_SITES] = { "jankbpf-sites", "looks for functions to probe",
			      "messages, and loops that only probes in functions show,",
			      2 * NS_PER_SEC },
};

/* Of the process, by requests about one target. Later ones are not sent. */
#define TARGET_DEATHS_MAX 4

/* --- targets */

static struct name_target *find(const struct name_client *client, uint32_t pid)
{
	struct name_target *ret;

	HASH_FIND(hh, client->targets, &pid, sizeof(pid), ret);
	return ret;
}

bool name_client__knows(const struct name_client *client, uint32_t pid)
{
	return find(client, pid);
}

int name_client__know(struct name_client *client, uint32_t pid)
{
	struct name_target *target = find(client, pid);

	if (!target) {
		target = calloc(1, sizeof(*target));
		if (!target)
			return -ENOMEM;
		target->pid = pid;
		HASH_ADD(hh, client->targets, pid, sizeof(target->pid), target);
		if (!target)
			return -ENOMEM;
	}
	return broker__allow(client->broker, pid);
}

int name_client__target(struct name_client *client, uint32_t pid, struct name_target **ret)
{
	int res = find(client, pid) ? 0 : name_client__know(client, pid);

	*ret = find(client, pid);
	if (!res && (*ret)->death_cnt >= TARGET_DEATHS_MAX)
		res = -ECHILD;
	return res;
}

void name_client__forget(struct name_client *client, uint32_t pid)
{
	struct name_target *target = find(client, pid);

	broker__forbid(client->broker, pid);
	if (!target)
		return;
	HASH_DEL(client->targets, target);
	free(target);
}

/* --- the process */

static int start(struct name_client *client)
{
	const struct timeval tick = { .tv_usec = PATIENCE_TICK_NS / NS_PER_US };
	int ends[2], broker_ends[2], res;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, broker_ends)) {
		res = -errno;
		close(ends[0]);
		close(ends[1]);
		return res;
	}
	res = own_process__start(tasks[client->task].name, NAME_WORD,
				 (struct own_process_fd[]){ { ends[1], NAME_SOCKET_FD },
							    { broker_ends[1], NAME_BROKER_FD },
							    { client->mark_fd, NAME_MARK_FD } },
				 3, &pid);
	close(ends[1]);
	close(broker_ends[1]);
	if (res) {
		close(ends[0]);
		close(broker_ends[0]);
		return res;
	}
	setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &tick, sizeof(tick));
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof(tick));
	client->sock = ends[0];
	client->pid = pid;
	client->start_nr++;
	if (client->broker)
		broker__serve(client->broker, broker_ends[0]);
	else
		client->broker_sock = broker_ends[0];
	return 0;
}

static void end(struct name_client *client, bool at_once)
{
	own_process__end(&client->pid, &client->sock, at_once, &client->status);
}

/* Counts an end by a forbidden call. Returns the call's number + 1; 0: another end. */
static uint32_t take_forbidden(struct name_client *client)
{
	uint32_t call = client->mark->forbidden_call;

	client->mark->forbidden_call = 0;
	client->forbidden_cnt += call != 0;
	return call;
}

static void add_forbidden(struct strbuf *sb, uint32_t nr)
{
	char *name = syscall_filter__call_name(nr);

	strbuf__addf(sb, ", for the forbidden system call %u", nr);
	if (name)
		strbuf__addf(sb, " (%s)", name);
	free(name);
}

/* A file that was being read at two ends of the process is not opened again. */
static void suspect_file(struct name_client *client)
{
	const struct name_suspect now = { client->mark->dev, client->mark->inode };
	char object[64];

	client->mark->dev = client->mark->inode = 0;
	if (!now.inode)
		return;
	for (unsigned i = 0; i < client->suspect_cnt && i < SUSPECTS_MAX; i++) {
		if (memcmp(&client->suspects[i], &now, sizeof(now)))
			continue;
		broker__refuse(client->broker, now.dev, now.inode);
		snprintf(object, sizeof(object), "inode %llu of device %u:%u",
			 (unsigned long long)now.inode, major(now.dev), minor(now.dev));
		unread__add(UNREAD_FATAL, object);
		return;
	}
	client->suspects[client->suspect_cnt++ % SUSPECTS_MAX] = now;
}

/* call: as of take_forbidden. */
static void report_end(const struct name_client *client, uint32_t call)
{
	const struct task *task = &tasks[client->task];
	struct strbuf how = STRBUF_INIT;

	own_process__add_end(&how, client->status);
	if (call)
		add_forbidden(&how, call - 1);
	log__status(NULL);
	if (client->gave_up)
		log__warn("the process that %s ended %u times in a row without an answer (last: "
			  "%s): %s are missing until it is started again, in a minute; see the "
			  "kernel's log (dmesg) for a reason such as lack of memory",
			  task->does, client->death_cnt, strbuf__str(&how), task->lacks);
	else
		log__warn("the process that %s ended, or made no progress (%s): it is started "
			  "again, and the summary counts further ends",
			  task->does, strbuf__str(&how));
	strbuf__free(&how);
}

/* Ends the process and starts another, which learns each target with the next request about it. */
static void restart(struct name_client *client, struct name_target *target)
{
	uint32_t call;

	end(client, true);
	suspect_file(client);
	if (target)
		target->death_cnt++;
	client->death_cnt++;
	client->cut_before += client->cut_cnt;
	client->leased_before += client->leased_cnt;
	client->cut_cnt = client->leased_cnt = 0;
	client->gave_up = client->death_cnt == DEATHS_MAX || start(client);
	client->again_ns = clock__mono_ns() + AGAIN_NS;
	call = take_forbidden(client);
	/* What hostile code tried is worth a line each time, as long as it is rare. */
	if ((client->gave_up && !client->reported) || !client->restart_cnt ||
	    (call && client->forbidden_cnt <= DEATHS_MAX))
		report_end(client, call);
	client->reported |= client->gave_up;
	client->restart_cnt++;
}

/*
 * A minute after the process was given up, it is tried again: what ended it may be over. A target
 * that ended it too often has one more request. True: it runs.
 */
static bool runs(struct name_client *client)
{
	struct name_target *target, *next;

	if (!client->gave_up)
		return true;
	if (clock__mono_ns() < client->again_ns)
		return false;
	client->again_ns = clock__mono_ns() + AGAIN_NS;
	client->gave_up = start(client);
	client->death_cnt = 0;
	HASH_ITER (hh, client->targets, target, next)
		if (target->death_cnt >= TARGET_DEATHS_MAX)
			target->death_cnt = TARGET_DEATHS_MAX - 1;
	return !client->gave_up;
}

/* --- a request and its answer */

static bool is_stuck(const struct name_client *client, struct patience *patience)
{
	return patience__ends(patience, client->pid,
			      client->hurries ? HURRY_NS : tasks[client->task].stuck_ns);
}

/* Sends all bytes. 0, or -errno; -ETIME: it is stuck, and does not read. */
static int send_all(struct name_client *client, struct patience *patience, const void *from,
		    size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = send(client->sock, (const char *)from + at, size - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0 && is_stuck(client, patience))
			return -ETIME;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Receives some bytes, at most size. Returns their number, or -errno; -ETIME: it is stuck. */
static ssize_t receive_some(struct name_client *client, struct patience *patience, void *to,
			    size_t size)
{
	for (;;) {
		ssize_t n = recv(client->sock, to, size, 0); /* for a tick at most */

		if (n > 0)
			return n;
		if (!n)
			return -EPIPE;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (is_stuck(client, patience))
			return -ETIME;
	}
}

static int receive_head(struct name_client *client, struct patience *patience,
			struct name_answer *ret)
{
	for (size_t at = 0; at < sizeof(*ret);) {
		ssize_t n = receive_some(client, patience, (char *)ret + at, sizeof(*ret) - at);

		if (n < 0)
			return (int)n;
		at += (size_t)n;
	}
	return ret->size > NAME_ANSWER_MAX ? -EBADMSG : 0;
}

static int receive_bytes(struct name_client *client, struct patience *patience, size_t size)
{
	char chunk[65536];

	strbuf__reset(&client->in);
	while (size) {
		size_t max = size < sizeof(chunk) ? size : sizeof(chunk);
		ssize_t n = receive_some(client, patience, chunk, max);

		if (n < 0)
			return (int)n;
		strbuf__add(&client->in, chunk, (size_t)n);
		size -= (size_t)n;
	}
	return client->in.failed ? -ENOMEM : 0;
}

/* The last texts of the answer. False: it is invalid. */
static bool take_notes(struct name_client *client, const struct name_answer *answer,
		       struct wire *in)
{
	struct wire notes = { .bad = false };
	const char *objects[UNREAD_CNT], *leased;
	uint64_t size;
	size_t len;

	/* The notes' size is the last number. */
	if (in->left < sizeof(size))
		return false;
	memcpy(&size, in->at + in->left - sizeof(size), sizeof(size));
	in->left -= sizeof(size);
	if (size > in->left)
		return false;
	in->left -= size;
	notes.at = in->at + in->left;
	notes.left = size;
	leased = wire__take_text(&notes, &len);
	for (int i = 0; i < UNREAD_CNT; i++)
		objects[i] = wire__take_text(&notes, &len);
	if (notes.bad)
		return false;
	for (int i = 0; i < UNREAD_CNT; i++)
		if (objects[i] && answer->unread[i])
			unread__add_cnt(i, objects[i], answer->unread[i]);
	if (leased && !client->leased)
		client->leased = strdup(leased);
	client->cut_cnt = answer->cut_cnt;
	client->leased_cnt = answer->leased_cnt;
	return true;
}

/* 0, or -errno: the process is to be ended. */
static int exchange(struct name_client *client, const struct name_request *req,
		    const struct strbuf *bytes, struct name_answer *answer, struct wire *ret)
{
	struct patience patience = {};
	int res = send_all(client, &patience, req, sizeof(*req));

	if (!res && bytes)
		res = send_all(client, &patience, bytes->data, req->size);
	if (!res)
		res = receive_head(client, &patience, answer);
	if (!res)
		res = receive_bytes(client, &patience, answer->size);
	if (res)
		return res;
	*ret = (struct wire){ client->in.data, client->in.len, false };
	return take_notes(client, answer, ret) ? 0 : -EBADMSG;
}

static int send_mapped(struct name_client *client)
{
	const struct name_request req = { .op = NAME_MAPPED,
					  .a = client->mapped_cnt,
					  .size = client->mapped.len };
	struct name_answer answer;
	struct wire in;
	int res = 0;

	if (req.a && !client->mapped.failed)
		res = exchange(client, &req, &client->mapped, &answer, &in);
	strbuf__reset(&client->mapped);
	client->mapped_cnt = 0;
	return res;
}

void name_client__flush(struct name_client *client)
{
	if (runs(client) && send_mapped(client))
		restart(client, NULL);
	if (client->gave_up) { /* it reads all mappings anew when it runs again */
		strbuf__reset(&client->mapped);
		client->mapped_cnt = 0;
	}
}

/* Tells a process that was started again about a target. */
static int tell_target(struct name_client *client, struct name_target *target)
{
	const struct name_request req = { .op = NAME_PROCESS, .pid = target->pid };
	struct name_answer answer;
	struct wire in;
	int res = 0;

	if (target->start_nr && target->start_nr != client->start_nr)
		res = exchange(client, &req, NULL, &answer, &in);
	target->start_nr = client->start_nr;
	return res;
}

static bool is_of_target(const struct name_request *req)
{
	return req->op != NAME_TRIM && req->pid;
}

int64_t name_client__ask(struct name_client *client, const struct name_request *req,
			 struct wire *ret)
{
	struct name_request sent = *req;
	struct name_target *target = NULL;
	struct name_answer answer;
	int res = 0;

	*ret = (struct wire){ .bad = true };
	if (!runs(client))
		return -ECHILD;
	sent.size = client->out.len;
	if (client->out.failed || sent.size > NAME_REQUEST_MAX)
		return -ENOMEM;
	if (is_of_target(req)) {
		res = name_client__target(client, req->pid, &target);
		if (res)
			return res;
		res = tell_target(client, target);
	}
	res = res ?: send_mapped(client);
	if (!res)
		res = exchange(client, &sent, &client->out, &answer, ret);
	if (res) {
		*ret = (struct wire){ .bad = true };
		restart(client, target);
		return -ECHILD;
	}
	client->death_cnt = 0;
	if (target && !answer.knows)
		name_client__forget(client, req->pid);
	return answer.res;
}

/* --- for the session */

static int open_mark(struct name_client *client)
{
	client->mark_fd = own_process__shared(tasks[client->task].name, sizeof(*client->mark));
	if (client->mark_fd < 0)
		return client->mark_fd;
	client->mark = mmap(NULL, sizeof(*client->mark), PROT_READ | PROT_WRITE, MAP_SHARED,
			    client->mark_fd, 0);
	if (client->mark != MAP_FAILED)
		return 0;
	client->mark = NULL;
	return -errno;
}

int name_client__start(enum name_task task, struct name_client **ret, struct err *err)
{
	struct name_client *client = calloc(1, sizeof(*client));
	int res;

	if (!client)
		return err__set(err, ENOMEM, "out of memory");
	client->task = task;
	client->sock = client->broker_sock = client->mark_fd = -1;
	pthread_mutex_init(&client->lock, NULL);
	res = open_mark(client);
	if (!res)
		res = start(client);
	if (!res) {
		*ret = client;
		return 0;
	}
	name_client__free(client);
	return err__set(err, -res, "cannot start the process that %s: %s", tasks[task].does,
			strerror(-res));
}

static void want(void *ctx, const char *build_id, uint32_t pid, uint32_t uid)
{
	fetch__want(ctx, build_id, (struct fetch_asker){ pid, uid });
}

static int open_fetched(void *ctx, const char *build_id)
{
	return fetch__open(ctx, build_id);
}

static unsigned fetched_cnt(void *ctx)
{
	return fetch__cnt(ctx);
}

static int open_broker(struct name_client *client, const struct broker_fetch *fetch,
		       struct err *err)
{
	int res = broker__new(fetch, &client->broker);

	if (res)
		return err__set(err, -res, "cannot start a thread: %s", strerror(-res));
	broker__serve(client->broker, client->broker_sock);
	client->broker_sock = -1;
	return 0;
}

int name_client__open_sites(struct name_client *client, struct err *err)
{
	const struct broker_fetch none = {};
	int res = open_broker(client, &none, err);

	if (!res)
		elffunc__use(&name_client_elf_ops, client);
	return res;
}

int name_client__open(struct name_client *client, const struct fetch_source *source,
		      struct symbolizer **ret, struct err *err)
{
	struct broker_fetch fetch = { want, open_fetched, fetched_cnt, NULL };
	int res;

	client->fetch = source->get ? fetch__new(source, err) : NULL;
	fetch.ctx = client->fetch;
	res = open_broker(client, &fetch, err);
	if (res)
		return res;
	*ret = symbolizer__new_remote(&name_client_ops, client);
	return *ret ? 0 : err__set(err, ENOMEM, "out of memory");
}

void name_client__use_here(struct name_client *client)
{
	elffunc__use_here(client ? &name_client_elf_ops : NULL, client);
}

void name_client__free(struct name_client *client)
{
	struct name_target *target, *next;

	if (!client)
		return;
	if (client->task == NAME_TASK_SITES)
		elffunc__use(NULL, NULL);
	end(client, false);
	broker__free(client->broker);
	fetch__free(client->fetch);
	HASH_ITER (hh, client->targets, target, next) {
		HASH_DEL(client->targets, target);
		free(target);
	}
	if (client->broker_sock >= 0)
		close(client->broker_sock);
	if (client->mark)
		munmap(client->mark, sizeof(*client->mark));
	if (client->mark_fd >= 0)
		close(client->mark_fd);
	strbuf__free(&client->in);
	strbuf__free(&client->out);
	strbuf__free(&client->mapped);
	pool__free(&client->pool);
	pthread_mutex_destroy(&client->lock);
	free(client->leased);
	free(client);
}

void name_client__hurry(struct name_client *client)
{
	client->hurries = true;
}

uint64_t name_client__restart_cnt(const struct name_client *client)
{
	return client ? client->restart_cnt : 0;
}

uint64_t name_client__forbidden_cnt(const struct name_client *client)
{
	return client ? client->forbidden_cnt : 0;
}

pid_t name_client__pid(const struct name_client *client)
{
	return client ? client->pid : 0;
}
