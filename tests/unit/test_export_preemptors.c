/* SPDX-License-Identifier: GPL-2.0 */
/* The preemptors of a record, by process. */
#include "export/text/text.h"

#include "tests/tap.h"
#include "tests/unit/export_record.h"
#include "tests/unit/verdict_fixture.h"

static void test_by_process(void)
{
	struct block *block = verdict__block();
	Jankbpf__Preemptor *tasks;
	size_t cnt;

	verdict__preemptor(block, 7, "compiler", 30 * MS, 122);
	verdict__preemptor(block, 8, "node", 25 * MS, 122);
	verdict__preemptor(block, 8, "helper", 20 * MS, 122);
	verdict__preemptor(block, 0, "swapper", 2 * MS, 0);
	verdict__preemptor(block, 0, "swapper", 1 * MS, 0);
	tasks = preemptors__by_process(fixture__record(block)->block, &cnt);
	is_uint(cnt, 4, "one entry for each process");
	is_uint(tasks[0].ns, 45 * MS, "with the time of all its threads");
	is_str(tasks[0].comm, "node", "and the name of the thread with most of it");
	is_uint(tasks[1].pid, 7, "the others come after it");
	is_uint(tasks[2].ns, 2 * MS, "threads without a process number are separate");
	free(tasks);
	block__free(block);

	block = verdict__block();
	tasks = preemptors__by_process(fixture__record(block)->block, &cnt);
	ok(tasks && !cnt, "no preemptors, no entries");
	free(tasks);
	block__free(block);
}

int main(void)
{
	test_by_process();
	return tap__done();
}
