/* SPDX-License-Identifier: GPL-2.0 */
/* Directories of our output: created as by mkdir -p, and never chosen by another user. */
#include "files/own_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define OTHER 65534

static struct err err;

/* 0 or -errno. */
static int dir(const char *path)
{
	int fd;

	err.msg[0] = '\0';
	fd = own_path__dir(path, 0700, &err);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static unsigned mode_of(const char *name)
{
	struct stat st;

	return stat(scratch__path(name), &st) ? 0 : st.st_mode & 07777;
}

static void test_created(void)
{
	umask(022);
	mkdir(scratch__path("old"), 0755);
	is_int(dir(scratch__path("old/a/b")), 0, "creates the missing ones");
	is_uint(mode_of("old/a"), 0700, "… the first with the mode");
	is_uint(mode_of("old/a/b"), 0700, "… the last with the mode");
	is_uint(mode_of("old"), 0755, "… existing ones keep theirs");
	is_int(dir(scratch__path("old/a/b")), 0, "all exist");
	is_uint(mode_of("old/a/b"), 0700, "… changes no mode");
	is_int(dir(scratch__path("new//x/./y/")), 0, "double, dotted and trailing slashes");
	is_uint(mode_of("new/x/y"), 0700, "… are the same directory");
	is_int(dir("/"), 0, "the root is there");
	scratch__write_text("file", "x");
	is_int(dir(scratch__path("file")), -ENOTDIR, "a file has its name");
	is_int(dir(scratch__path("file/sub")), -ENOTDIR, "a file is in the path");
	is_int(dir(""), -ENOENT, "an empty path");
	is_int(symlink("old", scratch__path("link")), 0, "a link to a directory");
	is_int(dir(scratch__path("link/c")), 0, "… is followed");
	is_uint(mode_of("old/c"), 0700, "… to its target");
}

static void test_relative(void)
{
	char cwd[4096], long_path[5000];

	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	is_int(dir(long_path), -ENAMETOOLONG, "a path that is too long");
	if (!getcwd(cwd, sizeof(cwd)) || chdir(scratch_dir))
		return;
	is_int(dir("r/s"), 0, "a relative path");
	is_uint(mode_of("r/s"), 0700, "… from where we are");
	if (chdir(cwd))
		diag("cannot go back to %s", cwd);
}

/* Others can write to the directory itself, by its mode. */
static void test_shared(void)
{
	mkdir(scratch__path("shared"), 0700);
	for (mode_t mode = 0700; mode <= 0777; mode++) {
		int want = mode & 022 ? -EPERM : 0;

		chmod(scratch__path("shared"), mode);
		if (dir(scratch__path("shared")) != want)
			ok(false, "mode %o: %s", mode, err.msg);
	}
	has_str(err.msg, "shared': other users can write to this directory: chmod go-w it",
		"the message has the remedy");
	is_int(dir("/tmp"), -EPERM, "/tmp is for all users");
	is_int(dir(scratch__path("shared/own")), 0, "a new one below it is ours alone");
	is_uint(mode_of("shared/own"), 0700, "… by its mode");
}

static void test_owner(void)
{
	mkdir(scratch__path("theirs"), 0700);
	if (chown(scratch__path("theirs"), OTHER, OTHER))
		abort();
	unsetenv("SUDO_UID");
	is_int(dir(scratch__path("theirs")), -EPERM, "another user's directory");
	has_str(err.msg, "belongs to user id 65534: chown it", "the message has the remedy");
	setenv("SUDO_UID", "65534", 1);
	is_int(dir(scratch__path("theirs")), 0, "the user of sudo may be its owner");
	setenv("SUDO_UID", "6553", 1);
	is_int(dir(scratch__path("theirs")), -EPERM, "only that user");
	unsetenv("SUDO_UID");
}

/* A link to our private directory, made by `owner` in a directory of that mode and owner. */
static int through_link(mode_t mode, uid_t dir_owner, uid_t owner)
{
	const char *in = scratch__path("in"), *link = scratch__path("in/link");
	int ret;

	unlink(link);
	mkdir(in, 0700);
	if (symlink(scratch__path("target"), link) || lchown(link, owner, owner) ||
	    chown(in, dir_owner, dir_owner) || chmod(in, mode))
		abort();
	ret = dir(scratch__path("in/link/new"));
	if (ret && !access(scratch__path("target/new"), F_OK))
		ok(false, "nothing is created behind a refused link");
	rmdir(scratch__path("target/new"));
	return ret;
}

static void test_links(void)
{
	mkdir(scratch__path("target"), 0700);
	is_int(through_link(0755, 0, 0), 0, "a link in our directory is followed");
	is_int(through_link(0755, 0, OTHER), 0, "whoever owns it: only we can have placed it");
	is_int(through_link(0777, 0, 0), -ELOOP, "not where others can replace it");
	has_str(err.msg, "the symbolic link 'link' in it may be another user's",
		"the message names it");
	is_int(through_link(0755, OTHER, 0), -ELOOP, "nor in another user's directory");
	is_int(through_link(01777, 0, OTHER), -ELOOP, "nor another user's in /tmp");
	is_int(through_link(01777, OTHER, 0), -ELOOP, "nor where that user can replace it");
	is_int(through_link(01777, 0, 0), 0, "our own in /tmp is followed");
	is_int(symlink("round", scratch__path("round")), 0, "a link to itself");
	is_int(dir(scratch__path("round")), -ELOOP, "ends");
}

static void test_parent(void)
{
	const char *name;
	int fd;

	scratch__write_text("target/file", "x");
	fd = own_path__parent(scratch__path("target/file"), &name, &err);
	is_str(name, "file", "the name in it");
	ok(fd >= 0 && !faccessat(fd, name, F_OK, 0), "is in the directory");
	close(fd);
	fd = own_path__parent("plain", &name, &err);
	ok(fd >= 0 && !strcmp(name, "plain"), "a name in the current directory");
	close(fd);
	fd = own_path__parent("/tmp/x", &name, &err);
	ok(fd >= 0, "a directory that others can write to: the file is checked");
	close(fd);
	is_int(own_path__parent(scratch__path("none/x"), &name, &err), -ENOENT,
	       "nothing is created");
	ok(access(scratch__path("none"), F_OK), "indeed");
	is_int(own_path__parent(scratch__path("target/file/x"), &name, NULL), -ENOTDIR,
	       "a file is no directory");
}

int main(void)
{
	scratch__init();
	test_created();
	test_relative();
	test_shared();
	if (geteuid()) {
		skip(18, "needs root to make other users' files");
	} else {
		test_owner();
		test_links();
	}
	test_parent();
	return tap__done();
}
