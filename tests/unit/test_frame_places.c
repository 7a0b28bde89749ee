/* SPDX-License-Identifier: GPL-2.0 */
/* The names of places: kept, bounded, and those asked for lately stay. */
#include "symbol/languages/frame_places.h"

#include <string.h>

#include "tests/tap.h"

#define LIMIT (3u << 20) /* two halves, and what a table needs */

static void add(struct frame_places *places, uint64_t key, const char *name)
{
	const struct place_function functions[] = { { name, "/srv/app.js", 7 },
						    { "outer", NULL, 0 } };

	frame_places__add(places, key, functions, 2);
}

int main(void)
{
	struct frame_places places = {};
	const struct frame_place *place;
	char name[200];

	ok(!frame_places__find(&places, 1), "nothing is known");
	add(&places, 1, "f");
	place = frame_places__find(&places, 1);
	is_uint(place ? place->cnt : 0, 2, "two functions");
	if (place) {
		is_str(place->functions[0].function, "f", "the first one's name");
		is_str(place->functions[0].file, "/srv/app.js", "and file");
		is_uint(place->functions[0].line, 7, "and line");
		is_str(place->functions[1].file, NULL, "a file that is not known");
	}
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (uint64_t key = 2; key < 40000; key++) {
		add(&places, key, name);
		if (key % 1000 == 0)
			frame_places__find(&places, 1);
	}
	ok(frame_places__find(&places, 1), "what is asked for now and then stays");
	ok(frame_places__find(&places, 39999), "the last one, too");
	ok(!frame_places__find(&places, 2), "an old one is dropped");
	ok(frame_places__bytes(&places) < LIMIT, "%zu bytes", frame_places__bytes(&places));
	frame_places__free(&places);
	is_uint(frame_places__bytes(&places), 0, "empty again");
	return tap__done();
}
