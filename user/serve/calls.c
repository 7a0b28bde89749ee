/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/serve.h"

#include <stddef.h>

const struct syscall_list serve_calls = {
	/* connections; a new socket or a connection to elsewhere is not possible */
	"accept accept4 recvfrom recvmsg sendto sendmsg shutdown setsockopt getsockopt"
	" getsockname getpeername epoll_wait epoll_pwait epoll_ctl poll ppoll"
	/* DIR and its files; the time zone's file */
	" openat close fstat newfstatat statx pread64 read lseek ftruncate flock fsync"
	" renameat renameat2 unlinkat unlink readlinkat getdents64 fcntl faccessat faccessat2"
	" inotify_add_watch inotify_rm_watch"
	/* stdout and stderr */
	" write writev"
	/* the process itself */
	" getpid geteuid getuid gettid tgkill rt_sigprocmask rt_sigaction sched_yield",
	NULL,
};
