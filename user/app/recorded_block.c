/* SPDX-License-Identifier: GPL-2.0 */
/* What was recorded of a block. */
#include "app/recorded_message.h"
#include "app/recorded_parts.h"
#include "app/recorded_waited.h"
#include "intake/journal.h"

/* Negative: not known. */
static double real(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

static const struct recorded_entry *find_load(const struct recorded *r,
					      const struct jank_rec_block *rec)
{
	bool hang = rec->hdr.kind == JANK_REC_HANG;
	struct recorded_key key = { (uint64_t)rec->hdr.tid << 1 | hang, rec->start_ns,
				    JOURNAL_LOAD };

	return recorded__find(r, key);
}

const char *recorded__loop(const struct recorded *r, const struct jank_rec_block *rec)
{
	const struct recorded_entry *entry = find_load(r, rec);

	return entry ? recorded__text(entry->json, "loop") : NULL;
}

bool recorded__left_out(const struct recorded *r, const struct jank_rec_block *rec)
{
	const struct recorded_entry *entry = find_load(r, rec);

	return entry && json_is_true(json_object_get(entry->json, "left_out"));
}

bool recorded__load(const struct recorded *r, const struct jank_rec_block *rec,
		    struct machine_load *ret, struct host_info *host, int64_t *real_offset_ns)
{
	const struct recorded_entry *entry = find_load(r, rec);

	*ret = (struct machine_load){ -1, -1, -1, -1, -1, false, -1, -1, -1, -1 };
	if (!entry)
		return false;
	ret->total_pct = real(entry->json, "total_pct");
	ret->process_pct = real(entry->json, "process_pct");
	ret->user_pct = real(entry->json, "user_pct");
	ret->system_pct = real(entry->json, "system_pct");
	ret->iowait_pct = real(entry->json, "iowait_pct");
	ret->steal_pct = real(entry->json, "steal_pct");
	ret->psi_cpu_pct = real(entry->json, "psi_cpu_pct");
	ret->psi_memory_pct = real(entry->json, "psi_memory_pct");
	ret->psi_io_pct = real(entry->json, "psi_io_pct");
	*real_offset_ns = recorded__number(entry->json, "real_offset_ns");
	host->mem_total_kb = recorded__number(entry->json, "mem_total_kb");
	host->mem_free_kb = recorded__number(entry->json, "mem_free_kb");
	host->mem_available_kb = recorded__number(entry->json, "mem_available_kb");
	return true;
}

void recorded__frames(const struct recorded *r, const struct jank_rec_block *rec,
		      struct missed_frames *ret)
{
	const struct recorded_entry *entry = find_load(r, rec);

	*ret = (struct missed_frames){ 0 };
	if (!entry)
		return;
	ret->missed = recorded__number(entry->json, "missed_frames");
	ret->crtc = recorded__number(entry->json, "crtc");
	ret->hz = real(entry->json, "refresh_hz");
}

const struct recorded_entry *recorded__of_block(const struct recorded *r, const struct block *block,
						enum journal_kind kind)
{
	bool hang = block->type == BLOCK_HANG;
	struct recorded_key key = { (uint64_t)block->tid << 1 | hang, block->start_ns, kind };

	return recorded__find(r, key);
}

int recorded__message(void *recorded, struct block *block)
{
	const struct recorded_entry *entry = recorded__of_block(recorded, block, JOURNAL_MESSAGE);

	if (!entry || !block->message)
		return 0;
	return recorded_message__fill(block->message, entry->json);
}

int recorded__waited(void *recorded, struct block *block)
{
	const struct recorded_entry *entry = recorded__of_block(recorded, block, JOURNAL_WAITED);

	return entry ? recorded_waited__fill(block, entry->json) : 0;
}
