/* SPDX-License-Identifier: GPL-2.0 */
/* One connection is kept for a second: the waits of a block are mostly for one. */
#include "procfs/fusedaemon.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/file.h"
#include "procfs/fdscan.h"

#define KEPT_NS	 NS_PER_SEC
#define TEXT_MAX 4096
#define KEY	 "\nfuse_connection:"

struct search {
	const char *proc;
	unsigned long number; /* the kernel's dev_t of the file system */
	pid_t unsaid;	      /* has /dev/fuse open, for a connection that fdinfo does not say */
	bool several;	      /* have */
};

static bool is_daemon(void *ctx, pid_t pid, const char *fd, const char *link)
{
	struct search *search = ctx;
	struct strbuf text = STRBUF_INIT;
	char path[PATH_MAX];
	const char *at;
	bool ret;

	if (strcmp(link, "/dev/fuse"))
		return false;
	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", search->proc, (int)pid, fd);
	file__read(path, TEXT_MAX, &text);
	at = strbuf__str(&text) ? strstr(strbuf__str(&text), KEY) : NULL;
	ret = at && strtoul(at + strlen(KEY), NULL, 10) == search->number;
	if (!at) {
		search->several |= search->unsaid && search->unsaid != pid;
		search->unsaid = pid;
	}
	strbuf__free(&text);
	return ret;
}

static pid_t find(const char *proc, dev_t dev)
{
	struct search search = { proc, (unsigned long)major(dev) << 20 | minor(dev), 0, false };
	pid_t pid = fdscan__find(proc, 0, is_daemon, &search);

	return pid || search.several ? pid : search.unsaid;
}

static bool is_fuse(const struct mount *mount)
{
	return !strcmp(mount->type, "fuse") || !strcmp(mount->type, "fuseblk") ||
	       !strncmp(mount->type, "fuse.", 5) || !strncmp(mount->type, "fuseblk.", 8);
}

pid_t fusedaemon__find(const char *proc, const struct mount *mount, uint64_t now_ns)
{
	static struct {
		dev_t dev;
		pid_t pid;
		uint64_t until_ns;
	} kept;

	if (!mount || !is_fuse(mount))
		return 0;
	if (kept.dev == mount->dev && now_ns < kept.until_ns)
		return kept.pid;
	kept.dev = mount->dev;
	kept.pid = find(proc, mount->dev);
	kept.until_ns = now_ns + KEPT_NS;
	return kept.pid;
}
