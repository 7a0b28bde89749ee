// SPDX-License-Identifier: GPL-2.0
// What an app on the stand-in for ART loads and runs.
#ifndef ART_DEX_H
#define ART_DEX_H

#include <stdint.h>

// The bytecode that runs, and what it calls.
struct art_dex {
	const uint8_t *bytes;
	int (*native)(void); // the only native method: it says when to stop
	int by_switch;
};

// Adds a file to the list for debuggers, and removes it.
void *art_add_dex(const void *dex, uint64_t size);
void art_remove_dex(void *entry);

// Runs the first method of the file's first class.
void art_run(const struct art_dex *dex);

#endif
