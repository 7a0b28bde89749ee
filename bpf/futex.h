/* SPDX-License-Identifier: GPL-2.0 */
/* Operations and words of futexes (uapi/linux/futex.h), for the probes and for user space. */
#ifndef JANK_FUTEX_H
#define JANK_FUTEX_H

#define FUTEX_WAIT	   0
#define FUTEX_LOCK_PI	   6
#define FUTEX_WAIT_BITSET  9
#define FUTEX_LOCK_PI2	   13
#define FUTEX_PRIVATE_FLAG 128
#define FUTEX_CLOCK_REAL   256
#define FUTEX_CMD_MASK	   (~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REAL))

/* The word of a PI mutex holds its owner's tid. */
#define FUTEX_WAITERS  0x80000000u
#define FUTEX_TID_MASK 0x3fffffffu

/* A lock's word while a thread waits for it: glibc's lowlevellock, Rust's and musl's mutexes. */
#define FUTEX_CONTENDED 2

#endif
