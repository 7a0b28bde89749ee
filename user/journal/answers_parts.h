/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a block takes what a journal's messages hold. Each returns 0 or -ENOMEM; strings are copied
 * unless it says otherwise.
 */
#ifndef JANK_JOURNAL_ANSWERS_PARTS_H
#define JANK_JOURNAL_ANSWERS_PARTS_H

#include "model/block.h"
#include "schema/journal.pb-c.h"

void answers__take_load(struct machine_load *ret, const Jankbpf__Cpu *cpu);
int answers__take_message(struct message *ret, const Jankbpf__JournalAnswers *answers);
/* Names of what its spans and links waited for, and what belongs to its CPU and its quota. */
int answers__take_waited(struct block *block, const Jankbpf__Block *from);
/* What the record lost, as far as the replay does not know it already. */
int answers__take_losses(struct block *block, const Jankbpf__Lost *lost);
uint64_t answers__loss(const Jankbpf__Lost *lost, int reason); /* 0: none */
int answers__take_callers(struct block *block, const Jankbpf__JournalCallers *from);
/* The frames of one address, or a bare one for NULL. Their strings are borrowed. */
int answers__add_frames(struct stack *stack, const Jankbpf__JournalFrames *from, uint64_t address,
			bool kernel);

#endif
