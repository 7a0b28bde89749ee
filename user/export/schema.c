/* SPDX-License-Identifier: GPL-2.0 */
/* schema.json inside the binary, for `jankbpf --schema`: mk/schema.mk turns it into a C string. */
#include "export/sink.h"

const char json_schema[] =
#include "json_schema.inc"
	;
