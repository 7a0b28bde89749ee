/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instruction sets that probes can be placed in. */
#include "base/code/insn.h"

static const struct insn_arch *const archs[] = { &insn_x86, &insn_arm64 };

const struct insn_arch *insn_arch__by_machine(uint16_t elf_machine)
{
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		if (archs[i]->elf_machine == elf_machine)
			return archs[i];
	}
	return NULL;
}
