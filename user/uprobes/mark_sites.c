/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up all names of a file's rows in one pass: in its symbol tables, and missing ones in its
 * .gnu_debugdata. The code always comes from the file itself.
 */
#include "uprobes/mark_sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/code/insn.h"
#include "uprobes/sites.h"

#define ROWS_MAX     16
#define UNKNOWN_SIZE 512 /* bytes of code, when a function has no size */

/* The sites to find in one file, each with a name or an address. */
struct search {
	const struct catalogue *cat;
	const struct elffunc *elf;
	const struct insn_arch *arch;
	struct mark_site *sites;
	const char *names[ELFFUNC_NAMES_MAX]; /* of sites[named[i]] */
	size_t named[ELFFUNC_NAMES_MAX];
	struct elffunc_place places[ELFFUNC_NAMES_MAX];
	size_t cnt, name_cnt;
};

static const char *symbol_of(const struct search *search, const struct mark_site *site)
{
	return site->mark == MARK_SITE_WAIT ? site->row->wait_symbol
					    : catalogue__mark(search->cat, site->mark)->symbol;
}

static uint64_t address_of(const struct search *search, const struct mark_site *site)
{
	return site->mark == MARK_SITE_WAIT ? site->row->wait_address
					    : catalogue__mark(search->cat, site->mark)->address;
}

/* Arguments that the probe reads; bit n: argument n. */
static unsigned args_of(const struct search *search, const struct mark_site *site)
{
	const struct jank_mark *spec;
	unsigned args = 0;

	if (site->mark == MARK_SITE_WAIT)
		return 0;
	spec = &catalogue__mark(search->cat, site->mark)->spec;
	for (unsigned i = 0; i < spec->field_cnt; i++)
		args |= 1u << spec->fields[i].reg;
	return args;
}

static void add_site(struct search *search, const struct catalogue_row *row, unsigned mark)
{
	search->sites[search->cnt++] =
		(struct mark_site){ .row = row, .mark = mark, .absence = MARK_NO_SYMBOL };
}

static int list_sites(struct search *search, const struct catalogue_file *file)
{
	const struct catalogue_row *rows[ROWS_MAX];
	size_t row_cnt = catalogue__rows_of_file(search->cat, file, rows, ROWS_MAX), cnt = 0;

	for (size_t i = 0; i < row_cnt; i++)
		cnt += rows[i]->mark_cnt + 1;
	search->sites = calloc(cnt ? cnt : 1, sizeof(*search->sites));
	if (!search->sites)
		return -ENOMEM;
	for (size_t i = 0; i < row_cnt; i++) {
		if (catalogue_row__waits_itself(rows[i]))
			add_site(search, rows[i], MARK_SITE_WAIT);
		for (unsigned j = 0; j < rows[i]->mark_cnt; j++)
			add_site(search, rows[i], rows[i]->mark_first + j);
	}
	return 0;
}

/* Finds the cheapest place at a function's beginning with the needed arguments intact. */
static void place_site(const struct search *search, struct mark_site *site,
		       const struct elffunc_place *func)
{
	uint8_t code[SITES_CODE_MAX];
	size_t want = func->size ? func->size : UNKNOWN_SIZE;
	struct site_pick pick;
	uint64_t offset;
	int len = elffunc__code(search->elf, func->value, code,
				want < sizeof(code) ? want : sizeof(code), &offset);

	site->absence = MARK_NO_CODE;
	if (len <= 0)
		return;
	site->absence = MARK_NO_SITE;
	if (!sites__mark(search->arch, code, (size_t)len, args_of(search, site), &pick))
		return;
	site->absence = MARK_THERE;
	site->cost = pick.cost;
	site->address = func->value;
	site->file_offset = offset + pick.offset;
}

/* Searches the names not found yet in the file's .gnu_debugdata. */
static int find_missing(struct search *search)
{
	struct elffunc_place places[ELFFUNC_NAMES_MAX];
	struct elffunc more;
	int err = elffunc__open_debugdata(search->elf, &more);

	if (err)
		return err == -ENOMEM ? err : 0;
	err = elffunc__find_each(&more, search->names, search->name_cnt, places);
	for (size_t i = 0; i < search->name_cnt && err > 0; i++) {
		if (!search->places[i].value)
			search->places[i] = places[i];
	}
	elffunc__close(&more);
	return err == -ENOMEM ? err : 0;
}

static int place_named(struct search *search)
{
	int found =
		elffunc__find_each(search->elf, search->names, search->name_cnt, search->places);
	int err = 0;

	if (found == -ENOMEM)
		return found;
	if (found < (int)search->name_cnt)
		err = find_missing(search);
	for (size_t i = 0; i < search->name_cnt; i++) {
		if (search->places[i].value)
			place_site(search, &search->sites[search->named[i]], &search->places[i]);
	}
	search->name_cnt = 0;
	return err;
}

static int place_all(struct search *search)
{
	int err = 0;

	for (size_t i = 0; i < search->cnt && !err; i++) {
		struct mark_site *site = &search->sites[i];
		const char *name = symbol_of(search, site);

		if (name) {
			search->named[search->name_cnt] = i;
			search->names[search->name_cnt++] = name;
		} else {
			place_site(search, site,
				   &(struct elffunc_place){ .value = address_of(search, site) });
		}
		if (search->name_cnt == ELFFUNC_NAMES_MAX)
			err = place_named(search);
	}
	return err ?: search->name_cnt ? place_named(search) : 0;
}

/* One function entry is one message: two marks there would count it twice. Waits are not marks. */
static void drop_repeated(struct search *search)
{
	for (size_t i = 0; i < search->cnt; i++) {
		struct mark_site *site = &search->sites[i];

		for (size_t j = 0; j < i && site->absence == MARK_THERE; j++) {
			const struct mark_site *before = &search->sites[j];

			if (before->absence == MARK_THERE && before->address == site->address &&
			    (before->mark == MARK_SITE_WAIT) == (site->mark == MARK_SITE_WAIT))
				site->absence = MARK_TAKEN;
		}
	}
}

int mark_sites__find(const struct catalogue *cat, const struct catalogue_file *file,
		     struct mark_site **ret, size_t *ret_cnt)
{
	struct search search = { .cat = cat, .elf = file->elf };
	int err;

	search.arch = insn_arch__by_machine(file->elf->machine);
	if (!search.arch)
		return -ENOEXEC;
	err = list_sites(&search, file);
	err = err ?: place_all(&search);
	if (err) {
		free(search.sites);
		return err;
	}
	drop_repeated(&search);
	*ret = search.sites;
	*ret_cnt = search.cnt;
	return 0;
}

const char *mark_absence__text(enum mark_absence absence)
{
	static const char *const texts[] = {
		[MARK_THERE] = "there",
		[MARK_NO_SYMBOL] = "the file has no such symbol: stripped, or another version",
		[MARK_NO_CODE] = "the symbol leads to no code in the file",
		[MARK_NO_SITE] = "no instruction with the arguments intact may be probed",
		[MARK_TAKEN] = "a row before it has a mark there",
	};

	return texts[absence];
}
