// SPDX-License-Identifier: GPL-2.0
// A hostile program that pretends to have the runtime of a language: hostile_runtime.t compiles it
// together with the layout that it makes up. Its loop stalls in code that it made, below 60 frames
// whose words point into a heap of pointers to itself.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define HEAP_SZ (8u << 20)
#define DEPTH	60

#define CODE_AT 2048	    // in the page of code
#define BEFORE	(64u << 10) // bytes before that page

// Of the layout: fills the heap, what is before the page, and the begin of the page.
extern void fill(uint64_t *heap, size_t cnt, unsigned char *page);

static uint64_t words[8];

static int late(int64_t *until)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec >= *until;
}

// A function of the form rdi: depth, rsi: end, rdx: late, rcx: words; it pushes the words below its
// frame pointer, and calls itself, or late until that says so.
static const unsigned char code[] = {
	0x55,								  // push rbp
	0x48, 0x89, 0xe5,						  // mov rbp, rsp
	0xff, 0x31, 0xff, 0x71, 0x08, 0xff, 0x71, 0x10, 0xff, 0x71, 0x18, // push [rcx], [rcx + 8] …
	0xff, 0x71, 0x20, 0xff, 0x71, 0x28, 0xff, 0x71, 0x30, 0xff, 0x71, 0x38, 0x48, 0xff,
	0xcf,			      // dec rdi
	0x74, 0x09,		      // jz spin
	0xe8, 0xdb, 0xff, 0xff, 0xff, // call itself
	0xc9, 0xc3, 0x90, 0x90,	      // leave; ret
	// spin:
	0x56, 0x52,	  // push rsi; push rdx
	0x48, 0x89, 0xf7, // mov rdi, rsi
	0xff, 0xd2,	  // call rdx
	0x5a, 0x5e,	  // pop rdx; pop rsi
	0x85, 0xc0,	  // test eax, eax
	0x74, 0xf3,	  // jz spin
	0xc9, 0xc3,	  // leave; ret
};

typedef void made_fn(uint64_t depth, int64_t *until, int (*late)(int64_t *), const uint64_t *words);

int main(void)
{
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec each = { { 0, 100000000 }, { 0, 100000000 } };
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t *heap =
		mmap(NULL, HEAP_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *page = mmap(NULL, BEFORE + 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page += BEFORE;
	fill(heap, HEAP_SZ / 8, page);
	memcpy(page + CODE_AT, code, sizeof(code));
	timerfd_settime(timer, 0, &each, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
	srand(1);
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct timespec ts;
		uint64_t cnt;
		int64_t until;

		epoll_wait(epoll, &event, 1, -1);
		read(timer, &cnt, sizeof(cnt));
		for (unsigned i = 0; i < 8; i++)
			words[i] = heap[2 * (rand() % (HEAP_SZ / 16))];
		clock_gettime(CLOCK_MONOTONIC, &ts);
		until = ts.tv_sec * 1000000000ll + ts.tv_nsec + 50000000;
		((made_fn *)(page + CODE_AT))(DEPTH, &until, late, words);
	}
}
