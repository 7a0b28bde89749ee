/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A block as a file to send to others: its record, its BlockCanary log, or both as a zip. */
#include "serve/server.h"

#ifdef HAVE_MICROHTTPD
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/blockcanary/blockcanary.h"
#include "export/json/json.h"
#include "export/report/report.h"
#include "export/timed_name.h"
#include "serve/archive.h"
#include "serve/block_log.h"

struct shared {
	const Jankbpf__Block *block;
	uint64_t end_ns;
	struct strbuf json, log, log_name, json_name;
};

/* The log in the directory is the better one: in JSON, some of its numbers were rounded. */
static void make(struct shared *s, int dirfd, uint64_t id, const Jankbpf__Record *record)
{
	if (!block_log__read(dirfd, s->end_ns, id, &s->log)) {
		strbuf__reset(&s->log);
		blockcanary__add_log(&s->log, s->block, NULL);
	}
	json__add_record(&s->json, record);
	strbuf__addc(&s->json, '\n');
	timed_name__add(&s->log_name, &timed_name_log, s->end_ns, 0);
	strbuf__add(&s->json_name, s->log_name.data, s->log_name.len - strlen(".log"));
	strbuf__adds(&s->json_name, ".json");
}

static void free_shared(struct shared *s)
{
	strbuf__free(&s->json);
	strbuf__free(&s->log);
	strbuf__free(&s->log_name);
	strbuf__free(&s->json_name);
}

/* name: made by us, of digits, letters and points. */
static enum MHD_Result queue_file(struct MHD_Connection *connection, const struct strbuf *bytes,
				  const char *name, const char *type)
{
	struct strbuf disposition = STRBUF_INIT;
	struct MHD_Response *response =
		mhd.create_response_from_buffer(bytes->len, bytes->data, MHD_RESPMEM_MUST_COPY);

	strbuf__addf(&disposition, "attachment; filename=\"%s\"", name);
	if (response && !disposition.failed)
		mhd.add_response_header(response, "Content-Disposition", disposition.data);
	strbuf__free(&disposition);
	return answer__queue(connection, MHD_HTTP_OK, response, type);
}

static enum MHD_Result queue_zip(struct MHD_Connection *connection, const struct shared *s)
{
	const struct archive_file files[] = { { s->json_name.data, &s->json },
					      { s->log_name.data, &s->log } };
	struct strbuf zip = STRBUF_INIT, name = STRBUF_INIT;
	enum MHD_Result ret;
	int res = archive__zip(files, 2, s->end_ns, &zip);

	strbuf__add(&name, s->log_name.data, s->log_name.len - strlen(".log"));
	strbuf__adds(&name, ".zip");
	if (res == -ENOSYS)
		ret = answer__error(connection, MHD_HTTP_NOT_IMPLEMENTED,
				    "no zip: this build or machine has no libarchive (Debian: "
				    "libarchive13); share the record and the log instead");
	else if (res || name.failed)
		ret = MHD_NO;
	else
		ret = queue_file(connection, &zip, name.data, "application/zip");
	strbuf__free(&zip);
	strbuf__free(&name);
	return ret;
}

static enum MHD_Result queue_as(struct MHD_Connection *connection, const struct shared *s,
				const char *as)
{
	if (s->json.failed || s->log.failed || s->log_name.failed || s->json_name.failed)
		return MHD_NO;
	if (!strcmp(as, "json"))
		return queue_file(connection, &s->json, s->json_name.data, "application/json");
	if (!strcmp(as, "log"))
		return queue_file(connection, &s->log, s->log_name.data,
				  "text/plain; charset=utf-8");
	if (!strcmp(as, "zip"))
		return queue_zip(connection, s);
	return answer__error(connection, MHD_HTTP_BAD_REQUEST, "give as=json, as=log or as=zip");
}

enum MHD_Result answer__share(struct server *server, struct MHD_Connection *connection)
{
	const char *as = request__argument(connection, "as");
	const char *number = request__argument(connection, "seq");
	struct strbuf raw = STRBUF_INIT;
	struct indexed_record *at = NULL;
	Jankbpf__Record *record = NULL;
	enum MHD_Result ret;
	struct shared s = {};
	uint64_t seq;
	int file, res;

	if (!request__number(number, &seq))
		return answer__error(connection, MHD_HTTP_BAD_REQUEST, "give seq=SEQ, a number");
	at = record_index__get(&server->index, seq, &file);
	res = at ? record_index__read(&server->index, file, at, &raw, &record) : -ENOENT;
	s.block = record ? report__block(record) : NULL;
	if (res == -ENOMEM) {
		ret = MHD_NO;
	} else if (!s.block) {
		ret = answer__error(connection, MHD_HTTP_NOT_FOUND,
				    "there is no such block any more");
	} else {
		s.end_ns = at->end_ns;
		make(&s, server->index.dirfd, at->id, record);
		ret = queue_as(connection, &s, as ?: "");
	}
	if (record)
		jankbpf__record__free_unpacked(record, NULL);
	free_shared(&s);
	strbuf__free(&raw);
	return ret;
}
#endif
