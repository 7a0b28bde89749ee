/* SPDX-License-Identifier: GPL-2.0 */
/* Damaged BTF for --btf: what the check accepts can be followed to its ends, as libbpf does. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "probes/bpf_log.h"
#include "probes/btf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define DAMAGE_MAX 4

static struct {
	struct fuzz fuzz;
	uint64_t parsed, sound, lacking;
	const char *broken; /* the broken promise */
} run;

/*
 * What libbpf does without a check of its own: it compares every name and skips modifiers to their
 * end.
 */
static void follow(const struct btf *btf, unsigned id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	unsigned steps = 0;

	if (!btf__name_by_offset(btf, type->name_off))
		run.broken = "a type without a name";
	while (type && (btf_is_mod(type) || btf_is_typedef(type)) && steps++ < 1000)
		type = btf__type_by_id(btf, type->type);
	if (!type || steps >= 1000)
		run.broken = "endless modifiers";
	btf__resolve_size(btf, id);
}

static void check(const struct btf *btf)
{
	char lacking[64] = "";

	run.parsed++;
	if (btf_check__unsound(btf))
		return;
	run.sound++;
	for (unsigned id = 0; id < btf__type_cnt(btf) && !run.broken; id++)
		follow(btf, id);
	run.lacking += btf_check__lacks(btf, lacking, sizeof(lacking));
}

static void round_on(const struct btf_embedded *row)
{
	struct fuzz *f = &run.fuzz;
	unsigned char *bytes = malloc(row->size);
	size_t len = fuzz__chance(f, 20) ? fuzz__below(f, row->size) : row->size;
	struct btf *btf;

	memcpy(bytes, row->data, row->size);
	for (size_t i = fuzz__below(f, DAMAGE_MAX) + 1; i; i--)
		fuzz__damage(f, bytes, row->size);
	btf = btf__new(bytes, len);
	if (btf)
		check(btf);
	btf__free(btf);
	free(bytes);
	cost__end(&f->cost, row->size);
}

int main(void)
{
	if (!btf_embedded_row_cnt)
		skip_all("no BTF is built in to damage");
	bpf_log__capture();
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	run.fuzz = fuzz__begin(5);
	while (fuzz__goes_on(&run.fuzz) && !run.broken)
		round_on(&btf_embedded_rows[fuzz__below(&run.fuzz, btf_embedded_row_cnt)]);
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.parsed > run.sound && run.sound > run.lacking && run.lacking,
	   "all results occurred: %llu parsed, %llu valid, %llu lack a field",
	   (unsigned long long)run.parsed, (unsigned long long)run.sound,
	   (unsigned long long)run.lacking);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
