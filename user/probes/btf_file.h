/* SPDX-License-Identifier: GPL-2.0 */
/* A file with a kernel's BTF, as a user may give it: raw, or an ELF file with a section .BTF. */
#ifndef JANK_PROBES_BTF_FILE_H
#define JANK_PROBES_BTF_FILE_H

#include "base/err.h"

struct btf;

/* 0, and *ret is sound and holds what the probes need; or -errno with a message that quotes the file. */
int btf_file__read(const char *path, struct btf **ret, struct err *err);

#endif
