/* SPDX-License-Identifier: GPL-2.0 */
/*
 * --redact: a record in which every text is a secret, made by the schema's descriptors, has none of
 * them in any output format. Which texts stay readable is listed here, too. And the key.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/json/json.h"
#include "export/record/record.h"
#include "export/sink.h"
#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"
#include "tests/unit/scratch.h"

#define SECRET "/SECRET"
#define ALL    (REDACT_PATHS | REDACT_PEERS | REDACT_MESSAGES)

/* Texts that are never hashed: words, patterns, and those with redact=no in schema/fields.tbl. */
static const char *const readable[] = {
	"schema", "id", "start", "loop", "severity", "kernel", "arch", "events", "kind", "what",
	"signature", "priority", "policy", "role", "state", "syscall", "turns", "began", "phase",
	"build_id", "app_build_id", "network", "language", "reason", "waits_in", "reduced", "gone",
	/* of a Fault, which is made of redacted records */
	"key", "summary", "process", "first", "last", "grouped_by",
	/* of a LeftOut, likewise */
	"unit", "function", "boot_id", /* the id of a block begins with it */
};

static unsigned secrets, odd;
static struct record *room; /* its memory holds what the test makes */

static bool is_readable(const char *name)
{
	for (size_t i = 0; i < sizeof(readable) / sizeof(*readable); i++)
		if (!strcmp(name, readable[i]))
			return true;
	return false;
}

static ProtobufCMessage *full(const ProtobufCMessageDescriptor *descriptor,
			      const struct field *rows);

static char *text_of(const ProtobufCFieldDescriptor *field, const struct field *row)
{
	char *ret = record__take(room, 64);

	if (row->redact) {
		secrets++;
		snprintf(ret, 64, SECRET "-%s", field->name);
	} else {
		if (!is_readable(field->name))
			diag("'%s' is readable", field->name);
		odd += !is_readable(field->name);
		strcpy(ret, strcmp(field->name, "start") ? "public"
							 : "2026-01-02T03:04:05.000000006+00:00");
	}
	return ret;
}

static void fill(const ProtobufCFieldDescriptor *field, const struct field *row, void *value)
{
	if (field->type == PROTOBUF_C_TYPE_STRING)
		*(char **)value = text_of(field, row);
	else if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		*(ProtobufCMessage **)value = full(field->descriptor, row->fields);
	else if (field->type == PROTOBUF_C_TYPE_DOUBLE)
		*(double *)value = 1;
	else
		*(unsigned char *)value = 1;
}

/* Every field is set; an array has one element. */
static ProtobufCMessage *full(const ProtobufCMessageDescriptor *descriptor,
			      const struct field *rows)
{
	ProtobufCMessage *ret = record__message(room, descriptor);

	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		char *base = (char *)ret, *value = base + field->offset;

		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			*(size_t *)(base + field->quantifier_offset) = 1;
			*(void **)value = record__take(room, sizeof(uint64_t));
			value = *(char **)value;
		} else if (field->type != PROTOBUF_C_TYPE_STRING &&
			   field->type != PROTOBUF_C_TYPE_MESSAGE) {
			*(protobuf_c_boolean *)(base + field->quantifier_offset) = true;
		}
		fill(field, &rows[i], value);
	}
	return ret;
}

/* A record of the n-th field of Record; 0 is its schema. */
static Jankbpf__Record *full_record(unsigned n)
{
	const ProtobufCFieldDescriptor *field = &jankbpf__record__descriptor.fields[n];
	Jankbpf__Record *ret = NEW(room, record);

	ret->schema = (char *)"jankbpf/1";
	ret->type_case = (Jankbpf__Record__TypeCase)field->id;
	ret->block = (Jankbpf__Block *)full(field->descriptor, fields__of_record[n].fields);
	return ret;
}

static void add_file(struct strbuf *sb, const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	strbuf__addf(sb, "%s\n", name);
	file__read(path, 16 << 20, sb);
}

/* Names and contents of the files. */
static void add_dir(struct strbuf *sb, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_file(sb, path, entry->d_name);
	if (dir)
		closedir(dir);
}

static void by_text(struct strbuf *sb, const Jankbpf__Record *record)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	const struct sink_text_opts opts = { .stacks = 2, .verbosity = 2 };
	struct sink *sink = sink_text__new(fd, &opts);
	char path[32];

	sink->ops->record(sink, record);
	sink->ops->free(sink);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file__read(path, 16 << 20, sb);
	close(fd);
}

static void by_dir(struct strbuf *sb, const Jankbpf__Record *record, const char *name)
{
	const struct sink_dir_opts opts = { .dir = scratch__path(name), .format = RECORD_JSON };
	struct err err = { 0 };
	struct sink *sink;

	if (sink_dir__new(&opts, &sink, &err))
		abort();
	is_int(sink->ops->record(sink, record), 0, "files of %s are written", name);
	sink->ops->free(sink);
	add_dir(sb, scratch__path(name));
}

static bool has_secret(struct strbuf *sb)
{
	bool ret = sb->len && memmem(sb->data, sb->len, "SECRET", 6);

	strbuf__free(sb);
	return ret;
}

static void look(const Jankbpf__Record *record, bool plain, const char *name)
{
	struct strbuf json = STRBUF_INIT, proto = STRBUF_INIT, text = STRBUF_INIT;
	struct strbuf dir = STRBUF_INIT;

	stream__add(&json, RECORD_JSON, record);
	stream__add(&proto, RECORD_PROTO, record);
	by_text(&text, record);
	by_dir(&dir, record, name);
	ok(has_secret(&json) == plain, "%s: JSON", name);
	ok(has_secret(&proto) == plain, "%s: protobuf", name);
	/* the text has no histories */
	ok(has_secret(&text) == (plain && record->type_case != JANKBPF__RECORD__TYPE_HISTORY),
	   "%s: text", name);
	ok(has_secret(&dir) == plain, "%s: files of -o, BlockCanary's too", name);
}

static struct record *redacting(unsigned classes)
{
	struct record *r = record__new();
	struct err err = { 0 };

	if (!r || record__set_redaction(r, classes, NULL, &err) || setjmp(r->arena.out_of_memory))
		abort();
	record__begin(r, true);
	return r;
}

static void test_record(unsigned n)
{
	const ProtobufCFieldDescriptor *field = &jankbpf__record__descriptor.fields[n];
	Jankbpf__Record *record = full_record(n);
	struct record *r = redacting(ALL);
	char name[32];

	snprintf(name, sizeof(name), "%s-plain", field->name);
	look(record, true, name);
	snprintf(name, sizeof(name), "%s-hashed", field->name);
	record__redact(r, &record->block->base, fields__of_record[n].fields);
	look(record, false, name);
	record__free(r);
}

static void redact_with(struct record *r, char *exe, char *peer, Jankbpf__Block *block)
{
	jankbpf__block__init(block);
	block->exe = exe;
	block->host = NEW(room, host);
	block->host->name = peer;
	record__redact(r, &block->base, fields__of_record[1].fields);
}

static void test_classes(void)
{
	struct record *r = redacting(REDACT_PATHS), *other = redacting(REDACT_PATHS);
	Jankbpf__Block one, two, three;

	redact_with(r, "/bin/a", "host", &one);
	redact_with(r, "/bin/a", "host", &two);
	redact_with(other, "/bin/a", "host", &three);
	is_str(one.host->name, "host", "other classes stay");
	ok(!strncmp(one.exe, "redacted-", 9) && strlen(one.exe) == 25, "a hash: %s", one.exe);
	is_str(two.exe, one.exe, "the same text gives the same hash");
	ok(strcmp(three.exe, one.exe), "but not with another random key");
	record__free(other);
	redact_with(r, "[vdso]", "host", &one);
	is_str(one.exe, "[vdso]", "our own words stay");
	record__free(r);
}

static void test_key(void)
{
	struct record *r = record__new();
	const char *path = scratch__write("key", "0123456789abcdef", 16);
	struct err err = { 0 };
	Jankbpf__Block block;

	chmod(path, 0644);
	ok(record__set_redaction(r, ALL, path, &err) == -EPERM, "a key that others may read");
	has_str(err.msg, "chmod 600", "the remedy");
	chmod(path, 0600);
	is_int(record__set_redaction(r, ALL, path, &err), 0, "a key of our own");
	if (setjmp(r->arena.out_of_memory))
		abort();
	record__begin(r, true);
	redact_with(r, "/bin/a", "host", &block);
	is_str(block.exe, "redacted-0c45eec947931db6", "its hash, in each run");
	ok(record__set_redaction(r, ALL, scratch__path("none"), &err) == -ENOENT, "a missing key");
	ok(truncate(path, 15) || record__set_redaction(r, ALL, path, &err) == -EINVAL,
	   "a key of another size");
	has_str(err.msg, "head -c 16", "the remedy");
	record__free(r);
}

/* The builder redacts what it makes of a block and of a summary. */
static void test_builder(void)
{
	struct record *r = redacting(ALL);
	struct block *block = fixture__cpu();
	struct loop_hist loop = { .process = identity__called("redis-server") };
	const struct summary summary = { .loops = &loop, .loop_cnt = 1 };
	struct strbuf json = STRBUF_INIT;

	stream__add(&json, RECORD_JSON, fixture__record(block));
	has_str(strbuf__str(&json), "redis-server", "a block has the name of its program");
	strbuf__reset(&json);
	stream__add(&json, RECORD_JSON, record__of_block(r, block));
	lacks_str(strbuf__str(&json), "redis-server", "but not if it is redacted");
	strbuf__reset(&json);
	stream__add(&json, RECORD_JSON, record__of_summary(r, &summary));
	lacks_str(strbuf__str(&json), "redis-server", "nor has the summary");
	has_str(strbuf__str(&json), "redacted-", "it has a hash");
	strbuf__free(&json);
	loop_hist__clear(&loop);
	block__free(block);
	record__free(r);
}

int main(void)
{
	scratch__init();
	room = redacting(0);
	for (unsigned n = 1; n < jankbpf__record__descriptor.n_fields; n++)
		test_record(n);
	ok(secrets > 100, "%u texts were secrets", secrets);
	is_uint(odd, 0, "every text that stays readable is listed here");
	test_classes();
	test_key();
	test_builder();
	record__free(room);
	return tap__done();
}
