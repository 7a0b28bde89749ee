/* SPDX-License-Identifier: GPL-2.0 */
/* The message of a dispatch is read from the program's memory and its descriptors. */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/bpf/logic_run.h"

static void test_take(void)
{
	static const struct inner {
		char pad[8];
		const char *name;
		int16_t small;
	} inner = { .name = "a name that is rather long, for all the room that there is here",
		    .small = -2 };
	static const struct outer {
		const struct inner *inner;
		uint32_t number;
	} outer = { &inner, 4711 };
	const struct jank_mark mark = {
		.field_cnt = 4,
		.fields = { { .reg = 1, .size = 4, .offset = { offsetof(struct outer, number) } },
			    { .reg = 1,
			      .size = 2,
			      .deref_cnt = 1,
			      .offset = { 0, offsetof(struct inner, small) } },
			    { .reg = 1,
			      .size = JANK_MARK_TEXT,
			      .deref_cnt = 2,
			      .offset = { 0, offsetof(struct inner, name) } },
			    { .reg = 0, .size = 8, .deref_cnt = 1 } },
	};
	struct epoll_event events[6] = { { .events = EPOLLIN, .data.u64 = 0x123456789abcdef },
					 { .events = EPOLLOUT, .data.fd = 7 } };
	__u32 index = 5;
	struct logic_step s;

	logic__begin_with(
		&(struct jank_conf){ .threshold_ns = HOUR, .tgid = getpid(), .thread_sz = 16384 });
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_marks), &index, &mark, BPF_ANY);
	BEGIN(one, 1000);
	END(2);
	STEP(HANDLE, .fd = index, .arg = (uintptr_t)&outer, .looper = (uintptr_t)events, .ret = 6);
	s = STEP(TAKE);
	is_uint(s.got, 7, "three of four fields were read; the fourth has an invalid address");
	is_uint(s.value[0], 4711, "a number");
	is_uint(s.value[1], 0xfffe, "a small one behind a pointer, in its own width");
	ok(!strncmp(s.text, inner.name, JANK_MESSAGE_TEXT_SZ - 1) &&
		   !s.text[JANK_MESSAGE_TEXT_SZ - 1],
	   "a text behind two pointers, cut to the buffer");
	is_uint(s.ready_got, JANK_READY_MAX, "of six ready events the first four");
	STEP(HANDLE, .fd = index, .arg = 8, .looper = 8, .ret = 1);
	s = STEP(TAKE);
	ok(!s.got && !s.ready_got, "invalid addresses: nothing is read");
}

/* The object has the first layout whose check holds; each layout is a mark. */
static void test_layouts(void)
{
	static const struct {
		uint32_t name, target;
	} object = { 4711, 0xabcd };
	const struct jank_mark_field name = { .reg = 1, .size = 4 }, self = { .reg = 0 },
				     target = { .reg = 1, .size = 4, .offset = { 4 } };
	const struct jank_mark marks[] = {
		{ .field_cnt = 2, .has_next = 1, .check_shl = 32, .fields = { name, self } },
		{ .field_cnt = 3,
		  .has_next = 1,
		  .check = 1,
		  .check_shl = 32,
		  .fields = { name, target, self } },
		{ .field_cnt = 1, .fields = { target } },
	};
	struct logic_step s;

	logic__begin_with(
		&(struct jank_conf){ .threshold_ns = HOUR, .tgid = getpid(), .thread_sz = 16384 });
	for (__u32 i = 0; i < 3; i++)
		bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_marks), &(__u32){ i + 7 },
				    &marks[i], BPF_ANY);
	BEGIN(one, 1000);
	END(2);
	STEP(HANDLE, .fd = 7, .arg = (uintptr_t)&object, .sp = 0x10000abcd);
	s = STEP(TAKE);
	is_uint(s.got, 7, "the second layout's fields, whose check holds in 32 bits");
	is_uint(s.mark, 9, "the record's mark is the layout's");
	STEP(HANDLE, .fd = 7, .arg = (uintptr_t)&object, .sp = 0xabce);
	s = STEP(TAKE);
	is_uint(s.got, 1, "no check holds: the last layout");
	is_uint(s.value[0], 0xabcd, "with its value");
	STEP(HANDLE, .fd = 7, .arg = 8, .sp = 0xabcd);
	s = STEP(TAKE);
	is_uint(s.got, 0, "nothing can be read: no check holds, nothing is said");
}

/* The record has the file numbers of descriptors among the values: user space reads them later. */
static void test_inode(void)
{
	uint64_t fd = open("/dev/null", O_RDONLY), closed = dup(fd);
	const struct jank_mark mark = {
		.field_cnt = 1,
		.fields = { { .reg = 1, .size = 4, .is_fd = 1 } },
	};
	struct epoll_event events[4] = { { .data.u64 = fd },
					 { .data.u64 = 0xabcdef00000000 | fd },
					 { .data.u64 = closed },
					 { .data.u64 = 0x7fffffff } };
	__u32 index = 6;
	struct logic_step s;
	struct stat st;

	close(closed);
	fstat(fd, &st);
	logic__begin_with(
		&(struct jank_conf){ .threshold_ns = HOUR, .tgid = getpid(), .thread_sz = 16384 });
	bpf_map_update_elem(bpf_map__fd(logic.skel->maps.jank_marks), &index, &mark, BPF_ANY);
	BEGIN(one, 1000);
	END(4);
	STEP(HANDLE, .fd = index, .arg = (uintptr_t)&fd, .looper = (uintptr_t)events, .ret = 4);
	s = STEP(TAKE);
	is_uint(s.ready_inode[0], st.st_ino, "a ready descriptor's file");
	is_uint(s.ready_inode[1], st.st_ino, "whatever is in the upper half");
	is_uint(s.ready_inode[2], JANK_INODE_NONE, "a descriptor that is closed by then");
	is_uint(s.ready_inode[3], 0, "a value that cannot be a descriptor");
	is_uint(s.value_inode, st.st_ino, "the file of a mark's descriptor");
	close(fd);
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_sched", "logic_message");
	test_take();
	test_layouts();
	test_inode();
	return logic__done();
}
