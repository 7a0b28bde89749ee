/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums the samples' time by function. Code is identified by function name and module, not by
 * address; without a name by where its function starts.
 */
#include "verdict/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"
#include "verdict/frames.h"

#define SHARED_MIN 0.9 /* share of a part's time from which a place represents all of it */

/* A possible culprit of a sample, with the sample's weight. */
struct candidate {
	const char *name, *module;
	uint64_t start;		   /* of a function without a name; 0: not known */
	const struct frame *frame; /* NULL for a system call */
	uint64_t weight;
	size_t at;    /* sample index; of two equal ones the earlier wins */
	size_t depth; /* application functions below it on its stack */
};

struct candidates {
	struct candidate *list; /* NULL: out of memory */
	size_t cnt;
	uint64_t sum; /* of all samples, with or without a candidate */
};

static int compare(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

/*
 * Unnamed code of one module whose functions are not known counts as one entry. Counted by address,
 * it would be hidden behind named functions.
 */
static int by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = compare(x->name, y->name);

	if (!order)
		order = compare(x->module, y->module);
	if (!order)
		order = (x->start > y->start) - (x->start < y->start);
	if (!order)
		order = (x->at > y->at) - (x->at < y->at);
	return order ? order : (x->depth > y->depth) - (x->depth < y->depth);
}

static bool same(const struct candidate *a, const struct candidate *b)
{
	return !compare(a->name, b->name) && !compare(a->module, b->module) && a->start == b->start;
}

/*
 * The entry with the most time, summed over its samples; if there is none, an empty one. Frees the
 * list.
 */
static struct candidate heaviest(struct candidates *from)
{
	struct candidate ret = { 0 }, sum = { 0 };

	if (from->cnt)
		qsort(from->list, from->cnt, sizeof(*from->list), by_name);
	for (size_t i = 0; i < from->cnt; i++) {
		if (i && same(&sum, &from->list[i]))
			sum.weight += from->list[i].weight;
		else
			sum = from->list[i];
		if (sum.weight > ret.weight || (sum.weight == ret.weight && sum.at < ret.at))
			ret = sum;
	}
	free(from->list);
	return ret;
}

static double share(uint64_t part, uint64_t sum)
{
	return sum ? (double)part / (double)sum : 0;
}

static struct candidate candidate_of(const struct frame *frame, uint64_t weight, size_t at)
{
	return (struct candidate){ .name = frame->function,
				   .module = frame->module,
				   .start = frame->start,
				   .frame = frame,
				   .weight = weight,
				   .at = at };
}

static const struct frame *leaf_of_kernel(const struct stack *stack)
{
	return stack->frame_cnt && stack->frames[0].kernel && stack->frames[0].function
		       ? &stack->frames[0]
		       : NULL;
}

typedef uint64_t weigh_fn(const struct analysis *analysis, size_t i, size_t part);

typedef const struct frame *frame_fn(const struct stack *stack);

static frame_fn *frame_of(const struct analysis *analysis, size_t part)
{
	return analysis->block->cause.parts[part].state == JANK_STATE_RUNNING ? stack__busy_frame
									      : stack__app_frame;
}

static const struct frame *heaviest_by(const struct analysis *analysis, weigh_fn *weigh,
				       size_t part, frame_fn *of, double *ret_share)
{
	size_t cnt = analysis->block->sample_cnt;
	struct candidates all = { .list = calloc(cnt + 1, sizeof(*all.list)) };
	struct candidate ret;

	for (size_t i = 0; all.list && i < cnt; i++) {
		uint64_t weight = weigh(analysis, i, part);
		const struct frame *frame = of(&analysis->block->samples[i].stack);

		all.sum += weight;
		if (frame && weight)
			all.list[all.cnt++] = candidate_of(frame, weight, i);
	}
	ret = heaviest(&all);
	if (ret_share)
		*ret_share = share(ret.weight, all.sum);
	return ret.frame;
}

const struct frame *culprit__frame(const struct analysis *analysis, size_t part, double *ret_share)
{
	return heaviest_by(analysis, analysis__weight, part, frame_of(analysis, part), ret_share);
}

const struct frame *culprit__kernel_frame(const struct analysis *analysis, size_t part,
					  double *ret_share)
{
	return heaviest_by(analysis, analysis__weight, part, leaf_of_kernel, ret_share);
}

static uint64_t weigh_tick(const struct analysis *analysis, size_t i, size_t part)
{
	(void)part;
	return analysis->block->samples[i].state == JANK_STATE_RUNNING;
}

const struct frame *culprit__running_frame(const struct analysis *analysis)
{
	return heaviest_by(analysis, weigh_tick, 0, stack__app_frame, NULL);
}

const struct frame *culprit__handler(const struct analysis *analysis, size_t part,
				     const struct frame *frame)
{
	size_t cnt = analysis->block->sample_cnt;
	struct candidates all = { .list = calloc(cnt + 1, sizeof(*all.list)) };
	frame_fn *of = frame_of(analysis, part);
	struct candidate ret;

	for (size_t i = 0; all.list && i < cnt; i++) {
		const struct stack *stack = &analysis->block->samples[i].stack;
		uint64_t weight = analysis__weight(analysis, i, part);
		const struct frame *app = weight ? of(stack) : NULL, *handler;

		if (!app || !stack__same_code(app, frame))
			continue;
		handler = stack__handler(stack);
		all.sum += weight;
		if (handler)
			all.list[all.cnt++] = candidate_of(handler, weight, i);
	}
	ret = heaviest(&all);
	if (share(ret.weight, all.sum) < SHARED_MIN || stack__same_code(ret.frame, frame))
		return NULL;
	return ret.frame;
}

/* A property of the samples in which the function is the one to blame, by its weight. */
struct property {
	const void *value;
	uint64_t weight;
};

#define PROPERTIES_MAX 64

typedef const void *property_fn(const struct stack *stack, const struct frame *app);

/* The value that most of the function's weight has; NULL: none has. */
static const void *prevailing(const struct analysis *analysis, size_t part,
			      const struct frame *frame, property_fn *property)
{
	struct property list[PROPERTIES_MAX];
	frame_fn *of = frame_of(analysis, part);
	uint64_t sum = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		const struct stack *stack = &analysis->block->samples[i].stack;
		uint64_t weight = analysis__weight(analysis, i, part);
		const struct frame *app = weight ? of(stack) : NULL;
		const void *value;
		size_t k = 0;

		if (!app || !stack__same_code(app, frame))
			continue;
		sum += weight;
		value = property(stack, app);
		while (k < cnt && list[k].value != value)
			k++;
		if (k == cnt && cnt < PROPERTIES_MAX)
			list[cnt++] = (struct property){ value, 0 };
		list[k < cnt ? k : 0].weight += k < cnt ? weight : 0;
	}
	for (size_t k = 0; k < cnt; k++)
		if (list[k].weight > sum / 2)
			return list[k].value;
	return NULL;
}

static const void *activity_of(const struct stack *stack, const struct frame *app)
{
	return wait_reason__activity(stack, app);
}

static const void *line_of(const struct stack *stack, const struct frame *app)
{
	return (const void *)(uintptr_t)app->line;
}

const char *culprit__activity(const struct analysis *analysis, size_t part,
			      const struct frame *frame)
{
	return prevailing(analysis, part, frame, activity_of);
}

uint32_t culprit__line(const struct analysis *analysis, size_t part, const struct frame *frame)
{
	return frame->language ? (uint32_t)(uintptr_t)prevailing(analysis, part, frame, line_of)
			       : 0;
}

/* Time of samples by the frames on their stacks. */
struct stood {
	uint64_t any, app, own;
};

static struct stood stood_for(const struct analysis *analysis, weigh_fn *weigh, size_t part,
			      const struct frame *frame)
{
	frame_fn *of = frame_of(analysis, part);
	struct stood ret = { 0 };

	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		const struct stack *stack = &analysis->block->samples[i].stack;
		const struct frame *app = of(stack);
		uint64_t weight = weigh(analysis, i, part);

		ret.any += stack->frame_cnt ? weight : 0;
		ret.app += app ? weight : 0;
		ret.own += app && stack__same_code(app, frame) ? weight : 0;
	}
	return ret;
}

bool culprit__stands(const struct analysis *analysis, size_t part, const struct frame *frame)
{
	struct stood stood = stood_for(analysis, analysis__weight, part, frame);

	if (!stood.app && analysis->block->cause.parts[part].state == JANK_STATE_RUNNABLE)
		stood = stood_for(analysis, weigh_tick, part, frame);
	return stood.own && stood.own >= stood.app - stood.own && stood.own >= stood.any / 4;
}

bool culprit__is_many(const struct analysis *analysis, size_t part, const struct frame *frame)
{
	frame_fn *of = frame_of(analysis, part);

	for (size_t i = 0; !frame->function && !frame->start && i < analysis->block->sample_cnt;
	     i++) {
		const struct frame *app = of(&analysis->block->samples[i].stack);

		if (app && stack__same_code(app, frame) && app->offset != frame->offset &&
		    analysis__weight(analysis, i, part))
			return true;
	}
	return false;
}

static bool is_at(const struct stack *stack, const struct frame *place)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->function && frame->offset == place->offset &&
		    !compare(frame->module, place->module))
			return true;
	}
	return false;
}

const struct frame *culprit__shared_place(const struct analysis *analysis, size_t part)
{
	const struct sample *sample = analysis__main_sample(analysis, part);
	const struct stack *stack = sample ? &sample->stack : NULL;

	for (size_t i = 0; stack && i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];
		uint64_t own = 0, all = 0;

		if (frame->function || frame->dispatcher || !frame->app || !frame->module ||
		    *frame->module != '/')
			continue;
		for (size_t k = 0; k < analysis->block->sample_cnt; k++) {
			uint64_t weight = analysis__weight(analysis, k, part);

			all += weight;
			if (weight && is_at(&analysis->block->samples[k].stack, frame))
				own += weight;
		}
		if ((double)own >= SHARED_MIN * (double)all)
			return frame;
	}
	return NULL;
}

const char *culprit__syscall(const struct analysis *analysis, size_t part)
{
	size_t cnt = analysis->block->sample_cnt;
	struct candidates all = { .list = calloc(cnt + 1, sizeof(*all.list)) };

	for (size_t i = 0; all.list && i < cnt; i++) {
		uint64_t weight = analysis__weight(analysis, i, part);

		if (analysis->block->samples[i].syscall_name && weight)
			all.list[all.cnt++] = (struct candidate){
				.name = analysis->block->samples[i].syscall_name,
				.weight = weight,
				.at = i
			};
	}
	return heaviest(&all).name;
}

/*
 * True for a function without a name that a function of the same file calls through the runtime,
 * such as the one that a sort gets: how the time is divided between these two is chance.
 */
static bool is_callback(const struct stack *stack, size_t i)
{
	const struct frame *frame = &stack->frames[i], *caller;
	size_t k = i + 1;

	if (!frame->language || !text__begins(frame->function, "anonymous"))
		return false;
	while (k < stack->frame_cnt && !stack->frames[k].language)
		k++;
	caller = k > i + 1 && k < stack->frame_cnt ? &stack->frames[k] : NULL;
	return caller && caller->app && text__same(caller->file, frame->file);
}

/* Adds every known function to blame that is on the stack; a recursive one several times. */
static size_t add_functions(struct candidate *list, const struct stack *stack,
			    const struct candidate *of, bool own)
{
	size_t cnt = 0;

	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->app || frame->dispatcher || (!frame->function && !frame->start) ||
		    (own && frame->owner != CODE_OWN) || is_callback(stack, i))
			continue;
		list[cnt] = candidate_of(frame, of->weight, of->at);
		list[cnt].depth = cnt;
		cnt++;
	}
	return cnt;
}

static size_t frames_of(const struct analysis *analysis, size_t part)
{
	size_t ret = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++)
		if (analysis__weight(analysis, i, part))
			ret += analysis->block->samples[i].stack.frame_cnt;
	return ret;
}

/*
 * Sums the entries of one function, once for each sample at its innermost position. Returns the
 * number of entries.
 */
static size_t total_of(const struct candidate *list, size_t cnt, uint64_t *ret_ns,
		       double *ret_depth)
{
	size_t i = 0;

	*ret_ns = 0;
	*ret_depth = 0;
	for (; i < cnt && same(&list[0], &list[i]); i++) {
		if (i && list[i].at == list[i - 1].at)
			continue;
		*ret_ns += list[i].weight;
		*ret_depth += (double)list[i].depth * (double)list[i].weight;
	}
	*ret_depth /= (double)*ret_ns;
	return i;
}

/* A short block has three or four ticks: two of them in one function are chance. */
#define COMMON 0.69

/* The innermost of the functions, in the order of by_name, that have most of the time. */
static const struct frame *innermost_common(const struct candidates *all, double *ret_share)
{
	const struct frame *ret = NULL;
	double depth, least = 0;
	uint64_t ns;

	for (size_t i = 0; i < all->cnt;) {
		const struct candidate *first = &all->list[i];

		i += total_of(first, all->cnt - i, &ns, &depth);
		if (share(ns, all->sum) < COMMON || (ret && depth >= least))
			continue;
		ret = first->frame;
		least = depth;
		if (ret_share)
			*ret_share = share(ns, all->sum);
	}
	return ret;
}

static const struct frame *common_of(const struct analysis *analysis, size_t part, bool own,
				     double *ret_share)
{
	struct candidates all = { .list = calloc(frames_of(analysis, part) + 1,
						 sizeof(*all.list)) };
	const struct frame *ret;

	for (size_t i = 0; all.list && i < analysis->block->sample_cnt; i++) {
		const struct candidate of = { .weight = analysis__weight(analysis, i, part),
					      .at = i };

		all.sum += of.weight;
		if (of.weight)
			all.cnt += add_functions(all.list + all.cnt,
						 &analysis->block->samples[i].stack, &of, own);
	}
	if (all.cnt)
		qsort(all.list, all.cnt, sizeof(*all.list), by_name);
	ret = innermost_common(&all, ret_share);
	free(all.list);
	return ret;
}

const struct frame *culprit__common(const struct analysis *analysis, size_t part, double *ret_share)
{
	const struct frame *ret = common_of(analysis, part, true, ret_share);

	return ret ? ret : common_of(analysis, part, false, ret_share);
}
