/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that threads load while libbpf loads the others of an object: the verifier examines one
 * program on one CPU, and 400,000 instructions in all. The kernel locks nothing for privileged
 * users meanwhile (bpf_verifier_lock in its verifier.c).
 */
#ifndef JANK_PROBES_PROGRAM_LOADS_H
#define JANK_PROBES_PROGRAM_LOADS_H

struct bpf_prog_load_opts;
struct bpf_program;
struct program_loads;

/* One object's, by that many threads at once. NULL, so that libbpf loads all: 0, or no memory. */
struct program_loads *program_loads__new(unsigned threads);

/*
 * For a libbpf_prog_prepare_load_fn: a thread loads the program if a CPU is free for it, and libbpf
 * an empty one of the same kind in its place; else libbpf loads it. The object shall live until
 * program_loads__finish. loads NULL: does nothing. 0.
 */
int program_loads__take(struct program_loads *loads, struct bpf_program *prog,
			struct bpf_prog_load_opts *opts);

/*
 * Waits for the threads, puts each program's descriptor into the place of the empty one's, and
 * frees `loads`. 0, or the first -errno; a refusal is in bpf_log. loads NULL: 0.
 */
int program_loads__finish(struct program_loads *loads);

#endif
