/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks and hangs as OTLP's log records: bodies, attributes, resources, hostile names, bounds. */
#include "export/values.h"
#include "tests/tap.h"
#include "tests/unit/otlp_fixture.h"

#define MEGABYTE (1u << 20)

/* The caller frees it with otlp__export_logs_service_request__free_unpacked. */
static Otlp__ExportLogsServiceRequest *logs_of(struct otlp_batch *b)
{
	Otlp__ExportLogsServiceRequest *ret;
	int res = otlp__encode_part(b, "logs");

	ok(!res, "logs of %zu records are made", b->cnt);
	ret = otlp__export_logs_service_request__unpack(NULL, b->body.len, (uint8_t *)b->body.data);
	if (!ok(ret && ret->n_resource_logs, "they are a request"))
		exit(1);
	ok(otlp__is_valid(&ret->base), "all their text is UTF-8");
	return ret;
}

static void free_logs(Otlp__ExportLogsServiceRequest *logs)
{
	otlp__export_logs_service_request__free_unpacked(logs, NULL);
}

static const Otlp__LogRecord *log_at(const Otlp__ExportLogsServiceRequest *logs, size_t resource,
				     size_t nr)
{
	return logs->resource_logs[resource]->scope_logs[0]->log_records[nr];
}

static bool has_body_of(const Otlp__LogRecord *log, const Jankbpf__Record *record)
{
	struct strbuf json = STRBUF_INIT;
	bool ret;

	json__add_record(&json, record);
	ret = log->body && text__same(log->body->string_value, strbuf__str(&json));
	strbuf__free(&json);
	return ret;
}

static void test_each(void)
{
	for (size_t i = 0; i < FIXTURE_CNT; i++) {
		struct otlp_batch b = {};
		const Jankbpf__Block *block = otlp__add_block(&b, fixtures[i].name);
		Otlp__ExportLogsServiceRequest *logs = logs_of(&b);
		const Otlp__LogRecord *log = log_at(logs, 0, 0);
		bool hang = b.records[0]->type_case == JANKBPF__RECORD__TYPE_HANG;

		diag("%s", fixtures[i].name);
		ok(has_body_of(log, b.records[0]), "the body is the record as JSON");
		is_int(OTLP_INT(log, "jankbpf.delay_ns"), (long long)value__delay(block), "delay");
		is_str(OTLP_TEXT(log, "jankbpf.block.id"), block->id, "id");
		is_str(log->event_name, hang ? "jankbpf.hang" : "jankbpf.block", "event");
		is_int(log->severity_number, hang || value__is_hang(block) || block->anr ? 17 : 13,
		       "severity");
		is_int((long long)(log->observed_time_unix_nano - log->time_unix_nano),
		       (long long)block->duration_ns, "from its begin to its end");
		free_logs(logs);
		otlp__empty(&b);
	}
}

static void test_attributes(void)
{
	struct otlp_batch b = {};
	Jankbpf__Block *block = otlp__add_block(&b, "cpu");
	Otlp__ExportLogsServiceRequest *logs;
	const Otlp__LogRecord *log;
	const Otlp__Resource *resource;

	otlp__unname(block);
	otlp__set(&block->unit, "shop@7.service", 14);
	otlp__set(&block->pod, "a-pod", 5);
	otlp__set(&block->version, "2.1", 3);
	otlp__set(&block->deployment_environment, "staging", 7);
	logs = logs_of(&b);
	log = log_at(logs, 0, 0);
	resource = logs->resource_logs[0]->resource;
	is_str(OTLP_TEXT(resource, "service.name"), "shop@7", "the service is the unit");
	is_str(OTLP_TEXT(resource, "k8s.pod.uid"), "a-pod", "pod");
	is_str(OTLP_TEXT(resource, "service.version"), "2.1", "version");
	is_str(OTLP_TEXT(resource, "deployment.environment.name"), "staging", "environment");
	is_str(OTLP_TEXT(resource, "jankbpf.agent.id"), "0123456789abcdef0123456789abcdef",
	       "agent");
	is_str(OTLP_TEXT(resource, "os.type"), "linux", "system");
	is_str(OTLP_TEXT(resource, "process.executable.name"), block->process, "process");
	is_int(OTLP_INT(resource, "process.pid"), block->pid, "pid");
	is_str(OTLP_TEXT(log, "code.function.name"), block->cause->frame->function, "function");
	is_str(OTLP_TEXT(log, "jankbpf.signature"), block->cause->signature, "signature");
	is_str(OTLP_TEXT(log, "thread.name"), block->thread, "thread");
	is_int(OTLP_INT(log, "thread.id"), block->tid, "its id");
	free_logs(logs);

	otlp__set(&block->unit, "session-3.scope", 15);
	logs = logs_of(&b);
	is_str(OTLP_TEXT(logs->resource_logs[0]->resource, "service.name"), block->process,
	       "a scope is no service");
	free_logs(logs);

	otlp__set(&block->service_name, "checkout", 8);
	otlp__set(&block->service_namespace, "shop", 4);
	logs = logs_of(&b);
	resource = logs->resource_logs[0]->resource;
	is_str(OTLP_TEXT(resource, "service.name"), "checkout",
	       "the environment names the service");
	is_str(OTLP_TEXT(resource, "service.namespace"), "shop", "and its namespace");
	free_logs(logs);
	otlp__empty(&b);
}

static void instance_of(struct otlp_batch *b, const char *agent, char ret[32])
{
	const struct batch batch = { agent, 7, b->records, b->cnt, 0 };
	Otlp__ExportLogsServiceRequest *logs;

	strbuf__reset(&b->body);
	is_int(otlp_backend.parts[0].encode(&batch, &b->body), 0, "logs of %s", agent);
	logs = otlp__export_logs_service_request__unpack(NULL, b->body.len,
							 (uint8_t *)b->body.data);
	snprintf(ret, 32, "%s", OTLP_TEXT(logs->resource_logs[0]->resource, "service.instance.id"));
	free_logs(logs);
}

/* Prometheus' label instance: two machines are two series, a restart goes on with its own. */
static void test_instance(void)
{
	struct otlp_batch b = {};
	Jankbpf__Block *block = otlp__add_block(&b, "cpu");
	char first[32], second[32];

	otlp__set(&block->unit, "app-shop-12.scope", 17);
	instance_of(&b, "one", first);
	is_uint(strlen(first), 16, "an instance has an id");
	block->pid++;
	otlp__set(&block->unit, "app-shop-13.scope", 17);
	instance_of(&b, "one", second);
	is_str(second, first, "it is the same after a restart");
	instance_of(&b, "two", second);
	ok(strcmp(second, first) != 0, "another machine has another one");
	otlp__set(&block->version, "99", 2);
	instance_of(&b, "one", second);
	ok(strcmp(second, first) != 0, "so has another version");
	otlp__empty(&b);
}

static void test_resources(void)
{
	struct otlp_batch b = {};
	struct strbuf first = STRBUF_INIT;
	Otlp__ExportLogsServiceRequest *logs;

	otlp__add_block(&b, "cpu");
	otlp__add_block(&b, "cpu")->pid = 5;
	otlp__add_block(&b, "cpu");
	logs = logs_of(&b);
	is_uint(logs->n_resource_logs, 2, "a resource for each process");
	is_uint(logs->resource_logs[0]->scope_logs[0]->n_log_records, 2,
		"the first has two blocks");
	is_int(OTLP_INT(logs->resource_logs[1]->resource, "process.pid"), 5,
	       "the second the other");
	free_logs(logs);
	strbuf__add(&first, b.body.data, b.body.len);
	otlp__encode_part(&b, "logs");
	ok(first.len == b.body.len && !memcmp(first.data, b.body.data, first.len),
	   "the same batch has the same bytes");
	strbuf__free(&first);
	otlp__empty(&b);
}

static void test_hostile(void)
{
	struct otlp_batch b = {};
	Jankbpf__Block *block = otlp__add_block(&b, "chain");
	Otlp__ExportLogsServiceRequest *logs;
	const char *text;

	otlp__set(&block->thread, "\xff\xfe\"\n", 12);
	otlp__set(&block->process, "\xc3\xa9", 5001);
	otlp__set(&block->exe, "\x80", 5000);
	logs = logs_of(&b);
	text = OTLP_TEXT(logs->resource_logs[0]->resource, "process.executable.name");
	is_uint(strlen(text), 4096, "a long name is cut");
	free_logs(logs);

	/* As JSON, each byte is U+FFFD: 3 bytes. */
	otlp__set(&block->samples[0]->stack[0]->function, "\xff", MEGABYTE / 2);
	logs = logs_of(&b);
	text = log_at(logs, 0, 0)->body->string_value;
	ok(strlen(text) < MEGABYTE && strstr(text, "\"samples\":[]"),
	   "a body that is too long has no stacks");
	has_str(text, block->id, "but is still a record");
	free_logs(logs);

	otlp__set(&block->exe, "x", MEGABYTE);
	logs = logs_of(&b);
	ok(!log_at(logs, 0, 0)->body, "or there is none");
	is_str(OTLP_TEXT(log_at(logs, 0, 0), "jankbpf.block.id"), block->id, "only attributes");
	free_logs(logs);
	otlp__empty(&b);
}

static void test_none(void)
{
	struct otlp_batch b = {};
	struct summary summary = fixture__summary();
	Otlp__ExportLogsServiceRequest *logs;

	is_int(otlp__encode_part(&b, "logs"), -ENODATA, "an empty batch has no logs");
	otlp__add(&b, fixture__summary_record(&summary));
	is_int(otlp__encode_part(&b, "logs"), -ENODATA, "nor has a summary");
	is_int(otlp__encode_part(&b, "metrics"), -ENODATA, "nor has it metrics");
	is_int(otlp__encode_part(&b, "profiles"), -ENODATA, "nor profiles");
	otlp__set(&otlp__add_block(&b, "bare")->start, "yesterday", 9);
	logs = logs_of(&b);
	ok(!log_at(logs, 0, 0)->time_unix_nano && !log_at(logs, 0, 0)->observed_time_unix_nano,
	   "a time that cannot be read is unknown");
	free_logs(logs);
	summary__free(&summary);
	otlp__empty(&b);
}

int main(void)
{
	test_each();
	test_attributes();
	test_instance();
	test_resources();
	test_hostile();
	test_none();
	return tap__done();
}
