/* SPDX-License-Identifier: GPL-2.0 */
/* The answers to all probes, less what the user switched off. */
#include "probes/features.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "probes/feature_probe.h"

#define X_INFO(NAME, name, need, ...) { #name, FEATURE_##need, __VA_ARGS__ },
static const struct feature_info infos[] = { JANK_FEATURES(X_INFO) };

#define X_PROBE(NAME, name, ...) probe__##name,
static int (*const probes[])(const struct btf *btf) = { JANK_FEATURES(X_PROBE) };

const struct feature_info *feature__info(enum feature feature)
{
	return &infos[feature];
}

bool features__has(const struct features *feats, enum feature feature)
{
	return feats->has & (1u << feature);
}

bool features__typed(const struct features *feats)
{
	const uint32_t needed = 1u << FEATURE_BTF | 1u << FEATURE_TP_BTF |
				1u << FEATURE_CURRENT_TASK_BTF | 1u << FEATURE_TASK_STORAGE |
				1u << FEATURE_TASK_PT_REGS | 1u << FEATURE_TASK_ITER;

	return (feats->has & needed) == needed;
}

bool features__can_look(const struct features *feats)
{
	return features__typed(feats) || features__has(feats, FEATURE_TEST_RUN);
}

static int find(const char *name)
{
	for (int i = 0; i < FEATURE_CNT; i++)
		if (!strcmp(name, infos[i].name))
			return i;
	return -ENOENT;
}

static int unknown_name(const char *name, struct err *err)
{
	struct strbuf names = STRBUF_INIT;
	int ret;

	for (int i = 0; i < FEATURE_CNT; i++)
		strbuf__addf(&names, "%s%s", i ? ", " : "", infos[i].name);
	ret = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
			    "--disable-feature '%.40s': no such feature; known are %s", name,
			    strbuf__str(&names));
	strbuf__free(&names);
	return ret;
}

static int parse_disabled(const char *const *names, size_t n, uint32_t *ret, struct err *err)
{
	uint32_t disabled = 0;

	for (size_t i = 0; i < n; i++) {
		int feature = find(names[i]);

		if (feature < 0)
			return unknown_name(names[i], err);
		disabled |= 1u << feature;
	}
	*ret = disabled;
	return 0;
}

int features__probe(const char *const *disabled, size_t n, struct features *ret, struct err *err)
{
	struct features feats = { 0 };
	libbpf_print_fn_t print;
	struct btf *btf;
	int code;

	code = parse_disabled(disabled, n, &feats.disabled, err);
	if (code)
		return code;
	/* A "no" is an answer here, not a warning on stderr. */
	print = libbpf_set_print(NULL);
	btf = feats.disabled & (1u << FEATURE_BTF) ? NULL : btf__load_vmlinux_btf();
	for (int i = 0; i < FEATURE_CNT; i++) {
		bool off = feats.disabled & (1u << i);

		feats.why[i] = off ? -ECANCELED : probes[i](btf);
		if (!feats.why[i])
			feats.has |= 1u << i;
	}
	btf__free(btf);
	libbpf_set_print(print);
	*ret = feats;
	return 0;
}

static int missing(const struct feature_info *info, int why, struct err *err)
{
	if (why == -ECANCELED)
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "feature '%s' is switched off: %s; leave out "
				     "--disable-feature %s",
				     info->name, info->without, info->name);
	if (why == -EPERM || why == -EACCES)
		return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
				     "the kernel refuses '%s' (%s): %s; run as root, or see what "
				     "`jankbpf doctor` says of lockdown and capabilities",
				     info->name, strerror(-why), info->without);
	return err__set_exit(err, JANK_EXIT_CANNOT, ENOTSUP,
			     "this kernel lacks '%s' (%s): %s; %s; `jankbpf doctor` says more",
			     info->name, strerror(-why), info->without, info->remedy);
}

int features__require(const struct features *feats, struct err *err)
{
	for (int i = 0; i < FEATURE_CNT; i++)
		if (infos[i].need == FEATURE_REQUIRED && !features__has(feats, i))
			return missing(&infos[i], feats->why[i], err);
	return 0;
}
