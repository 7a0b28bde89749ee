/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources: attributes of the process and machine that data come from, by OpenTelemetry's semantic
 * conventions 1.44. Data with equal attributes share a resource.
 */
#include "export/otlp/otlp.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/stable_name.h"
#include "base/text.h"
#include "export/report/report.h"

#define SERVICE ".service"

/* The conventions' word for a machine type of uname; the type itself where they have none. */
static const char *arch_word(const char *machine)
{
	static const char *const words[][2] = {
		{ "x86_64", "amd64" },	{ "aarch64", "arm64" }, { "i686", "x86" },
		{ "i386", "x86" },	{ "armv7l", "arm32" },	{ "armv8l", "arm32" },
		{ "ppc64le", "ppc64" },
	};

	for (size_t i = 0; machine && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(machine, words[i][0]))
			return words[i][1];
	return machine;
}

static void add_host(struct otlp *o, struct list *list, const Jankbpf__Host *host)
{
	attr__text(o, list, "jankbpf.agent.id", o->batch->agent);
	attr__text(o, list, "os.type", "linux");
	if (!host)
		return;
	attr__text(o, list, "host.name", host->name);
	attr__text(o, list, "host.arch", arch_word(host->arch));
	/* The conventions name /proc/sys/kernel/osrelease for Linux. */
	attr__text(o, list, "os.build_id", host->kernel);
}

/* What the environment of the process says, else the systemd service, else the program. */
static const char *service_of(struct otlp *o, const struct origin *origin, const char *unit)
{
	size_t len = strlen(unit), end = strlen(SERVICE);
	struct strbuf *name = arena__words(&o->arena);

	if (origin->service && *origin->service)
		strbuf__adds(name, origin->service);
	else if (len > end && !strcmp(unit + len - end, SERVICE))
		strbuf__add(name, unit, len - end);
	else if (origin->process && *origin->process)
		strbuf__adds(name, origin->process);
	else
		strbuf__adds(name, "unknown_service");
	return arena__take_words(&o->arena);
}

/*
 * Prometheus makes `instance` of this id. It is the same in each run, in logs and metrics, so that
 * series go on; the identity of the agent's spool tells machines apart.
 */
static void add_instance(struct otlp *o, struct list *list, const struct origin *origin,
			 const char *unit)
{
	const char *const parts[] = { o->batch->agent,	 origin->process, unit,
				      origin->container, origin->pod,	  origin->version };
	struct strbuf *words = arena__words(&o->arena);
	uint64_t id;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		strbuf__add(words, parts[i] ?: "", strlen(parts[i] ?: "") + 1);
	if (words->failed)
		longjmp(o->arena.out_of_memory, 1);
	id = XXH64(words->data, words->len, 0);
	strbuf__addf(arena__words(&o->arena), "%016" PRIx64, id);
	attr__text(o, list, "service.instance.id", arena__take_words(&o->arena));
}

/* Metrics have no name with a process id in it; a log record has the unit as it is. */
static void add_service(struct otlp *o, struct list *list, const struct origin *origin)
{
	const char *unit;

	stable_name__add_unit(arena__words(&o->arena), origin->unit ?: "");
	unit = arena__take_words(&o->arena);
	attr__text(o, list, "service.name", service_of(o, origin, unit));
	add_instance(o, list, origin, unit);
	attr__text(o, list, "service.version", origin->version);
	attr__text(o, list, "service.namespace", origin->namespace);
	attr__text(o, list, "deployment.environment.name", origin->environment);
	attr__text(o, list, "jankbpf.unit", origin->block ? origin->unit : unit);
	attr__text(o, list, "container.id", origin->container);
	attr__text(o, list, "k8s.pod.uid", origin->pod);
}

static void add_process(struct otlp *o, struct list *list, const Jankbpf__Block *block)
{
	attr__text(o, list, "process.executable.name", block->process);
	attr__text(o, list, "process.executable.path", block->exe);
	attr__text(o, list, "process.executable.build_id.gnu", block->app_build_id);
	attr__text(o, list, "process.linux.cgroup", block->cgroup);
	if (block->has_pid)
		attr__int(o, list, "process.pid", block->pid);
	if (block->has_ns_pid)
		attr__int(o, list, "process.vpid", block->ns_pid);
	if (block->has_uid)
		attr__int(o, list, "process.user.id", block->uid);
}

struct group *otlp__group(struct otlp *o, const struct origin *origin)
{
	Otlp__Resource *resource = OTLP_NEW(o, resource);
	struct list list = {};
	struct strbuf *key;
	bool is_new;
	uint32_t nr;

	add_host(o, &list, origin->host);
	add_service(o, &list, origin);
	if (origin->block)
		add_process(o, &list, origin->block);
	resource->attributes = (Otlp__KeyValue **)list.at;
	resource->n_attributes = list.cnt;
	key = arena__words(&o->arena);
	strbuf__add_message(key, &resource->base);
	nr = key->failed ? 0 : intern__get(o->resources, key->data, key->len, &is_new);
	if (!nr)
		longjmp(o->arena.out_of_memory, 1);
	if (is_new) {
		struct group *group = arena__take(&o->arena, sizeof(*group));

		group->nr = nr;
		group->resource = resource;
		group->lists = arena__take(&o->arena, otlp__list_cnt() * sizeof(*group->lists));
		list__add(o, &o->groups, group);
	}
	return o->groups.at[nr - 1];
}

struct origin origin__of_block(const Jankbpf__Block *block)
{
	return (struct origin){
		.host = block->host,
		.process = block->process,
		.unit = block->unit,
		.container = block->container,
		.pod = block->pod,
		.service = block->service_name,
		.version = block->version,
		.namespace = block->service_namespace,
		.environment = block->deployment_environment,
		.block = block,
	};
}

struct origin origin__of_loop(const Jankbpf__Host *host, const Jankbpf__Loop *loop)
{
	return (struct origin){
		.host = host,
		.process = loop->process,
		.unit = loop->unit,
		.container = loop->container,
		.pod = loop->pod,
		.service = loop->service_name,
		.version = loop->version,
		.namespace = loop->service_namespace,
		.environment = loop->deployment_environment,
	};
}
