/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The body of a request, as user/send posts it:
 *
 *   encode BACKEND PART FILE [FIRST COUNT]   the body, of these records of the file (or all)
 *   encode BACKEND check FILE                reads an answer to its first part: the refused items,
 *                                            and the reason
 *
 * FILE is a stream of --format proto. Exit status 3: the batch has nothing for this part. The
 * environment may have FLEET_AGENT and FLEET_BATCH, the identity and the number of the batch.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/backend.h"

#define FILE_MAX   (256u << 20)
#define EXIT_EMPTY 3

static const struct backend *const backends[] = {
	&otlp_backend,
	&clickhouse_backend,
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "encode: '%s': %s\n", what, why);
	exit(2);
}

static uint8_t *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "re");
	uint8_t *ret = malloc(FILE_MAX);

	if (!file || !ret)
		die(path, strerror(errno));
	*ret_len = fread(ret, 1, FILE_MAX, file);
	fclose(file);
	if (*ret_len == FILE_MAX)
		die(path, "larger than 256 MiB");
	return ret;
}

/* A varint of at most 32 bits. */
static size_t read_len(const uint8_t **at, const uint8_t *end)
{
	size_t ret = 0;

	for (unsigned shift = 0; *at < end && shift < 32; shift += 7) {
		uint8_t byte = *(*at)++;

		ret |= (size_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return ret;
	}
	die("length", "not a varint");
	return 0;
}

static Jankbpf__Record **read_records(const char *path, size_t *ret_cnt)
{
	size_t len, cap = 0;
	uint8_t *bytes = read_file(path, &len);
	const uint8_t *at = bytes, *end = bytes + len;
	Jankbpf__Record **ret = NULL;

	*ret_cnt = 0;
	while (at < end) {
		size_t size = read_len(&at, end);

		if (*ret_cnt == cap) {
			cap = cap ? cap * 2 : 64;
			ret = realloc(ret, cap * sizeof(*ret));
		}
		if (size > (size_t)(end - at) || !ret)
			die(path, "ends inside a record");
		ret[*ret_cnt] = jankbpf__record__unpack(NULL, size, at);
		if (!ret[(*ret_cnt)++])
			die(path, "holds something that is no record");
		at += size;
	}
	free(bytes);
	return ret;
}

static const struct backend *find_backend(const char *name)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++)
		if (!strcmp(backends[i]->name, name))
			return backends[i];
	die(name, "no such backend");
	return NULL;
}

static const struct backend_part *find_part(const struct backend *backend, const char *name)
{
	for (size_t i = 0; i < backend->part_cnt; i++)
		if (!strcmp(backend->parts[i].name, name))
			return &backend->parts[i];
	die(name, "no such part of the backend");
	return NULL;
}

static int check(const struct backend *backend, const char *path)
{
	struct err why = {};
	uint64_t rejected = 0;
	size_t len;
	uint8_t *body = read_file(path, &len);
	int res = backend->check ? backend->check(backend->parts, body, len, &rejected, &why) : 0;

	printf("%d %" PRIu64 " %s\n", res, rejected, why.msg);
	free(body);
	return 0;
}

static int encode(const struct backend_part *part, struct batch batch, size_t first, size_t cnt)
{
	struct strbuf body = STRBUF_INIT;
	int res;

	if (first > batch.record_cnt)
		first = batch.record_cnt;
	batch.records += first;
	batch.record_cnt -= first;
	if (cnt < batch.record_cnt)
		batch.record_cnt = cnt;
	res = part->encode(&batch, &body);
	if (!res && fwrite(body.data, 1, body.len, stdout) != body.len)
		die("stdout", strerror(errno));
	strbuf__free(&body);
	if (res && res != -ENODATA)
		die(part->name, strerror(-res));
	return res ? EXIT_EMPTY : 0;
}

int main(int argc, char **argv)
{
	struct batch batch = { .agent = "0123456789abcdef0123456789abcdef", .nr = 1 };
	const struct backend *backend;
	Jankbpf__Record **records;
	int ret;

	if (argc != 4 && argc != 6) {
		fprintf(stderr, "usage: encode BACKEND PART|check FILE [FIRST COUNT]\n");
		return 2;
	}
	backend = find_backend(argv[1]);
	if (!strcmp(argv[2], "check"))
		return check(backend, argv[3]);
	records = read_records(argv[3], &batch.record_cnt);
	batch.records = records;
	batch.agent = getenv("FLEET_AGENT") ?: batch.agent;
	batch.nr = strtoull(getenv("FLEET_BATCH") ?: "1", NULL, 10);
	ret = encode(find_part(backend, argv[2]), batch, argc > 4 ? strtoull(argv[4], NULL, 10) : 0,
		     argc > 4 ? strtoull(argv[5], NULL, 10) : SIZE_MAX);
	for (size_t i = 0; i < batch.record_cnt; i++)
		jankbpf__record__free_unpacked(records[i], NULL);
	free(records);
	return ret;
}
