/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracepoints of binder's drivers: which of them have the record that bpf/binder.bpf.c reads. */
#ifndef JANK_PROBES_BINDER_EVENT_H
#define JANK_PROBES_BINDER_EVENT_H

/* The driver in C, and the one in Rust (6.18, Android 16): groups of events in tracefs. */
#define BINDER_DRIVERS(X) X("binder") X("rust_binder")

/*
 * Returns 0 if `format`, the text of tracefs for the event binder_transaction, has the fields of
 * struct binder_transaction_event at their places, else -EOPNOTSUPP: vendors may add fields. Any
 * thread.
 */
int binder_event__check(const char *format);

/*
 * Does the kernel have this driver's events? Returns 0, -ENOENT (the driver is not loaded, or
 * tracefs cannot be read), -EOPNOTSUPP (another record), or another -errno. Any thread.
 */
int binder_event__find(const char *driver);

#endif
