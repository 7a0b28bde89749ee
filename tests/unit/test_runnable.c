/* SPDX-License-Identifier: GPL-2.0 */
/* Who ran instead, by process. */
#include "verdict/blame.h"

#include "tests/tap.h"
#include "tests/verdict_fixture.h"

static void test_by_process(void)
{
	struct block *block = verdict__block();
	struct other_task *tasks;
	size_t cnt;

	verdict__preemptor(block, 7, "compiler", 30 * MS, 122);
	verdict__preemptor(block, 8, "node", 25 * MS, 122);
	verdict__preemptor(block, 8, "helper", 20 * MS, 122);
	verdict__preemptor(block, 0, "swapper", 2 * MS, 0);
	verdict__preemptor(block, 0, "swapper", 1 * MS, 0);
	tasks = runnable__by_process(block, &cnt);
	is_uint(cnt, 4, "one for each process");
	is_uint(tasks[0].ns, 45 * MS, "what all of its threads had");
	is_str(tasks[0].comm, "node", "the name of the one with the most");
	is_uint(tasks[1].pid, 7, "the others after it");
	is_uint(tasks[2].ns, 2 * MS, "those without a number are apart");
	free(tasks);
	block__free(block);

	block = verdict__block();
	tasks = runnable__by_process(block, &cnt);
	ok(tasks && !cnt, "nobody is nobody");
	free(tasks);
	block__free(block);
}

int main(void)
{
	test_by_process();
	return tap__done();
}
