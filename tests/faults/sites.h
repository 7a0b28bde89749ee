/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Call sites of functions that may fail, in a table that the driver (tests/faults/run) and all
 * processes of the program share. Environment: FAULTS_TABLE, the table's file; FAULTS_SITE, the key
 * in hexadecimal of the site that fails; FAULTS_CALL, the number of the failing call, from 1;
 * FAULTS_VARIANT, 1 for the second error number; FAULTS_DEPTH, frames of the program in a key.
 */
#ifndef FAULTS_SITES_H
#define FAULTS_SITES_H

#include <stdbool.h>

/*
 * Counts a call of the function `name` at its site. True: this call fails, and errno is one of
 * the two errors. `detail` distinguishes system calls and commands of bpf().
 */
bool site__fails(const char *name, unsigned detail, int error, int other);

#endif
