/* SPDX-License-Identifier: GPL-2.0 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "tests/live/follow/follow.h"
#include "tests/tap.h"
#include "uprobes/links.h"

#define QUIET_MS 60

struct follow follow;

static struct bpf_object *object;
static struct catalogue *catalogue;

const char *in_dir(const char *name)
{
	static char path[8][1024];
	static unsigned next;

	next = (next + 1) % 8;
	snprintf(path[next], sizeof(path[next]), "%s/%s", follow.dir, name);
	return path[next];
}

int shell(const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command);
}

static unsigned mark_of(const char *symbol)
{
	for (unsigned i = 0; i < catalogue__mark_cnt(catalogue); i++) {
		const char *have = catalogue__mark(catalogue, i)->symbol;

		if (have && !strcmp(have, symbol))
			return i;
	}
	return UINT32_MAX;
}

static bool open_catalogue(void)
{
	const char *path = in_dir("follow.loop");
	FILE *file = fopen(path, "w");
	struct err err = {};

	fputs("[follow]\nabout = a test\nlibrary = libfollow*.so\nwait = epoll\n"
	      "mark = follow_message\n\twhat = s32 arg0\n"
	      "mark = follow_other\n\twhat = s32 arg0\n",
	      file);
	fclose(file);
	if (catalogue__open(&path, 1, &catalogue, &err)) {
		diag("%s", err.msg);
		return false;
	}
	follow.message = mark_of("follow_message");
	follow.other = mark_of("follow_other");
	return true;
}

bool follow__prepare(const char *build)
{
	snprintf(follow.build, sizeof(follow.build), "%s", build);
	strcpy(follow.dir, "/tmp/jank_follow_XXXXXX");
	return mkdtemp(follow.dir) && open_catalogue() &&
	       !shell("cp %s/libfollow.so %s/worker %s/worker-linked %s", build, build, build,
		      follow.dir);
}

static bool load(struct bpf_program **ret)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/count.bpf.o", follow.build);
	object = bpf_object__open(path);
	if (!object)
		return false;
	*ret = bpf_object__find_program_by_name(object, "on_mark");
	if (follow.multi)
		bpf_program__set_expected_attach_type(*ret,
						      (enum bpf_attach_type)UPROBE_LINKS_MULTI);
	return !bpf_object__load(object);
}

bool follow__begin(void)
{
	struct uprobe_programs progs = { .catalogue = catalogue };
	struct err err = {};

	if (!load(&progs.mark))
		return false;
	if (uprobe_files__new(&progs, &follow.files, &err)) {
		diag("%s", err.msg);
		return false;
	}
	return true;
}

void follow__end(void)
{
	uprobe_files__free(follow.files);
	bpf_object__close(object);
	follow.files = NULL;
	object = NULL;
}

void follow__clean(void)
{
	catalogue__close(catalogue);
	shell("rm -rf %s", follow.dir);
}

void follow__resolve_all(void)
{
	struct pollfd fd = { uprobe_files__fd(follow.files), POLLIN, 0 };

	while (poll(&fd, 1, QUIET_MS) > 0)
		uprobe_files__consume(follow.files);
}

uint64_t follow__hits(unsigned cookie, long tag)
{
	const uint64_t key[2] = { cookie, (uint64_t)tag };
	uint64_t cnt = 0;

	bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "hits"), key, &cnt);
	return cnt;
}

struct uprobe_files_stats follow__stats(void)
{
	return uprobe_files__stats(follow.files);
}

unsigned follow__descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned cnt = 0;

	while (dir && readdir(dir))
		cnt++;
	if (dir)
		closedir(dir);
	return cnt;
}

static bool answered(struct worker *worker)
{
	char line[64];

	return fgets(line, sizeof(line), worker->out) && !strcmp(line, "ready\n");
}

bool worker__start(struct worker *worker, const char *program, int (*before)(void))
{
	static long tags = 1000;
	int in[2], out[2];
	char tag[32];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	worker->tag = ++tags;
	snprintf(tag, sizeof(tag), "%ld", worker->tag);
	worker->pid = fork();
	if (!worker->pid) {
		if (before && before())
			_exit(126);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(program, program, tag, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	worker->in = in[1];
	worker->out = fdopen(out[0], "r");
	return worker->pid > 0 && answered(worker);
}

bool worker__do(struct worker *worker, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(worker->in, fmt, ap);
	va_end(ap);
	return write(worker->in, "\n", 1) == 1 && answered(worker);
}

/* Also waits for its forked children: the end of the pipe closes. */
void worker__end(struct worker *worker)
{
	close(worker->in);
	while (fgetc(worker->out) != EOF)
		;
	fclose(worker->out);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	waitpid(worker->pid, NULL, 0);
}
