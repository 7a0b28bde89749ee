/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Picks an instruction. A linear sweep decodes the function. It may run over data or into the next
 * function, which at worst loses a site: candidates are reached only by fall-through from the entry
 * or the system call.
 */
#include "uprobes/sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/code/insn.h"

#define INSNS_MAX  1024
#define PLACES_MAX 7

struct code {
	const struct insn_arch *arch;
	struct insn insns[INSNS_MAX];
	uint32_t at[INSNS_MAX];
	size_t cnt;
	uint32_t end;
};

static void sweep(struct code *code, const struct insn_arch *arch, const uint8_t *bytes, size_t len)
{
	uint32_t at = 0;

	code->arch = arch;
	code->cnt = 0;
	while (code->cnt < INSNS_MAX && at < len &&
	       !arch->decode(bytes + at, len - at, &code->insns[code->cnt])) {
		code->at[code->cnt] = at;
		at += code->insns[code->cnt++].len;
	}
	code->end = at;
}

static bool is_branch(const struct insn *insn)
{
	return insn->flow == INSN_BRANCH || insn->flow == INSN_JUMP;
}

/* A branch leads here: a probe from here on would also count the calls that take the branch. */
static bool is_joined(const struct code *code, size_t i)
{
	for (size_t j = 0; j < code->cnt; j++) {
		const struct insn *insn = &code->insns[j];

		if (is_branch(insn) && insn->has_target &&
		    (int64_t)code->at[j] + insn->target == code->at[i])
			return true;
	}
	return false;
}

/*
 * The first instruction of that cost from `first` on, as long as control falls through and no
 * register of `keep` changes; -1: none. The entry may be joined: a loop back to it is a new wait,
 * too.
 */
static int pick(const struct code *code, size_t first, uint32_t keep, enum insn_probe cost)
{
	for (size_t i = first; i < code->cnt; i++) {
		const struct insn *insn = &code->insns[i];

		if (i > 0 && is_joined(code, i))
			return -1;
		if (insn->probe == cost)
			return (int)i;
		if (insn->flow != INSN_NEXT || insn->writes & keep)
			return -1;
	}
	return -1;
}

static const struct {
	enum insn_probe probe;
	enum site_cost cost;
} costs[] = {
	{ INSN_EMULATED, SITE_EMULATED },
	{ INSN_NOP5, SITE_NOP5 },
	{ INSN_STEPPED, SITE_STEPPED },
};

/* The cheapest from `first` on. Gives up `wish` before it accepts a higher cost; never `keep`. */
static bool choose(const struct code *code, size_t first, uint32_t wish, uint32_t keep,
		   enum site_kind kind, struct site_pick *ret)
{
	for (size_t c = 0; c < sizeof(costs) / sizeof(*costs); c++) {
		int i = pick(code, first, wish | keep, costs[c].probe);

		if (i < 0)
			i = pick(code, first, keep, costs[c].probe);
		if (i < 0)
			continue;
		*ret = (struct site_pick){ kind, costs[c].cost, code->at[i] };
		return true;
	}
	return false;
}

static bool is_wait_nr(const struct insn_arch *arch, int64_t nr)
{
	for (const int *known = arch->wait_nrs; *known >= 0; known++) {
		if (*known == nr)
			return true;
	}
	return false;
}

/*
 * How certain it is that an instruction enters the kernel to wait. A system call with an unknown
 * number may be any (musl's __syscall_cp_asm makes all of them), so it is not a wait.
 */
enum sureness { NO_WAIT, CALLS_WITH_NR, SYSCALL_WITH_NR };

/* Numbers loaded before an instruction, in the order of the code. */
struct loaded {
	bool nr_known, wait_nr_seen;
	int64_t nr;
};

static enum sureness judge(const struct code *code, size_t i, struct loaded *loaded)
{
	const struct insn *insn = &code->insns[i];
	enum sureness sure = NO_WAIT;

	if (insn->flow == INSN_SYSCALL && loaded->nr_known && is_wait_nr(code->arch, loaded->nr))
		sure = SYSCALL_WITH_NR;
	else if (insn->flow == INSN_CALL && loaded->wait_nr_seen)
		sure = CALLS_WITH_NR;

	if (insn->flow == INSN_SYSCALL || insn->flow == INSN_CALL) {
		*loaded = (struct loaded){ 0 };
	} else if (insn->writes & code->arch->nr) {
		loaded->nr_known = insn->has_imm;
		loaded->nr = insn->imm;
	}
	if (insn->has_imm && is_wait_nr(code->arch, insn->imm))
		loaded->wait_nr_seen = true;
	return sure;
}

/* All places of the most certain kind that occurs. SIZE_MAX: more than max. */
static size_t wait_places(const struct code *code, size_t *ret, size_t max)
{
	enum sureness best = CALLS_WITH_NR;
	struct loaded loaded = { 0 };
	size_t cnt = 0;

	for (size_t i = 0; i < code->cnt; i++) {
		enum sureness sure = judge(code, i, &loaded);

		if (sure < best)
			continue;
		if (sure > best)
			cnt = 0;
		best = sure;
		if (cnt == max)
			return SIZE_MAX;
		ret[cnt++] = i;
	}
	return cnt;
}

size_t sites__wait(const struct insn_arch *arch, const uint8_t *bytes, size_t len,
		   struct site_pick *ret, size_t max)
{
	size_t places[PLACES_MAX], cnt;
	struct code code;

	sweep(&code, arch, bytes, len);
	cnt = wait_places(&code, places, PLACES_MAX);
	if (!cnt || cnt > PLACES_MAX || cnt + 1 > max)
		return 0;
	if (!choose(&code, 0, arch->args, arch->arg0, SITE_WAIT_BEGIN, &ret[0]))
		return 0;
	for (size_t i = 0; i < cnt; i++) {
		if (!choose(&code, places[i] + 1, arch->result, arch->result, SITE_WAIT_END,
			    &ret[i + 1]))
			return 0;
	}
	return cnt + 1;
}

size_t sites__entry(const struct insn_arch *arch, const uint8_t *bytes, size_t len,
		    struct site_pick *ret)
{
	struct code code;

	sweep(&code, arch, bytes, len);
	return choose(&code, 0, arch->arg0, arch->arg0, SITE_LOOPER, ret);
}

size_t sites__mark(const struct insn_arch *arch, const uint8_t *bytes, size_t len, unsigned args,
		   struct site_pick *ret)
{
	struct code code;
	uint32_t keep = 0;

	for (size_t i = 0; i < sizeof(arch->arg) / sizeof(*arch->arg); i++)
		keep |= args & 1u << i ? arch->arg[i] : 0;
	sweep(&code, arch, bytes, len);
	return choose(&code, 0, keep, keep, SITE_MARK, ret);
}

size_t sites__callees(const struct insn_arch *arch, const uint8_t *bytes, size_t len, int64_t *ret,
		      size_t max)
{
	struct code code;
	size_t cnt = 0;

	sweep(&code, arch, bytes, len);
	for (size_t i = 0; i < code.cnt && cnt < max; i++) {
		const struct insn *insn = &code.insns[i];
		int64_t to = code.at[i] + insn->target;

		if (!insn->has_target || (to >= 0 && to < code.end))
			continue;
		if (insn->flow == INSN_CALL || insn->flow == INSN_JUMP)
			ret[cnt++] = to;
	}
	return cnt;
}

/*
 * --- marks: looks up all names of a file's rows in one pass: in its symbol tables, and missing
 * ones in its .gnu_debugdata. The code always comes from the file itself.
 */

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
	const struct catalogue_mark *mark;
	unsigned args = 0;

	if (site->mark == MARK_SITE_WAIT)
		return 0;
	mark = catalogue__mark(search->cat, site->mark);
	do {
		for (unsigned i = 0; i < mark->spec.field_cnt; i++)
			args |= 1u << mark->spec.fields[i].reg;
	} while ((mark++)->spec.has_next);
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
			if (!catalogue__mark(search->cat, rows[i]->mark_first + j)->is_layout)
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

static int place_named(struct search *search)
{
	int found =
		elffunc__find_each(search->elf, search->names, search->name_cnt, search->places);

	if (found == -ENOMEM)
		return found;
	for (size_t i = 0; i < search->name_cnt && found > 0; i++) {
		if (search->places[i].value)
			place_site(search, &search->sites[search->named[i]], &search->places[i]);
	}
	search->name_cnt = 0;
	return 0;
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

	search.arch = insn_arch__by_machine(file->elf->elf.machine);
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
