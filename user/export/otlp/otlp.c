/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend of OTLP/HTTP with protobuf: its parts, and what the answers of a backend say. */
#include "export/otlp/otlp.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "export/report/report.h"

#define REASON_MAX 300 /* bytes of a backend's message */

/* Any bytes. */
static void set_reason(struct err *why, const struct backend_part *part, uint64_t rejected,
		       const char *message)
{
	struct strbuf clean = STRBUF_INIT;
	size_t len;

	text__add_clean(&clean, message);
	len = text__cut(strbuf__str(&clean), REASON_MAX);
	if (rejected)
		err__set(why, 0,
			 "the backend refused %" PRIu64 " %s for good: \"%.*s\"; see its log",
			 rejected, part->items, (int)len, strbuf__str(&clean));
	else
		err__set(why, 0, "the backend took all %s, with a warning: \"%.*s\"", part->items,
			 (int)len, strbuf__str(&clean));
	strbuf__free(&clean);
}

static int not_otlp(struct err *why)
{
	return err__set(why, EBADMSG,
			"the answer is not OTLP; does the URL lead to an OTLP/HTTP backend, which "
			"is https://HOST:4318 in most collectors?");
}

/*
 * An answer without a body has taken all. A message that the backend adds without having refused
 * anything is a warning.
 */
static int check(const struct backend_part *part, const void *body, size_t len,
		 uint64_t *ret_rejected, struct err *why)
{
	Otlp__ExportServiceResponse *answer;
	int res = 0;

	*ret_rejected = 0;
	answer = otlp__export_service_response__unpack(NULL, len, body);
	if (!answer)
		return not_otlp(why);
	if (answer->partial_success) {
		const Otlp__PartialSuccess *partial = answer->partial_success;

		if (partial->rejected < 0)
			res = not_otlp(why);
		else
			*ret_rejected = (uint64_t)partial->rejected;
		if (!res && (*ret_rejected || *partial->error_message))
			set_reason(why, part, *ret_rejected, partial->error_message);
	}
	otlp__export_service_response__free_unpacked(answer, NULL);
	return res;
}

static bool is_log(const Jankbpf__Record *record)
{
	return report__block(record);
}

/* An interval has many data points. Those of a block are also in its log record. */
static bool is_interval(const Jankbpf__Record *record)
{
	return record->type_case == JANKBPF__RECORD__TYPE_INTERVAL;
}

static bool is_block(const Jankbpf__Record *record)
{
	return record->type_case == JANKBPF__RECORD__TYPE_BLOCK;
}

/* In the order of --otlp-signals, in which the sender posts them. Profiles are alpha. */
static const struct backend_part parts[] = {
	{ "logs", "/v1/logs", otlp__logs, "log records", is_log },
	{ "metrics", "/v1/metrics", otlp__metrics, "data points", is_interval },
	{ "profiles", "/v1development/profiles", otlp__profiles, "profiles", is_block },
};

const struct backend otlp_backend = {
	.name = "otlp",
	.content_type = "application/x-protobuf",
	.parts = parts,
	.part_cnt = sizeof(parts) / sizeof(*parts),
	.parts_key = "signals",
	.check = check,
};
