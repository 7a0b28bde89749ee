/* SPDX-License-Identifier: GPL-2.0 */
/* The list of kernel features: names, switching off, required ones. Needs no privilege. */
#include "probes/features.h"

#include <errno.h>

#include "probes/kernel_types.h"
#include "tests/tap.h"

static const char *all[FEATURE_CNT];
static struct kernel_types *types; /* NULL: the kernel has none */

static void test_infos(void)
{
	for (int i = 0; i < FEATURE_CNT; i++) {
		const struct feature_info *info = feature__info(i);

		all[i] = info->name;
		ok(*info->since && *info->purpose && *info->without && *info->remedy,
		   "%s has all its texts", info->name);
		for (int j = 0; j < i; j++)
			if (!strcmp(all[j], info->name))
				ok(false, "%s is there only once", info->name);
	}
	is_str(feature__info(FEATURE_RINGBUF)->name, "ringbuf", "enum and names agree");
	is_str(feature__info(FEATURE_BPF_STATS)->name, "bpf_stats", "… to the end");
}

static void test_unknown(void)
{
	const char *names[] = { "btf", "warp_drive" };
	struct features feats;
	struct err err = { 0 };

	memset(&feats, 0x5a, sizeof(feats));
	is_int(features__probe(types, names, 2, &feats, &err), -EINVAL,
	       "an unknown name is refused");
	is_int(err.exit, JANK_EXIT_USAGE, "… as wrong usage");
	has_str(err.msg, "'warp_drive': no such feature", "… quoted");
	for (int i = 0; i < FEATURE_CNT; i++)
		has_str(err.msg, all[i], "… and lists %s as known", all[i]);
	is_uint(feats.has, 0x5a5a5a5a, "… with the result unchanged");
	names[1] = "bt";
	is_int(features__probe(types, names, 2, &feats, &err), -EINVAL,
	       "a part of a name is refused");
	names[1] = "";
	is_int(features__probe(types, names, 2, &feats, &err), -EINVAL, "an empty name is refused");
}

static void test_all_off(void)
{
	struct features feats;
	struct err err = { 0 };

	is_int(features__probe(types, all, FEATURE_CNT, &feats, &err), 0, "all switched off");
	is_uint(feats.has, 0, "… none is there");
	for (int i = 0; i < FEATURE_CNT; i++)
		is_int(feats.why[i], -ECANCELED, "… %s because it was switched off", all[i]);
}

static void test_each_off(void)
{
	for (int i = 0; i < FEATURE_CNT; i++) {
		struct features feats;
		struct err err = { 0 };

		features__probe(types, &all[i], 1, &feats, &err);
		ok(!features__has(&feats, i), "%s alone can be switched off", all[i]);
		is_int(feats.why[i], -ECANCELED, "… and the reason says so");
	}
}

/* The kernel's answer depends on the user; that bit and reason agree does not. */
static void test_probe(void)
{
	struct features feats;
	struct err err = { 0 };

	is_int(features__probe(types, NULL, 0, &feats, &err), 0, "probing all");
	for (int i = 0; i < FEATURE_CNT; i++) {
		is_int(features__has(&feats, i), feats.why[i] == 0, "%s: bit and reason agree",
		       all[i]);
		ok(feats.why[i] <= 0, "%s: the reason is an -errno (%d)", all[i], feats.why[i]);
	}
}

static void test_require(void)
{
	struct features feats = { .has = ~0u };
	struct err err = { 0 };

	is_int(features__require(&feats, &err), 0, "with all features nothing is missing");
	for (int i = 0; i < FEATURE_CNT; i++) {
		const struct feature_info *info = feature__info(i);
		bool required = info->need == FEATURE_REQUIRED;

		feats.has = ~(1u << i);
		feats.why[i] = -EOPNOTSUPP;
		is_int(features__require(&feats, &err), required ? -ENOTSUP : 0, "without %s",
		       info->name);
		if (!required)
			continue;
		is_int(err.exit, JANK_EXIT_CANNOT, "… this kernel cannot");
		has_str(err.msg, info->name, "… by name");
		has_str(err.msg, info->remedy, "… with the remedy");
	}
}

/* The features that the typed probes need; without any of them the plain ones are used. */
static void test_typed(void)
{
	static const enum feature typed[] = {
		FEATURE_BTF,	      FEATURE_TP_BTF,	    FEATURE_CURRENT_TASK_BTF,
		FEATURE_TASK_STORAGE, FEATURE_TASK_PT_REGS, FEATURE_TASK_ITER
	};
	struct features feats = { .has = ~0u };

	ok(features__typed(&feats) && features__can_look(&feats), "with everything: typed probes");
	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		feats.has = ~(1u << typed[i]);
		ok(!features__typed(&feats) && features__can_look(&feats), "without %s: plain ones",
		   feature__info(typed[i])->name);
	}
	feats.has &= ~(1u << FEATURE_TEST_RUN);
	ok(!features__can_look(&feats), "without test runs, too, no thread is examined");
	feats.has = ~(1u << FEATURE_TEST_RUN);
	ok(features__can_look(&feats), "the typed probes do not need those");
}

static void test_reasons(void)
{
	struct features feats = { .has = 0 };
	struct err err = { 0 };

	feats.why[FEATURE_RINGBUF] = -ECANCELED;
	features__require(&feats, &err);
	has_str(err.msg, "leave out --disable-feature ringbuf",
		"switched off: how to switch it on");
	feats.why[FEATURE_RINGBUF] = -EPERM;
	features__require(&feats, &err);
	has_str(err.msg, "run as root", "refused: who may use it");
}

int main(void)
{
	types = kernel_types__read();
	test_infos();
	test_unknown();
	test_all_off();
	test_each_off();
	test_probe();
	test_require();
	test_typed();
	test_reasons();
	kernel_types__free(types);
	return tap__done();
}
