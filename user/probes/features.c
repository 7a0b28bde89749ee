/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests all features, except those that the user switched off. */
#include "probes/features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/strbuf.h"
#include "probes/btf.h"
#include "probes/kernel_types.h"

/* --- one test function for each feature of the list, called by table */

/*
 * probe__NAME(types) returns 0 when the feature is available, else -errno. types: the kernel's, or
 * NULL.
 */
#define JANK_X_PROBE(NAME, name, ...) int probe__##name(const struct kernel_types *types);
JANK_FEATURES(JANK_X_PROBE)
#undef JANK_X_PROBE

#define PREEMPT_DISABLE "bpf_preempt_disable"
#define PREEMPT_ENABLE	"bpf_preempt_enable"

/* Returns the type of a function of the kernel, or -errno. */
static int find_function(const struct kernel_types *types, const char *name)
{
	return kernel_types__find(types, name, BTF_KIND_FUNC);
}

/* Is there a bpf_rdonly_cast that a program of ours may call? */
static bool can_cast(const struct features *feats)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_2,
		  .imm = feats->regs_id },
		{ .code = BPF_JMP | BPF_CALL,
		  .src_reg = BPF_PSEUDO_KFUNC_CALL,
		  .imm = feats->cast_id },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .src_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd;

	if (feats->cast_id < 0 || feats->regs_id < 0)
		return false;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns, 6, NULL);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define X_INFO(NAME, name, need, ...) { #name, FEATURE_##need, __VA_ARGS__ },
static const struct feature_info infos[] = { JANK_FEATURES(X_INFO) };

#define X_PROBE(NAME, name, ...) probe__##name,
static int (*const probes[])(const struct kernel_types *types) = { JANK_FEATURES(X_PROBE) };

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
	uint32_t needed = 1u << FEATURE_BTF | 1u << FEATURE_TP_BTF |
			  1u << FEATURE_CURRENT_TASK_BTF | 1u << FEATURE_TASK_STORAGE |
			  1u << FEATURE_TASK_PT_REGS | 1u << FEATURE_TASK_ITER;
#ifdef __x86_64__
	needed |= 1u << FEATURE_TAIL_CALLS; /* jank_on_switch_whole in bpf/sched.bpf.c */
#endif

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
	struct nearest near;
	int ret;

	nearest__init(&near, name, strlen(name));
	for (int i = 0; i < FEATURE_CNT; i++) {
		strbuf__addf(&names, "%s%s", i ? ", " : "", infos[i].name);
		nearest__offer(&near, infos[i].name, strlen(infos[i].name));
	}
	if (near.best)
		ret = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				    "--disable-feature '%.40s': no such feature; did you mean "
				    "'%s'? Known are %s",
				    name, near.best, strbuf__str(&names));
	else
		ret = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				    "--disable-feature '%.40s': no such feature; known are %s",
				    name, strbuf__str(&names));
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

int features__probe(const struct kernel_types *types, const char *const *disabled, size_t n,
		    struct features *ret, struct err *err)
{
	struct features feats = { 0 };
	libbpf_print_fn_t print;
	int code;

	code = parse_disabled(disabled, n, &feats.disabled, err);
	if (code)
		return code;
	/* A missing feature is a result here, not a warning on stderr. */
	print = libbpf_set_print(NULL);
	if (feats.disabled & (1u << FEATURE_BTF))
		types = NULL;
	for (int i = 0; i < FEATURE_CNT; i++) {
		bool off = feats.disabled & (1u << i);

		feats.why[i] = off ? -ECANCELED : probes[i](types);
		if (!feats.why[i])
			feats.has |= 1u << i;
	}
	if (features__has(&feats, FEATURE_PREEMPT_OFF)) {
		feats.preempt_disable_id = find_function(types, PREEMPT_DISABLE);
		feats.preempt_enable_id = find_function(types, PREEMPT_ENABLE);
	}
	feats.cast_id = find_function(types, "bpf_rdonly_cast");
	feats.regs_id = kernel_types__find(types, "pt_regs", BTF_KIND_STRUCT);
	feats.has_cast = can_cast(&feats);
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

/*
 * --- the tests: each does the real thing and never compares versions
 *
 * They create a map, load the smallest program of the kind, or open an event. libbpf's own helper
 * probe is not used: it does not support tracing programs, and before 1.4 it takes the refusal of
 * newer kernels ("program of this type cannot use helper") for a yes.
 */

#define LOG_SZ 4096

/* Closes the descriptor and returns 0, or returns the -errno of libbpf's call. */
static int close_probe(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Loads "r0 = 0; exit". Returns the program's descriptor, or -errno. */
static int open_empty(enum bpf_prog_type type, struct bpf_prog_load_opts *opts)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(type, NULL, "GPL", insns, 2, opts);
}

static int load_empty(enum bpf_prog_type type, struct bpf_prog_load_opts *opts)
{
	return close_probe(open_empty(type, opts));
}

/*
 * Loads a program that calls the helper without arguments, which always fails. The result is
 * whether the verifier complains about the helper or about its arguments.
 */
static int load_helper(enum bpf_prog_type type, enum bpf_func_id helper,
		       struct bpf_prog_load_opts *opts)
{
	static const char *const refusals[] = { "invalid func ", "unknown func ",
						"program of this type cannot use helper" };
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = helper },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char log[LOG_SZ] = "";
	int err;

	opts->log_buf = log;
	opts->log_size = sizeof(log);
	opts->log_level = 1;
	err = close_probe(bpf_prog_load(type, NULL, "GPL", insns, 2, opts));
	opts->log_buf = NULL;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (strstr(log, refusals[i]))
			return -EOPNOTSUPP;
	return log[0] ? 0 : err;
}

/* Fills opts for a typed tracepoint or an iterator, found by the name of its type in BTF. */
static int set_target(const struct kernel_types *types, const char *type_name, unsigned kind,
		      enum bpf_attach_type attach, struct bpf_prog_load_opts *opts)
{
	int id = kernel_types__find(types, type_name, kind);

	if (id < 0)
		return id;
	opts->expected_attach_type = attach;
	opts->attach_btf_id = id;
	return 0;
}

static int load_tp_btf(const struct kernel_types *types, const char *type_name)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int err = set_target(types, type_name, BTF_KIND_TYPEDEF, BPF_TRACE_RAW_TP, &opts);

	return err ?: load_empty(BPF_PROG_TYPE_TRACING, &opts);
}

/* A helper must be allowed where it is used: in a program on a scheduler event. */
static int load_tp_btf_helper(const struct kernel_types *types, enum bpf_func_id helper)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int err = set_target(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF, BPF_TRACE_RAW_TP,
			     &opts);

	return err ?: load_helper(BPF_PROG_TYPE_TRACING, helper, &opts);
}

int probe__btf(const struct kernel_types *types)
{
	return types ? 0 : -ENOENT;
}

int probe__tp_btf(const struct kernel_types *types)
{
	return load_tp_btf(types, "btf_trace_sched_switch");
}

int probe__current_task_btf(const struct kernel_types *types)
{
	return load_tp_btf_helper(types, BPF_FUNC_get_current_task_btf);
}

int probe__test_run(const struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int prog = open_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL), err;

	if (prog < 0)
		return prog;
	err = bpf_prog_test_run_opts(prog, &run) ? -errno : 0;
	close(prog);
	return err;
}

/* Only attaching shows whether a raw tracepoint exists. */
static int attach_raw_tp(const char *name)
{
	int prog = open_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL);
	int err;

	if (prog < 0)
		return prog;
	err = close_probe(bpf_raw_tracepoint_open(name, prog));
	close(prog);
	return err;
}

/* With BTF, do not attach: the detachment waits 15 ms for the programs that run. */
int probe__file_fault(const struct kernel_types *types)
{
	return types ? load_tp_btf(types, "btf_trace_mm_filemap_fault")
		     : attach_raw_tp("mm_filemap_fault");
}

int probe__cache_add(const struct kernel_types *types)
{
	return attach_raw_tp("mm_filemap_add_to_page_cache");
}

/* A program that calls both functions, of a type that any other may also have. */
int probe__preempt_off(const struct kernel_types *types)
{
	int disable = find_function(types, PREEMPT_DISABLE);
	int enable = find_function(types, PREEMPT_ENABLE);
	const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = disable },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = enable },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	if (disable < 0 || enable < 0)
		return disable < 0 ? disable : enable;
	return close_probe(
		bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns, 4, NULL));
}

/* Missing until the module drm is loaded. */
int probe__vblank(const struct kernel_types *types)
{
	return attach_raw_tp("drm_vblank_event");
}

/* With BTF, do not attach: that slows down every system call of the machine for a moment. */
int probe__raw_syscalls(const struct kernel_types *types)
{
	if (types)
		return load_tp_btf(types, "btf_trace_sys_enter")
			       ?: load_tp_btf(types, "btf_trace_sys_exit");
	return attach_raw_tp("sys_enter") ?: attach_raw_tp("sys_exit");
}

/* Counts the tracepoint's arguments; the first one is common to all tracepoints. */
int probe__switch_state(const struct kernel_types *types)
{
	int id = kernel_types__find(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf *btf = kernel_types__all(types);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;

	if (type) /* typedef void (*btf_trace_sched_switch)(void *, …) */
		type = btf__type_by_id(btf, type->type);
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	if (!type || !btf_is_func_proto(type))
		return id < 0 ? id : -EOPNOTSUPP;
	return btf_vlen(type) >= 5 ? 0 : -EOPNOTSUPP;
}

/* A tail call beside a function. */
int probe__tail_calls(const struct kernel_types *types)
{
	int map = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, NULL, 4, 4, 1, NULL), err;
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_6, .src_reg = BPF_REG_1 },
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 7 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_6 },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map },
		{},
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 }, /* the function */
		{ .code = BPF_JMP | BPF_EXIT },
	};

	if (map < 0)
		return map;
	err = close_probe(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", insns,
					sizeof(insns) / sizeof(*insns), NULL));
	close(map);
	return err;
}

int probe__task_pt_regs(const struct kernel_types *types)
{
	return load_tp_btf_helper(types, BPF_FUNC_task_pt_regs);
}

int probe__attach_cookie(const struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);

	return load_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, &opts);
}

int probe__perf_event(const struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);

	return load_empty(BPF_PROG_TYPE_PERF_EVENT, &opts);
}

int probe__ringbuf(const struct kernel_types *types)
{
	return close_probe(
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, sysconf(_SC_PAGESIZE), NULL));
}

/* Task storage needs BTF for its key and value; one int serves for both. */
static int create_task_storage(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	struct btf *btf = btf__new_empty();
	int err, id;

	if (!btf)
		return -errno;
	id = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	err = id < 0 ? id : btf__load_into_kernel(btf);
	if (err)
		goto out;
	opts.btf_fd = btf__fd(btf);
	opts.btf_key_type_id = id;
	opts.btf_value_type_id = id;
	err = close_probe(bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, NULL, 4, 4, 0, &opts));
out:
	btf__free(btf);
	return err;
}

/* The map exists since 5.11, its use by tracing programs since 5.12. */
int probe__task_storage(const struct kernel_types *types)
{
	return create_task_storage() ?: load_tp_btf_helper(types, BPF_FUNC_task_storage_get);
}

int probe__task_iter(const struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts);
	int err = set_target(types, "bpf_iter_task", BTF_KIND_FUNC, BPF_TRACE_ITER, &opts);

	return err ?: load_empty(BPF_PROG_TYPE_TRACING, &opts);
}

int probe__task_iter_pid(const struct kernel_types *types)
{
	int id = kernel_types__find(types, "bpf_iter_link_info", BTF_KIND_UNION);

	if (id < 0)
		return id;
	return btf_check__has_member(kernel_types__all(types), id, "task") ? 0 : -EOPNOTSUPP;
}

/* epoll_pwait, not epoll_wait: newer architectures have only that. */
int probe__syscall_tracepoints(const struct kernel_types *types)
{
	int err = access("/sys/kernel/tracing/events/syscalls/sys_enter_epoll_pwait/id", R_OK)
			  ? -errno
			  : 0;

	if (err &&
	    !access("/sys/kernel/debug/tracing/events/syscalls/sys_enter_epoll_pwait/id", R_OK))
		err = 0;
	return err;
}

/* Uprobes have their own PMU; libbpf reads its number from this file. */
int probe__uprobe(const struct kernel_types *types)
{
	return access("/sys/bus/event_source/devices/uprobe/type", R_OK) ? -errno : 0;
}

/* Opens it like the sampler: for a CPU, not for a task. */
static int open_clock(unsigned type, unsigned long long config)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type, .config = config };
	int cpu = sched_getcpu(), fd;

	attr.freq = 1;
	attr.sample_freq = 99;
	attr.disabled = 1;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu < 0 ? 0 : cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return close_probe(fd < 0 ? -errno : fd);
}

int probe__hw_cycles(const struct kernel_types *types)
{
	return open_clock(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

int probe__cpu_clock(const struct kernel_types *types)
{
	return open_clock(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

int probe__array_mmap(const struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	return close_probe(bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 8, 1, &opts));
}

int probe__bpf_stats(const struct kernel_types *types)
{
	return close_probe(bpf_enable_stats(BPF_STATS_RUN_TIME));
}
