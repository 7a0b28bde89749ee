/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The caller's own return addresses, as a stack walk must report them: without arm64's signature.
 */
#ifndef JANK_TEST_CALLER_H
#define JANK_TEST_CALLER_H

#include <stdint.h>

static inline uint64_t unsigned_address(const void *address)
{
#ifdef __aarch64__
	return (uintptr_t)address & 0xffffffffffff;
#else
	return (uintptr_t)address;
#endif
}

/* The return address of the function that uses this macro. */
#define CALLED_FROM() unsigned_address(__builtin_return_address(0))

#endif
