/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer's side: the functions of a remote symbolizer. Each sends a request. */
#include "name/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "name/wire.h"
#include "symbol/names/cache.h"
#include "symbol/unwind/unwind.h"

#define TEXTS_MAX    (4u << 20) /* bytes of texts in frames, until the next trim */
#define MAPPED_MAX   (64u << 10)
#define FRAME_SZ_MIN (sizeof(struct name_frame) + 5 * sizeof(uint32_t))

/* --- answers, which are not trusted */

static const char *take_text(struct name_client *client, struct wire *in)
{
	size_t len;
	const char *text = wire__take_text(in, &len);

	return text ? pool__add(&client->pool, text, len) : NULL;
}

static void take_frame(struct name_client *client, struct wire *in, struct frame *ret)
{
	struct name_frame head;

	wire__take(in, &head, sizeof(head));
	*ret = (struct frame){
		.address = head.address,
		.offset = head.offset,
		.start = head.start,
		.line = head.line,
		.kernel = head.kernel,
		.inlined = head.inlined,
		.app = head.app,
	};
	ret->function = take_text(client, in);
	ret->module = take_text(client, in);
	ret->build_id = take_text(client, in);
	ret->file = take_text(client, in);
	ret->language = take_text(client, in);
}

static int64_t ask(struct name_client *client, uint32_t op, uint32_t pid, uint64_t a, uint64_t b,
		   struct wire *ret)
{
	const struct name_request req = { .op = op, .pid = pid, .a = a, .b = b };

	return name_client__ask(client, &req, ret);
}

/* --- stacks */

/* Gives the stack frames that have only addresses, because its request has no answer. */
static int leave_nameless(struct stack *stack)
{
	size_t cnt = (size_t)stack->kernel_cnt + stack->user_cnt;

	stack->frames = calloc(cnt + stack->script_cnt + 1, sizeof(*stack->frames));
	if (!stack->frames) {
		stack->script_cnt = 0; /* so that no other frame counts as a script frame */
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		stack->frames[i] = (struct frame){ .address = stack->addresses[i],
						   .kernel = i < stack->kernel_cnt };
	stack->frame_cnt = cnt + stack->script_cnt;
	return 0;
}

/* False: the answer is invalid. *ret_res: 0 or -ENOMEM. */
static bool take_stack(struct name_client *client, struct wire *in, struct stack *stack,
		       int *ret_res)
{
	int64_t cnt;

	wire__take(in, &cnt, sizeof(cnt));
	*ret_res = cnt == -ENOMEM ? -ENOMEM : 0;
	if (cnt < stack->script_cnt || (uint64_t)cnt > in->left / FRAME_SZ_MIN)
		return false;
	stack->frames = calloc(cnt + 1, sizeof(*stack->frames));
	if (!stack->frames) {
		*ret_res = -ENOMEM;
		return false;
	}
	for (int64_t i = 0; i < cnt; i++)
		take_frame(client, in, &stack->frames[i]);
	if (in->bad) {
		free(stack->frames);
		return false;
	}
	stack->frame_cnt = (size_t)cnt;
	return true;
}

static void put_stack(struct strbuf *sb, const struct stack *stack)
{
	const struct name_stack head = { .t_ns = stack->t_ns,
					 .kernel_cnt = stack->kernel_cnt,
					 .user_cnt = stack->user_cnt,
					 .script_cnt = stack->script_cnt };

	strbuf__add(sb, &head, sizeof(head));
	strbuf__add(sb, stack->addresses,
		    ((size_t)stack->kernel_cnt + stack->user_cnt) * sizeof(*stack->addresses));
	strbuf__add(sb, stack->script, stack->script_cnt * sizeof(*stack->script));
}

/* Puts stacks into the request, at least one. Returns their number. */
static size_t put_stacks(struct name_client *client, struct stack *const *stacks, size_t cnt)
{
	size_t done = 0;

	strbuf__reset(&client->out);
	do {
		free(stacks[done]->frames);
		stacks[done]->frames = NULL;
		stacks[done]->frame_cnt = 0;
		put_stack(&client->out, stacks[done++]);
	} while (done < cnt && client->out.len < NAME_STACKS_MAX);
	return done;
}

/* After an invalid stack the rest of the answer is not used. */
static int stacks(void *ctx, uint32_t pid, struct stack *const *stacks, size_t cnt)
{
	struct name_client *client = ctx;
	int res = 0;

	while (cnt) {
		size_t part = put_stacks(client, stacks, cnt);
		struct wire in;
		bool good = !ask(client, NAME_STACKS, pid, part, 0, &in);

		for (size_t i = 0; i < part; i++) {
			int one = 0;

			good = good && take_stack(client, &in, stacks[i], &one);
			res = (good ? 0 : leave_nameless(stacks[i])) ?: one ?: res;
		}
		stacks += part;
		cnt -= part;
	}
	return res;
}

static int one_frame(struct name_client *client, uint32_t op, uint32_t pid, uint64_t addr,
		     struct frame *ret)
{
	struct wire in;
	int64_t res;

	strbuf__reset(&client->out);
	res = ask(client, op, pid, addr, 0, &in);
	if (!res)
		take_frame(client, &in, ret);
	if (res || in.bad)
		*ret = (struct frame){ .address = addr };
	return res == -ENOMEM ? -ENOMEM : 0;
}

static int function(void *ctx, uint32_t pid, uint64_t addr, struct frame *ret)
{
	return one_frame(ctx, NAME_FUNCTION, pid, addr, ret);
}

static int class(void *ctx, uint32_t pid, uint64_t vtable, struct frame *ret)
{
	return one_frame(ctx, NAME_CLASS, pid, vtable, ret);
}

static int variable(void *ctx, uint32_t pid, uint64_t addr, struct frame *ret)
{
	return one_frame(ctx, NAME_VARIABLE, pid, addr, ret);
}

/* --- callers */

static bool may_ask(struct name_client *client, const struct copy_event *copy)
{
	struct name_target *target;

	return !name_client__target(client, copy->rec.hdr.tgid, &target);
}

/*
 * Puts copies into the request, at least one: a process about which nothing is asked any more is
 * left to name_client__ask. Returns their number.
 */
static size_t put_copies(struct name_client *client, const struct copy_event *copies, size_t cnt)
{
	size_t done = 0;

	strbuf__reset(&client->out);
	do {
		const struct copy_event *copy = &copies[done++];

		strbuf__add(&client->out, &copy->rec, sizeof(copy->rec));
		strbuf__add(&client->out, copy->bytes, copy->rec.copy_sz);
	} while (done < cnt && client->out.len < NAME_STACKS_MAX && may_ask(client, copies) &&
		 may_ask(client, &copies[done]));
	return done;
}

/* 0 or -ENOMEM. An invalid answer leaves *ret as it is. */
static int take_unwound(struct name_client *client, struct wire *in, const struct copy_event *copy,
			struct unwound *ret)
{
	struct name_unwound head;

	wire__take(in, &head, sizeof(head));
	if (!in->bad && !head.knows)
		name_client__forget(client, copy->rec.hdr.tgid);
	if (!in->bad && !head.cnt)
		return -ENOMEM;
	in->bad |= head.cnt > UNWIND_MAX || head.end > STACK_END_DEEP ||
		   head.used_sz > copy->rec.copy_sz || head.script_cnt > STACK_SCRIPT_MAX ||
		   head.dex_cnt > UNWIND_DEX_MAX ||
		   in->left < head.cnt * sizeof(*ret->addresses) +
				      head.script_cnt * sizeof(*ret->script) +
				      head.dex_cnt * sizeof(*ret->dex);
	if (in->bad)
		return 0;
	wire__take(in, ret->addresses, head.cnt * sizeof(*ret->addresses));
	wire__take(in, ret->script, head.script_cnt * sizeof(*ret->script));
	ret->script_cnt = head.script_cnt;
	wire__take(in, ret->dex, head.dex_cnt * sizeof(*ret->dex));
	for (uint32_t i = 0; i < head.dex_cnt; i++)
		in->bad |= ret->dex[i].index >= head.cnt;
	ret->dex_cnt = in->bad ? 0 : head.dex_cnt;
	ret->module = take_text(client, in);
	ret->cnt = head.cnt;
	ret->end = (enum stack_end)head.end;
	ret->used_sz = head.used_sz;
	return 0;
}

/* Sends the request. 0, -ENOMEM, or -ECHILD: there is no answer. */
static int ask_unwound(struct name_client *client, const struct copy_event *copies,
		       struct unwound *rets, size_t cnt)
{
	const uint32_t pid = cnt == 1 ? copies->rec.hdr.tgid : 0;
	struct wire in;
	int64_t res = ask(client, NAME_UNWIND, pid, cnt, 0, &in);
	int one, ret = res == -ENOMEM || res == -ECHILD ? (int)res : 0;

	for (size_t i = 0; i < cnt && !res; i++) {
		one = take_unwound(client, &in, &copies[i], &rets[i]);
		ret = one ?: ret;
	}
	return ret;
}

/* If the process ends with several copies, each is sent alone, so that the right one is blamed. */
static int unwind(void *ctx, const struct copy_event *copies, struct unwound *rets, size_t cnt)
{
	size_t alone = 0;
	int ret = 0;

	while (cnt) {
		size_t part = put_copies(ctx, copies, alone ? 1 : cnt);
		int res = ask_unwound(ctx, copies, rets, part);

		if (res == -ECHILD && part > 1) {
			alone = part;
			continue;
		}
		ret = res == -ENOMEM ? res : ret;
		alone -= alone > 0;
		copies += part;
		rets += part;
		cnt -= part;
	}
	return ret;
}

/* --- code */

static bool code(void *ctx, uint32_t pid, uint64_t addr, struct code_opts opts, struct frame *ret)
{
	const uint64_t flags =
		(opts.exact ? NAME_CODE_EXACT : 0) | (opts.named ? NAME_CODE_NAMED : 0);
	struct name_client *client = ctx;
	struct wire in;

	strbuf__reset(&client->out);
	if (ask(client, NAME_CODE, pid, addr, flags, &in) != true)
		return false;
	take_frame(client, &in, ret);
	return !in.bad && ret->module;
}

static size_t keep_code(void *ctx, uint32_t pid, const uint64_t *words, size_t cnt, uint64_t *ret,
			size_t max)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t kept;

	strbuf__reset(&client->out);
	strbuf__add(&client->out, words, cnt * sizeof(*words));
	kept = ask(client, NAME_KEEP_CODE, pid, max, 0, &in);
	if (kept <= 0 || (uint64_t)kept > max)
		return 0;
	wire__take(&in, ret, (size_t)kept * sizeof(*ret));
	return in.bad ? 0 : (size_t)kept;
}

static bool has_section(void *ctx, uint32_t pid, const char *section)
{
	struct name_client *client = ctx;
	struct wire in;

	strbuf__reset(&client->out);
	wire__put_text(&client->out, section);
	return ask(client, NAME_HAS_SECTION, pid, 0, 0, &in) == true;
}

static bool uv_pool(void *ctx, uint32_t pid, struct uv_pool_at *ret)
{
	struct name_client *client = ctx;
	struct uv_pool_at at;
	struct wire in;

	strbuf__reset(&client->out);
	if (ask(client, NAME_UV_POOL, pid, 0, 0, &in) != true)
		return false;
	wire__take(&in, &at, sizeof(at));
	if (!in.bad)
		*ret = at;
	return !in.bad;
}

static int code_bytes(void *ctx, uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t res;

	strbuf__reset(&client->out);
	res = ask(client, NAME_CODE_BYTES, pid, addr, len, &in);
	if (!res)
		wire__take(&in, buf, len);
	return res || in.bad ? -ENODATA : 0;
}

/* --- processes */

static int process(void *ctx, uint32_t pid, struct err *err)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t res;

	strbuf__reset(&client->out);
	res = name_client__know(client, pid) ?: ask(client, NAME_PROCESS, pid, 0, 0, &in);
	if (!res)
		return 0;
	res = res < 0 && res > -4096 ? res : -EIO;
	return err__set(err, (int)-res, "process %u: its mappings cannot be read: %s", pid,
			strerror((int)-res));
}

/* Sent with the next request. */
static void mapped(void *ctx, uint32_t pid, const struct mapping *mapping)
{
	const struct name_mapping one = { .pid = pid, .mapping = *mapping };
	struct name_client *client = ctx;

	if (!name_client__knows(client, pid)) /* its mappings are read when it is first seen */
		return;
	strbuf__add(&client->mapped, &one, sizeof(one));
	wire__put_text(&client->mapped, mapping->path);
	client->mapped_cnt++;
	if (client->mapped.len >= MAPPED_MAX)
		name_client__flush(client);
}

static void flush(void *ctx)
{
	name_client__flush(ctx);
}

static bool knows(void *ctx, uint32_t pid)
{
	return name_client__knows(ctx, pid);
}

static const char *leased(void *ctx, uint64_t *ret_cnt)
{
	const struct name_client *client = ctx;

	*ret_cnt = client->leased_before + client->leased_cnt;
	return client->leased;
}

static uint64_t cut_cnt(void *ctx)
{
	const struct name_client *client = ctx;

	return client->cut_before + client->cut_cnt;
}

static void process_gone(void *ctx, uint32_t pid)
{
	struct name_client *client = ctx;
	struct wire in;

	if (!name_client__knows(client, pid))
		return;
	strbuf__reset(&client->out);
	ask(client, NAME_PROCESS_GONE, pid, 0, 0, &in);
	name_client__forget(client, pid);
}

/* Texts stay until here; no frame needs them any more. */
static void trim(void *ctx)
{
	struct name_client *client = ctx;
	struct wire in;

	strbuf__reset(&client->out);
	ask(client, NAME_TRIM, 0, 0, 0, &in);
	if (client->pool.bytes > TEXTS_MAX)
		pool__free(&client->pool);
}

static void rest(void *ctx, uint64_t now_ns)
{
	struct name_client *client = ctx;
	struct wire in;

	strbuf__reset(&client->out);
	ask(client, NAME_REST, 0, now_ns, 0, &in);
}

/* --- interpreters */

static size_t script_threads(void *ctx, uint32_t pid, struct interp_thread *ret, size_t max)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t cnt;

	strbuf__reset(&client->out);
	cnt = ask(client, NAME_SCRIPT_THREADS, pid, max, 0, &in);
	if (cnt <= 0 || (uint64_t)cnt > max)
		return 0;
	wire__take(&in, ret, (size_t)cnt * sizeof(*ret));
	for (int64_t i = 0; i < cnt; i++)
		in.bad |= ret[i].where.tgid != pid;
	return in.bad ? 0 : (size_t)cnt;
}

static uint64_t script_newest(void *ctx, uint32_t pid)
{
	struct name_client *client = ctx;
	uint64_t newest = 0;
	struct wire in;

	if (!name_client__knows(client, pid))
		return 0;
	strbuf__reset(&client->out);
	if (!ask(client, NAME_SCRIPT_NEWEST, pid, 0, 0, &in))
		wire__take(&in, &newest, sizeof(newest));
	return newest;
}

static bool script_wait(void *ctx, uint32_t pid, const struct jank_script_frame *frames,
			uint32_t cnt, struct script_wait *ret)
{
	struct name_client *client = ctx;
	struct name_wait wait;
	struct wire in;

	strbuf__reset(&client->out);
	strbuf__add(&client->out, frames, cnt * sizeof(*frames));
	if (ask(client, NAME_SCRIPT_WAIT, pid, cnt, 0, &in) != true)
		return false;
	wire__take(&in, &wait, sizeof(wait));
	*ret = (struct script_wait){
		.depth = wait.depth,
		.for_caller = wait.for_caller,
		.one_call = wait.one_call,
		.lock_begin = wait.lock_begin,
		.lock_end = wait.lock_end,
	};
	return !in.bad;
}

#define ASK(NAME, name) .name = name,

const struct symbolizer_ops name_client_ops = { .flush = flush,
						.knows = knows,
						.leased = leased,
						.cut_cnt = cut_cnt,
						NAME_SYMBOLIZER_OPS(ASK) };
