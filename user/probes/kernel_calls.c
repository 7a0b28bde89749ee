/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts calls of the kernel's functions into the programs, at the marks of bpf/preempt.bpf.h and of
 * compat__user_regs (bpf/compat.bpf.h). See loader_parts.h.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "probes/loader_parts.h"

/* Lengths of the marks: so many jumps to the next instruction. The compiler makes no such row. */
#define BEGIN_CNT 2
#define END_CNT	  3

/* From 7.0 on tracepoints run with preemption enabled (a46023d5616e). No type or file shows it. */
static bool tracepoints_are_preempted(void)
{
	struct utsname uts;

	return !uname(&uts) && strtoul(uts.release, NULL, 10) >= 7;
}

static bool is_uprobe(const struct bpf_program *prog)
{
	return bpf_program__type(prog) == BPF_PROG_TYPE_KPROBE;
}

static bool is_next(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) && !insn->off;
}

static struct bpf_insn kernel_call(int btf_id)
{
	return (struct bpf_insn){ .code = BPF_JMP | BPF_CALL,
				  .src_reg = BPF_PSEUDO_KFUNC_CALL,
				  .imm = btf_id };
}

/* The compiler may repeat an end. The verifier refuses a path with a begin and no end. */
static void replace_marks(struct bpf_insn *insns, size_t cnt, const struct features *feats)
{
	size_t row;

	for (size_t i = 0; i < cnt; i += row ?: 1) {
		for (row = 0; i + row < cnt && is_next(&insns[i + row]); row++)
			;
		if (row == BEGIN_CNT)
			insns[i] = kernel_call(feats->preempt_disable_id);
		else if (row == END_CNT)
			insns[i] = kernel_call(feats->preempt_enable_id);
	}
}

/* r2 = 0, r3 = …, the mark, the call */
static bool gets_regs(const struct bpf_insn *insn)
{
	return insn[0].code == (BPF_ALU64 | BPF_MOV | BPF_K) && insn[0].dst_reg == BPF_REG_2 &&
	       is_next(&insn[2]) && insn[3].code == (BPF_JMP | BPF_CALL) && !insn[3].src_reg &&
	       insn[3].imm == BPF_FUNC_task_pt_regs;
}

/* The verifier makes the call of bpf_rdonly_cast a move of a register. */
static void cast_regs(struct bpf_insn *insns, size_t cnt, const struct features *feats)
{
	for (size_t i = 0; i + 3 < cnt; i++)
		if (gets_regs(&insns[i])) {
			insns[i].imm = feats->regs_id;
			insns[i + 2] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
							  .dst_reg = BPF_REG_1,
							  .src_reg = BPF_REG_3 };
			insns[i + 3] = kernel_call(feats->cast_id);
		}
}

static int put_into(struct bpf_program *prog, const struct features *feats, bool prevent, bool cast)
{
	size_t cnt = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns = malloc(cnt * sizeof(*insns));
	int ret;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), cnt * sizeof(*insns));
	if (prevent)
		replace_marks(insns, cnt, feats);
	if (cast)
		cast_regs(insns, cnt, feats);
	ret = bpf_program__set_insns(prog, insns, cnt);
	free(insns);
	return ret;
}

int loader__put_calls(const struct loader *loader, struct bpf_object *obj)
{
	const struct features *feats = loader->opts.features;
	bool prevent = features__has(feats, FEATURE_PREEMPT_OFF);
	bool tracepoints = tracepoints_are_preempted();
	struct bpf_program *prog;
	int ret = 0;

	bpf_object__for_each_program (prog, obj)
		if (!ret && bpf_program__autoload(prog))
			ret = put_into(prog, feats, prevent && (tracepoints || is_uprobe(prog)),
				       loader->cast_regs);
	return ret;
}
