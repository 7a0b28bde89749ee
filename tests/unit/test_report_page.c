/* SPDX-License-Identifier: GPL-2.0 */
/* Reports for people: Markdown and HTML, of hostile names, absent fields and large blocks. */
#include "base/text.h"
#include "export/report/report.h"
#include "tests/unit/export_run.h"

#define EVIL	  "</script><!--<script>`|\n\x1b[31m\xff\u202e\u2066\u200f\u061c\xc2\x9b<b>"
#define DATA	  "<script type=\"application/gzip\" id=\"data\">\n"
#define SPAN_CNT  500
#define FRAME_MAX 2

/* What a report writes of the record, `times` times. */
static void make(struct strbuf *bytes, const struct report_ops *ops, const Jankbpf__Record *record,
		 int times)
{
	char path[256];
	struct report_out out = {};
	struct report *report = report__new(ops, &out);

	snprintf(path, sizeof(path), "%s/report", scratch_dir);
	out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < times; i++)
		is_int(ops->record(report, record), 0, "%s: taken", ops->name);
	is_int(ops->finish(report) ?: report_out__flush(&out), 0, "%s: finished", ops->name);
	report__free(report);
	strbuf__free(&out.bytes);
	close(out.fd);
	slurp(path, bytes);
}

static unsigned occurrences(const char *text, const char *part)
{
	unsigned ret = 0;

	while ((text = strstr(text, part))) {
		ret++;
		text += strlen(part);
	}
	return ret;
}

/* How many lines have a character that is not to be shown. */
static unsigned unclean(const struct strbuf *text)
{
	char *all = strdup(strbuf__str(text)), *left = all, *line;
	unsigned ret = 0;

	while ((line = strsep(&left, "\n")))
		ret += !text__is_clean(line);
	free(all);
	return ret;
}

/* --- records */

static Jankbpf__Frame evil_frame(void)
{
	Jankbpf__Frame ret = JANKBPF__FRAME__INIT;

	ret.function = ret.module = ret.file = EVIL;
	ret.app = true;
	return ret;
}

struct big {
	Jankbpf__Record record;
	Jankbpf__Block block;
	Jankbpf__Cause cause;
	Jankbpf__Time time;
	Jankbpf__Blocked blocked;
	Jankbpf__Frame frame;
	Jankbpf__Frame *frames[FRAME_MAX];
	Jankbpf__Sample samples[SPAN_CNT];
	Jankbpf__Sample *list[SPAN_CNT];
};

/* A block whose names are hostile, with spans of one stack. */
static const Jankbpf__Record *make_big(struct big *big)
{
	jankbpf__record__init(&big->record);
	jankbpf__block__init(&big->block);
	jankbpf__cause__init(&big->cause);
	jankbpf__time__init(&big->time);
	jankbpf__blocked__init(&big->blocked);
	big->record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	big->record.block = &big->block;
	big->frame = evil_frame();
	big->frames[0] = big->frames[1] = &big->frame;
	for (size_t i = 0; i < SPAN_CNT; i++) {
		Jankbpf__Sample *sample = big->list[i] = &big->samples[i];

		jankbpf__sample__init(sample);
		sample->t_ns = 1000 * i;
		sample->has_ns = true;
		sample->ns = 500 + i;
		sample->state = "futex";
		sample->n_stack = FRAME_MAX;
		sample->stack = big->frames;
		big->blocked.futex += sample->ns;
	}
	big->time.blocked_ns = &big->blocked;
	big->block.duration_ns = big->blocked.futex;
	big->block.time = &big->time;
	big->block.n_samples = SPAN_CNT;
	big->block.samples = big->list;
	big->block.process = big->block.thread = big->block.id = EVIL;
	big->cause.kind = big->cause.summary = big->cause.signature = EVIL;
	big->block.cause = &big->cause;
	return &big->record;
}

/* --- tests */

static void test_hostile_page(void)
{
	struct big *big = calloc(1, sizeof(*big));
	struct strbuf page = STRBUF_INIT;
	const char *data;

	make(&page, &report_html, make_big(big), 40);
	data = strstr(strbuf__str(&page), DATA);
	data = data ? data + strlen(DATA) : "";
	data += strspn(data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\n");
	ok(!strncmp(data, "</script>\n<script>", 18), "no name ends the data");
	is_uint(unclean(&page), 0, "all can be shown");
	strbuf__free(&page);
	free(big);
}

static void test_absent_fields(void)
{
	Jankbpf__Record record = JANKBPF__RECORD__INIT;
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;
	struct strbuf text = STRBUF_INIT;

	record.type_case = JANKBPF__RECORD__TYPE_BLOCK;
	record.block = &block;
	make(&text, &report_md, &record, 1);
	ok(strstr(strbuf__str(&text), "1 block of 1 fault"),
	   "a block without any field is in the Markdown");
	ok(strstr(strbuf__str(&text), "The cause is not known."),
	   "which says what it does not know");
	strbuf__free(&text);
}

static void test_hostile_md(void)
{
	struct big *big = calloc(1, sizeof(*big));
	struct strbuf text = STRBUF_INIT;
	const char *str, *fence;
	bool in_code = false;

	make(&text, &report_md, make_big(big), 3);
	str = strbuf__str(&text);
	fence = strstr(str, "\n```\n");
	ok(fence && strstr(str, "\\</script>"), "a name is before the fence");
	for (const char *at = str; fence && at < fence; at++) {
		bool is_escaped = at > str && at[-1] == '\\';

		in_code ^= *at == '`' && !is_escaped;
		if (*at == '<' && !in_code && !is_escaped)
			ok(false, "a name is markup: %.30s", at);
	}
	ok(!strchr(str, '\x1b'), "no name reaches the terminal's controls");
	is_uint(occurrences(str, "\n```\n"), 2, "no name ends the fence");
	is_uint(unclean(&text), 0, "all can be shown");
	strbuf__free(&text);
	free(big);
}

int main(void)
{
	scratch__init();
	test_hostile_page();
	test_absent_fields();
	test_hostile_md();
	return tap__done();
}
