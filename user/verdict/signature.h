/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signature of a fault: the same for the same fault on any run, machine and build; different
 * for different faults.
 */
#ifndef JANK_VERDICT_SIGNATURE_H
#define JANK_VERDICT_SIGNATURE_H

#include "base/strbuf.h"
#include "verdict/analysis.h"

/*
 * Fills cause.signature from the first part (which must exist), its frame, and the end of the
 * part's chain if there is one.
 */
void signature__make(struct analysis *proof);

/* --- Stable names, without the parts that differ between builds, machines or runs. */

/*
 * A function: without compiler suffixes (".cold", ".constprop.0"), Rust hash and JIT tier. Of a
 * script's location only the file.
 */
void stable_name__add_function(struct strbuf *sb, const char *function);

/* A module: the file name without directories and versions; NULL adds nothing. */
void stable_name__add_module(struct strbuf *sb, const char *module);

/* A thread: without digits ("worker-3"); NULL adds nothing. */
void stable_name__add_thread(struct strbuf *sb, const char *comm);

#endif
