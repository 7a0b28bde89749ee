/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists each mapped file once, up to a fixed number of files. */
#include "uprobes/mapped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xxhash.h>

#include "catalogue/catalogue.h"
#include "files/apart.h"
#include "files/file.h"
#include "files/proc.h"
#include "files/zip.h"
#include "uprobes/targets.h"

/* With the epoll waits or the Looper. */
static const char *const library_names[] = { "libc.so*", "libc-*",    "libc.musl*",
					     "ld-musl*", "libutils*", "libpthread*" };

bool library_name__has_waits(const char *name)
{
	for (size_t i = 0; i < sizeof(library_names) / sizeof(*library_names); i++) {
		if (!fnmatch(library_names[i], name, 0))
			return true;
	}
	return false;
}

bool target_wants__marks(const struct target_wants *wants, const char *name, bool is_exe)
{
	const struct catalogue_file file = { .path = name, .is_exe = is_exe };

	return wants->catalogue && catalogue__has_probes(wants->catalogue, &file);
}

bool target_wants__fits(const struct target_wants *wants, const char *name, bool is_exe)
{
	if ((wants->epoll || wants->looper) && (is_exe || library_name__has_waits(name)))
		return true;
	return target_wants__marks(wants, name, is_exe) ||
	       (zip_entry__is_archive(name) && (wants->looper || wants->catalogue));
}

struct reader {
	const struct target_wants *wants;
	struct mapped_files *found;
	size_t other_cnt;
	uint64_t exe_dev, exe_inode;
	char exe[TARGET_PATH_MAX];
};

/* An archive contains many libraries, which the offset distinguishes. */
static bool is_same(const struct candidate *a, const struct candidate *b)
{
	return a->inode == b->inode && a->dev == b->dev &&
	       (a->offset == b->offset || !zip_entry__is_archive(a->path));
}

static int add(struct reader *reader, const struct candidate *new)
{
	struct mapped_files *found = reader->found;
	struct candidate *item;

	for (size_t i = 0; i < found->cnt; i++) {
		if (is_same(&found->items[i], new))
			return 0;
	}
	if (new->likely ? found->likely_cnt == CANDIDATES_LIKELY_MAX
			: reader->other_cnt == CANDIDATES_OTHER_MAX)
		return 0;
	item = &found->items[found->cnt];
	*item = *new;
	item->path = strdup(new->path);
	if (!item->path)
		return -ENOMEM;
	found->cnt++;
	found->likely_cnt += new->likely;
	reader->other_cnt += !new->likely;
	return 0;
}

static int take_line(void *ctx, const struct proc_maps_line *line)
{
	struct reader *reader = ctx;
	struct candidate new = { .path = line->path,
				 .start = line->start,
				 .end = line->end,
				 .offset = line->offset,
				 .dev = line->dev,
				 .inode = line->inode };

	new.is_exe = (new.inode == reader->exe_inode &&new.dev == reader->exe_dev) ||
		     !strcmp(new.path, reader->exe);
	new.likely = target_wants__fits(reader->wants, strrchr(new.path, '/') + 1, new.is_exe);
	return add(reader, &new);
}

/*
 * Finds the identity of the program itself: its file, and its path for stacked file systems that
 * show two numbers for one file.
 */
static void learn_exe(pid_t pid, struct reader *reader)
{
	char link[64];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (!apart__stat_link(link, &st)) {
		reader->exe_dev = st.st_dev;
		reader->exe_inode = st.st_ino;
	}
	n = readlink(link, reader->exe, sizeof(reader->exe) - 1);
	reader->exe[n > 0 ? n : 0] = 0;
	maps_lines__decode_path(reader->exe);
}

static int by_likelihood(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return y->likely - x->likely;
}

int mapped_files__read_file(const char *maps_path, pid_t pid, const struct target_wants *wants,
			    struct mapped_files *ret)
{
	struct reader reader = { .wants = wants, .found = ret };
	int err;

	*ret = (struct mapped_files){ 0 };
	ret->items = calloc(CANDIDATES_LIKELY_MAX + CANDIDATES_OTHER_MAX, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	learn_exe(pid, &reader);
	err = maps_lines__each(maps_path, take_line, &reader);
	if (ret->cnt)
		qsort(ret->items, ret->cnt, sizeof(*ret->items), by_likelihood);
	return err;
}

int mapped_files__read(pid_t pid, const struct target_wants *wants, struct mapped_files *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return mapped_files__read_file(path, pid, wants, ret);
}

void mapped_files__free(struct mapped_files *candidates)
{
	for (size_t i = 0; i < candidates->cnt; i++)
		free(candidates->items[i].path);
	free(candidates->items);
	*candidates = (struct mapped_files){ 0 };
}

/*
 * Opens the file if it has that inode (0: any) and if reading it never blocks on another process:
 * the kernel reads the file for us when it places a probe. Takes over `handle`.
 */
static int open_inode(int handle, uint64_t inode)
{
	struct stat st;
	int fd = openfile__handle(handle, &st);

	if (fd >= 0 && inode && st.st_ino != inode) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}

int candidate__open(const struct candidate *candidate, pid_t pid, char *open_path, size_t size)
{
	char root[32];
	int fd;

	snprintf(open_path, size, "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)candidate->start, (unsigned long long)candidate->end);
	fd = open(open_path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		return open_inode(fd, 0);
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	snprintf(open_path, size, "%s%s", root, candidate->path);
	fd = apart__open(root, candidate->path, 0);
	return fd < 0 ? fd : open_inode(fd, candidate->inode);
}

/*
 * --- identity of a file
 *
 * The device number of a disk and an inode number identify a file as long as a uprobe holds it.
 * Device numbers without a disk (major 0: overlay, btrfs, tmpfs) are reused by the next mount. Two
 * overlays show two of them for one inode. The file handle of an overlay contains the handle of the
 * real inode, with which the real file can be opened.
 */

#define HANDLE_FID  0x200 /* AT_HANDLE_FID: works on file systems without export, too (6.6) */
#define HANDLE_MAX  128
#define OVERLAY_FID 0xf8 /* handle type of overlayfs: fs/overlayfs/overlayfs.h, struct ovl_fh */
#define MOUNTS_MAX  64
#define LINE_MAX_SZ 4096

enum { KEY_DISK, KEY_OTHER, KEY_OVERLAY };

union handle {
	struct file_handle handle;
	uint8_t room[sizeof(struct file_handle) + HANDLE_MAX];
};

/* Beginning of an overlayfs handle. */
struct overlay_handle {
	uint8_t pad[3];
	uint8_t version, magic, len, flags, type;
	uint8_t uuid[16];
	uint8_t real[]; /* handle of the real inode, of that type */
};

bool file_key__of_mapping(uint64_t dev, uint64_t inode, struct file_key *ret)
{
	*ret = (struct file_key){ KEY_DISK, dev, inode };
	return major(dev) != 0;
}

static bool read_handle(int fd, union handle *ret)
{
	int mount;

	*ret = (union handle){ .handle.handle_bytes = HANDLE_MAX };
	return !name_to_handle_at(fd, "", &ret->handle, &mount, AT_EMPTY_PATH | HANDLE_FID) &&
	       ret->handle.handle_bytes <= HANDLE_MAX;
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

int file_key__of_fd(int fd, struct file_key *ret)
{
	union handle handle;
	struct stat st;

	if (is_overlay(fd) && read_handle(fd, &handle)) {
		const uint8_t *bytes = handle.handle.f_handle;
		size_t len = handle.handle.handle_bytes;

		*ret = (struct file_key){ KEY_OVERLAY, XXH64(bytes, len, 1), XXH64(bytes, len, 2) };
		return 0;
	}
	if (fstat(fd, &st))
		return -errno;
	*ret = (struct file_key){ major(st.st_dev) ? KEY_DISK : KEY_OTHER, st.st_dev, st.st_ino };
	return 0;
}

static bool real_handle(const union handle *overlay, union handle *ret)
{
	const struct overlay_handle *from = (const void *)overlay->handle.f_handle;
	size_t len = overlay->handle.handle_bytes;

	if (overlay->handle.handle_type != OVERLAY_FID || len <= sizeof(*from))
		return false;
	len -= sizeof(*from);
	*ret = (union handle){ .handle = { .handle_bytes = (unsigned)len,
					   .handle_type = from->type } };
	memcpy(ret->handle.f_handle, from->real, len);
	return true;
}

/* Guards against inode numbers of another file system, which may mean another file. */
static bool file_key_is_same(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && S_ISREG(y.st_mode) && x.st_size == y.st_size &&
	       x.st_mtim.tv_sec == y.st_mtim.tv_sec && x.st_mtim.tv_nsec == y.st_mtim.tv_nsec;
}

/* A mount point may be a regular file. Devices and FIFOs are never opened. */
static int open_mount(const char *mount_point)
{
	int fd = openfile__path(mount_point, NULL);

	return fd == -EINVAL ? open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fd;
}

/*
 * On another file system the handle may belong to another file. So it is opened with O_PATH and
 * checked first.
 */
static int open_on(const char *mount_point, union handle *handle, int same_as)
{
	int mount = open_mount(mount_point), fd;

	if (mount < 0)
		return -1;
	fd = open_by_handle_at(mount, &handle->handle, O_PATH | O_CLOEXEC);
	close(mount);
	if (fd >= 0)
		fd = openfile__handle(fd, NULL);
	if (fd >= 0 && !file_key_is_same(same_as, fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Overlays lie on disks; do not trigger other mounts (automounts, network). */
static bool parse_mount(const char *line, unsigned *ret_dev, char mount_point[LINE_MAX_SZ])
{
	unsigned major_nr, minor_nr;

	if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &major_nr, &minor_nr, mount_point) != 3)
		return false;
	*ret_dev = (unsigned)makedev(major_nr, minor_nr);
	return major_nr || strstr(line, " - btrfs ") || strstr(line, " - zfs ") ||
	       strstr(line, " - tmpfs ");
}

static bool is_new(unsigned dev, unsigned *devs, size_t *cnt)
{
	for (size_t i = 0; i < *cnt; i++) {
		if (devs[i] == dev)
			return false;
	}
	if (*cnt == MOUNTS_MAX)
		return false;
	devs[(*cnt)++] = dev;
	return true;
}

static int open_anywhere(union handle *handle, int same_as)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[LINE_MAX_SZ], mount_point[LINE_MAX_SZ];
	unsigned dev, devs[MOUNTS_MAX];
	size_t cnt = 0;
	int fd = -1;

	while (mounts && fd < 0 && fgets(line, sizeof(line), mounts)) {
		if (parse_mount(line, &dev, mount_point) && is_new(dev, devs, &cnt))
			fd = open_on(mount_point, handle, same_as);
	}
	if (mounts)
		fclose(mounts);
	return fd;
}

int file_key__below(int fd)
{
	union handle overlay, real;
	int below;

	if (!is_overlay(fd) || !read_handle(fd, &overlay) || !real_handle(&overlay, &real))
		return fd;
	below = open_anywhere(&real, fd);
	if (below < 0)
		return fd;
	close(fd);
	return below;
}
