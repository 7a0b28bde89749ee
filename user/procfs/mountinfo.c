/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/root rw". Blanks in a field are
 * written as \040.
 */
#include "procfs/filepath.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "files/file.h"

#define TEXT_MAX (4u << 20)

static bool is_octal(const char *at)
{
	return at[0] >= '0' && at[0] <= '3' && at[1] >= '0' && at[1] <= '7' && at[2] >= '0' &&
	       at[2] <= '7';
}

static void decode(char *field)
{
	char *to = field;

	for (const char *from = field; *from; to++) {
		if (*from == '\\' && is_octal(from + 1)) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* Six fields and any number of optional ones precede the dash. */
static bool parse_line(char *line, struct mount *ret)
{
	char *dash = strstr(line, " - "), *rest, *fields[5];
	unsigned major, minor;

	if (!dash || sscanf(line, "%d %*d %u:%u", &ret->id, &major, &minor) != 3)
		return false;
	*dash = 0;
	rest = line;
	for (int i = 0; i < 5; i++)
		if (!(fields[i] = strsep(&rest, " ")))
			return false;
	rest = dash + strlen(" - ");
	ret->dev = makedev(major, minor);
	ret->root = fields[3];
	ret->point = fields[4];
	ret->type = strsep(&rest, " ");
	ret->source = rest ? strsep(&rest, " ") : ret->type + strlen(ret->type);
	decode(ret->root);
	decode(ret->point);
	decode(ret->type);
	decode(ret->source);
	return true;
}

static size_t count_lines(const char *text)
{
	size_t cnt = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		cnt++;
	return cnt + 1;
}

static int parse(struct mountinfo *mi)
{
	char *save = NULL;

	if (!mi->text.len)
		return 0;
	mi->mounts = calloc(count_lines(mi->text.data), sizeof(*mi->mounts));
	if (!mi->mounts)
		return -ENOMEM;
	for (char *line = strtok_r(mi->text.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		mi->cnt += parse_line(line, &mi->mounts[mi->cnt]);
	return 0;
}

int mountinfo__read(const char *proc, pid_t pid, struct mountinfo *ret)
{
	char path[PATH_MAX];
	int res;

	*ret = (struct mountinfo){ .text = STRBUF_INIT };
	snprintf(path, sizeof(path), "%s/%d/mountinfo", proc, (int)pid);
	res = file__read(path, TEXT_MAX, &ret->text);
	if (!res)
		res = parse(ret);
	if (res)
		mountinfo__free(ret);
	return res;
}

void mountinfo__free(struct mountinfo *mi)
{
	free(mi->mounts);
	strbuf__free(&mi->text);
	*mi = (struct mountinfo){ .text = STRBUF_INIT };
}

const struct mount *mountinfo__by_id(const struct mountinfo *mi, int id)
{
	for (size_t i = 0; i < mi->cnt; i++)
		if (mi->mounts[i].id == id)
			return &mi->mounts[i];
	return NULL;
}

const struct mount *mountinfo__next_of(const struct mountinfo *mi, dev_t dev,
				       const struct mount *after)
{
	for (size_t i = after ? (size_t)(after - mi->mounts) + 1 : 0; i < mi->cnt; i++)
		if (mi->mounts[i].dev == dev)
			return &mi->mounts[i];
	return NULL;
}

static bool lies_below(const char *path, const char *point)
{
	size_t len = strlen(point);

	if (len == 1)
		return *path == '/';
	return !strncmp(path, point, len) && (!path[len] || path[len] == '/');
}

const struct mount *mountinfo__of_path(const struct mountinfo *mi, const char *path)
{
	const struct mount *ret = NULL;

	for (size_t i = 0; i < mi->cnt; i++) {
		const struct mount *mount = &mi->mounts[i];

		if (lies_below(path, mount->point) &&
		    (!ret || strlen(mount->point) >= strlen(ret->point)))
			ret = mount;
	}
	return ret;
}

bool mount__is_remote(const struct mount *mount)
{
	static const char *const begins[] = { "nfs", "cifs", "smb", "fuse",
					      "9p",  "ceph", "afs", "autofs" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(mount->type, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* --- device names: sysfs has those of block devices; for all others only the mounts help */

#define DEVNAME_TEXT_MAX 4096

/* Adds the first line of a file, or the value of its line "KEY=". False: nothing found. */
static bool add_line(struct strbuf *sb, const char *path, const char *key)
{
	struct strbuf text = STRBUF_INIT;
	size_t len = strlen(key), cnt = 0;
	const char *at;

	file__read(path, DEVNAME_TEXT_MAX, &text);
	at = strbuf__str(&text);
	while (at && strncmp(at, key, len)) {
		at = strchr(at, '\n');
		at += !!at;
	}
	if (at) {
		cnt = strcspn(at + len, "\n");
		strbuf__add(sb, at + len, cnt);
	}
	strbuf__free(&text);
	return cnt;
}

/* Adds a block device's name by sysfs ("/sys"); any bytes. Adds nothing for other devices. */
static void devname__add_block(struct strbuf *sb, const char *sys, dev_t dev)
{
	char dir[PATH_MAX - 16], path[PATH_MAX];

	if (!major(dev))
		return;
	snprintf(dir, sizeof(dir), "%s/dev/block/%u:%u", sys, major(dev), minor(dev));
	snprintf(path, sizeof(path), "%s/dm/name", dir);
	if (add_line(sb, path, ""))
		return;
	snprintf(path, sizeof(path), "%s/uevent", dir);
	add_line(sb, path, "DEVNAME=");
}

/* Sources without a colon or slash ("none", "tmpfs", a container's word) carry no information. */
static void add_mount(struct strbuf *sb, const struct mount *mount)
{
	strbuf__adds(sb, mount->type);
	if (strpbrk(mount->source, ":/"))
		strbuf__addf(sb, " %s", mount->source);
}

void devname__add(struct strbuf *sb, const char *sys, const struct mountinfo *mi, dev_t dev)
{
	const struct mount *mount = mountinfo__next_of(mi, dev, NULL);
	size_t before = sb->len;

	devname__add_block(sb, sys, dev);
	if (sb->len == before && mount)
		add_mount(sb, mount);
}
