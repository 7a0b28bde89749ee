/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/identity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/proto.h"
#include "base/text.h"

#define APPLICATION_FIRST 11 /* numbers of schema/identity.proto */
#define APPLICATION_LAST  17 /* of its texts */

Jankbpf__Identity *identity__new(void)
{
	return proto__new(&jankbpf__identity__descriptor);
}

Jankbpf__Identity *identity__called(const char *name)
{
	Jankbpf__Identity called = JANKBPF__IDENTITY__INIT;

	called.name = (char *)name;
	return proto__copy(&called.base);
}

Jankbpf__Identity *identity__copy(const Jankbpf__Identity *process)
{
	return process ? proto__copy(&process->base) : NULL;
}

Jankbpf__Identity *identity__names(const Jankbpf__Identity *process)
{
	Jankbpf__Identity names = JANKBPF__IDENTITY__INIT;

	names.name = process->name;
	names.unit = process->unit;
	names.container = process->container;
	names.pod = process->pod;
	return proto__copy(&names.base);
}

void identity__free(Jankbpf__Identity *process)
{
	jankbpf__identity__free_unpacked(process, NULL);
}

uint32_t identity__uid(const Jankbpf__Identity *process)
{
	return process && process->has_uid ? process->uid : UID_UNKNOWN;
}

const char *identity__name(const Jankbpf__Identity *process)
{
	return process ? process->name : NULL;
}

int identity__set_application(Jankbpf__Identity *process, const Jankbpf__Identity *from)
{
	static const Jankbpf__Identity nothing = JANKBPF__IDENTITY__INIT;
	int res = 0;

	from = from ?: &nothing;
	process->has_package_code = from->has_package_code;
	process->package_code = from->package_code;
	for (unsigned number = APPLICATION_FIRST; number <= APPLICATION_LAST; number++) {
		size_t at =
			protobuf_c_message_descriptor_get_field(process->base.descriptor, number)
				->offset;
		char **to = (char **)((char *)process + at);

		free(*to);
		res = text__copy(to, *(char *const *)((const char *)from + at)) ?: res;
	}
	return res;
}

void identity__add_version(struct strbuf *sb, const Jankbpf__Identity *process)
{
	const char *version = process->service_version ?: process->package_version
							      ?: process->build_id;

	if (process->service_version || !process->package_code)
		strbuf__adds(sb, version ?: "");
	else if (process->package_version)
		strbuf__addf(sb, "%s (%" PRIu64 ")", version, process->package_code);
	else
		strbuf__addf(sb, "(%" PRIu64 ")", process->package_code);
}
