/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads all rings together, record by record in time order. A process may be forked on one CPU and
 * run on another; its exec must not be reported before its fork.
 */
#include "uprobes/mmaps.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define RING_SZ	   (128u << 10)	    /* bytes; about 1,000 records */
#define RECORD_MAX (64u << 10)	    /* bytes; the size field of a header has 16 bits */
#define FULL_SZ	   (PATH_MAX + 512) /* bytes; with less room a record may have been dropped */
#define ROUNDS_MAX 64

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t head, tail; /* positions of this round */
	uint64_t ts_ns;	     /* time of the record at tail */
	uint32_t size;
};

struct mmaps {
	struct mmaps_ops ops;
	int epfd;
	size_t page_sz;
	struct cpu_ring *rings;
	unsigned ring_cnt;
	struct mmaps_record record;
	uint8_t whole[RECORD_MAX]; /* copy of a record that wraps around */
};

static int open_event(const struct mmaps_ops *ops, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1, /* without mmap_data: only executable mappings */
		.mmap2 = 1,
		.comm = ops->on_exec != NULL,
		.comm_exec = ops->on_exec != NULL,
		.task = ops->on_fork || ops->on_exit,
		.watermark = 1,
		/* wake for each record: a library must be probed before it runs */
		.wakeup_watermark = ops->lazy ? RING_SZ / 2 : 1,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(struct mmaps *mmaps, int cpu)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct cpu_ring ring = { .fd = open_event(&mmaps->ops, cpu) };
	void *base = MAP_FAILED;
	int res;

	if (ring.fd < 0)
		return errno == ENODEV ? 0 : -errno; /* offline */
	base = mmap(NULL, mmaps->page_sz + RING_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (base == MAP_FAILED || epoll_ctl(mmaps->epfd, EPOLL_CTL_ADD, ring.fd, &event)) {
		res = -errno;
		if (base != MAP_FAILED)
			munmap(base, mmaps->page_sz + RING_SZ);
		close(ring.fd);
		return res;
	}
	ring.page = base;
	ring.data = (const uint8_t *)base + mmaps->page_sz;
	mmaps->rings[mmaps->ring_cnt++] = ring;
	return 0;
}

static int open_rings(struct mmaps *mmaps)
{
	int cpus = libbpf_num_possible_cpus(), res = 0;

	if (cpus <= 0)
		return cpus ? cpus : -EINVAL;
	mmaps->page_sz = (size_t)sysconf(_SC_PAGESIZE);
	mmaps->rings = calloc((size_t)cpus, sizeof(*mmaps->rings));
	mmaps->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (!mmaps->rings)
		return -ENOMEM;
	if (mmaps->epfd < 0)
		return -errno;
	for (int cpu = 0; cpu < cpus && !res; cpu++)
		res = open_ring(mmaps, cpu);
	return res;
}

int mmaps__new(const struct mmaps_ops *ops, struct mmaps **ret, struct err *err)
{
	struct mmaps *mmaps = calloc(1, sizeof(*mmaps));
	int res;

	if (!mmaps)
		return err__set(err, ENOMEM, "out of memory");
	mmaps->ops = *ops;
	mmaps->epfd = -1;
	res = open_rings(mmaps);
	if (!res) {
		*ret = mmaps;
		return 0;
	}
	mmaps__free(mmaps);
	if (res == -EACCES || res == -EPERM)
		return err__set_exit(
			err, JANK_EXIT_CANNOT, -res,
			"cannot watch which files are mapped (%s): it needs CAP_PERFMON; "
			"run as root, and see `jankbpf doctor`",
			strerror(-res));
	return err__set_exit(err, JANK_EXIT_CANNOT, -res,
			     "cannot watch which files are mapped: perf_event_open: %s; see "
			     "`jankbpf doctor`",
			     strerror(-res));
}

void mmaps__free(struct mmaps *mmaps)
{
	if (!mmaps)
		return;
	for (unsigned i = 0; i < mmaps->ring_cnt; i++) {
		munmap(mmaps->rings[i].page, mmaps->page_sz + RING_SZ);
		close(mmaps->rings[i].fd);
	}
	if (mmaps->epfd >= 0)
		close(mmaps->epfd);
	free(mmaps->rings);
	free(mmaps);
}

int mmaps__fd(const struct mmaps *mmaps)
{
	return mmaps->epfd;
}

/* Record sizes are multiples of 8 bytes, so a header or a trailer never wraps. */
static const void *at(const struct cpu_ring *ring, uint64_t position)
{
	return ring->data + position % RING_SZ;
}

static void give_back(struct cpu_ring *ring, uint64_t tail)
{
	ring->tail = tail;
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

/*
 * Reads the header of the record at the tail. An invalid record hides what follows it, so the rest
 * of the ring is dropped.
 */
static void peek(struct cpu_ring *ring)
{
	uint64_t left = ring->head - ring->tail;
	struct perf_event_header hdr = { 0 };

	if (left >= sizeof(hdr))
		memcpy(&hdr, at(ring, ring->tail), sizeof(hdr));
	if (hdr.size < sizeof(hdr) + MMAPS_TRAILER_SZ || hdr.size % 8 || hdr.size > left) {
		give_back(ring, ring->head);
		return;
	}
	ring->size = hdr.size;
	memcpy(&ring->ts_ns, at(ring, ring->tail + hdr.size - MMAPS_TRAILER_SZ), MMAPS_TRAILER_SZ);
}

static const void *whole_record(struct mmaps *mmaps, const struct cpu_ring *ring)
{
	size_t first = RING_SZ - ring->tail % RING_SZ;

	if (ring->size <= first)
		return at(ring, ring->tail);
	memcpy(mmaps->whole, at(ring, ring->tail), first);
	memcpy(mmaps->whole + first, ring->data, ring->size - first);
	return mmaps->whole;
}

static void deliver(const struct mmaps_ops *ops, const struct mmaps_record *record)
{
	switch (record->kind) {
	case MMAPS_MAP:
		if (ops->on_map && ops->wants(ops->ctx, text__base_name(record->path)))
			ops->on_map(ops->ctx, &record->map);
		break;
	case MMAPS_EXEC:
		if (ops->on_exec)
			ops->on_exec(ops->ctx, record->pid);
		break;
	case MMAPS_FORK:
		if (ops->on_fork)
			ops->on_fork(ops->ctx, record->pid, record->parent);
		break;
	case MMAPS_EXIT:
		if (ops->on_exit)
			ops->on_exit(ops->ctx, record->pid, record->tid);
		break;
	case MMAPS_LOST:
		if (ops->on_lost)
			ops->on_lost(ops->ctx, record->lost_cnt);
		break;
	}
}

/*
 * Copies the record and frees its room in the ring before calling the callback, which may take
 * long.
 */
static void take(struct mmaps *mmaps, struct cpu_ring *ring)
{
	bool good = mmaps_record__decode(whole_record(mmaps, ring), ring->size, &mmaps->record);

	mmaps->record.map.t_ns = ring->ts_ns;
	give_back(ring, ring->tail + ring->size);
	if (ring->tail != ring->head)
		peek(ring);
	if (good)
		deliver(&mmaps->ops, &mmaps->record);
}

static struct cpu_ring *oldest(struct mmaps *mmaps)
{
	struct cpu_ring *ret = NULL;

	for (unsigned i = 0; i < mmaps->ring_cnt; i++) {
		struct cpu_ring *ring = &mmaps->rings[i];

		if (ring->tail != ring->head && (!ret || ring->ts_ns < ret->ts_ns))
			ret = ring;
	}
	return ret;
}

/*
 * Returns the number of rings with records. The kernel reports dropped records only with the next
 * record on that CPU, which may take long. So a full ring is reported at once.
 */
static unsigned look(struct mmaps *mmaps)
{
	bool full = false;
	unsigned cnt = 0;

	for (unsigned i = 0; i < mmaps->ring_cnt; i++) {
		struct cpu_ring *ring = &mmaps->rings[i];

		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		ring->tail = ring->page->data_tail;
		if (ring->tail == ring->head)
			continue;
		full = full || ring->head - ring->tail > RING_SZ - FULL_SZ;
		peek(ring);
		cnt += ring->tail != ring->head;
	}
	if (full && mmaps->ops.on_lost)
		mmaps->ops.on_lost(mmaps->ops.ctx, 0);
	return cnt;
}

bool mmaps__consume_until(struct mmaps *mmaps, uint64_t until_ns)
{
	struct cpu_ring *ring;

	if (!look(mmaps))
		return false;
	while ((ring = oldest(mmaps)) && ring->ts_ns <= until_ns)
		take(mmaps, ring);
	return true;
}

/*
 * A record written after the first ring was read may depend on one that was not read yet. It waits
 * for the next round, which follows at once. The last round takes everything.
 */
void mmaps__consume(struct mmaps *mmaps)
{
	for (unsigned round = 1; round <= ROUNDS_MAX; round++) {
		uint64_t now_ns = round < ROUNDS_MAX ? clock__mono_ns() : UINT64_MAX;

		if (!mmaps__consume_until(mmaps, now_ns))
			return;
	}
}
