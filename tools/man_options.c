/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the man page's OPTIONS at build time, from the option table of the program. */
#include <stdio.h>

#include "options/options.h"

int main(void)
{
	options__print_man();
	return fflush(stdout) ? 1 : 0;
}
