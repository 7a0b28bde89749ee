/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads by ptrace what the probe copies of a thread. The thread is of a child that the test
 * started.
 */
#ifndef JANK_TEST_CAPTURE_H
#define JANK_TEST_CAPTURE_H

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/event.h"

#define CAPTURE_MAX (64 << 10)

struct capture {
	struct copy_event copy;
	uint8_t bytes[CAPTURE_MAX];
};

/* The registers in the order of jank_abi.h. */
static inline int capture__regs(pid_t pid, __u64 *ret)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &iov))
		return -errno;
#ifdef __aarch64__
	memcpy(ret, regs.regs, sizeof(regs.regs));
	ret[31] = regs.sp;
	ret[32] = regs.pc;
#else
	const uint64_t in_order[] = { regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi,
				      regs.rbp, regs.rsp, regs.r8,  regs.r9,  regs.r10, regs.r11,
				      regs.r12, regs.r13, regs.r14, regs.r15, regs.rip };

	if (iov.iov_len != sizeof(regs)) {
		const uint32_t *r =
			(const uint32_t *)&regs; /* ebx ecx edx esi edi ebp eax … eip 12 esp 15 */
		const uint64_t of_32[] = { r[6], r[2], r[1], r[0], r[3], r[4], r[5], r[15] };

		memcpy(ret, of_32, sizeof(of_32));
		ret[16] = r[12];
		return JANK_COPY_32BIT;
	}
	memcpy(ret, in_order, sizeof(in_order));
#endif
	return 0;
}

static inline uint32_t capture__stack(pid_t pid, uint64_t sp, uint8_t *to, uint32_t size)
{
	uint32_t done = 0;

	while (done < size) {
		uint32_t left = 4096 - (sp + done) % 4096,
			 len = left < size - done ? left : size - done;
		struct iovec local = { to + done, len },
			     remote = { (void *)(uintptr_t)(sp + done), len };

		if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)len)
			break;
		done += len;
	}
	return done;
}

/* Copies up to `size` bytes of a stopped process's stack. False: the process is gone. */
static inline bool capture__again(pid_t pid, uint32_t size, struct capture *ret)
{
	struct jank_rec_copy *rec = &ret->copy.rec;
	int flags;

	memset(rec, 0, sizeof(*rec));
	flags = capture__regs(pid, rec->regs);
	if (flags < 0)
		return false;
	rec->hdr.flags = flags;
	rec->hdr.tgid = (uint32_t)pid;
	rec->asked_sz = size;
#ifdef __aarch64__
	rec->copy_sz = capture__stack(pid, rec->regs[31], ret->bytes, size);
#else
	rec->copy_sz = capture__stack(pid, rec->regs[7], ret->bytes, size);
	capture__stack(pid, rec->regs[7] - JANK_RED_ZONE, rec->red_zone, JANK_RED_ZONE);
#endif
	if (rec->copy_sz < size)
		rec->hdr.flags |= JANK_COPY_HOLE;
	ret->copy.bytes = ret->bytes;
	return true;
}

/*
 * The same for a process that PTRACE_SEIZE has: stops it first and leaves it stopped. If a signal
 * stopped it before, deliver that signal; our own stop comes after it. If that stop were left
 * pending, the next call would take it for its own, and the process would never go on.
 */
static inline bool capture__take(pid_t pid, uint32_t size, struct capture *ret)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL))
		return false;
	for (;;) {
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return capture__again(pid, size, ret);
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(long)WSTOPSIG(status)))
			return false;
	}
}

/* Resumes it. */
static inline void capture__go_on(pid_t pid)
{
	ptrace(PTRACE_CONT, pid, NULL, NULL);
}

/* Steps one instruction. False: the process is gone. */
static inline bool capture__step(pid_t pid)
{
	int status;

	return !ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) &&
	       waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

#endif
