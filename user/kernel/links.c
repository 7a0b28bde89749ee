/* SPDX-License-Identifier: GPL-2.0 */
/* A few threads, each with every n-th link. */
#include "kernel/links.h"

#include <bpf/libbpf.h>
#include <pthread.h>

#define THREAD_MAX 16

struct share {
	struct bpf_link **links;
	size_t cnt, first, step;
};

static void *destroy_share(void *arg)
{
	const struct share *share = arg;

	for (size_t i = share->first; i < share->cnt; i += share->step)
		bpf_link__destroy(share->links[i]);
	return NULL;
}

void links__destroy(struct bpf_link **links, size_t cnt)
{
	size_t threads = cnt < THREAD_MAX ? cnt : THREAD_MAX, started = 0;
	struct share shares[THREAD_MAX];
	pthread_t ids[THREAD_MAX];

	for (size_t i = 0; i < threads; i++)
		shares[i] = (struct share){ links, cnt, i, threads };
	while (started < threads &&
	       !pthread_create(&ids[started], NULL, destroy_share, &shares[started]))
		started++;
	for (size_t i = started; i < threads; i++)
		destroy_share(&shares[i]); /* no thread to be had: by ourselves */
	while (started)
		pthread_join(ids[--started], NULL);
}
