/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 32-bit programs among the traced: only the tracepoints of all system calls show their waits. Which probes
 * run is decided once, so a program of which it is learned too late is told of.
 */
#include <errno.h>
#include <stdio.h>

#include "app/session_parts.h"
#include "base/log.h"
#include "kernel/compat32.h"

#ifdef __aarch64__
#define NO_UPROBES "the kernel has no uprobes in those"
#else
#define NO_UPROBES "uprobes are for 64-bit ones"
#endif

/* Names the first of them; false: there is none. */
static bool find_compat(const struct options *opts, struct strbuf *ret)
{
	for (size_t i = 0; i < opts->pid_cnt; i++)
		if (compat32__process(opts->pids[i])) {
			strbuf__addf(ret, "process %d", opts->pids[i]);
			return true;
		}
	if (!opts->argv || !compat32__command(opts->argv[0]))
		return false;
	strbuf__addf(ret, "'%s'", opts->argv[0]);
	return true;
}

static int choose(const struct session *s, const char *who, struct loader_opts *ret,
		  struct err *err)
{
	if (s->opts->backend == BACKEND_UPROBE)
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "--backend uprobe: %s is a 32-bit program, and " NO_UPROBES
				     "; --backend kernel sees its waits",
				     who);
	if (!features__has(&s->features, FEATURE_RAW_SYSCALLS))
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "%s is a 32-bit program, whose waits are seen through "
				     "raw_syscalls alone: this kernel has none; see `jankbpf "
				     "doctor`",
				     who);
	ret->compat_waits = true;
	log__info("%s is a 32-bit program, and " NO_UPROBES ": waits are seen through "
		  "raw_syscalls, an android::Looper as the epoll loop beneath",
		  who);
	return 0;
}

int session__choose_waits(const struct session *s, struct loader_opts *ret, struct err *err)
{
	struct strbuf who = STRBUF_INIT;
	int res = 0;

	if (find_compat(s->opts, &who))
		res = choose(s, strbuf__str(&who), ret, err);
	strbuf__free(&who);
	return res;
}

void session__check_program(struct session *s, uint32_t pid)
{
	enum wait_probe wait = loader__wait_probe(s->loader);

	if (wait == WAIT_RAW_SYSCALLS || s->compat_told || !compat32__process(pid))
		return;
	s->compat_told = true;
	log__warn("process %u became a 32-bit program: from here on its waits and blocks are lost; "
		  "trace it anew by -p %u, or from its begin with %s",
		  pid, pid,
		  wait == WAIT_UPROBES ? "--backend kernel"
				       : "--disable-feature syscall_tracepoints");
}
