/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that were waited for, on this machine: open, closed, mapped and removed ones of this
 * process and its children.
 */
#include "enrich/block_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"
#include "tests/unit/waited_fixture.h"

/* A file of the scratch directory that was opened, and a wait for it. */
struct opened {
	const char *path;
	int fd;
	struct jank_rec_waited raw;
};

static struct opened open_file(const char *name)
{
	struct opened ret = { .path = scratch__write_text(name, "text") };

	ret.fd = open(ret.path, O_RDONLY);
	ret.raw = record_of(ret.fd);
	return ret;
}

/* If the temporary directory is a mount of its own, a file's names begin there. */
static bool is_root_mount(const char *path)
{
	struct stat root, here;

	return !stat("/", &root) && !stat(path, &here) && root.st_dev == here.st_dev;
}

/* NULL: it is no file, or one with an unknown path. */
static void is_path(const struct jank_rec_waited *raw, const char *want, const char *what)
{
	struct wait_object *waited = fill(raw);

	is_str(waited->path, want, "%s", what);
	wait_object__free(waited);
}

static void test_file(void)
{
	struct opened file = open_file("cold file\n");
	struct wait_object *waited = fill(&file.raw);

	is_str(waited->path, file.path, "a file's path, whatever is in it");
	ok(waited->device && *waited->device, "its device: %s", waited->device);
	ok(!waited->target && !waited->peer, "it has no other name");
	wait_object__free(waited);

	file.raw.inode++;
	waited = fill(&file.raw);
	is_str(waited->path, NULL, "another file now, with unknown names");
	is_str(waited->target, NULL, "the present file of the descriptor is not named");
	wait_object__free(waited);
	close(file.fd);
}

static void test_closed(void)
{
	struct opened file = open_file("closed file\n");
	struct wait_object *waited;

	set_names(&file.raw, file.path);
	close(file.fd);
	if (is_root_mount(file.path)) {
		waited = fill(&file.raw);
		is_str(waited->path, file.path, "closed: found by its names");
		ok(waited->device, "with its device");
		wait_object__free(waited);
	} else {
		skip(2, "the temporary directory is a mount of its own");
	}
	unlink(file.path);
	waited = fill(&file.raw);
	has_str(waited->path, "closed file\n", "removed: as far as its names are known: %s",
		waited->path);
	wait_object__free(waited);
}

/* A server opens the next file with the number that it closed last. */
static void test_reused(void)
{
	struct opened first = open_file("first");
	struct wait_object *waited;

	set_names(&first.raw, first.path);
	close(first.fd);
	if (open_file("second").fd != first.fd)
		abort();
	waited = fill(&first.raw);
	has_str(waited->path, "/first", "its own name, not the next one's: %s", waited->path);
	is_str(waited->target, NULL, "the descriptor says nothing of it");
	ok(waited->device, "its device is known");
	wait_object__free(waited);
	first.raw.mode = S_IFSOCK | 0777;
	first.raw.inode = 1;
	waited = fill(&first.raw);
	is_str(waited->target, NULL, "a file where a socket was");
	wait_object__free(waited);
	first.raw.mode = S_IFIFO | 0600;
	waited = fill(&first.raw);
	has_str(waited->target, "pipe:[", "or a pipe");
	wait_object__free(waited);
	close(first.fd);
}

static void test_deleted(void)
{
	struct opened file = open_file("deleted");

	unlink(file.path);
	is_path(&file.raw, file.path, "a removed file has its former path");
	close(file.fd);
}

static void test_mapped(void)
{
	struct opened file = open_file("mapped");
	void *at = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, file.fd, 0);
	struct wait_object *waited;

	close(file.fd);
	file.raw.fd = -1;
	is_path(&file.raw, file.path, "of a page fault: the file that is mapped");
	munmap(at, 4);
	is_path(&file.raw, file.path, "no longer mapped, but known from before");
	file.raw.inode++;
	waited = fill(&file.raw);
	is_str(waited->path, NULL, "a file that is mapped nowhere");
	ok(waited->device, "its device is still known: %s", waited->device);
	wait_object__free(waited);
}

static void test_long_names(void)
{
	char dir[80], path[256];
	struct opened file;
	struct wait_object *waited;

	memset(dir, 'd', sizeof(dir) - 1);
	dir[sizeof(dir) - 1] = 0;
	file = open_file(dir);
	close(file.fd);
	snprintf(path, sizeof(path), "/%.63s", dir);
	set_names(&file.raw, path);
	snprintf(path, sizeof(path), "…/%.63s…", dir);
	is_path(&file.raw, path, "a truncated name shows it");
	memset(file.raw.name, 'x', sizeof(file.raw.name));
	waited = fill(&file.raw);
	ok(waited->path && strlen(waited->path) == sizeof(file.raw.name) + 2 * strlen("…") + 1,
	   "names without an end");
	wait_object__free(waited);
}

/* The thread has ended meanwhile; its process lives. */
static void test_ended_thread(void)
{
	struct opened file = open_file("shared");
	struct wait_object *waited = wait_object__new(&file.raw);

	is_int(wait_object_names__fill(waited, (uint32_t)getpid(), (uint32_t)child__on_exit()), 0,
	       "a thread that has ended");
	is_str(waited->path, file.path, "had the files of its process");
	wait_object__free(waited);
	close(file.fd);
}

/* A wait of a process that has ended. */
static struct wait_object *fill_of_ended(const struct jank_rec_waited *raw, pid_t pid)
{
	struct wait_object *waited = wait_object__new(raw);

	is_int(wait_object_names__fill(waited, (uint32_t)pid, (uint32_t)pid), 0,
	       "of a process that has ended");
	return waited;
}

/* A program's last block is examined after its end. */
static void test_ended(void)
{
	struct opened file = open_file("last");
	struct wait_object *waited;

	close(file.fd);
	set_names(&file.raw, file.path);
	waited = fill_of_ended(&file.raw, child__on_exit());
	if (is_root_mount(file.path))
		is_str(waited->path, file.path, "a file is found by its names");
	else
		skip(1, "the temporary directory is a mount of its own");
	ok(waited->device, "and its device: %s", waited->device);
	wait_object__free(waited);
}

static void test_nothing(void)
{
	struct jank_rec_waited raw = record_of(STDIN_FILENO);
	pid_t child = child__on_exit();
	struct wait_object *waited;

	raw.hdr.flags = JANK_WAITED_FILE | JANK_WAITED_FUTEX;
	raw.futex_word = 2;
	raw.owner = (uint32_t)child;
	waited = fill_of_ended(&raw, child);
	ok(!waited->path && !waited->owner.tid, "nothing is known");
	wait_object__free(waited);
}

int main(void)
{
	scratch__init();
	test_file();
	test_closed();
	test_reused();
	test_deleted();
	test_mapped();
	test_long_names();
	test_ended_thread();
	test_ended();
	test_nothing();
	return tap__done();
}
