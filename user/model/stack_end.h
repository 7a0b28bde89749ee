/* SPDX-License-Identifier: GPL-2.0 */
/* Why a walk of a user stack ended where it did. */
#ifndef JANK_MODEL_STACK_END_H
#define JANK_MODEL_STACK_END_H

enum stack_end {
	STACK_END_UNKNOWN,  /* walked by the probe, by frame pointers */
	STACK_END_COMPLETE, /* reached the thread's first function */
	STACK_END_COPY,	    /* more of the stack would have had to be copied */
	STACK_END_HOLE,	    /* a page of the stack could not be read */
	STACK_END_NO_TABLE, /* code without an unwind table, and no frame pointer that holds */
	STACK_END_ASTRAY,   /* the table led to where no call returns to */
	STACK_END_DEEP,	    /* more frames than are kept */
};

#endif
