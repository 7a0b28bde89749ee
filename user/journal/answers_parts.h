/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of a journal's messages into a block. Each returns 0 or -ENOMEM; strings are copied unless
 * stated otherwise.
 */
#ifndef JANK_JOURNAL_ANSWERS_PARTS_H
#define JANK_JOURNAL_ANSWERS_PARTS_H

#include "model/block.h"
#include "schema/journal.pb-c.h"

void answers__take_load(struct machine_load *ret, const Jankbpf__Cpu *cpu);
int answers__take_message(struct message *ret, const Jankbpf__JournalAnswers *answers);
/* Names of wait objects of its spans and links, and facts about its CPU and quota. */
int answers__take_waited(struct block *block, const Jankbpf__Block *from);
/* Losses of the record that the replay does not know yet. */
int answers__take_losses(struct block *block, const Jankbpf__Lost *lost);
uint64_t answers__loss(const Jankbpf__Lost *lost, int reason); /* 0: none */
int answers__take_callers(struct block *block, const Jankbpf__JournalCallers *from);
/* The frames of one address, or a bare frame for NULL. Their strings are borrowed. */
int answers__add_frames(struct stack *stack, const Jankbpf__JournalFrames *from, uint64_t address,
			bool kernel);

#endif
