/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files whose path a traced program chose. O_PATH does not open the file: it is checked
 * first, then opened through /proc/self/fd. See file.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/apart.h"
#include "files/broker.h"
#include "files/file.h"
#include "files/unread.h"

/* --- which file systems can be read directly */

#define MOUNTS_MAX  (4 << 20) /* bytes of our mount table */
#define TRUSTED_MAX 256
#define LOOK_NS	    NS_PER_SEC

/* Device numbers of our namespace's mounts without a block device that need no daemon or server. */
static struct {
	pthread_mutex_t lock;
	dev_t devs[TRUSTED_MAX];
	size_t cnt;
	uint64_t next_ns;
} direct_fs = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool asks_somebody(const char *type)
{
	static const char *const types[] = { "fuse", "nfs",  "cifs",  "smb",	"9p ",
					     "ceph", "afs ", "coda ", "lustre " };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strncmp(type, types[i], strlen(types[i])))
			return true;
	return false;
}

/*
 * Any user may mount these, and no daemon answers for them. Overlay is not listed: it may cover a
 * daemon's files.
 */
static bool is_in_memory(const char *type)
{
	return !strncmp(type, "tmpfs ", 6) || !strncmp(type, "ramfs ", 6);
}

/*
 * Parses "36 35 98:0 / /mnt rw … - TYPE SOURCE OPTIONS". Returns the type, or NULL for a mount of a
 * block device or a line that does not parse.
 */
static const char *type_of(const char *line, size_t len, dev_t *ret_dev)
{
	const char *type = memmem(line, len, " - ", 3);
	unsigned major, minor;

	if (!type || sscanf(line, "%*u %*u %u:%u ", &major, &minor) != 2 || major)
		return NULL;
	*ret_dev = makedev(major, minor);
	return type + 3;
}

/* Calls fn for each mount of the table until it returns true, and returns that value. */
static bool each_mount(const char *table, bool (*fn)(const char *type, dev_t dev, dev_t wanted),
		       dev_t wanted)
{
	bool ret = false;

	for (const char *at = table; *at && !ret;) {
		size_t len = strcspn(at, "\n");
		dev_t dev;
		const char *type = type_of(at, len, &dev);

		ret = type && fn(type, dev, wanted);
		at += len + (at[len] == '\n');
	}
	return ret;
}

static bool note_mount(const char *type, dev_t dev, dev_t wanted)
{
	if (!asks_somebody(type) && direct_fs.cnt < TRUSTED_MAX)
		direct_fs.devs[direct_fs.cnt++] = dev;
	return false;
}

static bool is_memory_of(const char *type, dev_t dev, dev_t wanted)
{
	return dev == wanted && is_in_memory(type);
}

static bool is_known(dev_t dev)
{
	for (size_t i = 0; i < direct_fs.cnt; i++)
		if (direct_fs.devs[i] == dev)
			return true;
	return false;
}

/* If the table cannot be read, what is known stays: for lack of a descriptor, or memory. */
static void look_at_mounts(uint64_t now_ns)
{
	struct strbuf table = STRBUF_INIT;

	if (!file__read("/proc/self/mountinfo", MOUNTS_MAX, &table)) {
		direct_fs.cnt = 0;
		each_mount(strbuf__str(&table), note_mount, 0);
		direct_fs.next_ns = now_ns + LOOK_NS;
	}
	strbuf__free(&table);
}

bool openfile__trusts(dev_t dev)
{
	uint64_t now = clock__mono_ns();
	bool ret;

	if (major(dev))
		return true;
	pthread_mutex_lock(&direct_fs.lock);
	/* Also for a known number: after an unmount it may belong to another file system. */
	if (now >= direct_fs.next_ns)
		look_at_mounts(now);
	ret = is_known(dev);
	pthread_mutex_unlock(&direct_fs.lock);
	return ret;
}

/*
 * Like openfile__trusts, for a file that process pid sees (0: none), by that process's mounts. Of
 * those, only memory file systems are direct_fs. The caller must hold a descriptor of the file.
 *
 * The answer is not cached: after an unmount the device number may belong to another file system.
 */
static bool trusts_for(dev_t dev, uint32_t pid)
{
	struct strbuf table = STRBUF_INIT;
	char path[64];
	bool ret;

	if (openfile__trusts(dev))
		return true;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mountinfo", pid);
	ret = pid && !file__read(path, MOUNTS_MAX, &table) &&
	      each_mount(strbuf__str(&table), is_memory_of, dev);
	strbuf__free(&table);
	return ret;
}

/* --- opening */

/* The process of a path below /proc/PID; 0: another path. */
static uint32_t pid_of(const char *path)
{
	uint32_t pid;
	int end = 0;

	return path && sscanf(path, "/proc/%" SCNu32 "/%n", &pid, &end) == 1 && end ? pid : 0;
}

/*
 * 0: a regular file. *ret_trusted is false if it must be read through the helper process. from: the
 * path that led to it; NULL: not known.
 */
static int look_at(int handle, const char *from, struct stat *st, bool *ret_trusted)
{
	int res = apart__stat(handle, st);

	if (!res && !S_ISREG(st->st_mode))
		res = -EINVAL;
	if (!res)
		*ret_trusted = trusts_for(st->st_dev, pid_of(from));
	return res;
}

static int open_again(int handle)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int openfile__handle(int handle, struct stat *st)
{
	struct stat own;
	bool trusted;
	int fd = look_at(handle, NULL, st ? st : &own, &trusted);

	if (!fd)
		fd = trusted ? open_again(handle) : -EACCES;
	close(handle);
	return fd;
}

/*
 * Returns the handle itself where opening the file may block; image__read reads it through the
 * helper process. Takes `handle`.
 */
static int reopen(int handle, const char *from, struct stat *st)
{
	struct stat own;
	bool trusted;
	int fd = look_at(handle, from, st ? st : &own, &trusted);

	if (!fd && !trusted)
		return handle;
	if (!fd)
		fd = open_again(handle);
	close(handle);
	return fd;
}

/* Counts a file that is not opened for lack of a descriptor. Returns fd. */
static int counted(int fd, const char *path)
{
	if (fd == -EMFILE || fd == -ENFILE)
		unread__add(UNREAD_NO_FD, path);
	return fd;
}

int openfile__link(const char *path, struct stat *st)
{
	int handle;

	if (broker_client__is_on())
		return broker_client__open(BROKER_LINK, NULL, path, st);
	handle = open(path, O_PATH | O_CLOEXEC);
	return counted(handle < 0 ? -errno : reopen(handle, path, st), path);
}

/*
 * Tries names that the kernel has cached first: reading a directory may also block on a daemon or
 * server.
 */
static int open_by_name(const char *root, const char *path, uint64_t resolve, struct stat *st)
{
	int handle = apart__open_below(root, path, resolve | RESOLVE_CACHED);

	if (handle == -EAGAIN || handle == -EINVAL) /* no such flag */
		handle = apart__open(root, path, resolve);
	return counted(handle < 0 ? handle : reopen(handle, root ? root : path, st), path);
}

int openfile__path(const char *path, struct stat *st)
{
	return broker_client__is_on() ? broker_client__open(BROKER_PATH, NULL, path, st)
				      : open_by_name(NULL, path, 0, st);
}

int openfile__in_root(const char *root, const char *path, struct stat *st)
{
	return broker_client__is_on() ? broker_client__open(BROKER_IN_ROOT, root, path, st)
				      : open_by_name(root, path, 0, st);
}

int openfile__in_root_no_links(const char *root, const char *path, struct stat *st)
{
	return broker_client__is_on() ? broker_client__open(BROKER_IN_ROOT_NO_LINKS, root, path, st)
				      : open_by_name(root, path, RESOLVE_NO_SYMLINKS, st);
}
