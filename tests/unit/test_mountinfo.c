/* SPDX-License-Identifier: GPL-2.0 */
/* Mounts and the names of devices: made-up ones with known results, then this machine's. */
#include "procfs/filepath.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static const char text[] = "21 1 254:1 / / rw,relatime shared:1 master:2 - ext4 /dev/vda1 rw\n"
			   "22 21 0:30 / /tmp\\040dir\\134x rw - tmpfs none rw,size=4k\n"
			   "23 21 0:31 / /home rw - nfs4 server:/export rw\n"
			   "24 21 254:1 /srv/a /mnt rw - ext4 /dev/vda1 rw\n"
			   "25 21 0:32 / /empty rw - overlay  rw\n"
			   "26 21 0:33 / /short rw - btrfs\n"
			   "27 21 0:34 /\n"
			   "28 21 0:35 / /nodash rw ext4 /dev/vda1 rw\n"
			   "x 21 0:36 / /nonumber rw - ext4 a rw\n"
			   "\n"
			   "29 21 0:37 / /cut rw - fuse.sshfs me@there:/ rw";

static struct mountinfo mi;

static void put(const char *name, const char *content)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", scratch__path(name));
	*strrchr(path, '/') = 0;
	if (scratch__dirs(path))
		abort();
	scratch__write_text(name, content);
}

static void test_parse(void)
{
	const struct mount *mount, *other;

	put("7/mountinfo", text);
	is_int(mountinfo__read(scratch__path(""), 7, &mi), 0, "mounts");
	is_uint(mi.cnt, 7, "the complete lines");
	mount = mountinfo__by_id(&mi, 22);
	is_str(mount ? mount->point : "", "/tmp dir\\x", "a path is decoded");
	is_str(mount ? mount->type : "", "tmpfs", "its type");
	is_str(mount ? mount->source : "", "none", "its source");
	mount = mountinfo__by_id(&mi, 25);
	is_str(mount ? mount->source : "?", "", "no source");
	mount = mountinfo__by_id(&mi, 26);
	is_str(mount ? mount->source : "?", "", "a line that ends early");
	mount = mountinfo__next_of(&mi, makedev(254, 1), NULL);
	other = mount ? mountinfo__next_of(&mi, makedev(254, 1), mount) : NULL;
	ok(mount && other && mount->id == 21 && other->id == 24, "two of one device");
	is_str(other ? other->root : "", "/srv/a", "the part of it that is mounted");
	ok(other && !mountinfo__next_of(&mi, makedev(254, 1), other), "no third");
	ok(!mountinfo__by_id(&mi, 99), "no such mount");
	ok(mount__is_remote(mountinfo__by_id(&mi, 23)) && !mount__is_remote(mount),
	   "a remote one is recognised");
}

static void is_name(dev_t dev, const char *want, const char *what)
{
	struct strbuf sb = STRBUF_INIT;

	devname__add(&sb, scratch__path("sys"), &mi, dev);
	is_str(strbuf__str(&sb), want, "%s", what);
	strbuf__free(&sb);
}

static void test_devices(void)
{
	put("sys/dev/block/254:1/uevent", "MAJOR=254\nMINOR=1\nDEVNAME=vda1\nDEVTYPE=partition\n");
	put("sys/dev/block/253:0/uevent", "MAJOR=253\nDEVNAME=dm-0\n");
	put("sys/dev/block/253:0/dm/name", "vg-home\n");
	put("sys/dev/block/8:0/uevent", "NODEVNAME=sda\nDEVNAME");
	put("sys/dev/block/0:30/uevent", "DEVNAME=no\n");
	is_name(makedev(254, 1), "vda1", "a partition");
	is_name(makedev(253, 0), "vg-home", "a device-mapper device");
	is_name(makedev(8, 0), "", "a torn file");
	is_name(makedev(0, 30), "tmpfs", "no block device");
	is_name(makedev(0, 31), "nfs4 server:/export", "a server's");
	is_name(makedev(0, 37), "fuse.sshfs me@there:/", "a program's");
	is_name(makedev(0, 99), "", "nobody's");
}

static void test_bad(void)
{
	struct mountinfo bad;

	is_int(mountinfo__read(scratch__path(""), 8, &bad), -ENOENT, "no such process");
	is_uint(bad.cnt, 0, "no mounts");
	mountinfo__free(&bad);
	put("9/mountinfo", "");
	is_int(mountinfo__read(scratch__path(""), 9, &bad), 0, "an empty file");
	ok(!bad.cnt && !mountinfo__by_id(&bad, 0) && !mountinfo__next_of(&bad, 0, NULL),
	   "no mounts");
	mountinfo__free(&bad);
	put("9/mountinfo", "\\ \\0 0:1 \\04 \\ - \\ \\777 \\");
	is_int(mountinfo__read(scratch__path(""), 9, &bad), 0, "backslashes");
	mountinfo__free(&bad);
	put("9/mountinfo", "1 2 0:1 / /\\0 rw - \\04 \\777\\");
	is_int(mountinfo__read(scratch__path(""), 9, &bad), 0, "numbers that are cut");
	is_str(bad.cnt ? bad.mounts[0].source : "", "\\777\\", "leave the results unchanged");
	mountinfo__free(&bad);
}

static void test_live(void)
{
	const struct mount *root;
	struct mountinfo here;
	struct stat st;

	is_int(mountinfo__read("/proc", getpid(), &here), 0, "this machine's mounts");
	ok(here.cnt > 0, "are %zu", here.cnt);
	if (stat("/proc/self/stat", &st))
		abort();
	root = mountinfo__next_of(&here, st.st_dev, NULL);
	is_str(root ? root->type : "", "proc", "the mount of /proc");
	mountinfo__free(&here);
}

static void test_of_path(void)
{
	static const struct {
		const char *path, *type;
	} cases[] = {
		{ "/", "ext4" },
		{ "/etc/x", "ext4" },
		{ "/home/me/x", "nfs4" },
		{ "/homes/x", "ext4" },
		{ "/home", "nfs4" },
		{ "/tmp dir\\x/y", "tmpfs" },
		{ "/cut/x", "fuse.sshfs" },
		{ "relative/x", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct mount *mount = mountinfo__of_path(&mi, cases[i].path);

		is_str(mount ? mount->type : NULL, cases[i].type, "%s", cases[i].path);
	}
}

int main(void)
{
	scratch__init();
	test_parse();
	test_devices();
	test_of_path();
	test_bad();
	test_live();
	mountinfo__free(&mi);
	return tap__done();
}
