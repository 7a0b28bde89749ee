/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged loop files: an accepted file keeps every promise that the probes and the exporters rely
 * on; a refused one gets a message with the line. The corpus is the built-in files; words of the
 * grammar are inserted at any place.
 */
#include "base/strbuf.h"
#include "catalogue/catalogue_data.h"
#include "tests/fuzz/fuzz.h"
#include "tests/tap.h"

#define INPUT_MAX (128 << 10)
#define LEN(a)	  (sizeof(a) / sizeof(*(a)))

static struct {
	struct fuzz fuzz;
	uint64_t taken, refused, marks;
	const char *broken; /* the broken promise */
} run;

static const char *const words[] = {
	"[a]\n",
	"[enum e]\n",
	"[",
	"]",
	"\n",
	"\n\t",
	"=",
	"==",
	"mark = f\n",
	"\twhat = ",
	"text(",
	"enum(e, ",
	"symbol(",
	"class(",
	"arg0",
	"*(arg1 + 8)",
	"u16 ",
	"s64 ",
	"(",
	")",
	"*",
	"+ 8",
	"- 0x10",
	"1 = one\n",
	"wait = poll\n",
	"wait = offset ",
	"over = a\n",
	"check = ",
	"library = *\n",
	"exe:",
	"section:",
	"caller = *\n",
	"note = x\n",
	"\tx\n",
	" ;",
	"\xff",
	"\r\n",
	"clock_ms(",
	"queued = ",
	"name = b\n",
};

/* The probe indexes its arguments and adds its offsets without a check of its own. */
static bool is_sound_field(const struct jank_mark_field *spec)
{
	static const uint8_t sizes[] = { 0, 1, 2, 4, 8, JANK_MARK_TEXT, JANK_MARK_TEXT16 };
	bool known = false;

	for (size_t i = 0; i < LEN(sizes); i++)
		known |= spec->size == sizes[i];
	return known && spec->reg < JANK_MARK_ARG_MAX && spec->deref_cnt <= JANK_MARK_DEREF_MAX &&
	       spec->is_fd <= 1;
}

static void check_mark(const struct catalogue_mark *mark)
{
	unsigned texts = 0;

	if (!mark->symbol == !mark->address)
		run.broken = "a mark has one place";
	if (mark->spec.field_cnt > JANK_MARK_FIELD_MAX) {
		run.broken = "a mark's fields have room";
		return;
	}
	for (unsigned i = 0; i < mark->spec.field_cnt; i++) {
		const struct catalogue_field *field = &mark->fields[i];

		texts += field->view == VIEW_TEXT;
		if (!is_sound_field(&mark->spec.fields[i]))
			run.broken = "a field can be read";
		if ((field->view == VIEW_TEXT) != (mark->spec.fields[i].size >= JANK_MARK_TEXT16))
			run.broken = "texts are texts";
		if ((field->view == VIEW_ENUM) != (field->names != NULL))
			run.broken = "an enum has names";
		if (field->bits < 8 || field->bits > 64 || field->role >= ROLE_CNT)
			run.broken = "a number has a width";
		catalogue_field__enum_name(field, fuzz__any(&run.fuzz));
	}
	if (texts > 1)
		run.broken = "one text at most";
	run.marks++;
}

static void check(const struct catalogue *cat)
{
	unsigned marks = 0;

	for (size_t i = 0; i < cat->row_cnt; i++) {
		const struct catalogue_row *row = cat->rows[i];

		if (!row->waits || !row->library_cnt || !row->name || !row->note || !row->line)
			run.broken = "a row is complete";
		if (row->mark_cnt && row->mark_first != marks)
			run.broken = "a row's marks are its own";
		for (unsigned j = 0; j < row->mark_cnt; j++)
			check_mark(&cat->marks[marks++]);
	}
	if (marks != cat->mark_cnt)
		run.broken = "each mark has its row";
}

static void mutate(struct fuzz *f, char *text, size_t len, struct strbuf *ret)
{
	size_t at = len ? fuzz__below(f, len) : 0, from = len ? fuzz__below(f, len) : 0;

	if (len && fuzz__chance(f, 3))
		fuzz__damage(f, text, len);
	strbuf__add(ret, text, at);
	for (size_t i = fuzz__below(f, 4); i; i--)
		strbuf__adds(ret, words[fuzz__below(f, LEN(words))]);
	strbuf__add(ret, text + from, len - from);
}

/* A part of the text as often as there is room, with a name of its own each time. */
static void repeat(struct strbuf *text)
{
	struct fuzz *f = &run.fuzz;
	size_t from = fuzz__below(f, text->len), len = fuzz__below(f, text->len - from) + 1;
	char *part = strndup(text->data + from, len);

	for (unsigned i = 0; part && text->len + len < INPUT_MAX; i++) {
		if (fuzz__chance(f, 2))
			strbuf__addf(text, "\n[a%u]\nlibrary = x\nwait = poll\n", i);
		strbuf__adds(text, part);
	}
	free(part);
}

static void load(const struct strbuf *text)
{
	struct catalogue *cat = calloc(1, sizeof(*cat));
	struct err err = { 0 };

	if (!catalogue_file__load(cat, "f", strbuf__str(text), text->len,
				  fuzz__chance(&run.fuzz, 2), &err)) {
		run.taken++;
		check(cat);
	} else {
		run.refused++;
		if (strncmp(err.msg, "f:", 2) || err.msg[2] < '1' || err.msg[2] > '9')
			run.broken = "an error has its line";
	}
	catalogue__close(cat);
	cost__end(&run.fuzz.cost, text->len);
}

static void round_on(const struct catalogue_embedded *file)
{
	struct strbuf text = STRBUF_INIT, damaged = STRBUF_INIT;
	struct fuzz *f = &run.fuzz;
	size_t from = fuzz__below(f, file->size), len = fuzz__below(f, 600);

	/*
	 * Mostly a small part, so that a round is short; sometimes a whole file, to test large
	 * ones.
	 */
	if (fuzz__chance(f, 20))
		strbuf__add(&text, file->text, file->size);
	else if (fuzz__chance(f, 2))
		strbuf__adds(&text, "[a]\nlibrary = x\nwait = poll\nmark = f\n\twhat = arg0\n");
	else
		strbuf__add(&text, file->text + from,
			    len < file->size - from ? len : file->size - from);
	if (text.len && fuzz__chance(f, 64))
		repeat(&text);
	if (!fuzz__chance(f, 30)) {
		mutate(f, text.data, text.len, &damaged);
		load(&damaged);
	} else {
		load(&text);
	}
	strbuf__free(&text);
	strbuf__free(&damaged);
}

int main(void)
{
	run.fuzz = fuzz__begin(100);
	while (fuzz__goes_on(&run.fuzz) && !run.broken)
		round_on(&catalogue_embedded_files[fuzz__below(&run.fuzz, catalogue_embedded_cnt)]);
	ok(!run.broken, "every promise is kept in %llu rounds: %s",
	   (unsigned long long)run.fuzz.round, run.broken ?: "yes");
	ok(run.taken && run.refused && run.marks,
	   "all results occurred: %llu accepted with %llu marks, %llu refused",
	   (unsigned long long)run.taken, (unsigned long long)run.marks,
	   (unsigned long long)run.refused);
	cost__ok(&run.fuzz.cost);
	return tap__done();
}
