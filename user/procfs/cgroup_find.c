/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a cgroup by its path, and a unit by its name in the tree. */
#include "procfs/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "files/file.h"

#define MOUNTS_MAX  (4u << 20)
#define DEPTH_MAX   12
#define USUAL_MOUNT "/sys/fs/cgroup"

/* Adds a mount point of /proc/mounts, where blanks and similar bytes are written as "\040". */
static void add_unescaped(struct strbuf *sb, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 3 < len) {
			strbuf__addc(sb, (text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
						 (text[i + 3] - '0'));
			i += 3;
		} else {
			strbuf__addc(sb, text[i]);
		}
	}
}

int cgroup__parse_mounts(const char *text, struct strbuf *ret)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *point, *type;

		line += *line == '\n';
		point = strchr(line, ' ');
		type = point ? strchr(point + 1, ' ') : NULL;
		if (!type || strncmp(type, " cgroup2 ", strlen(" cgroup2 ")))
			continue;
		add_unescaped(ret, point + 1, type - point - 1);
		return ret->failed ? -ENOMEM : 0;
	}
	return -ENOTSUP;
}

static struct {
	pthread_once_t once;
	struct strbuf path; /* kept until the end of the process */
	int res;
} unified = { .once = PTHREAD_ONCE_INIT };

static void find_mount(void)
{
	struct strbuf mounts = STRBUF_INIT;

	unified.res = file__read("/proc/self/mounts", MOUNTS_MAX, &mounts);
	if (!unified.res)
		unified.res = cgroup__parse_mounts(strbuf__str(&mounts), &unified.path);
	strbuf__free(&mounts);
}

/* Where version 2 is mounted, as of the first call; NULL with -errno in unified.res. */
static const char *mount_point(void)
{
	pthread_once(&unified.once, find_mount);
	return unified.res ? NULL : strbuf__str(&unified.path);
}

static bool is_v2(int fd)
{
	struct statfs st;

	return !fstatfs(fd, &st) && st.f_type == CGROUP2_SUPER_MAGIC;
}

/* Returns 1 with the descriptor in *ret, or -errno. */
static int open_path(const char *path, int *ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (!is_v2(fd)) {
		close(fd);
		return -EMEDIUMTYPE;
	}
	*ret = fd;
	return 1;
}

/* The rest of path after dir, or NULL: path is not below dir. */
static const char *below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strncmp(path, dir, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/*
 * Also accepts paths below the usual mount point. In a hybrid setup the real one is
 * /sys/fs/cgroup/unified; its siblings are version 1.
 */
static int open_below(const char *mount, const char *path, int *ret)
{
	const char *rest = below(path, mount);
	struct strbuf full = STRBUF_INIT;
	int res;

	if (!rest && below(path, USUAL_MOUNT)) {
		res = open_path(path, ret);
		if (res == -EMEDIUMTYPE)
			return res;
		rest = below(path, USUAL_MOUNT);
	}
	strbuf__addf(&full, "%s/%s", mount, rest ? rest : path);
	res = full.failed ? -ENOMEM : open_path(strbuf__str(&full), ret);
	strbuf__free(&full);
	return res == -ENOTDIR ? -ENOENT : res;
}

static bool is_unit(const char *word)
{
	static const char *const types[] = { ".service", ".scope", ".slice",
					     ".socket",	 ".mount", ".swap" };
	const char *dot = strrchr(word, '.');

	for (size_t i = 0; dot && !strchr(word, '/') && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(dot, types[i]))
			return true;
	return false;
}

struct search {
	const char *name;
	int *fds;
	int cnt, max;
};

static int search_dir(struct search *search, int dir_fd, int depth);

/* Takes the directory entry if its name matches, else searches it. */
static int search_entry(struct search *search, int dir_fd, const char *name, int depth)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 0; /* removed meanwhile */
	if (strcmp(name, search->name))
		return search_dir(search, fd, depth + 1);
	if (search->cnt == search->max) {
		close(fd);
		return -E2BIG;
	}
	search->fds[search->cnt++] = fd;
	return 0;
}

/* Takes dir_fd. */
static int search_dir(struct search *search, int dir_fd, int depth)
{
	DIR *dir = depth < DEPTH_MAX ? fdopendir(dir_fd) : NULL;
	struct dirent *entry;
	int res = 0;

	if (!dir) {
		close(dir_fd);
		return 0;
	}
	while (!res && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
		    strcmp(entry->d_name, ".."))
			res = search_entry(search, dirfd(dir), entry->d_name, depth);
	closedir(dir);
	return res;
}

static int open_unit(const char *mount, const char *name, int *ret, int max)
{
	struct search search = { .name = name, .fds = ret, .max = max };
	int fd, res = open_path(mount, &fd);

	if (res > 0)
		res = search_dir(&search, fd, 0);
	if (res) {
		while (search.cnt)
			close(ret[--search.cnt]);
		return res;
	}
	return search.cnt ? search.cnt : -ENOENT;
}

/* The path after "0::", the line of the v2 hierarchy in /proc/PID/cgroup. */
static char *v2_path(struct strbuf *text, pid_t pid)
{
	char path[64], *line;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (file__read(path, MOUNTS_MAX, text) || !text->len)
		return NULL;
	line = strncmp(text->data, "0::", 3) ? strstr(text->data, "\n0::") : text->data - 1;
	if (!line)
		return NULL;
	line += strlen("\n0::");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* A removed cgroup has no files; the directory's link count stays (kernfs). */
bool cgroup__is_removed(int fd)
{
	int procs = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);

	if (procs < 0)
		return errno == ENOENT || errno == ENODEV;
	close(procs);
	return false;
}

bool cgroup__holds(int fd, pid_t pid)
{
	struct strbuf text = STRBUF_INIT;
	const char *point = mount_point();
	char link[64], dir[PATH_MAX];
	const char *in, *rest;
	bool holds = false;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, dir, sizeof(dir) - 1);
	in = v2_path(&text, pid);
	if (len > 0 && in && point) {
		dir[len] = '\0';
		rest = below(dir, point);
		holds = rest && below(in, rest);
	}
	strbuf__free(&text);
	return holds;
}

int cgroup__open(const char *path, int *ret, int max)
{
	const char *point;

	if (!*path)
		return -EINVAL;
	point = mount_point();
	if (!point)
		return unified.res;
	return is_unit(path) ? open_unit(point, path, ret, max) : open_below(point, path, ret);
}
