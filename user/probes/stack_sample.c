/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probes/stack_sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define PERIOD_NS NS_PER_MS
#define WAIT_MS	  100
#define RING_SZ	  (64u << 10) /* a sample with 16 KiB of stack fits, a power of two */

/* Numbers of asm/perf_regs.h in the order of compat__all_regs. */
#ifdef __x86_64__
static const uint8_t reg_of[] = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 };
#define REG_MASK 0xff01ffull
#else
static const uint8_t reg_of[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				  11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				  22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#define REG_MASK 0x1ffffffffull
#endif
#define REG_CNT (sizeof(reg_of) / sizeof(*reg_of))

/* PERF_RECORD_SAMPLE of this event; the bytes of the stack follow, then how many are valid. */
struct stack_record {
	struct perf_event_header hdr;
	uint64_t abi;
	uint64_t regs[REG_CNT]; /* by their numbers, upwards */
	uint64_t size;
	uint8_t bytes[JANK_COPY_SZ];
	uint64_t dyn_size;
};

static int open_event(uint32_t tid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REG_MASK,
		.sample_stack_user = JANK_COPY_SZ,
		.wakeup_events = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Place of a register in the sample: of those in the mask, they come by their numbers. */
static unsigned place_of(uint8_t reg)
{
	return (unsigned)__builtin_popcountll(REG_MASK & ((1ull << reg) - 1));
}

static int parse(const struct stack_record *record, uint32_t pid, uint32_t tid,
		 struct jank_copy *ret)
{
	uint64_t got = record->dyn_size;

	if (record->hdr.type != PERF_RECORD_SAMPLE || record->hdr.size != sizeof(*record) ||
	    record->abi != PERF_SAMPLE_REGS_ABI_64 || record->size != JANK_COPY_SZ ||
	    got > JANK_COPY_SZ)
		return -ENODATA; /* in the kernel's own work, or a 32-bit program */
	ret->rec = (struct jank_rec_copy){
		.hdr = { .kind = JANK_REC_COPY, .tgid = pid, .tid = tid },
		.asked_sz = got,
		.copy_sz = got,
	};
	for (unsigned i = 0; i < REG_CNT; i++)
		ret->rec.regs[i] = record->regs[place_of(reg_of[i])];
	memcpy(ret->bytes, record->bytes, got);
	return 0;
}

static int await(int fd, const struct perf_event_mmap_page *page)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	int res = poll(&event, 1, WAIT_MS);

	if (res < 0)
		return -errno;
	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) ? 0 : -ETIMEDOUT;
}

int stack_sample__take(uint32_t pid, uint32_t tid, struct jank_copy *ret)
{
	size_t page_sz = (size_t)sysconf(_SC_PAGESIZE);
	void *base = MAP_FAILED;
	int fd = open_event(tid), res;

	if (fd < 0)
		return -errno;
	base = mmap(NULL, page_sz + RING_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	res = base == MAP_FAILED ? -errno : await(fd, base);
	if (!res) /* the first record does not wrap */
		res = parse((const void *)((const uint8_t *)base + page_sz), pid, tid, ret);
	if (base != MAP_FAILED)
		munmap(base, page_sz + RING_SZ);
	close(fd);
	return res;
}
