/* SPDX-License-Identifier: GPL-2.0 */
/* Process ids for people: of this machine or container, and outside of it. */
#include "bpf/jank_abi.h"
#include "model/pid.h"
#include "tests/tap.h"

static void test(uint32_t pid, const char *text, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	pid__add(&sb, pid);
	is_str(strbuf__str(&sb), text, "%s", name);
	strbuf__free(&sb);
}

int main(void)
{
	test(7, "pid 7", "a process of this container");
	test(JANK_PID_OUTSIDE - 1, "pid 1999999999", "the last one of it");
	test(JANK_PID_OUTSIDE, "pid 0 of the machine", "the idle task of the machine");
	test(JANK_PID_OUTSIDE + 4711, "pid 4711 of the machine", "a process outside of it");
	return tap__done();
}
