/* SPDX-License-Identifier: GPL-2.0 */
/* From the section to the unpacked file. */
#include "symbol/modules/debugdata.h"

#include <errno.h>
#include <stdlib.h>

#include "base/xz.h"

#define PACKED_MAX   (16u << 20)
#define UNPACKED_MAX (32u << 20)

int debugdata__unpack(const struct elf *elf, void **ret_data, size_t *ret_size)
{
	const struct elf_section *sec = elf__section(elf, ".gnu_debugdata");
	void *packed;
	int ret;

	if (!sec)
		return -ENOENT;
	if (sec->size > PACKED_MAX)
		return -EFBIG;
	packed = malloc(sec->size ? sec->size : 1);
	if (!packed)
		return -ENOMEM;
	ret = image__read(&elf->img, sec->offset, packed, sec->size);
	if (!ret)
		ret = xz__unpack(packed, sec->size, UNPACKED_MAX, ret_data, ret_size);
	free(packed);
	return ret;
}
