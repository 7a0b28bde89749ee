/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A decoded and validated record. */
#ifndef JANK_MODEL_EVENT_H
#define JANK_MODEL_EVENT_H

#include "bpf/jank_abi.h"
#include <stdint.h>

/* A stack record with its variable parts; pointers into the record's memory. */
struct stack_event {
	struct jank_rec_stack rec;
	const uint64_t *addresses;	/* kernel_cnt + user_cnt */
	const struct jank_task *slices; /* slice_cnt */
	const uint16_t *prios;		/* same count; NULL: not known */
};

/* A copied user stack; pointers as above. */
struct copy_event {
	struct jank_rec_copy rec;
	const uint8_t *bytes; /* copy_sz */
};

/* Frames of an interpreter; pointers as above. */
struct script_event {
	struct jank_rec_script rec;
	const struct jank_script_frame *frames; /* frame_cnt */
};

struct event {
	uint16_t kind; /* JANK_REC_*; selects the member of the union */
	struct jank_rec hdr;
	union {
		struct jank_rec_loop loop;
		struct jank_rec_block block; /* BLOCK and HANG */
		struct stack_event stack;    /* STACK and OTHER */
		struct jank_rec_thread thread;
		struct jank_rec_exec exec;
		struct jank_rec_started started;
		struct jank_rec_marks marks;
		struct jank_rec_wait wait;
		struct jank_rec_message message;
		struct jank_rec_waited waited;
		struct jank_rec_facts facts;
		struct copy_event copy;
		struct script_event script;
	};
};

#endif
