/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hostile memory of a Ruby process: damaged iseqs, strings and tables of lines. Nothing may be read
 * or written out of bounds, reading is bounded, and a text ends.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/ruby_image.h"

static const uint32_t versions[] = { 0x03010200, 0x03020400, 0x03030500, 0x03040500 };

static struct {
	struct fuzz fuzz;
	uint64_t names, nameless;
} run;

static bool world_holds(uint32_t version)
{
	uint64_t methods[2], codes[2];
	struct world w;
	bool holds = true;

	begin(&w, version);
	methods[0] = add_method(&w, "handle", false, &codes[0]);
	methods[1] = add_method(&w, "a_name_of_more_than_a_short_string", true, &codes[1]);
	for (unsigned i = 0; i < 8 && holds; i++) {
		unsigned nr = fuzz__below(&run.fuzz, 2);
		const char *name;

		if (i)
			fuzz__damage_words(&run.fuzz, w.image.bytes, w.image.used, 5);
		name = name_of(&w, methods[nr],
			       codes[nr] + fuzz__below(&run.fuzz, 8 * CODE_WORDS + 16));
		*(*name ? &run.names : &run.nameless) += 1;
		holds = strlen(name) < 2 * 256 + 16 &&
			frame_places__bytes(&w.ruby->places) < 4u << 20;
		memset(w.ruby->seen, 0, sizeof(w.ruby->seen)); /* as after some time */
	}
	end(&w);
	return holds;
}

int main(void)
{
	const char *broken = NULL;

	if (!ruby_offsets__of(versions[0]))
		skip_all("Ruby's frames are not known on this machine");
	run.fuzz = fuzz__begin(60);
	while (fuzz__goes_on(&run.fuzz) && !broken) {
		cost__begin(&run.fuzz.cost);
		if (!world_holds(versions[fuzz__below(&run.fuzz, 4)]))
			broken = "a bound";
		cost__end(&run.fuzz.cost, IMAGE_SZ / 8);
	}
	fuzz__ok(&run.fuzz, broken);
	ok(run.names && run.nameless, "%llu frames have names, %llu have none",
	   (unsigned long long)run.names, (unsigned long long)run.nameless);
	fuzz__report(&run.fuzz);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
