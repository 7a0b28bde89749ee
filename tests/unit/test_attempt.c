/* SPDX-License-Identifier: GPL-2.0 */
/* What the sender does after each answer: a whole spool against a server of this test. */
#include "send/uploader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/loopback.h"
#include "tests/unit/scratch.h"

#define BATCHES 4
#define EACH	4 /* records of a batch */

/* Of the server's process, too. */
static struct shared {
	const char *volatile answer;
	volatile size_t pad;	     /* bytes of body behind it */
	volatile unsigned good_from; /* requests from this one on get 200 */
	volatile unsigned slow_from; /* so many records are too many */
	volatile unsigned requests;
} * shared;
static char url[60];

/* --- the server: one connection after the other */

/* Returns the number of records. */
static unsigned read_request(int fd)
{
	static char bytes[65536];
	char *end = NULL, *length;
	size_t len = 0, body = 0;

	while (len < sizeof(bytes) - 1 && (!end || len < (size_t)(end - bytes) + body)) {
		ssize_t n = read(fd, bytes + len, sizeof(bytes) - 1 - len);

		if (n <= 0)
			return 0;
		len += (size_t)n;
		bytes[len] = '\0';
		if (!end && (end = strstr(bytes, "\r\n\r\n"))) {
			end += 4;
			length = strcasestr(bytes, "content-length: ");
			body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
		}
	}
	return end ? (unsigned)strtoul(end, NULL, 10) : 0;
}

static void send_all(int fd, const char *text, size_t pad)
{
	if (write(fd, text, strlen(text)) < 0)
		return;
	for (char xs[1000] = { [0 ... 999] = 'x' }; pad; pad -= sizeof(xs))
		if (write(fd, xs, sizeof(xs)) < 0)
			return;
}

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

static void serve(int fd)
{
	unsigned nr, records = read_request(fd);

	nr = ++shared->requests;
	if (nr >= shared->good_from || (shared->slow_from && records < shared->slow_from))
		send_all(fd, OK, 0);
	else if (shared->answer)
		send_all(fd, shared->answer, shared->pad);
	else
		read_request(fd); /* until the client gives up */
	shutdown(fd, SHUT_WR);
}

static pid_t start_server(void)
{
	int port;
	pid_t pid = loopback__serve(serve, &port);

	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	return pid;
}

/* --- the backend and its spool */

static int encode_errors[8]; /* of the next calls */
static unsigned encode_cnt;

static int encode(const struct batch *batch, struct strbuf *ret)
{
	int res = encode_cnt < 8 ? encode_errors[encode_cnt++] : 0;

	if (res)
		return res;
	strbuf__addf(ret, "%zu records\n", batch->record_cnt);
	return 0;
}

static const struct backend_part parts[] = { { "rows", "/", encode } };
static struct backend backend = {
	.name = "test", .content_type = "text/plain", .parts = parts, .part_cnt = 1
};

static const char *make_spool(void)
{
	static unsigned nr;
	static char dir[PATH_MAX];
	const struct spool_opts opts = { .dir = dir,
					 .max_bytes = 1 << 20,
					 .interval_ns = 3600 * NS_PER_SEC };
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Summary summary = JANKBPF__SUMMARY__INIT;
	struct spool_writer *w;
	struct err err = {};

	record.schema = (char *)"jankbpf/1";
	record.type_case = JANKBPF__RECORD__TYPE_SUMMARY;
	record.summary = &summary;
	snprintf(dir, sizeof(dir), "%s/spool%u", scratch_dir, ++nr);
	if (spool_writer__new(&opts, &w, &err)) {
		diag("%s", err.msg);
		return dir;
	}
	for (int i = 0; i < BATCHES * EACH; i++) {
		spool_writer__add(w, &record, NULL);
		if (i % EACH == EACH - 1)
			spool_writer__close_batch(w);
	}
	spool_writer__free(w);
	return dir;
}

/* Sends a new spool for at most `ms`. Returns the position at the end. */
static struct spool_position run(uint64_t ms, uint64_t timeout_ns)
{
	const char *urls[] = { url };
	struct options options = { .spool = make_spool() };
	const struct backend_options settings = {
		.urls = urls, .url_cnt = 1, .compress = COMPRESS_NONE, .timeout_ns = timeout_ns
	};
	const struct sender_opts opts = { .options = &options,
					  .stop_fd = -1,
					  .until_sent = true,
					  .deadline_ns = clock__mono_ns() + ms * NS_PER_MS };
	struct uploader uploader = { .opts = &opts,
				     .backend = &backend,
				     .settings = &settings,
				     .dirfd = spool_dir__open_dir(options.spool) };
	struct spool_position ret;
	struct err err = {};

	shared->requests = 0;
	if (uploader__begin(&uploader, &err))
		diag("%s", err.msg);
	else
		uploader__run(&uploader);
	ret = uploader.position;
	uploader__end(&uploader);
	close(uploader.dirfd);
	return ret;
}

static void set_answer(const char *answer, size_t pad, unsigned good_from)
{
	shared->answer = answer;
	shared->pad = pad;
	shared->good_from = good_from;
}

#define HEAD(status) "HTTP/1.1 " status "\r\nConnection: close\r\n"

/* The answer says nothing about the batch: nothing is delivered, refused or passed over. */
static void check_waits(const char *name, const char *answer, size_t pad)
{
	struct spool_position position;

	set_answer(answer, pad, UINT32_MAX);
	position = run(300, 0);
	ok(!position.batch && !position.sent_records && !position.refused_records,
	   "%s: records wait", name);
	ok(position.retries > 0, "%s: tried again", name);
	set_answer(answer, pad, 2);
	position = run(20000, 0);
	is_uint(position.sent_records, BATCHES * EACH, "%s: later all is sent", name);
}

static void test_portal(void)
{
	backend.check = clickhouse_backend.check;
	backend.error_header = clickhouse_backend.error_header;
	check_waits("a portal's page", HEAD("200 OK") "Content-Length: 6\r\n\r\n<html>", 0);
	check_waits("an exception with 200",
		    HEAD("200 OK") "x-clickhouse-exception-code: 241\r\n"
				   "Content-Length: 0\r\n\r\n",
		    0);
	set_answer(OK, 0, UINT32_MAX);
	is_uint(run(20000, 0).sent_records, BATCHES * EACH, "an empty answer is a success");
}

static void test_wrong(void)
{
	backend.check = NULL;
	backend.error_header = NULL;
	check_waits("garbage", "\x16\x03\x01 what\r\n\r\n", 0);
	check_waits("an endless page", HEAD("200 OK") "\r\n", 100000);
	check_waits("503 with a long page", HEAD("503 Later") "\r\n", 100000);
}

/* 400 to each request: batches are passed over, ever slower. */
static void test_refused(void)
{
	struct spool_position position;

	set_answer(HEAD("400 Bad") "Content-Length: 0\r\n\r\n", 0, UINT32_MAX);
	position = run(5, 0);
	ok(position.batch <= 2 && position.refused_records == EACH * position.batch,
	   "a backend that refuses all does not empty the spool at once: batch %d of %d",
	   (int)position.batch, BATCHES);
	set_answer(HEAD("400 Bad") "Content-Length: 0\r\n\r\n", 0, 2);
	position = run(20000, 0);
	ok(position.batch == BATCHES && position.refused_records == EACH &&
		   position.sent_records == EACH * (BATCHES - 1),
	   "it goes on behind a batch that is refused");
}

static void test_slow(void)
{
	struct spool_position position;

	set_answer(NULL, 0, UINT32_MAX);
	shared->slow_from = 3;
	position = run(30000, 100 * NS_PER_MS);
	ok(position.sent_records == BATCHES * EACH && !position.refused_records,
	   "a request that takes too long is sent in halves");
	shared->slow_from = 0;
	set_answer(HEAD("504 Late") "Content-Length: 0\r\n\r\n", 0, 4);
	is_uint(run(20000, 0).sent_records, BATCHES * EACH, "after 504, too");
	ok(shared->requests == 3 + 2 + BATCHES - 1, "%u requests", shared->requests);
}

/* --- lack of memory and of threads */

static unsigned fail_malloc, fail_marks, fail_thread; /* the how-manieth one; 0: none */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fail_malloc && !--fail_malloc ? NULL : __real_malloc(size);
}

/* Only the marks of a batch's records have this size. */
void *__real_calloc(size_t cnt, size_t size);
void *__wrap_calloc(size_t cnt, size_t size);
void *__wrap_calloc(size_t cnt, size_t size)
{
	return cnt == EACH && size == 1 && fail_marks && !--fail_marks ? NULL
								       : __real_calloc(cnt, size);
}

int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	return fail_thread && !--fail_thread ? EAGAIN : __real_pthread_create(ret, attr, fn, arg);
}

static void check_memory(const char *name, unsigned requests)
{
	struct spool_position position;

	set_answer(OK, 0, UINT32_MAX);
	encode_cnt = 0;
	position = run(20000, 0);
	ok(position.sent_records == BATCHES * EACH && !position.refused_records &&
		   shared->requests == requests,
	   "%s: all is sent, by %u requests", name, shared->requests);
	memset(encode_errors, 0, sizeof(encode_errors));
}

static void test_memory(void)
{
	fail_marks = 2;
	check_memory("no memory for a batch", BATCHES);
	encode_errors[0] = -ENOMEM;
	check_memory("no memory for a request", BATCHES);
	encode_errors[0] = encode_errors[1] = encode_errors[2] = -ENOMEM;
	check_memory("not enough for a whole batch", BATCHES + 1);
	encode_errors[0] = -EMSGSIZE;
	check_memory("a request of a size that no request has", BATCHES + 1);
}

static void test_reading(void)
{
	int dirfd = spool_dir__open_dir(make_spool()), res = 0;
	unsigned failed = 0;

	for (unsigned i = 1; res != 1 && i < 1000; i++) {
		struct spool_reader reader;
		struct spool_batch batch;

		spool_reader__begin(&reader, dirfd, 0);
		fail_malloc = i;
		res = spool_reader__next(&reader, &batch, NULL);
		failed += res == -ENOMEM && !reader.broken_cnt;
		if (fail_malloc == 0 && res != -ENOMEM && res)
			ok(false, "the allocation %u fails: %d", i, res);
		if (res == 1 && fail_malloc)
			ok(!reader.broken_cnt && batch.head.nr == 1, "at last it is read");
		else if (res == 1)
			res = 0;
		spool_batch__free(&batch);
		spool_reader__end(&reader);
	}
	fail_malloc = 0;
	ok(failed > EACH, "%u allocations of a batch fail: none is damage", failed);
	close(dirfd);
}

static void test_threads(void)
{
	const char *urls[] = { url };
	struct options options = { .spool = make_spool() };
	struct sender_opts opts = { .options = &options };
	int ends[2];
	pid_t pid;
	int dirfd = spool_dir__open_dir(options.spool);
	struct err err = {};

	for (int i = 0; i < SEND_CNT; i++)
		options.sends[i] = (struct backend_options){ .urls = urls, .url_cnt = 1 };
	set_answer(OK, 0, UINT32_MAX);
	if (pipe(ends))
		diag("no pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		sleep(4);
		_exit(0);
	}
	close(ends[1]); /* the run ends with the child */
	opts.stop_fd = ends[0];
	fail_thread = 2;
	is_int(sender__run(&opts, &err), 0, "the thread of the second backend does not start");
	is_str(err.msg, "", "without an error at the end");
	waitpid(pid, NULL, 0);
	close(ends[0]);
	for (int i = 0; i < SEND_CNT; i++) {
		struct spool_position position;

		spool_dir__read_position(dirfd, backends[i]->name, &position);
		is_uint(position.batch, BATCHES, "%s has all batches", backends[i]->name);
	}
	close(dirfd);
}

int main(void)
{
	struct http *http;
	struct err err = {};
	pid_t server;

	if (!spool__is_available())
		skip_all("this build has no zstd");
	if (http__new(&http, &err))
		skip_all("%s", err.msg);
	http__free(http);
	signal(SIGPIPE, SIG_IGN);
	scratch__init();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	server = start_server();
	test_portal();
	test_wrong();
	test_refused();
	test_slow();
	test_memory();
	test_reading();
	test_threads();
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return tap__done();
}
