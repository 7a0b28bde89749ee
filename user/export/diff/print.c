/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings as text and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/diff/diff.h"
#include "export/json/json.h"

static const char *const kind_words[] = {
	[DIFF_FAULT] = "fault", [DIFF_LOOP] = "blocks", [DIFF_DELAY] = "delay",
	[DIFF_P50] = "p50",	[DIFF_P90] = "p90",	[DIFF_P99] = "p99"
};

static bool is_rate(const struct diff_finding *finding)
{
	return finding->kind == DIFF_FAULT || finding->kind == DIFF_LOOP;
}

static const char *verdict(const struct diff_finding *finding)
{
	return diff_finding__is_worse(finding) ? "worse" : finding->notable ? "better" : "same";
}

/* --- text */

static void add_input(struct strbuf *sb, char letter, const struct diff_input *input,
		      const char *name)
{
	strbuf__addf(sb, "%c: ", letter);
	text__add_clean(sb, name);
	strbuf__addf(sb, ": %llu dispatches, %llu blocks in ",
		     (unsigned long long)input->dispatch_cnt, (unsigned long long)input->block_cnt);
	clock__add_duration(sb, input->elapsed_ns);
	strbuf__addf(sb, ", %zu intervals", input->interval_cnt);
	if (input->loss_cnt)
		strbuf__addf(sb, ", %llu %s: it may lack blocks",
			     (unsigned long long)input->loss_cnt,
			     input->loss_cnt == 1 ? "loss" : "losses");
	strbuf__addc(sb, '\n');
}

/* "×3.7 (2.1 to 6.8)" */
static void add_ratio(struct strbuf *sb, const struct diff_finding *finding)
{
	if (isinf(finding->ratio))
		strbuf__adds(sb, "new");
	else if (!finding->values[DIFF_B])
		strbuf__adds(sb, "gone");
	else
		strbuf__addf(sb, "×%.2g", finding->ratio);
	if (isinf(finding->high))
		strbuf__addf(sb, " (at least ×%.2g)", finding->low);
	else if (finding->high > 0)
		strbuf__addf(sb, " (×%.2g to ×%.2g)", finding->low, finding->high);
}

static void add_rate(struct strbuf *sb, double rate)
{
	strbuf__addf(sb, rate < 100 ? "%.3g" : "%.0f", rate);
}

static void add_values(struct strbuf *sb, const struct diff_finding *finding)
{
	if (is_rate(finding)) {
		add_rate(sb, finding->values[DIFF_A]);
		strbuf__adds(sb, " → ");
		add_rate(sb, finding->values[DIFF_B]);
		strbuf__adds(sb, " blocks per 10⁶ dispatches");
	} else {
		clock__add_duration(sb, (uint64_t)finding->values[DIFF_A]);
		strbuf__adds(sb, " → ");
		clock__add_duration(sb, (uint64_t)finding->values[DIFF_B]);
	}
	strbuf__adds(sb, ", ");
	add_ratio(sb, finding);
	if (finding->p < 0.0001)
		strbuf__adds(sb, ", p < 0.0001\n");
	else
		strbuf__addf(sb, ", p %.2g\n", finding->p);
}

static void add_finding(struct strbuf *sb, const struct diff_finding *finding)
{
	strbuf__addf(sb, "\n%-6s  ", verdict(finding));
	text__add_clean(sb, finding->loop->process);
	strbuf__adds(sb, " · ");
	text__add_clean(sb, finding->loop->loop);
	if (finding->kind == DIFF_FAULT || finding->kind == DIFF_DELAY)
		strbuf__addf(sb, " · fault %.8s%s\n", finding->fault->signature,
			     finding->kind == DIFF_DELAY ? ", median delay" : "");
	else
		strbuf__addf(sb, " · %s\n",
			     finding->kind == DIFF_LOOP ? "all blocks" : kind_words[finding->kind]);
	strbuf__adds(sb, "        ");
	add_values(sb, finding);
	if (finding->fault && finding->fault->summary) {
		strbuf__adds(sb, "        ");
		text__add_clean(sb, finding->fault->summary);
		strbuf__addc(sb, '\n');
	}
}

static void add_counts(struct strbuf *sb, const struct diff_findings *findings)
{
	size_t worse = 0, better = 0;

	for (size_t i = 0; i < findings->cnt; i++) {
		worse += diff_finding__is_worse(&findings->list[i]);
		better += findings->list[i].notable && !diff_finding__is_worse(&findings->list[i]);
	}
	strbuf__addf(sb,
		     "%zu worse, %zu better, of %zu comparisons; at most %.0f %% of these are "
		     "expected to be chance\n",
		     worse, better, findings->cnt, DIFF_FALSE_SHARE * 100);
}

/* "1 and 2" */
static void add_versions(struct strbuf *sb, uint64_t versions)
{
	const char *between = "";

	for (unsigned i = 0; i < 64; i++) {
		if (!(versions >> i & 1))
			continue;
		strbuf__addf(sb, "%s%u", between, i);
		between = " and ";
	}
}

static void add_note_on_signatures(struct strbuf *sb, const struct diff *diff)
{
	if (diff__has_one_signature_version(diff))
		return;
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		strbuf__addf(sb, i ? ", B of version " : "A has signatures of version ");
		if (diff->inputs[i].signature_versions)
			add_versions(sb, diff->inputs[i].signature_versions);
		else
			strbuf__adds(sb, "none");
	}
	strbuf__adds(sb, ": one fault differs between them, so faults are not compared, only all "
			 "blocks of a loop; for the same version give journals, or trace both "
			 "sides with one jankbpf\n");
}

/* What was not compared. */
static void add_notes(struct strbuf *sb, const struct diff *diff,
		      const struct diff_findings *findings)
{
	add_note_on_signatures(sb, diff);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		if (findings->only_cnt[i])
			strbuf__addf(sb, "%zu kinds of loop are only in %c, and not compared\n",
				     findings->only_cnt[i], "AB"[i]);
	if (findings->few_cnt)
		strbuf__addf(sb,
			     "%zu kinds of loop have fewer than 5 intervals on a side: blocks are "
			     "taken as independent, quantiles are not compared; trace with "
			     "--interval\n",
			     findings->few_cnt);
	if (diff->no_room_cnt)
		strbuf__addf(sb, "%llu faults or loops beyond the limits were left out\n",
			     (unsigned long long)diff->no_room_cnt);
}

void diff__add_text(struct strbuf *sb, const struct diff *diff,
		    const struct diff_findings *findings, const char *const names[DIFF_SIDES],
		    bool all)
{
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		add_input(sb, "AB"[i], &diff -> inputs[i], names[i]);
	add_counts(sb, findings);
	add_notes(sb, diff, findings);
	for (size_t i = 0; i < findings->cnt; i++)
		if (all || findings->list[i].notable)
			add_finding(sb, &findings->list[i]);
}

/* --- JSON */

static void add_number(struct jsonw *w, const char *key, double number)
{
	if (isfinite(number)) {
		jsonw__key(w, key);
		jsonw__fixed(w, number, 9);
	}
}

static void add_object(struct jsonw *w, const struct diff_finding *finding)
{
	jsonw__object(w);
	jsonw__kstr(w, "verdict", verdict(finding));
	jsonw__kstr(w, "what", kind_words[finding->kind]);
	jsonw__kstr(w, "process", finding->loop->process);
	jsonw__kstr(w, "loop", finding->loop->loop);
	if (finding->kind == DIFF_FAULT || finding->kind == DIFF_DELAY) {
		jsonw__kstr(w, "signature", finding->fault->signature);
		jsonw__kstr_known(w, "summary", finding->fault->summary);
	}
	add_number(w, is_rate(finding) ? "a_per_million" : "a_ns", finding->values[DIFF_A]);
	add_number(w, is_rate(finding) ? "b_per_million" : "b_ns", finding->values[DIFF_B]);
	add_number(w, "ratio", finding->ratio);
	if (is_rate(finding)) {
		add_number(w, "ratio_low", finding->low);
		add_number(w, "ratio_high", finding->high);
	}
	add_number(w, "p", finding->p);
	jsonw__object_end(w);
}

void diff__add_json(struct strbuf *sb, const struct diff *diff,
		    const struct diff_findings *findings, const char *const names[DIFF_SIDES])
{
	struct jsonw w;

	jsonw__init(&w, sb);
	jsonw__object(&w);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		jsonw__key(&w, i ? "b" : "a");
		jsonw__object(&w);
		jsonw__kstr(&w, "name", names[i]);
		jsonw__ku64(&w, "dispatches", diff->inputs[i].dispatch_cnt);
		jsonw__ku64(&w, "blocks", diff->inputs[i].block_cnt);
		jsonw__ku64(&w, "intervals", diff->inputs[i].interval_cnt);
		jsonw__ku64(&w, "losses", diff->inputs[i].loss_cnt);
		jsonw__ku64(&w, "loops_only_here", findings->only_cnt[i]);
		jsonw__karray(&w, "signature_versions");
		for (unsigned nr = 0; nr < 64; nr++)
			if (diff->inputs[i].signature_versions >> nr & 1)
				jsonw__u64(&w, nr);
		jsonw__array_end(&w);
		jsonw__object_end(&w);
	}
	jsonw__kbool(&w, "faults_compared", diff__has_one_signature_version(diff));
	jsonw__karray(&w, "findings");
	for (size_t i = 0; i < findings->cnt; i++)
		add_object(&w, &findings->list[i]);
	jsonw__array_end(&w);
	jsonw__object_end(&w);
	strbuf__addc(sb, '\n');
}
