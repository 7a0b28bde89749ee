/* SPDX-License-Identifier: GPL-2.0 */
/* Of block devices sysfs knows, of all others only the mounts. */
#include "procfs/devname.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/file.h"

#define TEXT_MAX 4096

/* A file's first line, or the value of its line "KEY=". False: nothing is there. */
static bool add_line(struct strbuf *sb, const char *path, const char *key)
{
	struct strbuf text = STRBUF_INIT;
	size_t len = strlen(key), cnt = 0;
	const char *at;

	file__read(path, TEXT_MAX, &text);
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

/* Adds a block device's name, by sysfs ("/sys"); any bytes. Nothing is added where there is none such. */
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

/* Sources that tell nothing ("none", "tmpfs", a container's word) hold neither a colon nor a slash. */
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
