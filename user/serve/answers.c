/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all answers share: their headers; and what they read of a request. */
#include "serve/server.h"

#ifdef HAVE_MICROHTTPD
#include <string.h>

static const char page_policy[] =
#include "serve_policy.inc"
	;

static const char other_policy[] = "default-src 'none'; frame-ancestors 'none'";

enum MHD_Result answer__queue(struct MHD_Connection *connection, unsigned status,
			      struct MHD_Response *response, const char *type)
{
	static const char *const headers[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "X-Frame-Options", "DENY" },
	};
	enum MHD_Result ret = response ? MHD_YES : MHD_NO;
	bool is_page = status == MHD_HTTP_OK && !strncmp(type, "text/html", 9);

	for (size_t i = 0; ret == MHD_YES && i < sizeof(headers) / sizeof(*headers); i++)
		ret = mhd.add_response_header(response, headers[i][0], headers[i][1]);
	if (ret == MHD_YES)
		ret = mhd.add_response_header(response, "Content-Security-Policy",
					      is_page ? page_policy : other_policy);
	if (ret == MHD_YES)
		ret = mhd.add_response_header(response, "Content-Type", type);
	if (ret == MHD_YES)
		ret = mhd.queue_response(connection, status, response);
	if (response)
		mhd.destroy_response(response);
	return ret;
}

enum MHD_Result answer__text(struct MHD_Connection *connection, unsigned status, const char *type,
			     const char *text)
{
	return answer__queue(
		connection, status,
		mhd.create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY),
		type);
}

enum MHD_Result answer__error(struct MHD_Connection *connection, unsigned status, const char *text)
{
	return answer__text(connection, status, "text/plain; charset=utf-8", text);
}

const char *request__argument(struct MHD_Connection *connection, const char *key)
{
	return mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
}

const char *request__header(struct MHD_Connection *connection, const char *key)
{
	return mhd.lookup_connection_value(connection, MHD_HEADER_KIND, key);
}
#endif
