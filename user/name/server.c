/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that makes names: one thread, which ends when its socket does. */
#include "name/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/must.h"
#include "base/own_process.h"
#include "base/socket.h"
#include "base/thread.h"
#include "files/broker.h"
#include "files/lone_uid.h"
#include "files/unread.h"
#include "name/name.h"
#include "symbol/modules/module.h"

/* --- frames */

static void put_frame(struct strbuf *sb, const struct frame *frame)
{
	const struct name_frame head = {
		.address = frame->address,
		.offset = frame->offset,
		.start = frame->start,
		.line = frame->line,
		.kernel = frame->kernel,
		.inlined = frame->inlined,
		.app = frame->app,
	};

	strbuf__add(sb, &head, sizeof(head));
	wire__put_text(sb, frame->function);
	wire__put_text(sb, frame->module);
	wire__put_text(sb, frame->build_id);
	wire__put_text(sb, frame->file);
	wire__put_text(sb, frame->language);
}

/* Its addresses and frames are copied: those of the message are not aligned. 0 or -errno. */
static int take_stack(struct wire *in, struct stack *ret)
{
	struct name_stack head;
	size_t addresses_sz, script_sz;

	wire__take(in, &head, sizeof(head));
	*ret = (struct stack){ .t_ns = head.t_ns,
			       .kernel_cnt = head.kernel_cnt,
			       .user_cnt = head.user_cnt,
			       .script_cnt = head.script_cnt };
	addresses_sz = ((size_t)head.kernel_cnt + head.user_cnt) * sizeof(*ret->addresses);
	script_sz = head.script_cnt * sizeof(*ret->script);
	if (in->bad || in->left < addresses_sz || in->left - addresses_sz < script_sz)
		return -EBADMSG;
	ret->addresses = must__malloc(addresses_sz + script_sz);
	wire__take(in, ret->addresses, addresses_sz + script_sz);
	ret->script = (void *)((char *)ret->addresses + addresses_sz);
	return 0;
}

static void put_stack(struct server *s, uint32_t pid, struct stack *stack)
{
	int res = symbolizer__stack(s->sym, pid, stack);
	const int64_t cnt = res ? res : (int64_t)stack->frame_cnt;

	strbuf__add(&s->out, &cnt, sizeof(cnt));
	for (size_t i = 0; !res && i < stack->frame_cnt; i++)
		put_frame(&s->out, &stack->frames[i]);
	free(stack->frames);
	free(stack->addresses);
}

static int64_t serve_stacks(struct server *s, const struct name_request *req, struct wire *in)
{
	struct stack stack;
	int res = 0;

	for (uint64_t i = 0; !res && i < req->a; i++) {
		res = take_stack(in, &stack);
		if (!res)
			put_stack(s, req->pid, &stack);
	}
	return res;
}

typedef int (*frame_fn)(struct symbolizer *sym, uint32_t pid, uint64_t addr, struct frame *ret);

static int64_t serve_frame(struct server *s, const struct name_request *req, frame_fn fn)
{
	struct frame frame = {};
	int res = fn(s->sym, req->pid, req->a, &frame);

	if (!res)
		put_frame(&s->out, &frame);
	return res;
}

static int64_t serve_function(struct server *s, const struct name_request *req, struct wire *in)
{
	return serve_frame(s, req, symbolizer__function);
}

static int64_t serve_class(struct server *s, const struct name_request *req, struct wire *in)
{
	return serve_frame(s, req, symbolizer__class);
}

static int64_t serve_variable(struct server *s, const struct name_request *req, struct wire *in)
{
	return serve_frame(s, req, symbolizer__variable);
}

/* --- code */

static int64_t serve_code(struct server *s, const struct name_request *req, struct wire *in)
{
	const struct code_opts opts = { .exact = req->b & NAME_CODE_EXACT,
					.named = req->b & NAME_CODE_NAMED };
	struct frame frame;

	if (!symbolizer__code(s->sym, req->pid, req->a, opts, &frame))
		return false;
	put_frame(&s->out, &frame);
	return true;
}

static int64_t serve_keep_code(struct server *s, const struct name_request *req, struct wire *in)
{
	size_t cnt = in->left / sizeof(uint64_t), kept;
	size_t max = req->a < cnt ? req->a : cnt;
	uint64_t *words = must__malloc(2 * in->left);

	memcpy(words, in->at, in->left);
	kept = symbolizer__keep_code(s->sym, req->pid, words, cnt, words + cnt, max);
	strbuf__add(&s->out, words + cnt, kept * sizeof(*words));
	free(words);
	return (int64_t)kept;
}

static int64_t serve_has_section(struct server *s, const struct name_request *req, struct wire *in)
{
	size_t len;
	const char *section = wire__take_text(in, &len);

	return section && symbolizer__has_section(s->sym, req->pid, section);
}

static int64_t serve_uv_pool(struct server *s, const struct name_request *req, struct wire *in)
{
	struct uv_pool_at at;

	if (!symbolizer__uv_pool(s->sym, req->pid, &at))
		return false;
	strbuf__add(&s->out, &at, sizeof(at));
	return true;
}

static int64_t serve_code_bytes(struct server *s, const struct name_request *req, struct wire *in)
{
	char bytes[NAME_CODE_MAX];
	int res = -EINVAL;

	if (req->b <= sizeof(bytes))
		res = symbolizer__code_bytes(s->sym, req->pid, req->a, bytes, req->b);
	if (!res)
		strbuf__add(&s->out, bytes, req->b);
	return res;
}

/* --- callers */

static void unwind(struct server *s, const struct copy_event *copy)
{
	struct unwound *unwound = &s->unwound;
	struct name_unwound head = {};

	if (!symbolizer__unwind(s->sym, copy, unwound, 1))
		head = (struct name_unwound){ .cnt = unwound->cnt,
					      .end = unwound->end,
					      .used_sz = unwound->used_sz,
					      .script_cnt = unwound->script_cnt,
					      .dex_cnt = unwound->dex_cnt };
	head.knows = symbolizer__knows(s->sym, copy->rec.hdr.tgid);
	strbuf__add(&s->out, &head, sizeof(head));
	if (!head.cnt)
		return;
	strbuf__add(&s->out, unwound->addresses, head.cnt * sizeof(*unwound->addresses));
	strbuf__add(&s->out, unwound->script, head.script_cnt * sizeof(*unwound->script));
	strbuf__add(&s->out, unwound->dex, head.dex_cnt * sizeof(*unwound->dex));
	wire__put_text(&s->out, unwound->module);
}

static int64_t serve_unwind(struct server *s, const struct name_request *req, struct wire *in)
{
	struct copy_event copy;

	for (uint64_t i = 0; i < req->a; i++) {
		wire__take(in, &copy.rec, sizeof(copy.rec));
		copy.bytes = wire__take_bytes(in, copy.rec.copy_sz);
		if (!copy.bytes)
			return -EINVAL;
		unwind(s, &copy);
	}
	return 0;
}

/* --- processes */

static int64_t serve_process(struct server *s, const struct name_request *req, struct wire *in)
{
	return symbolizer__process(s->sym, req->pid, NULL);
}

static int64_t serve_mapped(struct server *s, const struct name_request *req, struct wire *in)
{
	for (uint64_t i = 0; i < req->a && !in->bad; i++) {
		struct name_mapping one;
		size_t len;

		wire__take(in, &one, sizeof(one));
		one.mapping.path = wire__take_text(in, &len);
		if (one.mapping.path)
			symbolizer__mapped(s->sym, one.pid, &one.mapping);
	}
	return 0;
}

static int64_t serve_process_gone(struct server *s, const struct name_request *req, struct wire *in)
{
	symbolizer__process_gone(s->sym, req->pid);
	return 0;
}

static int64_t serve_trim(struct server *s, const struct name_request *req, struct wire *in)
{
	symbolizer__trim(s->sym);
	alloc__trim();
	return 0;
}

static int64_t serve_rest(struct server *s, const struct name_request *req, struct wire *in)
{
	symbolizer__rest(s->sym, req->a);
	alloc__trim();
	return 0;
}

/* --- interpreters */

static int64_t serve_script_threads(struct server *s, const struct name_request *req,
				    struct wire *in)
{
	struct interp_thread *threads;
	size_t cnt;

	if (req->a > NAME_THREADS_MAX)
		return 0;
	threads = must__calloc(req->a, sizeof(*threads));
	cnt = symbolizer__script_threads(s->sym, req->pid, threads, req->a);
	strbuf__add(&s->out, threads, cnt * sizeof(*threads));
	free(threads);
	return (int64_t)cnt;
}

static int64_t serve_script_newest(struct server *s, const struct name_request *req,
				   struct wire *in)
{
	const uint64_t newest = symbolizer__script_newest(s->sym, req->pid);

	strbuf__add(&s->out, &newest, sizeof(newest));
	return 0;
}

static int64_t serve_script_wait(struct server *s, const struct name_request *req, struct wire *in)
{
	struct jank_script_frame frames[JANK_SCRIPT_MAX];
	struct script_wait wait = {};
	struct name_wait answer;

	if (req->a > JANK_SCRIPT_MAX)
		return false;
	wire__take(in, frames, req->a * sizeof(*frames));
	if (in->bad || !symbolizer__script_wait(s->sym, req->pid, frames, (uint32_t)req->a, &wait))
		return false;
	answer = (struct name_wait){
		.lock_begin = wait.lock_begin,
		.lock_end = wait.lock_end,
		.depth = wait.depth,
		.for_caller = wait.for_caller,
		.one_call = wait.one_call,
	};
	strbuf__add(&s->out, &answer, sizeof(answer));
	return true;
}

#define SERVE(NAME, name) [NAME_##NAME] = serve_##name,
static const serve_fn serve[NAME_OP_CNT] = { NAME_SYMBOLIZER_OPS(SERVE) NAME_ELF_OPS(SERVE) };

/* --- the process */

/* What the tracer counts, and the objects of its messages. */
static void put_notes(struct server *s, struct name_answer *answer)
{
	const char *leased = symbolizer__leased(s->sym, &answer->leased_cnt);
	uint64_t size = s->out.len;

	answer->cut_cnt = symbolizer__cut_cnt(s->sym);
	wire__put_text(&s->out, leased);
	for (int i = 0; i < UNREAD_CNT; i++) {
		const char *object;

		answer->unread[i] = unread__take(i, &object);
		wire__put_text(&s->out, answer->unread[i] ? object : NULL);
	}
	size = s->out.len - size;
	strbuf__add(&s->out, &size, sizeof(size));
}

static int serve_one(struct server *s)
{
	struct name_answer answer = {};
	struct name_request req;
	struct wire in;
	int res = socket__receive(NAME_SOCKET_FD, &req, sizeof(req));

	if (!res && (req.op >= NAME_OP_CNT || req.size > NAME_REQUEST_MAX))
		res = -EBADMSG;
	if (!res)
		res = socket__receive_bytes(NAME_SOCKET_FD, req.size, &s->in);
	if (res)
		return res;
	in = (struct wire){ s->in.data, s->in.len, false };
	strbuf__reset(&s->out);
	answer.res = serve[req.op](s, &req, &in);
	modules__mark(NULL);
	answer.knows = symbolizer__knows(s->sym, req.pid);
	put_notes(s, &answer);
	if (s->out.failed)
		return -ENOMEM;
	answer.size = s->out.len;
	return socket__send(NAME_SOCKET_FD, &answer, sizeof(answer), s->out.data, s->out.len);
}

static int open_server(struct server *s)
{
	const struct symbolizer_opts opts = { .demangle = true };
	const uid_t uid = lone_uid__find(); /* while this process may open files */
	struct module_mark *mark =
		mmap(NULL, sizeof(*mark), PROT_READ | PROT_WRITE, MAP_SHARED, NAME_MARK_FD, 0);
	int res;

	if (mark == MAP_FAILED)
		return -errno;
	fds__close_from(NAME_MARK_FD);
	close(STDOUT_FILENO); /* of the records, and perhaps of a terminal */
	modules__mark_in(mark);
	broker_client__use(NAME_BROKER_FD);
	res = symbolizer__new(&opts, &s->sym, NULL);
	return res ? res : name_server__confine(uid, &mark->forbidden_call);
}

int name_server__main(void)
{
	struct server s = { .elf = { .fd = -1 } };
	int res;

	if (!own_process__begin(NAME_SOCKET_FD)) {
		log__error("'" NAME_WORD "': only a trace starts this process, for its own "
			   "names; see jankbpf --help");
		return JANK_EXIT_USAGE;
	}
	prctl(PR_SET_NAME, program_invocation_short_name);
	res = open_server(&s);
	if (res) {
		log__error("the process that makes names cannot give up privileges: %s: a security "
			   "module or container may forbid it",
			   strerror(-res));
		return JANK_EXIT_FAILED;
	}
	while (!res)
		res = serve_one(&s);
	symbolizer__free(s.sym);
	strbuf__free(&s.in);
	strbuf__free(&s.out);
	return res == -EPIPE ? JANK_EXIT_OK : JANK_EXIT_FAILED;
}
