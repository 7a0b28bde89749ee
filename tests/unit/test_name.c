/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that makes names: its answers are those of a symbolizer in this process, and the
 * tracer bears whatever else it answers or does. The test is also that process: it executes itself.
 */
#include "name/name.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/socket.h"
#include "files/apart.h"
#include "name/client.h"
#include "name/wire.h"
#include "symbol/elf/elffunc.h"
#include "symbol/modules/module.h"
#include "symbol/unwind/unwind.h"
#include "tests/tap.h"

#define ROLE  "JANK_TEST_ROLE"
#define START "JANK_TEST_START" /* a file that grows by a byte with each start */
#define FOUND 0x7007		/* an address */

static struct symbolizer *sym;
static struct name_client *client;

static void open_client(const char *role)
{
	struct err err = {};

	setenv(ROLE, role, 1);
	if (name_client__start(NAME_TASK_NAMES, &client, &err) ||
	    name_client__open(client, &(struct fetch_source){}, &sym, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
}

static void close_client(void)
{
	symbolizer__free(sym);
	name_client__free(client);
}

__attribute__((noinline)) static void known_function(void)
{
	__asm__ volatile("");
}

/* A stack in this process: known_function, and a word that is no code. */
static void name_stack(struct symbolizer *by, struct stack *ret, uint64_t *addresses)
{
	addresses[0] = (uintptr_t)known_function + 1;
	addresses[1] = (uintptr_t)&errno;
	*ret = (struct stack){ .addresses = addresses, .user_cnt = 2 };
	is_int(symbolizer__stack(by, getpid(), ret), 0, "a stack is named");
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_frame(const struct frame *a, const struct frame *b)
{
	return a->address == b->address && a->offset == b->offset && a->line == b->line &&
	       a->kernel == b->kernel && a->inlined == b->inlined && a->app == b->app &&
	       same_text(a->function, b->function) && same_text(a->module, b->module) &&
	       same_text(a->build_id, b->build_id) && same_text(a->file, b->file) &&
	       same_text(a->language, b->language);
}

static void test_stack(struct symbolizer *local)
{
	uint64_t addresses[2];
	struct stack here, there;
	bool same;

	name_stack(local, &here, addresses);
	name_stack(sym, &there, addresses);
	same = here.frame_cnt == there.frame_cnt;
	for (size_t i = 0; same && i < here.frame_cnt; i++)
		same = same_frame(&here.frames[i], &there.frames[i]);
	ok(same && there.frame_cnt == 2, "the frames are the same");
	is_str(there.frames[0].function, "known_function", "with the function's name");
	ok(!there.frames[1].function, "a word that is no code has none");
	free(here.frames);
	free(there.frames);
}

static void test_code(struct symbolizer *local)
{
	const uint64_t words[] = { 1, (uintptr_t)known_function + 4, (uintptr_t)&errno,
				   (uintptr_t)test_code + 9, (uintptr_t)words };
	const struct code_opts named = { .exact = true, .named = true };
	struct frame here = {}, there = {};
	uint64_t kept[5], kept_there[5];
	unsigned char code[8], code_there[8];
	size_t cnt = symbolizer__keep_code(local, getpid(), words, 5, kept, 5);

	is_int(symbolizer__keep_code(sym, getpid(), words, 5, kept_there, 5), cnt,
	       "as many words are code");
	ok(cnt == 2 && !memcmp(kept, kept_there, cnt * sizeof(*kept)), "the same ones");
	is_int(symbolizer__keep_code(sym, getpid(), words, 5, kept_there, 1), 1, "at most one");
	ok(symbolizer__code(local, getpid(), words[1], named, &here) &&
		   symbolizer__code(sym, getpid(), words[1], named, &there) &&
		   same_frame(&here, &there),
	   "code: the same frame");
	ok(!symbolizer__code(sym, getpid(), 16, named, &there), "no code: no frame");
	ok(!symbolizer__code_bytes(local, getpid(), words[1], code, 8) &&
		   !symbolizer__code_bytes(sym, getpid(), words[1], code_there, 8) &&
		   !memcmp(code, code_there, 8),
	   "the same bytes of code");
	ok(!symbolizer__uv_pool(sym, getpid(), &(struct uv_pool_at){}), "it has no libuv");
	ok(symbolizer__has_section(sym, getpid(), ".text") &&
		   !symbolizer__has_section(sym, getpid(), ".no"),
	   "sections of the program");
}

#define COPY_SZ	 16384
#define COPY_CNT 20 /* they need several requests */

/* Copies of this process, of stacks without callers. */
static void set_copies(struct copy_event *copies)
{
	static const uint8_t stack[COPY_SZ];

	for (int i = 0; i < COPY_CNT; i++) {
		copies[i] = (struct copy_event){
			.rec = { .hdr.tgid = getpid(), .copy_sz = COPY_SZ - i }, .bytes = stack
		};
#ifdef __aarch64__
		copies[i].rec.regs[32] = (uintptr_t)known_function + 4 * i;
#else
		copies[i].rec.regs[16] = (uintptr_t)known_function + i;
#endif
	}
}

static void test_unwind(struct symbolizer *local)
{
	struct unwound *here = calloc(COPY_CNT, sizeof(*here)),
		       *there = calloc(COPY_CNT, sizeof(*there));
	struct copy_event copies[COPY_CNT];
	int same = 0;

	set_copies(copies);
	is_int(symbolizer__unwind(local, copies, here, COPY_CNT), 0, "several copies");
	is_int(symbolizer__unwind(sym, copies, there, COPY_CNT), 0, "also there");
	for (int i = 0; i < COPY_CNT; i++)
		same += here[i].cnt == there[i].cnt && here[i].end == there[i].end &&
			here[i].used_sz == there[i].used_sz &&
			same_text(here[i].module, there[i].module) &&
			!memcmp(here[i].addresses, there[i].addresses,
				here[i].cnt * sizeof(*here[i].addresses));
	is_int(same, COPY_CNT, "each has the same callers");
	free(here);
	free(there);
}

static void test_processes(void)
{
	const struct mapping mapping = { .start = 4096, .end = 8192, .path = "/no/such/file" };

	ok(symbolizer__knows(sym, getpid()), "a named process is known");
	symbolizer__mapped(sym, getpid(), &mapping);
	symbolizer__flush(sym);
	symbolizer__process_gone(sym, getpid());
	ok(!symbolizer__knows(sym, getpid()), "and gone when it is told so");
	is_int(symbolizer__process(sym, 0x7fffffff, NULL), -ESRCH, "no such process");
	ok(!symbolizer__knows(sym, 0x7fffffff), "is not known");
	is_int(symbolizer__process(sym, getpid(), NULL), 0, "a process is read again");
	is_int(symbolizer__script_newest(sym, getpid()), 0, "it has no interpreter");
	symbolizer__trim(sym);
	symbolizer__rest(sym, 3600 * NS_PER_SEC);
	ok(symbolizer__knows(sym, getpid()), "a rest forgets no process");
}

static void test_same(void)
{
	const struct symbolizer_opts opts = { .demangle = true };
	struct symbolizer *local;

	if (symbolizer__new(&opts, &local, NULL))
		abort();
	open_client("server");
	test_stack(local);
	test_code(local);
	test_unwind(local);
	test_processes();
	is_int(name_client__restart_cnt(client), 0, "the process never ended");
	close_client();
	symbolizer__free(local);
}

/* --- a process that ends */

/* A stack without an answer has its addresses, but no names. */
static void is_nameless(const char *what)
{
	uint64_t addresses[2];
	struct stack stack;

	name_stack(sym, &stack, addresses);
	ok(stack.frame_cnt == 2 && stack.frames[0].address == addresses[0] &&
		   !stack.frames[0].function && !stack.frames[0].module,
	   "%s: no names", what);
	free(stack.frames);
}

static void test_killed(void)
{
	uint64_t addresses[2];
	struct stack stack;

	open_client("server");
	name_stack(sym, &stack, addresses);
	free(stack.frames);
	kill(name_client__pid(client), SIGKILL);
	is_nameless("killed");
	name_stack(sym, &stack, addresses);
	is_str(stack.frames[0].function, "known_function", "names are back with the next request");
	free(stack.frames);
	is_int(name_client__restart_cnt(client), 1, "one restart is counted");
	ok(symbolizer__knows(sym, getpid()), "the process is still known");
	close_client();
}

static void test_stopped(void)
{
	open_client("server");
	name_client__hurry(client);
	kill(name_client__pid(client), SIGSTOP);
	is_nameless("stopped");
	is_int(name_client__restart_cnt(client), 1, "a stopped process is ended");
	close_client();
}

/* It was given up, and what ended it is over. */
static void test_revived(void)
{
	uint64_t addresses[2];
	struct stack stack;

	open_client("dies");
	while (!client->gave_up)
		symbolizer__trim(sym);
	is_nameless("given up");
	setenv(ROLE, "server", 1);
	client->again_ns = clock__mono_ns() - 1;
	name_stack(sym, &stack, addresses);
	is_str(stack.frames[0].function, "known_function", "a minute later names are back");
	ok(!client->gave_up, "and stay");
	free(stack.frames);
	close_client();
}

static void test_forbidden(void)
{
	open_client("forbidden");
	is_nameless("it made a forbidden call");
	is_uint(name_client__forbidden_cnt(client), 1, "which is counted");
	is_int(name_client__restart_cnt(client), 1, "beside its end");
	close_client();
}

static void test_always_dies(void)
{
	open_client("dies");
	for (int i = 0; i < 4; i++)
		is_nameless("it dies");
	is_int(name_client__restart_cnt(client), 4, "started again each time");
	is_nameless("a traced process that ended it four times");
	is_int(name_client__restart_cnt(client), 4, "is not asked about again");
	symbolizer__trim(sym);
	is_int(name_client__restart_cnt(client), 5, "after five ends in a row it is given up");
	symbolizer__trim(sym);
	is_int(name_client__restart_cnt(client), 5, "and not started again");
	client->again_ns = clock__mono_ns() - 1;
	is_nameless("a minute later it dies again");
	is_int(name_client__restart_cnt(client), 6, "which was another try");
	close_client();
}

/* One of several copies ends it. */
static void test_dies_of_a_copy(void)
{
	struct unwound *got = calloc(COPY_CNT, sizeof(*got));
	struct copy_event copies[COPY_CNT];
	unsigned restarts, found = 0;

	open_client("dies of one");
	set_copies(copies);
	copies[2].rec.hdr.tgid = 1;
	for (int i = 0; i < 8; i++)
		symbolizer__unwind(sym, copies, got, COPY_CNT);
	for (int i = 0; i < COPY_CNT; i++)
		found += got[i].cnt == 1 && got[i].addresses[0] == FOUND;
	is_int(found, COPY_CNT - 1, "the others have their callers");
	ok(got[2].addresses[0] != FOUND, "that one has its own address");
	restarts = name_client__restart_cnt(client);
	ok(restarts > 2, "it ended %u times", restarts);
	symbolizer__unwind(sym, copies, got, COPY_CNT);
	is_int(name_client__restart_cnt(client), restarts, "and is not asked about that process");
	close_client();
	free(got);
}

/* The process dies at its first two requests about this file. */
static void test_refused_file(void)
{
	char path[] = "/tmp/jank-name-XXXXXX", message[600];
	uint64_t addresses[2];
	struct stack stack;
	int fd = mkstemp(path);

	close(fd);
	setenv(START, path, 1);
	open_client("marks");
	is_nameless("its first end in a file");
	is_nameless("its second end there");
	name_stack(sym, &stack, addresses);
	ok(!stack.frames[0].function, "then the file is not opened: no function");
	ok(stack.frames[0].module, "though its module is known");
	free(stack.frames);
	is_int(name_client__restart_cnt(client), 2, "two restarts");
	ok(unread__next(message, sizeof(message)) && strstr(message, "ended twice"),
	   "the user is told: %s", message);
	close_client();
	unlink(path);
}

/* --- a process that answers anything */

static void test_garbage(void)
{
	struct interp_thread threads[4];
	struct script_wait wait;
	struct unwound *unwound = calloc(1, sizeof(*unwound));
	struct copy_event copy = { .rec = { .hdr.tgid = getpid(), .copy_sz = 8 },
				   .bytes = (const uint8_t *)"12345678" };
	uint64_t addresses[2], words[4] = {}, kept[4];
	struct frame frame;
	struct stack stack;
	bool sane = true;

	open_client("garbage");
	for (int i = 0; i < 300; i++) {
		name_stack(sym, &stack, addresses);
		for (size_t j = 0; j < stack.frame_cnt; j++)
			sane &= !stack.frames[j].function ||
				strlen(stack.frames[j].function) < 4096;
		free(stack.frames);
		symbolizer__function(sym, getpid(), 1, &frame);
		symbolizer__code(sym, getpid(), 1, (struct code_opts){}, &frame);
		sane &= symbolizer__keep_code(sym, getpid(), words, 4, kept, 4) <= 4;
		symbolizer__unwind(sym, &copy, unwound, 1);
		sane &= unwound->cnt >= 1 && unwound->cnt <= UNWIND_MAX && unwound->used_sz <= 8;
		sane &= symbolizer__script_threads(sym, getpid(), threads, 4) <= 4;
		symbolizer__script_wait(sym, getpid(), NULL, 0, &wait);
	}
	ok(sane, "whatever it answers, results are within their limits");
	ok(name_client__restart_cnt(client) < 6, "and it is ended at most five times");
	close_client();
	free(unwound);
}

/* --- the process that finds functions for probes */

static const char *const wanted[] = { "epoll_wait", "no_such_function", "malloc" };

#define WANTED_CNT (sizeof(wanted) / sizeof(*wanted))

static void open_sites(const char *role)
{
	struct err err = {};

	setenv(ROLE, role, 1);
	if (name_client__start(NAME_TASK_SITES, &client, &err) ||
	    name_client__open_sites(client, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
}

static int open_libc(void)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					     "/lib/aarch64-linux-gnu/libc.so.6" };
	int fd = open(paths[0], O_RDONLY | O_CLOEXEC);

	return fd < 0 ? open(paths[1], O_RDONLY | O_CLOEXEC) : fd;
}

/* What the placing of a probe learns about libc. */
struct learnt {
	struct elffunc_place each[WANTED_CNT], any[WANTED_CNT];
	int each_cnt, any_cnt, code_len;
	uint8_t code[64];
	uint64_t code_offset;
	bool has_text, has_none;
	uint16_t machine;
};

static int learn(struct learnt *ret)
{
	struct elffunc elf;
	int res = elffunc__open(open_libc(), &elf);

	memset(ret, 0, sizeof(*ret));
	if (res)
		return res;
	ret->machine = elf.elf.machine;
	ret->each_cnt = elffunc__find_each(&elf, wanted, WANTED_CNT, ret->each);
	ret->any_cnt = elffunc__find(&elf, wanted, WANTED_CNT, ret->any);
	if (ret->each_cnt > 0)
		ret->code_len = elffunc__code(&elf, ret->each[0].value, ret->code,
					      sizeof(ret->code), &ret->code_offset);
	ret->has_text = elffunc__has_section(&elf, ".text");
	ret->has_none = elffunc__has_section(&elf, ".no_such_section");
	elffunc__close(&elf);
	return 0;
}

static void test_sites(void)
{
	struct learnt here, there, after;
	struct zip_entry entry;
	int fd = open_libc();

	if (fd < 0) {
		skip(5, "no libc.so.6 where Debian has it");
		return;
	}
	learn(&here);
	open_sites("server");
	is_int(learn(&there), 0, "it opens a library");
	ok(here.each_cnt == 2 && here.code_len == sizeof(here.code) && here.has_text &&
		   !memcmp(&here, &there, sizeof(here)),
	   "functions, their code and sections are those that a search here finds");
	is_int(elffunc__entry(fd, 4096, &entry), -ENOEXEC, "a library is no archive");
	kill(name_client__pid(client), SIGKILL);
	is_int(learn(&there), -ENOEXEC, "it is killed: the file under way has no functions");
	ok(!learn(&after) && !memcmp(&here, &after, sizeof(here)), "the next one has");
	close(fd);
	name_client__free(client);
}

/* A thread that asks the process of names does not wait for that of probes, nor depends on it. */
static void test_sites_by_names(void)
{
	struct learnt here, there;
	struct name_client *sites;

	elffunc__use(NULL, NULL);
	learn(&here);
	open_sites("dies");
	sites = client;
	open_client("server");
	name_client__use_here(client);
	ok(!learn(&there) && !memcmp(&here, &there, sizeof(here)),
	   "the process of names finds the same functions");
	is_int(name_client__restart_cnt(sites), 0, "and the process of probes is not asked");
	is_int(client->mark->inode, 0, "later, no file is suspected");
	name_client__use_here(NULL);
	learn(&there);
	is_int(name_client__restart_cnt(sites), 1, "but later it is again");
	close_client();
	name_client__free(sites);
}

/* The process ends twice by the same file. */
static void test_refused_site_file(void)
{
	uint64_t unread = unread__cnt();
	struct learnt learnt;

	open_sites("dies");
	learn(&learnt);
	is_int(name_client__restart_cnt(client), 1, "it ends by a file");
	learn(&learnt);
	learn(&learnt);
	is_int(name_client__restart_cnt(client), 2, "after the second time it is not asked again");
	is_int(unread__cnt(), unread + 1, "and the file counts as unread");
	name_client__free(client);
}

static void test_site_garbage(void)
{
	struct zip_entry entry;
	struct learnt learnt;
	bool sane = true;
	int fd = open_libc();

	open_sites("garbage");
	for (int i = 0; i < 300; i++) {
		learn(&learnt);
		sane &= learnt.each_cnt <= (int)WANTED_CNT && learnt.any_cnt <= (int)WANTED_CNT &&
			learnt.code_len <= (int)sizeof(learnt.code);
		if (fd >= 0 && !elffunc__entry(fd, 0, &entry))
			sane &= strlen(entry.name) < sizeof(entry.name);
	}
	ok(sane, "whatever it answers, functions and code are within their limits");
	name_client__free(client);
	if (fd >= 0)
		close(fd);
}

/* --- the process itself, in its roles */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Sends an answer with valid texts at its end. */
static int answer(int64_t res, struct strbuf *out)
{
	struct name_answer answer = { .res = res, .knows = 1 };
	uint64_t size = out->len;

	for (int i = 0; i < UNREAD_CNT + 1; i++)
		wire__put_text(out, i % 2 ? "text" : NULL);
	size = out->len - size;
	strbuf__add(out, &size, sizeof(size));
	answer.size = out->len;
	return socket__send(NAME_SOCKET_FD, &answer, sizeof(answer), out->data, out->len);
}

/* Answers of random bytes. */
static int garbage(void)
{
	struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	struct name_request req;
	uint64_t state = 88172645463325252ull;

	while (!socket__receive(NAME_SOCKET_FD, &req, sizeof(req)) &&
	       !socket__receive_bytes(NAME_SOCKET_FD, req.size, &in)) {
		int64_t res = (int64_t)(next_random(&state) % 8);
		uint64_t cnt = next_random(&state) % 40;

		strbuf__reset(&out);
		for (uint64_t i = 0; i < cnt; i++) {
			uint64_t word = next_random(&state);

			word = word % 3 ? word % 8 : word;
			strbuf__add(&out, &word, sizeof(word));
		}
		if (answer(res, &out))
			break;
	}
	strbuf__free(&in);
	strbuf__free(&out);
	return 0;
}

/* Answers copies with one address, and dies of a copy of process 1. */
static int die_of_one(void)
{
	const struct name_unwound head = { .cnt = 1, .end = STACK_END_COMPLETE, .knows = 1 };
	const uint64_t address = FOUND;
	struct strbuf bytes = STRBUF_INIT, out = STRBUF_INIT;
	struct name_request req;
	struct jank_rec_copy rec;

	while (!socket__receive(NAME_SOCKET_FD, &req, sizeof(req)) &&
	       !socket__receive_bytes(NAME_SOCKET_FD, req.size, &bytes)) {
		struct wire in = { bytes.data, bytes.len, false };

		strbuf__reset(&out);
		for (uint64_t i = 0; req.op == NAME_UNWIND && i < req.a; i++) {
			wire__take(&in, &rec, sizeof(rec));
			wire__take_bytes(&in, rec.copy_sz);
			if (in.bad || rec.hdr.tgid == 1)
				return 1;
			strbuf__add(&out, &head, sizeof(head));
			strbuf__add(&out, &address, sizeof(address));
			wire__put_text(&out, NULL);
		}
		if (answer(0, &out))
			break;
	}
	strbuf__free(&bytes);
	strbuf__free(&out);
	return 0;
}

/* Notes this program's file and dies, at its first two starts. */
static int mark_and_die(void)
{
	struct module_mark *mark =
		mmap(NULL, sizeof(*mark), PROT_READ | PROT_WRITE, MAP_SHARED, NAME_MARK_FD, 0);
	FILE *starts = fopen(getenv(START), "a+");
	struct name_request req;
	struct stat st;

	if (!starts || mark == MAP_FAILED || stat("/proc/self/exe", &st))
		return 1;
	fseek(starts, 0, SEEK_END);
	if (ftell(starts) >= 2)
		return fclose(starts) ? 1 : name_server__main();
	fputc('.', starts);
	fclose(starts);
	socket__receive(NAME_SOCKET_FD, &req, sizeof(req));
	mark->dev = st.st_dev;
	mark->inode = st.st_ino;
	return 1;
}

/* As the filter's handler does it; with the sanitizers there is none. */
static int make_forbidden_call(void)
{
	struct module_mark *mark =
		mmap(NULL, sizeof(*mark), PROT_READ | PROT_WRITE, MAP_SHARED, NAME_MARK_FD, 0);
	struct name_request req;

	socket__receive(NAME_SOCKET_FD, &req, sizeof(req));
	if (mark != MAP_FAILED)
		mark->forbidden_call = SYS_socket + 1;
	return 1;
}

static int be_process(const char *role)
{
	struct name_request req;

	if (!strcmp(role, "garbage"))
		return garbage();
	if (!strcmp(role, "marks"))
		return mark_and_die();
	if (!strcmp(role, "forbidden"))
		return make_forbidden_call();
	if (!strcmp(role, "dies of one"))
		return die_of_one();
	if (strcmp(role, "dies"))
		return name_server__main();
	socket__receive(NAME_SOCKET_FD, &req, sizeof(req));
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], NAME_WORD))
		return be_process(getenv(ROLE));
	test_same();
	test_killed();
	test_stopped();
	test_always_dies();
	test_revived();
	test_forbidden();
	test_dies_of_a_copy();
	test_garbage();
	test_refused_file();
	test_sites();
	test_sites_by_names();
	test_refused_site_file();
	test_site_garbage();
	apart__stop();
	return tap__done();
}
