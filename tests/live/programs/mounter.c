/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mounter SECRET UID: a loop that runs a copy of its code, which only a perf map names. At SIGUSR1
 * it gives up root, and mounts SECRET, which only root may read and which names that code, over its
 * perf map.
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE_SZ 512

typedef uint64_t (*spin_fn)(uint64_t cnt);

static volatile sig_atomic_t told;

static void tell(int sig)
{
	told = 1;
}

__attribute__((noinline)) static uint64_t spin(uint64_t cnt)
{
	uint64_t v = cnt;

	while (cnt--)
		v = v * 31 + cnt;
	return v;
}

static spin_fn copy_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(2);
	memcpy(at, (const void *)spin, CODE_SZ);
	__builtin___clear_cache(at, (char *)at + CODE_SZ);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		exit(2);
	return (spin_fn)at;
}

/* An empty map of the user's, and a secret one. */
static void make_maps(const char *name, const char *secret, spin_fn code, unsigned uid)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0644);
	FILE *file = fopen(secret, "we");

	if (fd < 0 || fchown(fd, uid, uid) || !file || chmod(secret, 0600))
		exit(3);
	close(fd);
	fprintf(file, "%lx 1000 a_name_in_a_file_of_root\n", (unsigned long)code);
	fclose(file);
}

static void attack(const char *name, const char *secret, unsigned uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNS) || mount(secret, name, NULL, MS_BIND, NULL))
		exit(4);
}

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int epfd = epoll_create1(EPOLL_CLOEXEC);
	spin_fn code = copy_code();
	struct epoll_event event;
	unsigned uid;
	char name[64];

	if (argc != 3)
		return 1;
	uid = strtoul(argv[2], NULL, 10);
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	make_maps(name, argv[1], code, uid);
	signal(SIGUSR1, tell);
	say("ready");
	for (;;) {
		epoll_wait(epfd, &event, 1, 20);
		code(60000000);
		if (!told)
			continue;
		told = 0;
		attack(name, argv[1], uid);
		say("mounted");
	}
}
