/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State and functions shared by the files of the symbolizer. */
#ifndef JANK_SYMBOL_NAMES_SYMBOLIZE_PARTS_H
#define JANK_SYMBOL_NAMES_SYMBOLIZE_PARTS_H

#include "symbol/names/process.h"
#include "symbol/names/resolve.h"
#include "symbol/names/symbolize.h"

struct symbolizer {
	const struct symbolizer_ops *remote; /* NULL: this symbolizer does the work */
	void *remote_ctx;
	char *kallsyms;
	bool demangle;
	uint64_t max_cache_bytes;
	struct process_env env;
	struct process *processes;
	struct symtab kernel;
	bool kernel_loaded; /* set by the first kernel address */
	bool this_kernel;   /* kallsyms is this machine's */
	char kernel_build_id[BUILD_ID_HEX_SZ];
	struct cache kernel_cache;
	struct pool pool;   /* strings in frames */
	uint64_t cut_cnt;   /* see symbolizer__cut_cnt */
	uint64_t rested_ns; /* of the last symbolizer__rest, CLOCK_MONOTONIC */
	unsigned fetched;   /* value of fetch__cnt up to which files are in use */
};

/* A known process, or NULL. */
struct process *symbolizer__find(const struct symbolizer *sym, uint32_t pid);

/* The process; read now when it is not known yet. NULL: it cannot be read. */
struct process *symbolizer__known(struct symbolizer *sym, uint32_t pid);

#endif
