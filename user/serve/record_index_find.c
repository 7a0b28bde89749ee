/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of an index by their numbers, which ascend in each file. */
#include "serve/record_index.h"

size_t indexed_file__position(const struct indexed_file *file, uint64_t seq)
{
	size_t low = 0, high = file->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->records[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct indexed_record *record_index__before(struct record_index *index, uint64_t seq, int *ret_file)
{
	struct indexed_record *found = NULL;

	for (int i = 0; i < FILE_CNT; i++) {
		struct indexed_file *file = &index->files[i];
		size_t at = indexed_file__position(file, seq);

		if (at && (!found || file->records[at - 1].seq > found->seq)) {
			found = &file->records[at - 1];
			*ret_file = i;
		}
	}
	return found;
}

struct indexed_record *record_index__from(struct record_index *index, uint64_t seq, int *ret_file)
{
	struct indexed_record *found = NULL;

	for (int i = 0; i < FILE_CNT; i++) {
		struct indexed_file *file = &index->files[i];
		size_t at = indexed_file__position(file, seq);

		if (at < file->cnt && (!found || file->records[at].seq < found->seq)) {
			found = &file->records[at];
			*ret_file = i;
		}
	}
	return found;
}

struct indexed_record *record_index__get(struct record_index *index, uint64_t seq, int *ret_file)
{
	struct indexed_record *found = record_index__from(index, seq, ret_file);

	return found && found->seq == seq && !found->doomed ? found : NULL;
}
