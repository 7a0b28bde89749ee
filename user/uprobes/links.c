/* SPDX-License-Identifier: GPL-2.0 */
/* A few threads, each with every n-th link. */
#include "uprobes/links.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <unistd.h>

#include "base/thread.h"

#define THREAD_MAX 16

struct share {
	void (*destroy)(void *links, size_t i);
	void *links;
	size_t cnt, first, step;
};

static void *destroy_share(void *arg)
{
	const struct share *share = arg;

	for (size_t i = share->first; i < share->cnt; i += share->step)
		share->destroy(share->links, i);
	return NULL;
}

static void destroy_all(void (*destroy)(void *links, size_t i), void *links, size_t cnt)
{
	size_t threads = cnt < THREAD_MAX ? cnt : THREAD_MAX, started = 0;
	struct share shares[THREAD_MAX];
	pthread_t ids[THREAD_MAX];

	for (size_t i = 0; i < threads; i++)
		shares[i] = (struct share){ destroy, links, cnt, i, threads };
	while (started < threads &&
	       !thread__start(&ids[started], "jankbpf-detach", destroy_share, &shares[started]))
		started++;
	for (size_t i = started; i < threads; i++)
		destroy_share(&shares[i]); /* no thread to be had: by ourselves */
	while (started)
		pthread_join(ids[--started], NULL);
}

static void destroy_link(void *links, size_t i)
{
	bpf_link__destroy(((struct bpf_link **)links)[i]);
}

static void destroy_held(void *links, size_t i)
{
	const struct held_link *held = (struct held_link *)links + i;

	if (held->link)
		bpf_link__destroy(held->link);
	else if (held->fd >= 0)
		close(held->fd);
}

void links__destroy(struct bpf_link **links, size_t cnt)
{
	destroy_all(destroy_link, links, cnt);
}

void links__destroy_held(struct held_link *links, size_t cnt)
{
	destroy_all(destroy_held, links, cnt);
}
