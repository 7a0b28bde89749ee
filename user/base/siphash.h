/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SipHash-2-4 (Aumasson, Bernstein 2012): a hash of 64 bits that nobody without its key can compute
 * or reverse by trying inputs. Any thread.
 */
#ifndef JANK_BASE_SIPHASH_H
#define JANK_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_SZ 16

uint64_t siphash(const uint8_t key[SIPHASH_KEY_SZ], const void *data, size_t len);

#endif
