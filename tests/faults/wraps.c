/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For LD_PRELOAD: the functions of the C library that may fail, as called by the program and its
 * libraries. Each asks site__fails() first. Calls of the C library to itself are not seen, except
 * for memory.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/sites.h"

/* --- memory: dlsym itself allocates, so the next functions are named */

void *__interceptor_malloc(size_t size) __attribute__((weak));
void *__interceptor_calloc(size_t cnt, size_t size) __attribute__((weak));
void *__interceptor_realloc(void *old, size_t size) __attribute__((weak));
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t cnt, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	if (site__fails("malloc", 0, ENOMEM, ENOMEM))
		return NULL;
	return __interceptor_malloc ? __interceptor_malloc(size) : __libc_malloc(size);
}

void *calloc(size_t cnt, size_t size)
{
	if (site__fails("calloc", 0, ENOMEM, ENOMEM))
		return NULL;
	return __interceptor_calloc ? __interceptor_calloc(cnt, size) : __libc_calloc(cnt, size);
}

static void *resize(void *old, size_t size)
{
	return __interceptor_realloc ? __interceptor_realloc(old, size) : __libc_realloc(old, size);
}

void *realloc(void *old, size_t size)
{
	return size && site__fails("realloc", 0, ENOMEM, ENOMEM) ? NULL : resize(old, size);
}

void *reallocarray(void *old, size_t cnt, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(cnt, size, &bytes) ||
	    (bytes && site__fails("reallocarray", 0, ENOMEM, ENOMEM))) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(old, bytes);
}

/* --- functions with fixed arguments: WRAP(returned on failure, its errors, type, name, …) */

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(failed, error, other, type, name, params, args)                                       \
	type name params                                                                           \
	{                                                                                          \
		static __typeof__(&name) next;                                                     \
                                                                                                   \
		next = next ?: NEXT(name);                                                         \
		return site__fails(#name, 0, error, other) ? (failed) : next args;                 \
	}

WRAP(NULL, ENOMEM, ENOMEM, char *, strdup, (const char *text), (text))
WRAP(NULL, ENOMEM, ENOMEM, char *, strndup, (const char *text, size_t len), (text, len))
WRAP(-1, ENOMEM, ENOMEM, int, vasprintf, (char **ret, const char *format, va_list args),
     (ret, format, args))
WRAP(NULL, EMFILE, EACCES, FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAP(NULL, EMFILE, EACCES, FILE *, fopen64, (const char *path, const char *mode), (path, mode))
WRAP(NULL, ENOMEM, ENOMEM, FILE *, fmemopen, (void *at, size_t len, const char *mode),
     (at, len, mode))
WRAP(NULL, EMFILE, EIO, DIR *, opendir, (const char *path), (path))
WRAP(NULL, ENOMEM, ENOMEM, DIR *, fdopendir, (int fd), (fd))
WRAP(NULL, EIO, ENOMEM, struct dirent *, readdir, (DIR * dir), (dir))
WRAP(-1, EIO, ENOMEM, ssize_t, read, (int fd, void *to, size_t len), (fd, to, len))
WRAP(-1, EIO, ENOMEM, ssize_t, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at))
WRAP(-1, ENOMEM, EIO, ssize_t, readlink, (const char *path, char *to, size_t len), (path, to, len))
WRAP(-1, ENOMEM, EIO, ssize_t, readlinkat, (int dir, const char *path, char *to, size_t len),
     (dir, path, to, len))
WRAP(-1, ENOSPC, EIO, ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len))
WRAP(0, ENOSPC, EIO, size_t, fwrite, (const void *from, size_t size, size_t cnt, FILE *to),
     (from, size, cnt, to))
WRAP(EOF, ENOSPC, EIO, int, fflush, (FILE * file), (file))
WRAP(-1, EIO, ENOSPC, int, fsync, (int fd), (fd))
WRAP(-1, EIO, ENOSPC, int, ftruncate, (int fd, off_t len), (fd, len))
WRAP(-1, ENOSPC, EIO, int, renameat, (int from, const char *old, int to, const char *new),
     (from, old, to, new))
WRAP(-1, ENOSPC, EEXIST, int, renameat2,
     (int from, const char *old, int to, const char *new, unsigned flags),
     (from, old, to, new, flags))
WRAP(-1, ENOSPC, EIO, int, linkat, (int from, const char *old, int to, const char *new, int flags),
     (from, old, to, new, flags))
WRAP(-1, EIO, EROFS, int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(-1, ENOSPC, EROFS, int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
WRAP(-1, EIO, EPERM, int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(-1, EIO, EWOULDBLOCK, int, flock, (int fd, int how), (fd, how))
WRAP(-1, EIO, ENOMEM, int, fstat, (int fd, struct stat *ret), (fd, ret))
WRAP(-1, ENOMEM, EACCES, int, stat, (const char *path, struct stat *ret), (path, ret))
WRAP(-1, ENOMEM, EACCES, int, fstatat, (int dir, const char *path, struct stat *ret, int flags),
     (dir, path, ret, flags))
WRAP(-1, ENOMEM, EIO, int, statx,
     (int dir, const char *path, int flags, unsigned mask, struct statx *ret),
     (dir, path, flags, mask, ret))
WRAP(-1, ENOMEM, EIO, int, fstatfs, (int fd, struct statfs *ret), (fd, ret))
WRAP(-1, ENOMEM, EACCES, int, statfs, (const char *path, struct statfs *ret), (path, ret))
WRAP(MAP_FAILED, ENOMEM, EACCES, void *, mmap,
     (void *at, size_t len, int prot, int flags, int fd, off_t from),
     (at, len, prot, flags, fd, from))
WRAP(MAP_FAILED, ENOMEM, EACCES, void *, mmap64,
     (void *at, size_t len, int prot, int flags, int fd, off_t from),
     (at, len, prot, flags, fd, from))
WRAP(-1, EMFILE, ENOMEM, int, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(-1, EMFILE, EACCES, int, socket, (int domain, int type, int protocol),
     (domain, type, protocol))
WRAP(-1, EMFILE, ENOMEM, int, socketpair, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends))
WRAP(-1, EPIPE, ENOBUFS, ssize_t, send, (int fd, const void *from, size_t len, int flags),
     (fd, from, len, flags))
WRAP(-1, EPIPE, ENOBUFS, ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags),
     (fd, msg, flags))
WRAP(-1, ENOMEM, ECONNRESET, ssize_t, recv, (int fd, void *to, size_t len, int flags),
     (fd, to, len, flags))
WRAP(-1, ENOMEM, ECONNRESET, ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags),
     (fd, msg, flags))
WRAP(-1, EINVAL, EADDRINUSE, int, bind, (int fd, const struct sockaddr *at, socklen_t len),
     (fd, at, len))
WRAP(-1, ENOBUFS, ENOTCONN, int, getsockname,
     (int fd, struct sockaddr *restrict at, socklen_t *restrict len), (fd, at, len))
WRAP(-1, ENOBUFS, ENOTCONN, int, getpeername,
     (int fd, struct sockaddr *restrict at, socklen_t *restrict len), (fd, at, len))
WRAP(-1, ENOBUFS, ENOMEM, int, getsockopt,
     (int fd, int level, int name, void *restrict to, socklen_t *restrict len),
     (fd, level, name, to, len))
WRAP(-1, ENOBUFS, ENOMEM, int, setsockopt,
     (int fd, int level, int name, const void *from, socklen_t len), (fd, level, name, from, len))
WRAP(-1, EMFILE, ENOMEM, int, epoll_create1, (int flags), (flags))
WRAP(-1, ENOMEM, ENOSPC, int, epoll_ctl, (int fd, int op, int what, struct epoll_event *event),
     (fd, op, what, event))
WRAP(-1, EINTR, EINTR, int, epoll_wait, (int fd, struct epoll_event *to, int cnt, int timeout),
     (fd, to, cnt, timeout))
WRAP(-1, EINTR, ENOMEM, int, poll, (struct pollfd * fds, nfds_t cnt, int timeout),
     (fds, cnt, timeout))
WRAP(-1, EMFILE, ENOMEM, int, timerfd_create, (clockid_t clock, int flags), (clock, flags))
WRAP(-1, EINVAL, ECANCELED, int, timerfd_settime,
     (int fd, int flags, const struct itimerspec *value, struct itimerspec *old),
     (fd, flags, value, old))
WRAP(-1, EMFILE, ENOMEM, int, signalfd, (int fd, const sigset_t *mask, int flags),
     (fd, mask, flags))
WRAP(-1, EMFILE, ENOMEM, int, eventfd, (unsigned value, int flags), (value, flags))
WRAP(-1, EMFILE, ENFILE, int, pipe2, (int ends[2], int flags), (ends, flags))
WRAP(-1, EMFILE, EMFILE, int, dup, (int fd), (fd))
WRAP(-1, EMFILE, EBUSY, int, dup2, (int fd, int to), (fd, to))
WRAP(-1, EMFILE, EBUSY, int, dup3, (int fd, int to, int flags), (fd, to, flags))
WRAP(-1, EAGAIN, ENOMEM, pid_t, fork, (void), ())
WRAP(-1, EINTR, ECHILD, pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags))
WRAP(errno, EAGAIN, EPERM, int, pthread_create,
     (pthread_t *restrict ret, const pthread_attr_t *restrict attr, void *(*run)(void *),
      void *restrict arg),
     (ret, attr, run, arg))
WRAP(-1, ENOMEM, EPERM, int, unshare, (int flags), (flags))
WRAP(-1, ESRCH, EPERM, ssize_t, process_vm_readv,
     (pid_t pid, const struct iovec *local, unsigned long local_cnt, const struct iovec *remote,
      unsigned long remote_cnt, unsigned long flags),
     (pid, local, local_cnt, remote, remote_cnt, flags))
WRAP(-1, ENOMEM, EACCES, int, name_to_handle_at,
     (int dir, const char *path, struct file_handle *handle, int *mount, int flags),
     (dir, path, handle, mount, flags))
WRAP(-1, EMFILE, ESTALE, int, open_by_handle_at, (int mount, struct file_handle *handle, int flags),
     (mount, handle, flags))
WRAP(-1, EPERM, EINVAL, int, getrlimit, (__rlimit_resource_t what, struct rlimit *ret), (what, ret))
WRAP(-1, EPERM, EINVAL, int, setrlimit, (__rlimit_resource_t what, const struct rlimit *to),
     (what, to))

/* The descriptor is closed even if close fails. */
int close(int fd)
{
	int ret = NEXT(close)(fd);

	return ret || site__fails("close", 0, EIO, EINTR) ? -1 : 0;
}

/* --- functions with variable arguments, all of one register */

#define ARGS(last)                                                                                 \
	va_list args;                                                                              \
	long a, b, c, d, e, f;                                                                     \
                                                                                                   \
	va_start(args, last);                                                                      \
	a = va_arg(args, long);                                                                    \
	b = va_arg(args, long);                                                                    \
	c = va_arg(args, long);                                                                    \
	d = va_arg(args, long);                                                                    \
	e = va_arg(args, long);                                                                    \
	f = va_arg(args, long);                                                                    \
	va_end(args)

/* Of bpf(), the detail has the command too. */
long syscall(long nr, ...)
{
	ARGS(nr);

	(void)d;
	if (nr == SYS_bpf ? site__fails("bpf", 1 + a, ENOMEM, EPERM)
			  : site__fails("syscall", nr, ENOMEM, EPERM))
		return -1;
	return NEXT(syscall)(nr, a, b, c, d, e, f);
}

#define WRAP_VARIADIC(error, other, name, params, last, ...)                                       \
	int name params                                                                            \
	{                                                                                          \
		ARGS(last);                                                                        \
                                                                                                   \
		(void)b, (void)c, (void)d, (void)e, (void)f;                                       \
		return site__fails(#name, 0, error, other) ? -1 : NEXT(name)(__VA_ARGS__, a);      \
	}

WRAP_VARIADIC(EMFILE, EACCES, open, (const char *path, int flags, ...), flags, path, flags)
WRAP_VARIADIC(EMFILE, EACCES, open64, (const char *path, int flags, ...), flags, path, flags)
WRAP_VARIADIC(EMFILE, EACCES, openat, (int dir, const char *path, int flags, ...), flags, dir, path,
	      flags)
WRAP_VARIADIC(EMFILE, EINVAL, fcntl, (int fd, int op, ...), op, fd, op)
WRAP_VARIADIC(EMFILE, EINVAL, fcntl64, (int fd, int op, ...), op, fd, op)
WRAP_VARIADIC(ENOMEM, EPERM, ioctl, (int fd, unsigned long op, ...), op, fd, op)

int prctl(int option, ...)
{
	ARGS(option);

	(void)e, (void)f;
	return site__fails("prctl", option, EPERM, EINVAL) ? -1 : NEXT(prctl)(option, a, b, c, d);
}

int asprintf(char **ret, const char *format, ...)
{
	va_list args;
	int len;

	if (site__fails("asprintf", 0, ENOMEM, ENOMEM))
		return -1;
	va_start(args, format);
	len = NEXT(vasprintf)(ret, format, args);
	va_end(args);
	return len;
}
