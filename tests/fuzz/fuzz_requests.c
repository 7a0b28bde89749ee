/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged requests to jankbpf-name and jankbpf-sites (user/name/server.c, server_elf.c), and what
 * jankbpf-deliver gets (user/deliver/message.c). The tracer is trusted, but stacks, paths and files
 * in its requests are a traced program's. Whatever arrives: an answer is complete or there is none,
 * no descriptor stays open, and the work is in proportion to the request.
 */
#include "name/server.c"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "deliver/message.h"
#include "deliver/metrics_access.h"
#include "files/apart.h"
#include "files/broker_request.h"
#include "files/proc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/socket.h"

#define STEPS	    2000 /* a byte: an address of a few may need the tables of a module */
#define CODE_MAX    32
#define ROUNDS_EACH 500 /* of a symbolizer */
#define SEQUENCE    4	/* requests in a round */
#define FILES	    4

static struct {
	struct fuzz fuzz;
	const char *broken;
	uint64_t answers, ends, setups, refused_setups, records;
	struct server server;
	unsigned age, fds_before;
	pid_t target; /* a process that sleeps */
	uint64_t code[CODE_MAX][2];
	unsigned code_cnt;
	int files[FILES];
	struct strbuf stream, in;
	int broker_sock, client_sock; /* of what the server asks: our end, and its end */
} trial;

static void breaks(const char *what)
{
	trial.broken = trial.broken ?: what;
}

/* --- building a request */

static uint64_t lie(uint64_t truth)
{
	return fuzz__chance(&trial.fuzz, 100) ? fuzz__number(&trial.fuzz) : truth;
}

static void put(const void *bytes, size_t size)
{
	strbuf__add(&trial.stream, bytes, size);
}

static uint32_t any_pid(void)
{
	return fuzz__chance(&trial.fuzz, 16) ? (uint32_t)fuzz__number(&trial.fuzz)
					     : (uint32_t)trial.target;
}

/* Mostly in code of the target. */
static uint64_t any_address(void)
{
	struct fuzz *f = &trial.fuzz;
	const uint64_t *code = trial.code[fuzz__below(f, trial.code_cnt ?: 1)];

	if (fuzz__chance(f, 8) || !trial.code_cnt)
		return fuzz__number(f);
	return code[0] + fuzz__below(f, code[1] - code[0]);
}

static void put_address(void)
{
	uint64_t address = any_address();

	put(&address, sizeof(address));
}

static void put_any_text(void)
{
	static const char *const texts[] = { "main", ".text",	  "exit", "write",  "",
					     ".x",   "/bin/true", "/tmp", "/etc/.." };
	struct fuzz *f = &trial.fuzz;
	uint32_t len = (uint32_t)fuzz__below(f, 5000);

	if (!fuzz__chance(f, 16)) {
		wire__put_text(&trial.stream,
			       texts[fuzz__below(f, sizeof(texts) / sizeof(*texts))]);
		return;
	}
	put(&len, sizeof(len));
	for (uint32_t i = 0; i < len; i++)
		strbuf__addc(&trial.stream, (char)('a' + i % 23));
	strbuf__addc(&trial.stream, (char)lie(0));
}

static void put_stacks(uint64_t cnt)
{
	struct fuzz *f = &trial.fuzz;

	for (uint64_t i = 0; i < cnt; i++) {
		const struct name_stack head = { 1, (uint32_t)lie(fuzz__below(f, 3)),
						 (uint32_t)lie(fuzz__below(f, 20)),
						 (uint32_t)lie(fuzz__below(f, 3)), 0 };
		struct jank_script_frame frame = { .code = fuzz__number(f) };

		put(&head, sizeof(head));
		for (uint32_t k = 0; k < head.kernel_cnt + head.user_cnt && k < 64; k++)
			put_address();
		for (uint32_t k = 0; k < head.script_cnt && k < 64; k++)
			put(&frame, sizeof(frame));
	}
}

static void put_mapping(void)
{
	struct fuzz *f = &trial.fuzz;
	const uint64_t *code = trial.code[fuzz__below(f, trial.code_cnt ?: 1)];
	const struct name_mapping one = { .pid = any_pid(),
					  .mapping = { .start = lie(code[0]),
						       .end = lie(code[1]),
						       .offset = lie(4096),
						       .dev = lie(1),
						       .inode = lie(2),
						       .t_ns = fuzz__number(f) } };

	put(&one, sizeof(one));
	put_any_text();
}

/* A copied stack: words that are code, and others. */
static void put_copy(void)
{
	struct jank_rec_copy rec = { .hdr.tgid = any_pid(),
				     .copy_sz = (uint32_t)(8 * fuzz__below(&trial.fuzz, 512)),
				     .hole_mask = (uint32_t)lie(0) };
	uint32_t words = rec.copy_sz / 8;

	for (int i = 0; i < JANK_REG_MAX; i++)
		rec.regs[i] = fuzz__chance(&trial.fuzz, 2) ? any_address() : 0x7ffc00001000;
	rec.asked_sz = rec.copy_sz;
	rec.copy_sz = (uint32_t)lie(rec.copy_sz);
	put(&rec, sizeof(rec));
	for (uint32_t i = 0; i < words; i++)
		put_address();
}

static void put_body(struct name_request *req)
{
	struct fuzz *f = &trial.fuzz;
	struct jank_script_frame frame = { .code = any_address() };

	req->a = fuzz__chance(f, 16) ? fuzz__below(f, 80) : fuzz__below(f, 8);
	switch (req->op) {
	case NAME_MAPPED:
		for (uint64_t i = 0; i < req->a; i++)
			put_mapping();
		break;
	case NAME_STACKS:
		put_stacks(req->a);
		break;
	case NAME_KEEP_CODE:
		for (size_t i = fuzz__below(f, 64); i; i--)
			put_address();
		break;
	case NAME_SCRIPT_WAIT:
		for (uint64_t i = 0; i < req->a; i++)
			put(&frame, sizeof(frame));
		break;
	case NAME_UNWIND:
		for (uint64_t i = 0; i < req->a; i++)
			put_copy();
		break;
	case NAME_ELF_FIND:
	case NAME_HAS_SECTION:
	case NAME_ELF_SECTION:
		for (uint64_t i = 0; i < req->a; i++)
			put_any_text();
		req->b = fuzz__below(f, 2);
		break;
	case NAME_SCRIPT_THREADS:
		break;
	case NAME_ELF_OPEN:
	case NAME_ELF_ENTRY:
		req->a = req->b = 0;
		break;
	default:
		req->a = any_address();
		req->b = fuzz__below(f, NAME_CODE_MAX + 2);
	}
	req->a = lie(req->a);
	req->b = lie(req->b);
}

/* What the broker would answer, before it is asked. */
static void offer_file(void)
{
	struct broker_answer answer = { .res = fuzz__chance(&trial.fuzz, 16) ? -EACCES : 0 };

	fuzz__send(trial.broker_sock, &answer, sizeof(answer),
		   &trial.files[fuzz__below(&trial.fuzz, FILES)], !answer.res);
}

static void put_request(void)
{
	uint32_t first = trial.broker_sock < 0 ? 0 : NAME_ELF_OPEN;
	struct name_request req = { .op = first +
					  (uint32_t)fuzz__below(&trial.fuzz, NAME_OP_CNT - first),
				    .pid = any_pid() };
	size_t begin = trial.stream.len;

	put(&req, sizeof(req));
	put_body(&req);
	if (req.op == NAME_ELF_OPEN || req.op == NAME_ELF_ENTRY)
		offer_file();
	if (!first)
		req.op = (uint32_t)lie(req.op);
	req.size = lie(trial.stream.len - begin - sizeof(req));
	memcpy(trial.stream.data + begin, &req, sizeof(req));
}

/* --- the server */

static void open_symbolizer(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "", .demangle = true };

	if (symbolizer__new(&opts, &trial.server.sym, NULL))
		abort();
}

static void close_symbolizer(void)
{
	if (trial.server.elf.fd >= 0)
		elffunc__close(&trial.server.elf);
	symbolizer__free(trial.server.sym);
	trial.server.sym = NULL;
	apart__stop();
	if (fuzz__descriptors() != trial.fds_before)
		breaks("a descriptor stays open");
}

/* The broker's socket is on only while the files for probes are asked for. */
static void use_broker(bool on)
{
	int ends[2];

	if (on) {
		fuzz__socketpair(SOCK_SEQPACKET, ends);
		trial.broker_sock = ends[0];
		trial.client_sock = ends[1];
		broker_client__use(ends[1]);
		return;
	}
	broker_client__use(-1);
	close(trial.broker_sock);
	close(trial.client_sock);
	trial.broker_sock = -1;
}

static void check_answer(const char *bytes, size_t len)
{
	struct wire in = { bytes, len, false };
	uint64_t notes = 0;
	size_t text_len;

	if (len < sizeof(notes))
		breaks("an answer without notes");
	else
		memcpy(&notes, bytes + len - sizeof(notes), sizeof(notes));
	if (trial.broken || notes > len - sizeof(notes)) {
		breaks("notes that are longer than the answer");
		return;
	}
	in.at = bytes + len - sizeof(notes) - notes;
	in.left = notes;
	for (int i = 0; i < 1 + UNREAD_CNT; i++)
		wire__take_text(&in, &text_len);
	if (in.bad || in.left)
		breaks("notes that cannot be read");
}

static void check_answers(int sock)
{
	struct name_answer head;
	static char bytes[1 << 20];

	while (recv(sock, &head, sizeof(head), MSG_DONTWAIT | MSG_WAITALL) == sizeof(head)) {
		ssize_t n = head.size <= sizeof(bytes)
				    ? recv(sock, bytes, head.size, MSG_DONTWAIT | MSG_WAITALL)
				    : -1;

		if (n != (ssize_t)head.size) {
			breaks("an answer that is not complete");
			return;
		}
		check_answer(bytes, head.size);
		trial.answers++;
	}
}

static size_t one_sequence(void)
{
	const struct timeval limit = { .tv_sec = 1 };
	int ends[2], room = 4 << 20;
	bool elf = fuzz__chance(&trial.fuzz, 4);

	if (!trial.age++)
		open_symbolizer();
	fuzz__socketpair(SOCK_STREAM, ends);
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	dup2(ends[1], NAME_SOCKET_FD);
	close(ends[1]);
	if (elf)
		use_broker(true);
	for (size_t i = 1 + fuzz__below(&trial.fuzz, SEQUENCE); i; i--)
		put_request();
	if (!elf) /* another request would take the broker's answer, which has a descriptor */
		fuzz__damage_stream(&trial.fuzz, &trial.stream);
	fuzz__send(ends[0], trial.stream.data, trial.stream.len, NULL, 0);
	shutdown(ends[0], SHUT_WR);
	if (elf)
		shutdown(trial.broker_sock, SHUT_WR);
	cost__begin(&trial.fuzz.cost);
	while (!serve_one(&trial.server))
		;
	trial.ends++;
	check_answers(ends[0]);
	if (elf)
		use_broker(false);
	close(ends[0]);
	return trial.stream.len;
}

/* --- jankbpf-deliver */

static void check_string(const struct strbuf *sb, const char *text)
{
	if (text && (text < sb->data || text >= sb->data + sb->len ||
		     !memchr(text, '\0', (size_t)(sb->data + sb->len - text))))
		breaks("a string that is not in the setup, or does not end");
}

/* The bytes are in a buffer of exactly their size: the sanitizer sees what is read beyond. */
static size_t one_setup(void)
{
	const struct options opts = { .output_dir = fuzz__chance(&trial.fuzz, 2) ? "/tmp/x" : NULL,
				      .qualifier = fuzz__chance(&trial.fuzz, 2) ? "q" : NULL,
				      .journal = fuzz__chance(&trial.fuzz, 2) ? "j.jnl" : NULL };
	const struct metrics_access no_access = {},
				    some_access = { "cert", "key", "user", "secret" };
	struct metrics_access got_access;
	struct options got;
	struct strbuf exact = STRBUF_INIT;

	setup__pack(&opts, fuzz__chance(&trial.fuzz, 2) ? &some_access : &no_access, &trial.stream);
	fuzz__damage_stream(&trial.fuzz, &trial.stream);
	exact.data = malloc(trial.stream.len ?: 1);
	exact.len = exact.cap = trial.stream.len;
	if (!exact.data)
		abort();
	memcpy(exact.data, trial.stream.data, exact.len);
	if (fuzz__chance(&trial.fuzz, 2))
		setup__forget_journal(&exact);
	cost__begin(&trial.fuzz.cost);
	if (setup__unpack(&exact, &got, &got_access)) {
		trial.refused_setups++;
	} else {
		check_string(&exact, got.output_dir);
		check_string(&exact, got.qualifier);
		check_string(&exact, got.journal);
		check_string(&exact, got_access.cert);
		check_string(&exact, got_access.key);
		check_string(&exact, got_access.user);
		check_string(&exact, got_access.password);
		trial.setups++;
	}
	free(exact.data);
	return trial.stream.len;
}

static size_t one_record(void)
{
	size_t size = fuzz__below(&trial.fuzz, 2000);
	const struct message_head head = { 1, lie(size) };
	uint64_t nr;
	int ends[2], res;

	put(&head, sizeof(head));
	for (size_t i = 0; i < size; i++)
		strbuf__addc(&trial.stream, 'r');
	fuzz__socketpair(SOCK_STREAM, ends);
	fuzz__send(ends[0], trial.stream.data, trial.stream.len, NULL, 0);
	shutdown(ends[0], SHUT_WR);
	cost__begin(&trial.fuzz.cost);
	res = message__receive_record(ends[1], &nr, &trial.in);
	if (res > 0 || (!res && trial.in.len != head.size))
		breaks("a record of another size");
	trial.records += !res;
	close(ends[0]);
	close(ends[1]);
	return trial.stream.len;
}

/* --- rounds */

static size_t one_round(void)
{
	strbuf__reset(&trial.stream);
	if (fuzz__chance(&trial.fuzz, 4))
		return fuzz__chance(&trial.fuzz, 2) ? one_setup() : one_record();
	return one_sequence();
}

static int take_code(void *ctx, const struct proc_maps_line *line)
{
	if (trial.code_cnt == CODE_MAX)
		return 1;
	trial.code[trial.code_cnt][0] = line->start;
	trial.code[trial.code_cnt++][1] = line->end;
	return 0;
}

/* Waits until it runs its own program. */
static void start_target(void)
{
	char path[64], exe[64] = "";

	trial.target = fork();
	if (!trial.target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("sleep", "sleep", "1000000", NULL);
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", trial.target);
	for (int i = 0; i < 1000 && !strstr(exe, "sleep") && !strstr(exe, "box"); i++) {
		memset(exe, 0, sizeof(exe));
		usleep(10000);
		if (readlink(path, exe, sizeof(exe) - 1) < 0)
			break;
	}
	usleep(100000); /* its libraries */
	snprintf(path, sizeof(path), "/proc/%d/maps", trial.target);
	maps_lines__each(path, take_code, NULL);
}

static void start_all(void)
{
	char path[64];

	start_target();
	snprintf(path, sizeof(path), "/proc/%d/exe", trial.target);
	trial.files[0] = open(path, O_RDONLY | O_CLOEXEC);
	trial.files[1] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	trial.files[2] = memfd_create("empty", MFD_CLOEXEC);
	trial.files[3] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	trial.server.elf.fd = trial.broker_sock = -1;
	trial.fds_before = fuzz__descriptors();
}

int main(void)
{
	start_all();
	trial.fuzz = fuzz__begin(STEPS);
	while (fuzz__goes_on(&trial.fuzz) && !trial.broken) {
		cost__end(&trial.fuzz.cost, one_round());
		if (trial.age < ROUNDS_EACH)
			continue;
		close_symbolizer();
		trial.age = 0;
	}
	if (trial.age)
		close_symbolizer();
	ok(!trial.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)trial.fuzz.round, trial.broken ?: "yes");
	ok(trial.answers && trial.ends && trial.setups && trial.refused_setups && trial.records,
	   "%llu answers in %llu sequences; %llu setups, %llu refused; %llu records",
	   (unsigned long long)trial.answers, (unsigned long long)trial.ends,
	   (unsigned long long)trial.setups, (unsigned long long)trial.refused_setups,
	   (unsigned long long)trial.records);
	cost__ok(&trial.fuzz.cost);
	fuzz__report(&trial.fuzz);
	kill(trial.target, SIGKILL);
	waitpid(trial.target, NULL, 0);
	strbuf__free(&trial.server.in);
	strbuf__free(&trial.server.out);
	strbuf__free(&trial.stream);
	strbuf__free(&trial.in);
	return tap__done();
}
