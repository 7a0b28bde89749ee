/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing one log: under a name that no reader takes first, then renamed. A reader that met half
 * a log would judge it corrupt and delete it.
 */
#include "export/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "export/blockcanary/blockcanary.h"
#include "export/output.h"
#include "export/retain.h"

#define NAME_ATTEMPTS 10000

/*
 * Fails with EEXIST when there is one. Where the file system has no such rename, a link does the
 * same.
 */
static int rename_new(int dirfd, const char *from, const char *to)
{
	if (!renameat2(dirfd, from, dirfd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(dirfd, from, dirfd, to, 0))
		return -errno;
	unlinkat(dirfd, from, 0);
	return 0;
}

/* Two blocks may end in one millisecond. */
static int give_name(int dirfd, const char *tmp, uint64_t real_ns)
{
	struct strbuf name = STRBUF_INIT;
	int err = -EEXIST;

	for (unsigned i = 0; err == -EEXIST && i < NAME_ATTEMPTS; i++) {
		strbuf__reset(&name);
		blockcanary__add_name(&name, real_ns, i);
		err = name.failed ? -ENOMEM : rename_new(dirfd, tmp, strbuf__str(&name));
	}
	strbuf__free(&name);
	return err;
}

static int write_tmp(int dirfd, const char *tmp, const void *log, size_t len, uint64_t real_ns)
{
	struct timespec when = { (time_t)(real_ns / NS_PER_SEC), (long)(real_ns % NS_PER_SEC) };
	struct timespec times[2] = { when, when };
	int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	err = output__write(fd, log, len);
	if (!err && futimens(fd, times))
		err = -errno;
	if (close(fd) && !err) /* some file systems only now find that the disk is full */
		err = -errno;
	if (err)
		unlinkat(dirfd, tmp, 0);
	return err;
}

int log_file__write(int dirfd, const void *log, size_t len, uint64_t real_ns)
{
	char tmp[48];
	int err;

	snprintf(tmp, sizeof(tmp), RETAIN_TMP_PREFIX "%d" RETAIN_TMP_SUFFIX, (int)getpid());
	err = write_tmp(dirfd, tmp, log, len, real_ns);
	if (err)
		return err;
	err = give_name(dirfd, tmp, real_ns);
	if (err)
		unlinkat(dirfd, tmp, 0);
	return err;
}
