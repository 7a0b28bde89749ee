/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings of `jankbpf doctor` as text and as JSON. */
#include "cli/doctor_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "export/json/json.h"
#include "options/options.h"

static const struct {
	const char *word, *color;
} looks[] = {
	[FINDING_OK] = { "ok", "\033[32m" },
	[FINDING_DEGRADED] = { "degraded", "\033[33m" },
	[FINDING_MISSING] = { "missing", "\033[31m" },
};

static const char *const part_words[] = {
	[PART_USER] = "user",
	[PART_KEPT] = "kept",
	[PART_SYSTEM] = "system",
	[PART_KERNEL] = "kernel",
};

void doctor_report__add(struct doctor_report *report, enum finding_status status, const char *name,
			const char *remedy, const char *fmt, ...)
{
	struct finding *list = reallocarray(report->list, report->cnt + 1, sizeof(*list));
	struct finding *finding;
	va_list ap;

	report->status_cnt[status]++;
	if (!list) {
		report->failed = true;
		return;
	}
	report->list = list;
	finding = &list[report->cnt++];
	*finding = (struct finding){
		.part = report->part, .status = status, .name = name, .remedy = remedy
	};
	va_start(ap, fmt);
	strbuf__vaddf(&finding->text, fmt, ap);
	va_end(ap);
	report->failed |= finding->text.failed;
}

void doctor_report__free(struct doctor_report *report)
{
	for (size_t i = 0; i < report->cnt; i++)
		strbuf__free(&report->list[i].text);
	free(report->list);
}

/* --- text */

static void print_part(enum finding_part part)
{
	switch (part) {
	case PART_USER:
		printf("\nUser (uid %u)\n", geteuid());
		break;
	case PART_KEPT:
		puts("\nKept by a trace (it drops all other capabilities and sets no_new_privs)");
		break;
	case PART_SYSTEM:
		puts("\nSystem");
		break;
	case PART_KERNEL:
		puts("\nKernel (names are those of --disable-feature)");
		break;
	}
}

static void print_finding(const struct finding *finding, bool color)
{
	printf("  %s%-8s%s  %-20s %s%s%s\n", color ? looks[finding->status].color : "",
	       looks[finding->status].word, color ? "\033[0m" : "", finding->name,
	       strbuf__str(&finding->text), finding->remedy ? "; " : "", finding->remedy ?: "");
}

static void print_verdict(const struct doctor_report *report)
{
	if (report->status_cnt[FINDING_MISSING])
		printf("\nTracing is not possible: see what is missing above.\n");
	else if (report->status_cnt[FINDING_DEGRADED])
		printf("\nTracing is possible, less what is degraded above.\n");
	else
		printf("\nTracing is possible, with everything.\n");
}

void doctor_report__print_text(const struct doctor_report *report, bool color)
{
	struct utsname uts;

	uname(&uts);
	printf("jankbpf %s on %s %s, %s, %ld CPUs\n", JANK_VERSION, uts.sysname, uts.release,
	       uts.machine, sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < report->cnt; i++) {
		if (!i || report->list[i].part != report->list[i - 1].part)
			print_part(report->list[i].part);
		print_finding(&report->list[i], color);
	}
	print_verdict(report);
}

/* --- JSON */

static void add_machine(struct jsonw *w)
{
	struct utsname uts;

	uname(&uts);
	jsonw__kstr(w, "version", JANK_VERSION);
	jsonw__kstr(w, "system", uts.sysname);
	jsonw__kstr(w, "kernel", uts.release);
	jsonw__kstr(w, "arch", uts.machine);
	jsonw__ku64(w, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	jsonw__ku64(w, "uid", geteuid());
}

/* As print_verdict: "no", "degraded" or "full" */
static void add_verdict(struct jsonw *w, const struct doctor_report *report)
{
	jsonw__kstr(w, "tracing",
		    report->status_cnt[FINDING_MISSING]	   ? "no"
		    : report->status_cnt[FINDING_DEGRADED] ? "degraded"
							   : "full");
}

static void add_finding(struct jsonw *w, const struct finding *finding)
{
	jsonw__object(w);
	jsonw__kstr(w, "part", part_words[finding->part]);
	jsonw__kstr(w, "name", finding->name);
	jsonw__kstr(w, "status", looks[finding->status].word);
	jsonw__kstr(w, "text", strbuf__str(&finding->text));
	jsonw__kstr_known(w, "remedy", finding->remedy);
	jsonw__object_end(w);
}

int doctor_report__print_json(const struct doctor_report *report)
{
	struct strbuf sb = STRBUF_INIT;
	struct jsonw w;
	bool failed;

	jsonw__init(&w, &sb);
	jsonw__object(&w);
	jsonw__kstr(&w, "schema", "jankbpf-doctor/1");
	add_machine(&w);
	add_verdict(&w, report);
	jsonw__karray(&w, "checks");
	for (size_t i = 0; i < report->cnt; i++)
		add_finding(&w, &report->list[i]);
	jsonw__array_end(&w);
	jsonw__object_end(&w);
	failed = sb.failed;
	if (!failed)
		puts(strbuf__str(&sb));
	strbuf__free(&sb);
	return failed ? -ENOMEM : 0;
}
