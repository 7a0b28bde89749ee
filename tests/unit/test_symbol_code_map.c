/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Overwritten code, compared with a byte array for all addresses; and the number of steps, whatever
 * the order.
 */
#include <errno.h>

#include "symbol/languages/jit.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define BYTES	4096
#define ROUNDS	200
#define PUTS	400
#define MANY	100000
#define STEPS_A 400 /* the limit for a put: some ten walks down a tree of depth 40 */

/* The number of the piece at each address, 0: none. A piece that lost a byte is gone as a whole. */
static uint32_t model[BYTES];

static void model_put(uint32_t addr, uint32_t size, uint32_t name)
{
	for (uint32_t i = addr; i < addr + size; i++) {
		uint32_t dead = model[i];

		for (uint32_t k = 0; dead && k < BYTES; k++)
			if (model[k] == dead)
				model[k] = 0;
	}
	for (uint32_t i = addr; i < addr + size; i++)
		model[i] = name;
}

static const char *differs(struct code_map *map)
{
	for (uint32_t i = 0; i < BYTES; i++) {
		const struct symbol *sym = code_map__find(map, i);

		if ((sym ? sym->name : 0) != model[i])
			return "another piece than in the model";
	}
	return NULL;
}

static void check_model(void)
{
	struct fuzz fuzz = fuzz__begin(0);
	const char *wrong = NULL;

	for (unsigned round = 0; round < ROUNDS && !wrong; round++) {
		uint32_t size_max = 1 + fuzz__below(&fuzz, round % 2 ? 300 : 16);
		struct code_map map;

		code_map__init(&map);
		memset(model, 0, sizeof(model));
		for (uint32_t name = 1; name <= PUTS; name++) {
			uint32_t size = fuzz__below(&fuzz, size_max + 1);
			uint32_t addr = fuzz__below(&fuzz, BYTES - size_max);

			if (code_map__put(&map, addr, size, name))
				wrong = "no room";
			model_put(addr, size, name);
		}
		wrong = wrong ?: differs(&map);
		code_map__free(&map);
	}
	ok(!wrong, "%d random histories: %s", ROUNDS, wrong ?: "equal to the model");
}

/* Orders that turn a plain tree into a list. */
static uint64_t addr_of(unsigned order, uint64_t i)
{
	switch (order) {
	case 0:
		return i * 16;
	case 1:
		return (MANY - i) * 16;
	case 2:
		return (i % 2 ? i : 2 * MANY - i) * 16;
	default:
		return (i % 64) * 16;
	}
}

static void check_steps(void)
{
	static const char *const names[] = { "upwards", "downwards", "from both ends",
					     "over each other" };

	for (unsigned order = 0; order < 4; order++) {
		struct code_map map;
		int res = 0;

		code_map__init(&map);
		for (uint32_t i = 0; i < MANY && !res; i++)
			res = code_map__put(&map, addr_of(order, i), 16, i + 1);
		ok(!res && map.steps < (uint64_t)STEPS_A * MANY, "%d pieces %s: %.1f steps each",
		   MANY, names[order], (double)map.steps / MANY);
		code_map__free(&map);
	}
}

static void check_full(void)
{
	struct code_map map;
	uint32_t cnt = 0;
	size_t bytes;

	code_map__init(&map);
	while (cnt <= CODE_MAP_MAX && !code_map__put(&map, 16ull * cnt, 16, cnt + 1))
		cnt++;
	bytes = code_map__bytes(&map);
	is_uint(cnt, CODE_MAP_MAX, "so many pieces are kept");
	is_uint(bytes, (CODE_MAP_MAX + 1) * sizeof(struct code_piece), "in so many bytes");
	is_int(code_map__put(&map, 16ull * cnt, 16, 7), -E2BIG, "one more is none");
	is_uint(code_map__find(&map, 5)->name, 1, "those before stay");
	is_int(code_map__put(&map, 8, 16, 9), 0, "a piece put over two");
	is_int(code_map__put(&map, 16ull * cnt, 16, 7), 0, "makes room for another");
	ok(!code_map__find(&map, 0) && code_map__find(&map, 8)->name == 9,
	   "an overwritten piece is gone");
	code_map__free(&map);
}

int main(void)
{
	struct code_map none;

	code_map__init(&none);
	ok(!code_map__find(&none, 0), "nothing is in an empty one");
	check_model();
	check_steps();
	check_full();
	return tap__done();
}
