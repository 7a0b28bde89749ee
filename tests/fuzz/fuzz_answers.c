/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers of hostile processes of ours, as the tracer reads them: of jankbpf-deliver
 * (user/deliver/message.c), jankbpf-fetch (downloader.c), jankbpf-react (react.c), jankbpf-name and
 * jankbpf-sites (user/name/client*.c). Valid answers are built, then damaged; they are in the
 * socket before the request. Whatever arrives: results are in their ranges, texts end, no
 * descriptor stays open, and memory and work are in proportion to the answer.
 */
#include "deliver/downloader.c"
#include "deliver/react.c"

#include <sys/mman.h>
#include <xxhash.h>

#include "deliver/message.h"
#include "name/client.h"
#include "symbol/unwind/unwind.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/socket.h"

#define STEPS	     20		  /* a byte; see cost.h */
#define HEAP_A_BYTE  8		  /* bytes allocated for a byte of an answer */
#define HEAP_BASE    (160u << 10) /* for chunks of fixed sizes */
#define WORDS_MAX    64
#define STACKS_MAX   4
#define COLLIDE_BITS 12 /* of a hash, in which texts agree */
#define COLLIDE_CNT  1024
#define DEATHS	     4 /* the client gives up at the next one: it starts no process */

enum kind {
	KIND_GREETING,
	KIND_RESULTS,
	KIND_JOURNAL,
	KIND_FETCH,
	KIND_REACT,
	KIND_WIRE,
	KIND_NAME,
	KIND_ELF,
	KIND_CNT
};

static const char *const kinds[] = { "greetings", "results", "journals", "downloads",
				     "commands",  "texts",   "names",	 "files for probes" };

static struct {
	struct fuzz fuzz;
	const char *broken;
	uint64_t accepted[KIND_CNT], refused[KIND_CNT];
	struct broker *broker;
	struct module_mark mark;
	int files[6]; /* the first is a regular file, the second a memfd; others are neither */
	struct strbuf stream;
	uint64_t heap; /* bytes allocated so far */
	uint32_t collide[COLLIDE_CNT];
	size_t collide_cnt;
} trial;

static void breaks(const char *what)
{
	trial.broken = trial.broken ?: what;
}

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *))
	__attribute__((weak));

static void on_malloc(const volatile void *ptr, size_t size)
{
	__atomic_fetch_add(&trial.heap, size, __ATOMIC_RELAXED);
}

static void on_free(const volatile void *ptr)
{
}

/* --- building an answer */

/* Sometimes another number. */
static uint64_t lie(uint64_t truth)
{
	return fuzz__chance(&trial.fuzz, 100) ? fuzz__number(&trial.fuzz) : truth;
}

static void put(const void *bytes, size_t size)
{
	strbuf__add(&trial.stream, bytes, size);
}

static void put_number(uint64_t number)
{
	put(&number, sizeof(number));
}

/* Any text, NULL too; without its end, with two, or of a wrong length. */
static void put_text(void)
{
	static const char *const texts[] = { "f",    "main",   "\x1b[31m", "\xff\xfe",
					     "a\nb", "/bin/x", "" };
	struct fuzz *f = &trial.fuzz;
	uint32_t len = (uint32_t)fuzz__below(f, 64);
	const char *text = texts[fuzz__below(f, sizeof(texts) / sizeof(*texts))];

	if (fuzz__chance(f, 256))
		len = (uint32_t)fuzz__below(f, 20000);
	if (fuzz__chance(f, 8)) {
		wire__put_text(&trial.stream, fuzz__chance(f, 2) ? NULL : text);
		return;
	}
	len = (uint32_t)lie(len);
	put(&len, sizeof(len));
	for (uint32_t i = 0; i < (len < 20000 ? len : 8); i++)
		strbuf__addc(&trial.stream, fuzz__chance(f, 2000) ? 0 : (char)('a' + i % 23));
	if (!fuzz__chance(f, 200))
		strbuf__addc(&trial.stream, 0);
}

static void put_frame(void)
{
	struct name_frame head = { .address = fuzz__any(&trial.fuzz),
				   .kernel = (uint8_t)lie(0),
				   .inlined = (uint8_t)lie(1),
				   .app = (uint8_t)lie(1) };

	put(&head, sizeof(head));
	for (int i = 0; i < 5; i++)
		put_text();
}

/* Frames with texts whose hashes agree, for a table of texts. */
static void put_colliding(size_t frame_cnt)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
	const struct name_frame head = {};

	for (size_t i = 0; i < frame_cnt * 5; i++) {
		char text[5] = "";

		for (int k = 0; k < 4; k++)
			text[k] = digits[trial.collide[i] >> 6 * k & 63];
		if (i % 5 == 0)
			put(&head, sizeof(head));
		wire__put_text(&trial.stream, text);
	}
}

/* As cache.c computes it from a known seed. */
__attribute__((no_sanitize("address", "undefined"), no_sanitize_coverage)) static void
find_colliding(void)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";

	for (uint32_t nr = 0; nr < 1u << 24 && trial.collide_cnt < COLLIDE_CNT; nr++) {
		char text[4];

		for (int k = 0; k < 4; k++)
			text[k] = digits[nr >> 6 * k & 63];
		if (!(XXH3_64bits_withSeed(text, sizeof(text), 0) & ((1u << COLLIDE_BITS) - 1)))
			trial.collide[trial.collide_cnt++] = nr;
	}
}

static void put_stacks(const struct stack *stacks, size_t cnt)
{
	bool collides = fuzz__chance(&trial.fuzz, 200);

	for (size_t i = 0; i < cnt; i++) {
		uint64_t frames = stacks[i].kernel_cnt + stacks[i].user_cnt + stacks[i].script_cnt +
				  fuzz__below(&trial.fuzz, 4);

		if (collides)
			frames = trial.collide_cnt / 5;
		put_number(lie(frames));
		if (collides)
			put_colliding(frames);
		for (uint64_t k = 0; k < frames && !collides; k++)
			put_frame();
	}
}

/* The notes at the end of the bytes that began at `begin`, and the head in front of them. */
static void end_answer(size_t begin, int64_t res)
{
	struct name_answer head;
	size_t notes = trial.stream.len;

	put_text();
	for (int i = 0; i < UNREAD_CNT; i++)
		put_text();
	put_number(lie(trial.stream.len - notes));
	head = (struct name_answer){
		.res = (int64_t)lie((uint64_t)res),
		.size = lie(trial.stream.len - begin - sizeof(head)),
		.knows = !fuzz__chance(&trial.fuzz, 8),
		.cut_cnt = lie(1),
		.leased_cnt = lie(1),
	};
	head.unread[fuzz__below(&trial.fuzz, UNREAD_CNT)] = lie(1);
	memcpy(trial.stream.data + begin, &head, sizeof(head));
}

static size_t begin_answer(void)
{
	static const struct name_answer none;
	size_t begin = trial.stream.len;

	put(&none, sizeof(none));
	return begin;
}

/* A socket with the stream in it, and its end. */
static int answering_socket(int *ret_other)
{
	int ends[2], room = 4 << 20;

	fuzz__socketpair(SOCK_STREAM, ends);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	fuzz__damage_stream(&trial.fuzz, &trial.stream);
	fuzz__send(ends[0], trial.stream.data, trial.stream.len, NULL, 0);
	shutdown(ends[0], SHUT_WR);
	*ret_other = ends[0];
	cost__begin(&trial.fuzz.cost); /* not of what was built */
	return ends[1];
}

/* --- jankbpf-deliver */

static bool in_errnos(int64_t res)
{
	return res <= 0 && res >= -4095;
}

static void check_greeting(const struct greeting *got)
{
	if (got->sink_cnt > SINK_MAX)
		breaks("more sinks than there may be");
	for (unsigned i = 0; i < got->sink_cnt && i < SINK_MAX; i++)
		if (strnlen(got->names[i], SINK_NAME_MAX) == SINK_NAME_MAX)
			breaks("a sink's name without an end");
	if (strnlen(got->err.msg, sizeof(got->err.msg)) == sizeof(got->err.msg))
		breaks("a message without an end");
	if (got->err.msg[0] && got->err.exit != JANK_EXIT_USAGE &&
	    got->err.exit != JANK_EXIT_FAILED)
		breaks("an exit status that is none of a failure");
}

static bool one_greeting(void)
{
	struct greeting sent = { .size = (uint32_t)lie(sizeof(sent)),
				 .sink_cnt = (uint32_t)lie(2) };
	struct greeting got;
	int other, sock, res;

	memset(sent.names, fuzz__chance(&trial.fuzz, 8) ? 'n' : 0, sizeof(sent.names));
	memset(sent.err.msg, fuzz__chance(&trial.fuzz, 8) ? 'm' : 0, sizeof(sent.err.msg) - 1);
	sent.err.msg[sizeof(sent.err.msg) - 1] = (char)lie(0);
	sent.err.exit = (int)lie(1);
	put(&sent, sizeof(sent));
	sock = answering_socket(&other);
	res = greeting__receive(sock, &got);
	if (!res)
		check_greeting(&got);
	if (!in_errnos(res))
		breaks("a result out of range");
	close(sock);
	close(other);
	return !res;
}

static bool one_result(void)
{
	unsigned sinks = (unsigned)fuzz__below(&trial.fuzz, SINK_MAX + 1);
	struct answer sent = { .nr = lie(5) }, got;
	int other, sock, res;

	for (unsigned i = 0; i < SINK_MAX; i++)
		sent.results[i] = (int32_t)lie(i < sinks && fuzz__chance(&trial.fuzz, 2) ? -5 : 0);
	put(&sent, sizeof(sent));
	sock = answering_socket(&other);
	res = answer__receive(sock, 5, sinks, &got);
	for (unsigned i = 0; !res && i < SINK_MAX; i++)
		if (!in_errnos(got.results[i]) || (i >= sinks && got.results[i]))
			breaks("a sink's result out of range");
	if (!res && got.nr != 5)
		breaks("the answer to another record");
	if (!in_errnos(res))
		breaks("a result out of range");
	close(sock);
	close(other);
	return !res;
}

/* Sends bytes with any of the files. */
static void send_files(int sock, const void *bytes, size_t size)
{
	struct fuzz *f = &trial.fuzz;
	int fds[SOCKET_FDS_MAX];

	for (unsigned i = 0; i < SOCKET_FDS_MAX; i++)
		fds[i] = trial.files[fuzz__below(f, 6)];
	fuzz__send(sock, bytes, size, fds,
		   fuzz__chance(f, 2) ? 1 : (unsigned)fuzz__below(f, SOCKET_FDS_MAX + 1));
}

/* A descriptor that was accepted is open, and of a regular file. */
static void check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		breaks("a descriptor that is not of a file");
	else if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		breaks("a descriptor that a new process would inherit");
	if (close(fd))
		breaks("a descriptor that is not open");
}

static bool one_journal(void)
{
	struct fuzz *f = &trial.fuzz;
	int ends[2], fd = -1, res;

	fuzz__socketpair(fuzz__chance(f, 2) ? SOCK_STREAM : SOCK_SEQPACKET, ends);
	if (!fuzz__chance(f, 16))
		send_files(ends[0], "12345678", fuzz__chance(f, 4) ? fuzz__below(f, 9) : 1);
	shutdown(ends[0], SHUT_WR);
	res = journal_fd__receive(ends[1], &fd);
	if (!res)
		check_file(fd);
	if (!in_errnos(res))
		breaks("a result out of range");
	close(ends[0]);
	close(ends[1]);
	return !res;
}

/* --- jankbpf-fetch */

static bool one_download(void)
{
	struct fuzz *f = &trial.fuzz;
	char bytes[64] = "";
	struct result sent = { (int32_t)lie(fuzz__chance(f, 2) ? 0 : (uint64_t)-2) };
	struct downloader d = { .stops = true };
	int ends[2], res;

	memcpy(bytes, &sent, sizeof(sent));
	fuzz__socketpair(SOCK_SEQPACKET, ends);
	if (!fuzz__chance(f, 16))
		send_files(ends[0], bytes,
			   fuzz__chance(f, 4) ? fuzz__below(f, sizeof(bytes)) : sizeof(sent));
	shutdown(ends[0], SHUT_WR);
	d.sock = ends[1];
	res = get(&d, "0123456789abcdef");
	if (res >= 0)
		check_file(res);
	else if (!in_errnos(res))
		breaks("a result out of range");
	close(ends[0]);
	close(ends[1]);
	return res >= 0;
}

/* --- jankbpf-react */

/* More answers than requests, or of the wrong kind; with descriptors. */
static bool one_reaction(void)
{
	struct fuzz *f = &trial.fuzz;
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	struct react r = { .wanted = { true, true, true }, .skip_reported = true };
	unsigned sent = (unsigned)fuzz__below(f, 40);
	struct react_counts counts;
	int ends[2];

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	fcntl(ends[1], F_SETFL, O_RDWR | O_NONBLOCK);
	r.sock = ends[1];
	r.waiting = (unsigned)fuzz__below(f, REACT_WAITING_MAX + 1);
	r.first = (unsigned)fuzz__below(f, REACT_WAITING_MAX);
	for (unsigned i = 0; i < sent; i++) {
		struct react_answer answer = {
			.event = (uint32_t)lie(REACT_STARTED + fuzz__below(f, 2)),
			.outcome = (uint32_t)lie(fuzz__below(f, REACT_OUTCOME_CNT)),
			.pid = (int32_t)lie(77),
		};

		if (fuzz__chance(f, 32))
			send_files(ends[0], &answer, sizeof(answer));
		else
			fuzz__send(ends[0], &answer,
				   fuzz__chance(f, 64) ? fuzz__below(f, sizeof(answer)) + 1
						       : sizeof(answer),
				   NULL, 0);
	}
	record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	record.block = &block;
	block.pid = 77;
	react__record(&r, &record);
	if (!r.ended)
		shutdown(ends[0], SHUT_WR);
	react__finish(&r, &counts);
	if (r.waiting > REACT_WAITING_MAX || counts.failed + counts.timed_out > counts.run ||
	    counts.run + counts.skipped > REACT_WAITING_MAX + 2)
		breaks("more commands than were asked for");
	strbuf__free(&r.bytes);
	close(ends[0]);
	close(ends[1]);
	return counts.run;
}

/* --- jankbpf-name */

static struct name_client *new_client(enum name_task task, int sock)
{
	struct name_client *ret = calloc(1, sizeof(*ret));

	if (!ret)
		abort();
	ret->task = task;
	ret->sock = sock;
	ret->broker_sock = ret->mark_fd = -1;
	ret->mark = &trial.mark;
	ret->broker = trial.broker;
	ret->death_cnt = DEATHS;
	pthread_mutex_init(&ret->lock, NULL);
	return ret;
}

static void free_client(struct name_client *client)
{
	while (client->targets)
		name_client__forget(client, client->targets->pid);
	if (client->sock >= 0)
		close(client->sock);
	if (pthread_mutex_trylock(&client->lock))
		breaks("a lock that is held");
	else
		pthread_mutex_unlock(&client->lock);
	pthread_mutex_destroy(&client->lock);
	strbuf__free(&client->in);
	strbuf__free(&client->out);
	strbuf__free(&client->mapped);
	pool__free(&client->pool);
	free(client->leased);
	free(client);
}

static void check_text(const char *text)
{
	if (text && strlen(text) > trial.stream.len)
		breaks("a text that is longer than the answer");
}

/* The sanitizer sees a truth value that is none. */
static void check_frame(const struct frame *frame)
{
	volatile unsigned truths = frame->kernel + frame->inlined + frame->app + frame->dispatcher;

	if (truths > 4)
		breaks("a truth value that is none");
	check_text(frame->function);
	check_text(frame->module);
	check_text(frame->build_id);
	check_text(frame->file);
	check_text(frame->language);
}

static void check_stack(const struct stack *stack)
{
	size_t given = (size_t)stack->kernel_cnt + stack->user_cnt + stack->script_cnt;

	if (!stack->frames && stack->frame_cnt)
		breaks("a stack without its frames");
	if (stack->frame_cnt < stack->script_cnt)
		breaks("fewer frames than an interpreter has");
	if (stack->frame_cnt > given &&
	    stack->frame_cnt * sizeof(struct name_frame) > trial.stream.len)
		breaks("more frames than there are bytes");
	for (size_t i = 0; i < stack->frame_cnt; i++)
		check_frame(&stack->frames[i]);
}

static bool ask_stacks(struct name_client *client, struct stack *stacks, size_t cnt)
{
	static uint64_t addresses[WORDS_MAX];
	static struct jank_script_frame script[4];
	struct stack *list[STACKS_MAX];
	bool named = false;
	int res;

	for (size_t i = 0; i < cnt; i++) {
		stacks[i].addresses = addresses;
		stacks[i].script = script;
		list[i] = &stacks[i];
	}
	res = name_client_ops.stacks(client, 1, list, cnt);
	if (res && res != -ENOMEM)
		breaks("a result out of range");
	for (size_t i = 0; i < cnt; i++) {
		check_stack(&stacks[i]);
		named |= stacks[i].frame_cnt && stacks[i].frames[0].function;
		free(stacks[i].frames);
	}
	return named;
}

static bool ask_frame(struct name_client *client, uint32_t op)
{
	struct frame frame = {};
	int res = 0;
	bool found = true;

	if (op == NAME_FUNCTION)
		res = name_client_ops.function(client, 1, 99, &frame);
	else if (op == NAME_CLASS)
		res = name_client_ops.class(client, 1, 99, &frame);
	else if (op == NAME_VARIABLE)
		res = name_client_ops.variable(client, 1, 99, &frame);
	else
		found = name_client_ops.code(client, 1, 99, (struct code_opts){ .named = true },
					     &frame);
	if (res && res != -ENOMEM)
		breaks("a result out of range");
	if (op == NAME_CODE && found && !frame.module)
		breaks("code of no module");
	if (found)
		check_frame(&frame);
	return found && frame.module;
}

static bool ask_unwind(struct name_client *client, size_t cnt)
{
	static const uint8_t bytes[64];
	struct copy_event copies[STACKS_MAX];
	struct unwound *got = calloc(cnt, sizeof(*got));
	bool ret = false;
	int res;

	if (!got)
		abort();
	for (size_t i = 0; i < cnt; i++) {
		copies[i] = (struct copy_event){ .rec = { .hdr.tgid = 1, .copy_sz = sizeof(bytes) },
						 .bytes = bytes };
		got[i].cnt = 1;
	}
	res = name_client_ops.unwind(client, copies, got, cnt);
	if (res && res != -ENOMEM)
		breaks("a result out of range");
	for (size_t i = 0; i < cnt; i++) {
		if (!got[i].cnt || got[i].cnt > UNWIND_MAX || got[i].end > STACK_END_DEEP ||
		    got[i].used_sz > sizeof(bytes))
			breaks("an unwound stack out of range");
		for (uint32_t at = 0; at < got[i].dex_cnt; at++)
			if (at == UNWIND_DEX_MAX || got[i].dex[at].index >= got[i].cnt)
				breaks("a dex pc out of range");
		check_text(got[i].module);
		ret |= got[i].cnt > 1;
	}
	free(got);
	return ret;
}

/* Arrays have exactly the allowed size: the sanitizer sees what is written beyond. */
static bool ask_array(struct name_client *client, uint32_t op, size_t max)
{
	struct interp_thread *threads = calloc(max + 1, sizeof(*threads));
	uint64_t *words = malloc(max * sizeof(*words) + 1), given[WORDS_MAX] = {};
	size_t cnt;

	if (!threads || !words)
		abort();
	threads = realloc(threads, max * sizeof(*threads) + 1);
	cnt = op == NAME_KEEP_CODE
		      ? name_client_ops.keep_code(client, 1, given, WORDS_MAX, words, max)
		      : name_client_ops.script_threads(client, 1, threads, max);
	if (cnt > max)
		breaks("more than were wanted");
	for (size_t i = 0; op == NAME_SCRIPT_THREADS && i < cnt && i < max; i++)
		if (threads[i].where.tgid != 1)
			breaks("a thread of another process");
	free(threads);
	free(words);
	return cnt;
}

static bool ask_bytes(struct name_client *client, size_t len)
{
	char *buf = malloc(len + 1);
	int res;

	if (!buf)
		abort();
	buf = realloc(buf, len ? len : 1);
	res = name_client_ops.code_bytes(client, 1, 99, buf, len);
	free(buf);
	if (!in_errnos(res))
		breaks("a result out of range");
	return !res;
}

static bool ask_wait(struct name_client *client)
{
	const struct jank_script_frame frame = {};
	struct script_wait wait = {};
	volatile unsigned truths;

	if (!name_client_ops.script_wait(client, 1, &frame, 1, &wait))
		return false;
	truths = wait.for_caller + wait.one_call;
	if (truths > 2)
		breaks("a truth value that is none");
	return true;
}

static bool ask_process(struct name_client *client)
{
	struct err err = {};
	int res = name_client_ops.process(client, 1, &err);

	if (!in_errnos(res) || (!res != !err.msg[0]))
		breaks("a result without its message, or out of range");
	return !res;
}

static bool ask_small(struct name_client *client, uint32_t op)
{
	const struct mapping mapping = { .start = 4096, .end = 8192, .path = "/bin/x" };
	struct uv_pool_at pool;

	switch (op) {
	case NAME_PROCESS:
		return ask_process(client);
	case NAME_MAPPED:
		name_client_ops.mapped(client, 1, &mapping);
		name_client_ops.flush(client);
		return !client->gave_up;
	case NAME_PROCESS_GONE:
		name_client_ops.process_gone(client, 1);
		if (name_client_ops.knows(client, 1))
			breaks("a process that is gone is known");
		return !client->gave_up;
	case NAME_SCRIPT_NEWEST:
		return name_client_ops.script_newest(client, 1);
	case NAME_HAS_SECTION:
		return name_client_ops.has_section(client, 1, ".text");
	case NAME_UV_POOL:
		return name_client_ops.uv_pool(client, 1, &pool);
	default:
		name_client_ops.trim(client);
		return !client->gave_up;
	}
}

struct name_round {
	uint32_t op;
	size_t max; /* of words, bytes, threads, or stacks */
	struct stack stacks[STACKS_MAX];
};

static void make_stacks(struct name_round *round)
{
	round->max = 1 + fuzz__below(&trial.fuzz, STACKS_MAX);
	for (size_t i = 0; i < round->max; i++) {
		round->stacks[i].kernel_cnt = (uint32_t)fuzz__below(&trial.fuzz, 4);
		round->stacks[i].user_cnt = (uint32_t)fuzz__below(&trial.fuzz, 8);
		round->stacks[i].script_cnt = (uint32_t)fuzz__below(&trial.fuzz, 4);
	}
}

static void put_unwound(void)
{
	const struct name_unwound unwound = { (uint32_t)lie(fuzz__below(&trial.fuzz, 8)),
					      (uint32_t)lie(1),
					      (uint32_t)lie(8),
					      (uint32_t)lie(1),
					      (uint32_t)lie(fuzz__below(&trial.fuzz, 4)),
					      0 };

	put(&unwound, sizeof(unwound));
	for (uint32_t i = 0; i < unwound.cnt && i < UNWIND_MAX; i++)
		put_number(i);
	for (uint32_t i = 0; i < unwound.script_cnt && i < STACK_SCRIPT_MAX; i++)
		for (size_t k = 0; k < sizeof(struct jank_script_frame) / sizeof(uint64_t); k++)
			put_number(i);
	put_text();
}

/* The bytes of a valid answer; returns its result. */
static int64_t put_body(struct name_round *round)
{
	const struct name_wait wait = { .depth = 1, .one_call = (uint8_t)lie(1) };
	struct interp_thread thread = { .tid = 1, .where.tgid = (uint32_t)lie(1) };

	switch (round->op) {
	case NAME_STACKS:
		put_stacks(round->stacks, round->max);
		return 0;
	case NAME_FUNCTION:
	case NAME_CLASS:
	case NAME_VARIABLE:
	case NAME_CODE:
		put_frame();
		return round->op == NAME_CODE;
	case NAME_UNWIND:
		for (size_t i = 0; i < round->max; i++)
			put_unwound();
		return 0;
	case NAME_KEEP_CODE:
	case NAME_CODE_BYTES:
		for (size_t i = 0; i < round->max; i++)
			put_number(i);
		return round->op == NAME_KEEP_CODE ? (int64_t)round->max : 0;
	case NAME_SCRIPT_THREADS:
		for (size_t i = 0; i < round->max; i++)
			put(&thread, sizeof(thread));
		return (int64_t)round->max;
	case NAME_SCRIPT_WAIT:
		put(&wait, sizeof(wait));
		return 1;
	case NAME_SCRIPT_NEWEST:
		put_number(7);
		return 0;
	case NAME_UV_POOL:
		for (size_t i = 0; i < sizeof(struct uv_pool_at) / sizeof(uint64_t); i++)
			put_number(7);
		return 1;
	default:
		return round->op == NAME_HAS_SECTION;
	}
}

static bool ask_name(struct name_client *client, struct name_round *round)
{
	switch (round->op) {
	case NAME_STACKS:
		return ask_stacks(client, round->stacks, round->max);
	case NAME_FUNCTION:
	case NAME_CLASS:
	case NAME_VARIABLE:
	case NAME_CODE:
		return ask_frame(client, round->op);
	case NAME_UNWIND:
		return ask_unwind(client, round->max);
	case NAME_KEEP_CODE:
	case NAME_SCRIPT_THREADS:
		return ask_array(client, round->op, round->max);
	case NAME_CODE_BYTES:
		return ask_bytes(client, round->max);
	case NAME_SCRIPT_WAIT:
		return ask_wait(client);
	default:
		return ask_small(client, round->op);
	}
}

/* What the tracer keeps of the notes. */
static void check_notes(struct name_client *client)
{
	char text[1024];
	uint64_t cnt;

	check_text(name_client_ops.leased(client, &cnt));
	name_client_ops.cut_cnt(client);
	while (unread__next(text, sizeof(text)))
		if (strnlen(text, sizeof(text)) == sizeof(text))
			breaks("a message without an end");
}

/* Sometimes the process was started again, so that it is asked about the target first. */
static void prepare(struct name_client *client)
{
	const struct mapping mapping = { .path = "/bin/y" };

	if (name_client__know(client, 1))
		abort();
	if (fuzz__chance(&trial.fuzz, 8))
		client->targets->start_nr = 7;
	if (fuzz__chance(&trial.fuzz, 8))
		name_client_ops.mapped(client, 1, &mapping);
}

static bool one_name(void)
{
	struct name_round round = { .op = (uint32_t)fuzz__below(&trial.fuzz, NAME_TRIM + 1),
				    .max = fuzz__below(&trial.fuzz, WORDS_MAX + 1) };
	struct name_client *client;
	size_t begin;
	uint64_t before;
	int other;
	bool ret;

	client = new_client(NAME_TASK_NAMES, -1);
	prepare(client);
	if (round.op == NAME_STACKS || round.op == NAME_UNWIND)
		make_stacks(&round);
	for (int i = (client->targets->start_nr == 7) + (client->mapped_cnt != 0); i; i--)
		end_answer(begin_answer(), 0);
	begin = begin_answer();
	end_answer(begin, put_body(&round));
	client->sock = answering_socket(&other);
	before = trial.heap;
	ret = ask_name(client, &round);
	if (trial.heap - before > HEAP_BASE + HEAP_A_BYTE * trial.stream.len)
		breaks("more memory than the answer's bytes allow");
	check_notes(client);
	close(other);
	free_client(client);
	return ret;
}

/* Texts alone. The bytes are in a buffer of their size: the sanitizer sees what is read beyond. */
static bool one_wire(void)
{
	struct wire in = { .bad = false };
	char *bytes;
	size_t len;

	for (int i = 0; i < 4; i++)
		put_text();
	fuzz__damage_stream(&trial.fuzz, &trial.stream);
	bytes = malloc(trial.stream.len + 1);
	if (!bytes)
		abort();
	bytes = realloc(bytes, trial.stream.len ?: 1);
	memcpy(bytes, trial.stream.data, trial.stream.len);
	in.at = bytes;
	in.left = trial.stream.len;
	cost__begin(&trial.fuzz.cost);
	for (int i = 0; i < 4; i++) {
		const char *text = wire__take_text(&in, &len);

		if (text ? strlen(text) != len || in.bad : len)
			breaks("a text of another length");
	}
	free(bytes);
	return !in.bad;
}

/* --- jankbpf-sites */

static void put_elf(uint32_t op)
{
	struct name_elf head = { .machine = 62,
				 .load_cnt = (uint32_t)lie(fuzz__below(&trial.fuzz, 66)) };
	struct zip_entry entry = { .offset = lie(64) };
	struct elf_segment seg = { .offset = lie(0), .vaddr = lie(4096), .file_size = lie(99) };
	size_t begin = begin_answer();
	int64_t res = 0;

	if (op == NAME_ELF_OPEN) {
		put(&head, sizeof(head));
		for (uint32_t i = 0; i < head.load_cnt && i < 80; i++)
			put(&seg, offsetof(struct elf_segment, exec));
	} else if (op == NAME_ELF_FIND) {
		for (int i = 0; i < 4; i++)
			put_number(lie(4096));
		res = (int64_t)fuzz__below(&trial.fuzz, 4);
	} else if (op == NAME_ELF_ENTRY) {
		memset(entry.name, 'e', sizeof(entry.name) - fuzz__below(&trial.fuzz, 2));
		put(&entry, sizeof(entry));
	} else {
		res = op == NAME_ELF_SECTION;
	}
	end_answer(begin, res);
}

static void ask_open_elf(struct name_client *client, const struct elf *elf)
{
	static const char *const names[] = { "main", "exit" };
	struct elffunc_place places[2];
	int res;

	if (elf->load_cnt > ELF_LOADS_MAX)
		breaks("more segments than there may be");
	for (size_t i = 0; i < elf->load_cnt && i < ELF_LOADS_MAX; i++)
		if (!elf->loads[i].exec)
			breaks("a segment without code");
	client->death_cnt = DEATHS;
	res = name_client_elf_ops.find(client, fuzz__chance(&trial.fuzz, 2), names, 2, places);
	if (res > 2 || (res < 0 && res != -EIO && res != -ENOMEM))
		breaks("more functions than were wanted, or an unknown error");
	client->death_cnt = DEATHS;
	name_client_elf_ops.has_section(client, ".text");
	client->death_cnt = DEATHS;
	name_client_elf_ops.close(client);
}

static bool one_elf(void)
{
	bool archive = fuzz__chance(&trial.fuzz, 3);
	struct elf *elf = calloc(1, sizeof(*elf));
	struct zip_entry entry;
	struct name_client *client;
	int other, res;

	if (!elf)
		abort();
	if (archive)
		put_elf(NAME_ELF_ENTRY);
	for (uint32_t op = NAME_ELF_OPEN; !archive && op <= NAME_ELF_CLOSE; op++)
		put_elf(op);
	client = new_client(NAME_TASK_SITES, answering_socket(&other));
	res = archive ? name_client_elf_ops.entry(client, trial.files[0], 0, &entry)
		      : name_client_elf_ops.open(client, trial.files[0], 0, 0, elf);
	if (archive && !res && strnlen(entry.name, sizeof(entry.name)) == sizeof(entry.name))
		breaks("a name without an end");
	if (archive ? !in_errnos(res) : res && res != -ENOEXEC && res != -ENOMEM)
		breaks("a result out of range");
	if (!archive && !res)
		ask_open_elf(client, elf);
	check_notes(client);
	close(other);
	free_client(client);
	free(elf);
	return !res;
}

/* --- rounds */

static bool (*const rounds[KIND_CNT])(void) = { one_greeting, one_result, one_journal, one_download,
						one_reaction, one_wire,	  one_name,    one_elf };

static size_t one_round(void)
{
	enum kind kind =
		fuzz__chance(&trial.fuzz, 2) ? KIND_NAME : fuzz__below(&trial.fuzz, KIND_CNT);
	unsigned before = fuzz__descriptors();

	strbuf__reset(&trial.stream);
	if (rounds[kind]())
		trial.accepted[kind]++;
	else
		trial.refused[kind]++;
	if (fuzz__descriptors() != before)
		breaks("a descriptor stays open");
	if (trial.broken)
		diag("%s: %s", kinds[kind], trial.broken);
	return trial.stream.len;
}

/* The thread has begun when it has closed a socket: the sanitizer opens files meanwhile. */
static void wait_for_thread(void)
{
	int ends[2];
	char byte;

	fuzz__socketpair(SOCK_SEQPACKET, ends);
	shutdown(ends[0], SHUT_WR);
	broker__serve(trial.broker, ends[1]);
	while (recv(ends[0], &byte, 1, 0) < 0 && errno == EINTR)
		;
	close(ends[0]);
}

static void start_all(void)
{
	const struct broker_fetch none = {};
	char path[] = "/tmp/jank-fuzz-answers-XXXXXX";
	int ends[2];

	log__set_level(LOG_QUIET);
	fuzz__socketpair(SOCK_STREAM, ends);
	trial.files[0] = mkstemp(path);
	unlink(path);
	trial.files[1] = memfd_create("file", MFD_CLOEXEC);
	trial.files[2] = ends[0];
	trial.files[3] = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	trial.files[4] = open("/dev/null", O_RDWR | O_CLOEXEC);
	trial.files[5] = ends[1];
	if (broker__new(&none, &trial.broker))
		abort();
	wait_for_thread();
	find_colliding();
	if (__sanitizer_install_malloc_and_free_hooks)
		__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
}

/* With an argument: a client has started its process again, which is this program. */
int main(int argc, char **argv)
{
	if (argc > 1)
		return 1;
	start_all();
	trial.fuzz = fuzz__begin(STEPS);
	while (fuzz__goes_on(&trial.fuzz) && !trial.broken)
		cost__end(&trial.fuzz.cost, one_round());
	ok(!trial.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)trial.fuzz.round, trial.broken ?: "yes");
	for (int i = 0; i < KIND_CNT; i++)
		ok(trial.accepted[i] && trial.refused[i], "%s: %llu accepted, %llu refused",
		   kinds[i], (unsigned long long)trial.accepted[i],
		   (unsigned long long)trial.refused[i]);
	cost__ok(&trial.fuzz.cost);
	fuzz__report(&trial.fuzz);
	broker__free(trial.broker);
	strbuf__free(&trial.stream);
	return tap__done();
}
