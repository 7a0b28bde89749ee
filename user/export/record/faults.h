/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults: finished blocks, grouped by signature, process, kind of loop or message. Each group keeps
 * the texts of its longest block and a histogram of delays (5 KiB). At most FAULTS_MAX groups;
 * blocks of further groups are only counted. One thread at a time.
 */
#ifndef JANK_EXPORT_RECORD_FAULTS_H
#define JANK_EXPORT_RECORD_FAULTS_H

#include "schema/blockinfo.pb-c.h"
#include <stddef.h>
#include <stdint.h>

#define FAULTS_MAX     1000
#define SIGNATURES_MAX 4096 /* whose blocks are numbered */
#define OPEN_HANGS_MAX 256

/* In the order of the words of --group and --sort. */
enum fault_group {
	FAULT_GROUP_SIGNATURE,
	FAULT_GROUP_PROCESS,
	FAULT_GROUP_LOOP,
	FAULT_GROUP_MESSAGE
};
enum fault_order { FAULT_ORDER_TOTAL, FAULT_ORDER_BLOCKS, FAULT_ORDER_MAX, FAULT_ORDER_LAST };

struct faults;

struct faults *faults__new(enum fault_group by); /* NULL: out of memory */
void faults__free(struct faults *faults);	 /* accepts NULL */

/* "signature", "process", "loop" or "message": static. */
const char *faults__grouped_by(const struct faults *faults);

/*
 * Counts a block that ended; sets its `occurrence`. 0 or -ENOMEM: then it is counted among
 * faults__more.
 */
int faults__add(struct faults *faults, Jankbpf__Block *block);

/* Notes a hang, until faults__add gets its block. 0 or -ENOMEM. */
int faults__add_hang(struct faults *faults, const Jankbpf__Block *hang);

/*
 * All groups, sorted, with hangs that have not ended. The caller frees the array; its elements
 * belong to faults and stay until the next call with it. 0 or -ENOMEM.
 */
int faults__list(struct faults *faults, enum fault_order order, Jankbpf__Fault ***ret,
		 size_t *ret_cnt);

/* Blocks that are in no group. */
uint64_t faults__more(const struct faults *faults);

#endif
