/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send.h"

const struct backend *const backends[SEND_CNT] = {
	[SEND_CLICKHOUSE] = &clickhouse_backend,
	[SEND_OTLP] = &otlp_backend,
};

/* Not from the table: a program without a client has no encoders. */
static const char *const names[SEND_CNT] = { "clickhouse", "otlp" };

struct send_names send__names(const struct options *opts)
{
	struct send_names ret = {};
	size_t cnt = 0;

	for (int i = 0; i < SEND_CNT; i++)
		if (opts->sends[i].url_cnt)
			ret.list[cnt++] = names[i];
	return ret;
}
