/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of options, commands and keys of the configuration: schema/options.tbl in C. */
#include "options/options_table.h"

#include <string.h>

#include "bpf/jank_abi.h"
#include "options/command_table.h"
#include "options/config.h"

#include "options.inc"

#define CNT(array) (sizeof(array) / sizeof(*(array)))

const size_t option_row_cnt = CNT(option_rows);
const size_t command_row_cnt = CNT(command_rows);
const size_t config_key_cnt = CNT(config_keys);
const size_t completion_script_cnt = CNT(completion_scripts);

_Static_assert(CNT(option_rows) <= OPTION_ROWS_MAX, "given: too small");

const struct command_row *command__named(const char *name)
{
	for (size_t i = 0; i < command_row_cnt; i++)
		if (!strcmp(command_rows[i].name, name))
			return &command_rows[i];
	return NULL;
}

const struct command_row *command__row(enum command command)
{
	for (size_t i = 0; i < command_row_cnt; i++)
		if (command_rows[i].command == command)
			return &command_rows[i];
	return NULL;
}
