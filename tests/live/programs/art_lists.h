// SPDX-License-Identifier: GPL-2.0
// The lists of JIT code and DEX files that ART keeps for debuggers, with their locks (format of
// Android 11 and later, "Android2"; art/runtime/jit/debugger_interface.cc).
#ifndef ART_LISTS_H
#define ART_LISTS_H

#include <stdint.h>

struct entry {
	struct entry *next, *prev;
	const void *symfile;
	uint64_t size, timestamp;
	volatile uint32_t lock;
};

struct descriptor {
	uint32_t version, action;
	struct entry *relevant, *first;
	uint8_t magic[8];
	uint32_t flags, size, entry_size;
	volatile uint32_t lock;
	uint64_t timestamp;
	void *rest[11];
};

extern struct descriptor __jit_debug_descriptor, __dex_debug_descriptor;

#endif
