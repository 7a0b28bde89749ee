/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detaches links in several threads; thread n of N takes every N-th link. */
#include "uprobes/links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
		destroy_share(&shares[i]); /* no thread available: do it here */
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

/* --- perf events at the end */

#define KEEPER_MS 1000

/* In the process that keeps the perf events: others must see the ends of its pipes and sockets. */
static void close_others(int kept)
{
	static const char event[] = "anon_inode:[perf_event]";
	DIR *dir = opendir("/proc/self/fd");
	char target[sizeof(event)];
	struct dirent *entry;

	if (!dir)
		_exit(0);
	while ((entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));
		int fd = atoi(entry->d_name);

		if (len > 0 && fd != kept && fd != dirfd(dir) &&
		    (len != sizeof(event) - 1 || memcmp(target, event, len)))
			close(fd);
	}
	closedir(dir);
}

static void keep_perf_events(int sock)
{
	char byte = 0;

	close_others(sock);
	if (write(sock, &byte, 1) == 1)
		(void)!read(sock, &byte, 1);
	_exit(0);
}

int perf_events__leave(void)
{
	struct pollfd told = { .events = POLLIN };
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -1;
	pid = fork();
	if (!pid)
		keep_perf_events(ends[0]);
	close(ends[0]);
	told.fd = ends[1];
	if (poll(&told, 1, KEEPER_MS) != 1 && pid > 0) /* else it holds nothing else now */
		kill(pid, SIGKILL);
	return ends[1];
}

struct reaper {
	pthread_t thread;
	bool started;
	atomic_bool done;
	struct held_link *links;
	size_t cnt;
};

struct reaper *reaper__new(void)
{
	return calloc(1, sizeof(struct reaper));
}

static void join(struct reaper *reaper)
{
	if (reaper->started)
		pthread_join(reaper->thread, NULL);
	free(reaper->links);
	reaper->links = NULL;
	reaper->cnt = 0;
	reaper->started = false;
	atomic_store(&reaper->done, false);
}

void reaper__free(struct reaper *reaper)
{
	if (!reaper)
		return;
	join(reaper);
	free(reaper);
}

bool reaper__is_busy(const struct reaper *reaper)
{
	return reaper->started && !atomic_load(&reaper->done);
}

/*
 * The kernel detaches perf events one at a time in any case. Go one by one, since a thread that
 * attaches an event meanwhile waits in the same queue.
 */
static void *reap(void *arg)
{
	struct reaper *reaper = arg;
	size_t step = reaper->links->link ? 1 : reaper->cnt;

	for (size_t i = 0; i < reaper->cnt; i += step)
		links__destroy_held(reaper->links + i, step);
	atomic_store(&reaper->done, true);
	return NULL;
}

void reaper__take(struct reaper *reaper, struct held_link *links, size_t cnt)
{
	join(reaper);
	if (!cnt) {
		free(links);
		return;
	}
	reaper->links = links;
	reaper->cnt = cnt;
	reaper->started = !thread__start(&reaper->thread, "jankbpf-reaper", reap, reaper);
	if (!reaper->started)
		reap(reaper);
}

/* --- uprobes: by uprobe_multi if the program was loaded for it, else one perf event each */

/* Part of union bpf_attr that older headers lack. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};
_Static_assert(sizeof(struct multi_attr) == 64, "multi_attr");

/* pid 0: every process. */
static int link_multi(const char *path, pid_t pid, int prog_fd, const uint64_t *offsets,
		      const uint64_t *cookies, size_t cnt)
{
	const struct multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = UPROBE_LINKS_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.cnt = (uint32_t)cnt,
		.pid = (uint32_t)pid,
	};

	return syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

bool uprobe_site__is_multi(const struct uprobe_site *site)
{
	return (int)bpf_program__expected_attach_type(site->prog) == UPROBE_LINKS_MULTI;
}

int uprobe_links__together(const char *path, pid_t task, const struct uprobe_site *sites,
			   size_t cnt)
{
	uint64_t *offsets = calloc(cnt * 2, sizeof(*offsets));
	int fd;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		offsets[i] = sites[i].file_offset;
		offsets[cnt + i] = sites[i].cookie;
	}
	fd = link_multi(path, task > 0 ? task : 0, bpf_program__fd(sites->prog), offsets,
			offsets + cnt, cnt);
	if (fd < 0)
		fd = -errno;
	free(offsets);
	return fd;
}

int uprobe_links__alone(const char *path, pid_t task, const struct uprobe_site *site,
			struct held_link *ret)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->cookie);

	*ret = (struct held_link){ .fd = -1 };
	if (uprobe_site__is_multi(site)) {
		ret->fd = uprobe_links__together(path, task, site, 1);
		return ret->fd < 0 ? ret->fd : 0;
	}
	ret->link =
		bpf_program__attach_uprobe_opts(site->prog, task, path, site->file_offset, &opts);
	return ret->link ? 0 : -errno;
}

/* Sites of one program. The kernel refuses all of a link when it refuses one. */
static void attach_run(const char *path, const struct uprobe_site *sites, size_t cnt,
		       struct uprobe_links *ret)
{
	int fd = uprobe_site__is_multi(sites) ? uprobe_links__together(path, -1, sites, cnt) : -1;

	if (fd >= 0) {
		ret->links[ret->cnt++] = (struct held_link){ .fd = fd };
		return;
	}
	for (size_t i = 0; i < cnt; i++) {
		if (uprobe_links__alone(path, -1, &sites[i], &ret->links[ret->cnt]))
			ret->refused_cnt++;
		else
			ret->cnt++;
	}
}

int uprobe_links__attach(int fd, const struct uprobe_site *sites, size_t cnt,
			 struct uprobe_links *ret)
{
	char path[64];
	size_t next;

	*ret = (struct uprobe_links){ .links = calloc(cnt ? cnt : 1, sizeof(*ret->links)) };
	if (!ret->links)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < cnt; i = next) {
		for (next = i + 1; next < cnt && sites[next].prog == sites[i].prog;)
			next++;
		attach_run(path, &sites[i], next - i, ret);
	}
	return 0;
}

/*
 * A directory cannot have uprobes. A kernel that knows this kind of link reports that with EBADF;
 * and before that, an impossible process with EINVAL, unless it takes a process for a thread.
 */
bool uprobe_links__has_multi(bool by_process)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_LINKS_MULTI);
	int prog_fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "jank_multi", "GPL", insns, 2, &opts);
	uint64_t offset = 0;
	bool has;

	if (prog_fd < 0)
		return false;
	has = link_multi("/", 0, prog_fd, &offset, &offset, 1) < 0 && errno == EBADF;
	if (has && by_process)
		has = link_multi("/", -1, prog_fd, &offset, &offset, 1) < 0 && errno == EINVAL;
	close(prog_fd);
	return has;
}
