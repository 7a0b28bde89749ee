/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The output of a report: stdout, or a temporary file that gets its name when it is complete. A
 * reader of that name never sees a part.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/report/report.h"
#include "export/sink.h"
#include "files/own_path.h"
#include "files/user_account.h"

#define PART	      (256 << 10) /* bytes of a write */
#define NAME_ATTEMPTS 100

int report_out__flush(struct report_out *out)
{
	if (out->fd < 0)
		return out->bytes.failed ? -ENOMEM : out->error;
	if (!out->error && out->bytes.failed)
		out->error = -ENOMEM;
	if (!out->error && out->bytes.len)
		out->error = output__write(out->fd, out->bytes.data, out->bytes.len);
	strbuf__reset(&out->bytes);
	return out->error;
}

int report_out__added(struct report_out *out)
{
	return out->error || out->bytes.failed || out->bytes.len >= PART ? report_out__flush(out)
									 : 0;
}

/* A rename would replace a device or a pipe by a file. */
static int check_old(const struct report_file *file, struct err *err)
{
	struct stat st;

	if (fstatat(file->dirfd, file->name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISREG(st.st_mode))
		return 0;
	return err__set(err, EINVAL,
			"'%s': not a regular file: choose another name, or leave out -o for stdout",
			file->path);
}

/* Takes a free temporary name: for a new file, or for the open file without a name. */
static int take_name(struct report_file *file)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->out.fd);
	for (int i = 0; i < NAME_ATTEMPTS; i++) {
		int res;

		snprintf(file->temporary, sizeof(file->temporary), ".jankbpf-report-%d-%d.tmp",
			 (int)getpid(), i);
		if (file->out.fd >= 0)
			res = linkat(AT_FDCWD, self, file->dirfd, file->temporary,
				     AT_SYMLINK_FOLLOW);
		else
			res = file->out.fd =
				openat(file->dirfd, file->temporary,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (res >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return -errno;
}

/*
 * A file without a name leaves nothing behind if the process is killed; not all file systems can.
 */
static int open_temporary(struct report_file *file, struct err *err)
{
	int res = 0;
	uid_t sudo;

	file->out.fd = openat(file->dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (file->out.fd < 0)
		res = take_name(file);
	if (res)
		return err__set(err, -res, "'%s': cannot create a file in its directory: %s",
				file->path, strerror(-res));
	if (user_account__is_sudo(&sudo) && fchown(file->out.fd, sudo, (gid_t)-1))
		return err__set(err, errno, "'%s': cannot give it to the user of sudo: %s",
				file->path, strerror(errno));
	return 0;
}

int report_file__open(struct report_file *file, const char *path, struct err *err)
{
	int res;

	*file = (struct report_file){ .out.fd = STDOUT_FILENO, .path = path, .dirfd = -1 };
	if (!path)
		return 0;
	file->out.fd = -1;
	file->dirfd = own_path__parent(path, &file->name, err);
	if (file->dirfd < 0)
		return file->dirfd;
	res = check_old(file, err);
	return res ? res : open_temporary(file, err);
}

/* Some file systems report a full disk only at close. */
static int close_out(struct report_file *file)
{
	int res = file->out.fd >= 0 && close(file->out.fd) ? -errno : 0;

	file->out.fd = -1;
	return res;
}

int report_file__commit(struct report_file *file, struct err *err)
{
	int res = report_out__flush(&file->out);

	if (!file->path)
		return res ? err__set(err, -res, "cannot write to stdout: %s", strerror(-res)) : 0;
	if (!res && !file->temporary[0])
		res = take_name(file);
	if (!res)
		res = close_out(file);
	if (!res && renameat(file->dirfd, file->temporary, file->dirfd, file->name))
		res = -errno;
	if (res)
		return err__set(err, -res, "'%s': cannot write the report: %s; nothing was written",
				file->path, strerror(-res));
	file->temporary[0] = '\0';
	return 0;
}

void report_file__close(struct report_file *file)
{
	if (file->path)
		close_out(file);
	if (file->temporary[0])
		unlinkat(file->dirfd, file->temporary, 0);
	file->temporary[0] = '\0';
	if (file->dirfd >= 0)
		close(file->dirfd);
	file->dirfd = -1;
	strbuf__free(&file->out.bytes);
}
