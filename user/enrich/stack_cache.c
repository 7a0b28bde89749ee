/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table keyed by (thread, time), and lists of its entries in order of arrival. */
#include "enrich/stack_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "intake/records.h"
#include "model/loss.h"
#include "model/sample.h"
#include "symbol/unwind/unwind.h"

#define SHED_MAX     256
#define TOGETHER_MAX 16 /* copies, so that they cost the naming process one request or two */

struct key {
	uint64_t t_ns;
	uint32_t tid, pad;
};

struct entry;

/*
 * The current dispatch of a thread. Entries of earlier dispatches are either used by now or not
 * needed.
 */
struct thread {
	uint32_t tid; /* key_of */
	uint64_t dispatch_ns;
	struct entry *entries;
	UT_hash_handle hh;
};

/* Data of one sample: its stack copy or the unwound addresses, and the interpreter's frames. */
struct entry {
	struct key key;
	uint32_t pid;
	void *raw; /* a COPY record; NULL: none, or unwound */
	uint64_t *addresses;
	uint32_t address_cnt;
	enum stack_end end;
	char *end_module;
	struct jank_script_frame *script;
	uint32_t script_cnt;
	size_t bytes;
	struct line *line;
	struct entry *prev, *next; /* in line, by age */
	struct thread *thread;	   /* NULL: not in a dispatch */
	struct entry *of_prev, *of_next;
	UT_hash_handle hh;
};

/* List of entries of one kind, oldest first. */
struct line {
	struct entry *oldest;
	size_t bytes;
};

/*
 * Stacks of a thread's dispatch that were dropped for lack of room. They count as a loss if a block
 * needs that dispatch.
 */
struct shed {
	uint32_t tid;
	uint64_t dispatch_ns, cnt;
};

struct stack_cache {
	struct symbolizer *symbolizer;
	struct untraced_procs *untraced;
	struct copy_bpf_fds *maps;
	struct losses *losses;
	struct shed shed[SHED_MAX]; /* indexed by tid % SHED_MAX */
	struct entry *table;
	struct thread *threads;
	struct line dispatches, other_threads;
	struct entry *waiting[TOGETHER_MAX]; /* of dispatches, not unwound yet */
	size_t waiting_cnt;
	struct copy_event copies[TOGETHER_MAX];
	struct unwound unwound[TOGETHER_MAX];
};

struct stack_cache *stack_cache__new(struct symbolizer *symbolizer, struct untraced_procs *untraced,
				     struct copy_bpf_fds *maps, struct losses *losses)
{
	struct stack_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->symbolizer = symbolizer;
	cache->untraced = untraced;
	cache->maps = maps;
	cache->losses = losses;
	return cache;
}

static void forget_empty(struct stack_cache *cache, struct thread *thread)
{
	if (!thread || thread->entries)
		return;
	HASH_DEL(cache->threads, thread);
	free(thread);
}

static void leave_thread(struct stack_cache *cache, struct entry *entry)
{
	struct thread *thread = entry->thread;

	if (!thread)
		return;
	DL_DELETE2(thread->entries, entry, of_prev, of_next);
	entry->thread = NULL;
	forget_empty(cache, thread);
}

static struct entry **find_waiting(struct stack_cache *cache, const struct entry *entry)
{
	for (size_t i = 0; i < cache->waiting_cnt; i++)
		if (cache->waiting[i] == entry)
			return &cache->waiting[i];
	return NULL;
}

static void drop(struct stack_cache *cache, struct entry *entry)
{
	struct entry **waiting = find_waiting(cache, entry);

	if (waiting)
		*waiting = cache->waiting[--cache->waiting_cnt];
	leave_thread(cache, entry);
	HASH_DEL(cache->table, entry);
	DL_DELETE(entry->line->oldest, entry);
	entry->line->bytes -= entry->bytes;
	free(entry->raw);
	free(entry->addresses);
	free(entry->end_module);
	free(entry->script);
	free(entry);
}

void stack_cache__free(struct stack_cache *cache)
{
	if (!cache)
		return;
	while (cache->dispatches.oldest)
		drop(cache, cache->dispatches.oldest);
	while (cache->other_threads.oldest)
		drop(cache, cache->other_threads.oldest);
	free(cache);
}

size_t stack_cache__bytes(const struct stack_cache *cache)
{
	return cache->dispatches.bytes + cache->other_threads.bytes;
}

static struct entry *find(const struct stack_cache *cache, uint32_t tid, uint64_t t_ns)
{
	struct key key = { .t_ns = t_ns, .tid = tid };
	struct entry *entry;

	HASH_FIND(hh, cache->table, &key, sizeof(key), entry);
	return entry;
}

/* Thread ids have 22 bits. The turns of a handler's loop must not drop the handler's entry. */
static uint32_t key_of(uint32_t tid, uint64_t dispatch_ns)
{
	return dispatch_ns & JANK_COPY_NESTED ? tid | 1u << 31 : tid;
}

/* Returns the thread, after dropping its entries of other dispatches. NULL: out of memory. */
static struct thread *thread_in(struct stack_cache *cache, uint32_t tid, uint64_t dispatch_ns)
{
	struct entry *first, *entry, *next;
	struct thread *thread;

	HASH_FIND(hh, cache->threads, &tid, sizeof(tid), thread);
	if (thread && thread->dispatch_ns == dispatch_ns)
		return thread;
	first = thread ? thread->entries : NULL;
	DL_FOREACH_SAFE2(first, entry, next, of_next)
	drop(cache, entry); /* dropping its last entry frees the thread */
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->dispatch_ns = dispatch_ns;
	HASH_ADD(hh, cache->threads, tid, sizeof(tid), thread);
	return thread;
}

static struct entry *find_or_add(struct stack_cache *cache, const struct jank_rec *hdr,
				 uint64_t dispatch_ns, uint64_t t_ns)
{
	struct entry *entry = find(cache, hdr->tid, t_ns);
	struct thread *thread = NULL;

	if (entry)
		return entry;
	if (dispatch_ns)
		thread = thread_in(cache, key_of(hdr->tid, dispatch_ns), dispatch_ns);
	entry = dispatch_ns && !thread ? NULL : calloc(1, sizeof(*entry));
	if (entry) {
		entry->key = (struct key){ .t_ns = t_ns, .tid = hdr->tid };
		entry->pid = hdr->tgid;
		HASH_ADD(hh, cache->table, key, sizeof(entry->key), entry);
	}
	if (!entry) {
		forget_empty(cache, thread);
		return NULL;
	}
	entry->thread = thread;
	if (thread)
		DL_APPEND2(thread->entries, entry, of_prev, of_next);
	entry->line = dispatch_ns ? &cache->dispatches : &cache->other_threads;
	DL_APPEND(entry->line->oldest, entry);
	return entry;
}

/* Count drops of a displaced slot at once: it is no longer known whether a block needs them. */
static void note_shed(struct stack_cache *cache, const struct thread *thread)
{
	struct shed *shed = &cache->shed[thread->tid % SHED_MAX];

	if (shed->tid != thread->tid || shed->dispatch_ns != thread->dispatch_ns) {
		if (shed->tid != thread->tid)
			losses__add(cache->losses, JANK_LOST_COPY, shed->cnt);
		*shed = (struct shed){ .tid = thread->tid, .dispatch_ns = thread->dispatch_ns };
	}
	shed->cnt++;
}

static int report_shed(struct stack_cache *cache, struct block *block)
{
	struct shed *shed = &cache->shed[block->tid % SHED_MAX];
	uint64_t cnt = shed->cnt;

	if (!cnt || shed->tid != block->tid || shed->dispatch_ns != block->start_ns)
		return 0;
	shed->cnt = 0;
	losses__add(cache->losses, JANK_LOST_COPY, cnt);
	return block__add_loss(block, JANK_LOST_COPY, cnt);
}

/*
 * Dropped copies of threads without a dispatch are no loss: the probes also walked their frame
 * pointers.
 */
static void shed(struct stack_cache *cache, struct entry *entry)
{
	if (entry->thread)
		note_shed(cache, entry->thread);
	drop(cache, entry);
}

/*
 * Copies of threads without a dispatch are large and rarely needed: limit them to half of the room.
 */
static struct entry *next_to_go(const struct stack_cache *cache)
{
	bool other_threads = cache->other_threads.bytes > STACK_CACHE_BYTES_MAX / 2;

	return other_threads || !cache->dispatches.oldest ? cache->other_threads.oldest
							  : cache->dispatches.oldest;
}

static void weigh(struct entry *entry)
{
	const struct jank_rec *raw = entry->raw;
	size_t bytes = sizeof(*entry) + (raw ? raw->size : 0) +
		       entry->address_cnt * sizeof(*entry->addresses) +
		       entry->script_cnt * sizeof(*entry->script);

	entry->line->bytes += bytes - entry->bytes;
	entry->bytes = bytes;
}

/* The entry stays. */
static void make_room(struct stack_cache *cache, const struct entry *entry)
{
	while (stack_cache__bytes(cache) > STACK_CACHE_BYTES_MAX && next_to_go(cache) != entry)
		shed(cache, next_to_go(cache));
}

void stack_cache__rest(struct stack_cache *cache, uint64_t now_ns)
{
	struct line *others = &cache->other_threads;

	while (others->oldest && others->oldest->key.t_ns + OTHERS_AGE_NS < now_ns)
		drop(cache, others->oldest);
}

/* PCRE2's JIT code runs below an array of 32 KiB on the stack, most of which is not touched. */
static bool ends_in_jit_code(const struct unwound *unwound)
{
	return unwound->end == STACK_END_HOLE && unwound->module &&
	       !strcmp(unwound->module, "[jit]");
}

/* Copies more of the stacks of this process when the copied part was too short. */
static void deepen(struct stack_cache *cache, const struct copy_event *copy,
		   const struct unwound *unwound)
{
	bool jit = ends_in_jit_code(unwound);
	uint32_t asked = copy->rec.asked_sz;
	uint32_t size = jit || asked > JANK_COPY_MAX / 2 ? JANK_COPY_MAX : asked * 2;

	if ((unwound->end != STACK_END_COPY || copy->rec.hdr.flags & JANK_COPY_HOLE) && !jit)
		return;
	if (!copy->rec.dispatch_ns || copy->rec.hdr.flags & JANK_COPY_WHOLE ||
	    asked >= JANK_COPY_MAX)
		return;
	copy_bpf_fds__deepen(cache->maps, copy->rec.hdr.tgid, size);
}

/* The probes' frames of an interpreter stay: a process has those of one or the other. */
static int set_functions(struct entry *entry, const struct unwound *found)
{
	size_t size = found->script_cnt * sizeof(*entry->script);

	if (!size || entry->script)
		return 0;
	entry->script = malloc(size);
	if (!entry->script)
		return -ENOMEM;
	memcpy(entry->script, found->script, size);
	entry->script_cnt = found->script_cnt;
	return 0;
}

static int set_callers(struct entry *entry, const struct unwound *found)
{
	uint64_t *addresses = malloc(found->cnt * sizeof(*addresses));

	if (!addresses)
		return -ENOMEM;
	memcpy(addresses, found->addresses, found->cnt * sizeof(*addresses));
	free(entry->addresses);
	free(entry->end_module);
	entry->addresses = addresses;
	entry->address_cnt = found->cnt;
	entry->end = found->end;
	entry->end_module = found->module ? strdup(found->module) : NULL;
	return set_functions(entry, found);
}

static void free_copy(struct entry *entry)
{
	free(entry->raw);
	entry->raw = NULL;
	weigh(entry);
}

/* Unwinds the copies of entries, at most TOGETHER_MAX, and frees them. */
static int walk(struct stack_cache *cache, struct entry *const *entries, size_t cnt)
{
	struct unwound *found = cache->unwound;
	int res = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct jank_rec *hdr = entries[i]->raw;
		struct event event;

		decode__record(hdr, hdr->size, &event); /* it was valid when it came */
		cache->copies[i] = event.copy;
	}
	res = symbolizer__unwind(cache->symbolizer, cache->copies, found, cnt);
	for (size_t i = 0; i < cnt; i++) {
		int one = set_callers(entries[i], &found[i]);

		res = one ?: res;
		deepen(cache, &cache->copies[i], &found[i]);
		free_copy(entries[i]);
	}
	return res;
}

int stack_cache__unwind(struct stack_cache *cache)
{
	size_t cnt = cache->waiting_cnt;
	int res;

	cache->waiting_cnt = 0;
	res = cnt ? walk(cache, cache->waiting, cnt) : 0;
	make_room(cache, NULL);
	return res;
}

bool stack_cache__waits(const struct stack_cache *cache)
{
	return cache->waiting_cnt;
}

static int take_copy(struct stack_cache *cache, const struct copy_event *copy, void *record)
{
	struct entry *entry =
		find_or_add(cache, &copy->rec.hdr, copy->rec.dispatch_ns, copy->rec.t_ns);

	if (!entry) {
		free(record);
		return -ENOMEM;
	}
	free(entry->raw);
	entry->raw = record;
	weigh(entry);
	if (entry->thread && !find_waiting(cache, entry))
		cache->waiting[cache->waiting_cnt++] = entry;
	make_room(cache, entry);
	return cache->waiting_cnt == TOGETHER_MAX ? stack_cache__unwind(cache) : 0;
}

static int take_script(struct stack_cache *cache, const struct script_event *script, void *record)
{
	struct entry *entry =
		find_or_add(cache, &script->rec.hdr, script->rec.dispatch_ns, script->rec.t_ns);
	size_t size = script->rec.frame_cnt * sizeof(*entry->script);
	struct jank_script_frame *frames = entry ? malloc(size ? size : 1) : NULL;

	if (frames) {
		memcpy(frames, script->frames, size);
		free(entry->script);
		entry->script = frames;
		entry->script_cnt = script->rec.frame_cnt;
		weigh(entry);
		make_room(cache, entry);
	}
	free(record);
	return frames ? 0 : -ENOMEM;
}

int stack_cache__take(struct stack_cache *cache, void *record, size_t size)
{
	struct event event;
	int res = decode__record(record, size, &event);

	if (!res && event.kind == JANK_REC_COPY)
		return take_copy(cache, &event.copy, record);
	if (!res && event.kind == JANK_REC_SCRIPT)
		return take_script(cache, &event.script, record);
	free(record);
	return -EBADMSG;
}

/* Unwinds a copy that was kept as it was, when a block needs it. */
static int walk_late(struct stack_cache *cache, struct entry *entry)
{
	int res = 0;

	if (untraced_procs__may_ask(cache->untraced, entry->pid, entry->key.t_ns))
		res = walk(cache, &entry, 1);
	else
		free_copy(entry);
	make_room(cache, entry);
	return res;
}

/* Keep the result of the frame pointers if it reaches further than an unwind that ended early. */
static bool is_better(const struct entry *entry, const struct stack *stack)
{
	return entry->addresses &&
	       (entry->end == STACK_END_COMPLETE || entry->address_cnt >= stack->user_cnt);
}

static int fill(struct stack_cache *cache, uint32_t tid, struct stack *stack)
{
	struct entry *entry = stack->addresses ? find(cache, tid, stack->t_ns) : NULL;
	bool better;
	int res = 0;

	if (!entry)
		return 0;
	if (entry->raw)
		res = walk_late(cache, entry);
	better = is_better(entry, stack);
	if (!res && better)
		res = stack__set_callers(stack, entry->addresses, entry->address_cnt, entry->end,
					 entry->end_module);
	/* Functions of native frames go with the addresses of their walk. */
	if (!res && entry->script_cnt && (better || !(entry->script[0].flags & JANK_SCRIPT_NATIVE)))
		res = stack__set_script(stack, entry->script, entry->script_cnt);
	return res;
}

int stack_cache__fill(void *ctx, struct block *block)
{
	int unwound = stack_cache__unwind(ctx), res = report_shed(ctx, block);
	struct stack *stack;
	uint32_t tid;

	for (size_t nr = 0; !res && (stack = block__stack(block, nr, &tid)); nr++)
		res = fill(ctx, tid, stack);
	return res ? res : unwound;
}

void stack_cache__on_exit(struct stack_cache *cache, uint32_t pid)
{
	copy_bpf_fds__drop(cache->maps, pid);
}
