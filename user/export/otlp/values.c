/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists, texts and attributes of OTLP's messages, and a message's bytes. */
#include "export/otlp/otlp.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "export/report/report.h"

void list__add(struct otlp *o, struct list *list, void *item)
{
	if (list->cnt == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 8;
		void **at = arena__take(&o->arena, cap * sizeof(*at));

		if (list->cnt)
			memcpy(at, list->at, list->cnt * sizeof(*at));
		list->at = at;
		list->cap = cap;
	}
	list->at[list->cnt++] = item;
}

/* A table is full only beyond the size of any batch. */
uint32_t otlp__number(struct otlp *o, size_t table, const void *key, size_t len, bool *ret_new)
{
	uint32_t nr = 0;

	if (!o->tables[table])
		o->tables[table] = intern__new();
	if (o->tables[table])
		nr = intern__get(o->tables[table], key, len, ret_new);
	if (!nr)
		longjmp(o->arena.out_of_memory, 1);
	return nr;
}

char *otlp__text(struct otlp *o, const char *text)
{
	size_t len;
	char *cut;

	if (!text)
		return NULL;
	len = text__cut(text, OTLP_TEXT_MAX);
	if (!text[len])
		return arena__str(&o->arena, text);
	cut = arena__take(&o->arena, len + 1);
	memcpy(cut, text, len);
	return arena__str(&o->arena, cut);
}

int64_t otlp__int(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

Otlp__AnyValue *otlp__text_value(struct otlp *o, char *text)
{
	Otlp__AnyValue *ret = OTLP_NEW(o, any_value);

	ret->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	ret->string_value = text;
	return ret;
}

/* The key is static. */
static Otlp__AnyValue *add(struct otlp *o, struct list *list, const char *key)
{
	Otlp__KeyValue *pair = OTLP_NEW(o, key_value);

	pair->key = (char *)key;
	pair->value = OTLP_NEW(o, any_value);
	list__add(o, list, pair);
	return pair->value;
}

void attr__text(struct otlp *o, struct list *list, const char *key, const char *text)
{
	Otlp__AnyValue *value;

	if (!text || !*text)
		return;
	value = add(o, list, key);
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = otlp__text(o, text);
}

void attr__int(struct otlp *o, struct list *list, const char *key, uint64_t number)
{
	Otlp__AnyValue *value = add(o, list, key);

	value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value->int_value = otlp__int(number);
}

void attr__double(struct otlp *o, struct list *list, const char *key, double number)
{
	Otlp__AnyValue *value = add(o, list, key);

	value->value_case = OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE;
	value->double_value = number;
}

void attr__bool(struct otlp *o, struct list *list, const char *key, bool is_true)
{
	Otlp__AnyValue *value = add(o, list, key);

	value->value_case = OTLP__ANY_VALUE__VALUE_BOOL_VALUE;
	value->bool_value = is_true;
}

Otlp__InstrumentationScope *otlp__scope(struct otlp *o)
{
	Otlp__InstrumentationScope *ret = OTLP_NEW(o, instrumentation_scope);

	ret->name = (char *)"jankbpf";
	ret->version = (char *)JANK_VERSION;
	return ret;
}

int otlp__encode(const struct batch *batch, ProtobufCMessage *(*make)(struct otlp *o),
		 struct strbuf *ret)
{
	struct otlp o = { .batch = batch, .resources = intern__new() };
	int res = -ENOMEM;

	if (o.resources && !setjmp(o.arena.out_of_memory)) {
		const ProtobufCMessage *message = make(&o);

		if (message)
			strbuf__add_message(ret, message);
		res = !message ? -ENODATA : ret->failed ? -ENOMEM : 0;
	}
	intern__free(o.resources);
	for (size_t i = 0; i < OTLP_TABLES; i++)
		intern__free(o.tables[i]);
	arena__free(&o.arena);
	return res;
}
