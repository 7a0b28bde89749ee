/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decodes the message of a slow dispatch from the program's memory, while the handler runs: see
 * message.bpf.h.
 */
#ifndef JANK_READ_MESSAGE_BPF_H
#define JANK_READ_MESSAGE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/facts.bpf.h"
#include "bpf/fd.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * Returns the inode behind a descriptor. Descriptors are reused at once: the inode tells user space
 * which file it was in the dispatch. A minimised BTF made before this field was used may lack it.
 */
static __noinline __u64 read_message__inode(struct task_struct *task, s32 fd)
{
	struct file *file;

	if (!bpf_core_field_exists(struct inode, i_ino) || fd__file(task, fd, &file))
		return 0;
	return file ? BPF_CORE_READ(file, f_inode, i_ino) : JANK_INODE_NONE;
}

/* The first events of epoll's array (struct epoll_event, uapi/linux/eventpoll.h; packed on x86). */
static __always_inline void read_message__ready(struct jank_handled *handled,
						struct task_struct *task, s32 ready_cnt)
{
	struct {
		__u32 events, low, high, more;
	} event = {};
	bool packed = compat__epoll_packed();
	__u32 sz = packed ? 12 : 16;

	for (int i = 0; i < JANK_READY_MAX; i++) {
		if (i >= ready_cnt ||
		    bpf_probe_read_user(&event, sz, (void *)(handled->events + i * sz)))
			break;
		handled->rec.ready_events[i] = event.events;
		handled->rec.ready_data[i] = packed ? (u64)event.high << 32 | event.low
						    : (u64)event.more << 32 | event.high;
		handled->rec.ready_inode[i] =
			read_message__inode(task, (s32)handled->rec.ready_data[i]);
		handled->rec.ready_got = i + 1;
	}
}

static __noinline int read_message__field(struct jank_handled *handled, struct task_struct *task,
					  __u32 index)
{
	__u32 mark = handled->mark - 1;
	const struct jank_mark *spec = bpf_map_lookup_elem(&jank_marks, &mark);
	const struct jank_mark_field *field;
	u64 at, value = 0;
	__u32 depth;

	if (!spec || index >= JANK_MARK_FIELD_MAX || index >= spec->field_cnt)
		return 0;
	field = &spec->fields[index];
	if (field->reg >= JANK_MARK_ARG_MAX)
		return 0;
	at = handled->args[field->reg];
	for (depth = 0; depth < JANK_MARK_DEREF_MAX; depth++)
		if (depth < field->deref_cnt &&
		    bpf_probe_read_user(&at, sizeof(at), (void *)(at + field->offset[depth])))
			return 0;
	depth = field->deref_cnt & JANK_MARK_DEREF_MAX; /* 3: a bound that the verifier keeps */
	if (!field->size) {
		value = at;
	} else if (field->size == JANK_MARK_TEXT) {
		if (bpf_probe_read_user_str(handled->rec.text, sizeof(handled->rec.text),
					    (void *)(at + field->offset[depth])) < 0)
			return 0;
	} else if (field->size == JANK_MARK_TEXT16) {
		if (bpf_probe_read_user(handled->rec.text, sizeof(handled->rec.text),
					(void *)(at + field->offset[depth])))
			return 0;
	} else if (field->size > sizeof(value) ||
		   bpf_probe_read_user(&value, field->size, (void *)(at + field->offset[depth]))) {
		return 0;
	}
	handled->rec.value[index] = value;
	handled->rec.value_inode[index] = field->is_fd ? read_message__inode(task, (s32)value) : 0;
	handled->rec.got |= 1u << index;
	return 0;
}

/* True if the object does not have the mark's layout and there is another one, which is next. */
static __noinline int read_message__other_layout(struct jank_handled *handled)
{
	__u32 mark = handled->mark - 1, check;
	const struct jank_mark *spec = bpf_map_lookup_elem(&jank_marks, &mark);

	if (!spec || !spec->has_next)
		return 0;
	check = spec->check;
	if (check >= JANK_MARK_FIELD_MAX - 1)
		return 0;
	if ((handled->rec.got >> check & 3) == 3 &&
	    !((handled->rec.value[check] ^ handled->rec.value[check + 1])
	      << (spec->check_shl & 63)))
		return 0;
	handled->mark++;
	handled->rec.got = 0;
	return 1;
}

/*
 * Reads the message once for each dispatch, in the thread itself. The facts (facts.bpf.h) are
 * counted from here on.
 */
WALKED_ONCE_BY_POINTER int read_message__all(struct jank_thread *t)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_handled *handled;

	if (!t)
		return 0;
	handled = &t->handled;
	facts__begin(t, task);
	handled->taken = 1;
	handled->rec.ready_got = 0;
	handled->rec.got = 0;
	handled->rec.text[0] = 0;
	if (handled->events)
		read_message__ready(handled, task, t->ready_cnt);
	for (int layout = 0; handled->mark && layout < JANK_MARK_LAYOUT_MAX; layout++) {
		for (int i = 0; i < JANK_MARK_FIELD_MAX; i++)
			read_message__field(handled, task, i);
		if (!read_message__other_layout(handled))
			break;
	}
	return 0;
}

#endif
