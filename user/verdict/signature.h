/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One fault is one signature, whatever the run, the machine and the build; another fault has
 * another.
 */
#ifndef JANK_VERDICT_SIGNATURE_H
#define JANK_VERDICT_SIGNATURE_H

#include "base/strbuf.h"
#include "verdict/analysis.h"

/*
 * Fills cause.signature, by the first part (which exists), its frame, and the chain's end where
 * that part has one.
 */
void signature__make(struct analysis *proof);

/* Names without what differs from build to build, from machine to machine and from run to run. */

/*
 * A function's: without compilers' suffixes (".cold", ".constprop.0"), Rust's hash, a JIT's tier,
 * and of a script's place only the file.
 */
void stable_name__add_function(struct strbuf *sb, const char *function);

/* A module's: its file's name without directories and versions; NULL adds nothing. */
void stable_name__add_module(struct strbuf *sb, const char *module);

/* A thread's: without digits ("worker-3"); NULL adds nothing. */
void stable_name__add_thread(struct strbuf *sb, const char *comm);

#endif
