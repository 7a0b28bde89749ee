/* SPDX-License-Identifier: GPL-2.0 */
/* The JSON Schema in the binary, for `jankbpf --schema`: mk/schema.mk makes it a C string. */
#include "export/sink.h"

const char json_schema[] =
#include "json_schema.inc"
	;
