/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths of files by their numbers, in made-up processes: bind mounts, another root, truncated
 * names.
 */
#include "procfs/filepath.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/tap.h"
#include "tests/unit/scratch.h"

static struct strbuf out = STRBUF_INIT;
static struct mountinfo mi;
static struct file_number file;

static void shell(const char *command)
{
	if (system(command))
		abort();
}

/*
 * Process 7: its root has a directory of the file system mounted at /data, and the whole file
 * system at /all.
 */
static void set_up(void)
{
	char text[512];
	struct stat st;

	shell("mkdir -p \"$D/7/root/data/dir\" \"$D/7/root/all/srv\" \"$D/7/task/8/fd\" "
	      "\"$D/7/task/8/fdinfo\" && echo x > \"$D/7/root/data/dir/leaf\" && "
	      "ln -s dir \"$D/7/root/data/linked\"");
	if (stat(scratch__path("7/root/data/dir/leaf"), &st))
		abort();
	file = (struct file_number){ st.st_ino, makedev(254, 1) };
	snprintf(text, sizeof(text),
		 "30 1 254:2 / / rw - ext4 /dev/other rw\n"
		 "31 30 254:1 / /all rw - ext4 /dev/x rw\n"
		 "32 30 254:1 /srv /data rw - ext4 /dev/x rw\n"
		 "33 30 0:50 / /net rw - nfs4 there:/ rw\n");
	scratch__write_text("7/mountinfo", text);
	if (mountinfo__read(scratch__path(""), 7, &mi))
		abort();
}

#define NAMES(text, want, what) is_names(text, sizeof(text) - 1, &file, want, what)

static void is_names(const char *names, size_t len, const struct file_number *want_file,
		     const char *want, const char *what)
{
	char *text = calloc(1, 128);

	memcpy(text, names, len);
	strbuf__reset(&out);
	filepath__add_names(&out, scratch__path(""), 7, &mi, want_file, text, 128);
	is_str(strbuf__str(&out), want, "%s", what);
	free(text);
}

static void test_names(void)
{
	const struct file_number other = { file.inode + 1, file.dev };
	const struct file_number alone = { 1, makedev(254, 2) };
	const struct file_number remote = { 1, makedev(0, 50) };
	const struct file_number nowhere = { 1, makedev(254, 9) };

	NAMES("leaf\0dir\0srv", "/data/dir/leaf", "below the mount that has it");
	NAMES("leaf\0dir\0other", "…/other/dir/leaf", "in no mount");
	NAMES("leaf\0dir\0srvx", "…/srvx/dir/leaf", "complete names, at a mount's root");
	NAMES("leaf\0linked\0srv", "…/srv/linked/leaf", "a link is not followed");
	NAMES("", "", "no names");
	is_names("leaf\0dir\0srv", 12, &other, "…/srv/dir/leaf", "another file is there now");
	is_names("gone\0tmp", 8, &alone, "/tmp/gone", "removed; the device has one mount");
	is_names("a\0b", 3, &remote, "/net/b/a", "a network file system is not accessed");
	is_names("a\0b", 3, &nowhere, "…/b/a", "mounted nowhere");
}

#define LONG "a-name-that-takes-more-than-half-of-the-room-that-is-for-all-names"

/* The probe stops there, whether or not that is the root. */
static void test_long_names(void)
{
	const struct file_number alone = { 1, makedev(254, 2) };

	shell("mkdir \"$D/7/root/data/" LONG "\" && "
	      "ln \"$D/7/root/data/dir/leaf\" \"$D/7/root/data/" LONG "/leaf\"");
	NAMES("leaf\0" LONG "\0srv", "/data/" LONG "/leaf",
	      "half of the room, and the file exists");
	NAMES("leaf\0" LONG, "…/" LONG "/leaf", "half of the room, and there are more names");
	is_names("leaf\0" LONG, sizeof("leaf\0" LONG), &alone, "…/" LONG "/leaf",
		 "half of the room: the only mount of its device need not have it");
}

static void link_fd(const char *fd, const char *to, const char *info)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "ln -sfn '%s' \"$D/7/task/8/fd/%s\" && printf '%s' > \"$D/7/task/8/fdinfo/%s\"",
		 to, fd, info, fd);
	shell(command);
}

static void is_fd(int fd, const struct file_number *want_file, int res, const char *want,
		  const char *what)
{
	strbuf__reset(&out);
	is_int(filepath__add_fd(&out, scratch__path("7/task/8"), fd, &mi, want_file), res, "%s",
	       what);
	is_str(strbuf__str(&out), want, "its path");
}

static void test_fd(void)
{
	const struct file_number want = { 77, makedev(254, 1) };

	link_fd("3", "/data/a b (deleted)", "pos:\\t0\\nmnt_id:\\t32\\nino:\\t77\\n");
	is_fd(3, &want, 0, "/data/a b", "a removed file");
	link_fd("3", "/data/a", "pos:\\t0\\nmnt_id:\\t30\\nino:\\t77\\n");
	is_fd(3, &want, -ESTALE, "", "the same number on another device");
	link_fd("3", "/data/a", "pos:\\t0\\nmnt_id:\\t32\\nino:\\t78\\n");
	is_fd(3, &want, -ESTALE, "", "now another file");
	link_fd("3", "/data/a", "pos:\\t0\\nmnt_id:\\t99\\nino:\\t77\\n");
	is_fd(3, &want, 0, "/data/a", "a mount that is not visible");
	link_fd("3", "/memfd:x (deleted)", "ino:\\t77\\n");
	is_fd(3, &want, -ENOENT, "", "a memfd has no path");
	link_fd("3", "pipe:[77]", "ino:\\t77\\n");
	is_fd(3, &want, -ENOENT, "", "nor has a pipe");
	is_fd(4, &want, -ENOENT, "", "closed");
	link_fd("5", scratch__path("7/root/data/dir/leaf"), "pos:\\t0\\n");
	is_fd(5, &file, 0, scratch__path("7/root/data/dir/leaf"),
	      "by its inode number on old kernels");
	is_fd(5, &want, -ESTALE, "", "which may be another file's, too");
}

static void test_maps(void)
{
	static const char maps[] =
		"1000-2000 r--p 00000000 fe:01 77                         /data/mapped\n"
		"2000-3000 rw-p 00000000 00:2a 78                         /overlay/lib.so\n"
		"3000-4000 rw-p 00000000 00:00 0 \n"
		"4000-5000 rw-p 00000000 00:00 0                          [heap]\n"
		"5000-6000 rw-s 00000000 fe:01 79                         /data/gone (deleted)\n"
		"6000-70";
	const struct file_number mapped = { 77, makedev(254, 1) }, lower = { 78, makedev(254, 1) },
				 gone = { 79, makedev(254, 1) };
	const char *proc = scratch__path("");

	scratch__write_text("7/maps", maps);
	strbuf__reset(&out);
	is_int(filepath__add_mapped(&out, proc, 7, &mapped, NULL), 0,
	       "a mapped file, not executable");
	is_str(strbuf__str(&out), "/data/mapped", "its path");
	strbuf__reset(&out);
	is_int(filepath__add_mapped(&out, proc, 7, &gone, ""), 0, "removed");
	is_str(strbuf__str(&out), "/data/gone", "its path");
	strbuf__reset(&out);
	is_int(filepath__add_mapped(&out, proc, 7, &lower, "other"), -ENOENT,
	       "a file of another device");
	is_int(filepath__add_mapped(&out, proc, 7, &lower, "lib.so"), 0,
	       "unless it has the same name");
	is_str(strbuf__str(&out), "/overlay/lib.so", "its path");
	strbuf__reset(&out);
	is_int(filepath__add_mapped(&out, proc, 9, &mapped, NULL), -ESRCH, "no such process");
}

int main(void)
{
	scratch__init();
	set_up();
	test_names();
	test_long_names();
	test_fd();
	test_maps();
	mountinfo__free(&mi);
	strbuf__free(&out);
	return tap__done();
}
