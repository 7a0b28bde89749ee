/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records as a stream of lines or messages: written, and read. */
#include "export/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "export/json/json.h"

static void add_length(struct strbuf *sb, size_t len)
{
	while (len >= 0x80) {
		strbuf__addc(sb, (char)(len | 0x80));
		len >>= 7;
	}
	strbuf__addc(sb, (char)len);
}

struct strbuf_buffer {
	ProtobufCBuffer base;
	struct strbuf *sb;
};

static void append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	strbuf__add(((struct strbuf_buffer *)buffer)->sb, (const char *)data, len);
}

int stream__pack(struct strbuf *sb, const Jankbpf__Record *record)
{
	struct strbuf_buffer buffer = { .base.append = append, .sb = sb };

	jankbpf__record__pack_to_buffer(record, &buffer.base);
	return sb->failed ? -ENOMEM : 0;
}

int stream__add(struct strbuf *sb, enum record_format format, const Jankbpf__Record *record)
{
	if (format == RECORD_JSON) {
		json__add_record(sb, record);
		strbuf__addc(sb, '\n');
	} else {
		add_length(sb, jankbpf__record__get_packed_size(record));
		stream__pack(sb, record);
	}
	return sb->failed ? -ENOMEM : 0;
}

int stream__length(const void *data, size_t len, uint64_t *ret)
{
	const uint8_t *bytes = data;

	*ret = 0;
	for (size_t i = 0; i < len && i < STREAM_VARINT_MAX; i++) {
		*ret |= (uint64_t)(bytes[i] & 0x7f) << 7 * i;
		if (!(bytes[i] & 0x80))
			return (int)i + 1;
	}
	return len < STREAM_VARINT_MAX ? 0 : -EBADMSG;
}

int stream__read(FILE *file, struct strbuf *ret, size_t *ret_head)
{
	char head[STREAM_VARINT_MAX];
	uint64_t len;
	int head_len = 0, c;

	strbuf__reset(ret);
	for (size_t n = 0; head_len == 0 && (c = getc(file)) != EOF;) {
		head[n++] = (char)c;
		head_len = stream__length(head, n, &len);
	}
	if (head_len == 0)
		return 0;
	if (head_len < 0 || len > STREAM_RECORD_MAX)
		return -EBADMSG;
	*ret_head = (size_t)head_len;
	strbuf__add(ret, head, (size_t)head_len);
	for (char chunk[4096]; len;) {
		size_t n = fread(chunk, 1, len < sizeof(chunk) ? len : sizeof(chunk), file);

		if (!n)
			return -EBADMSG;
		strbuf__add(ret, chunk, n);
		len -= n;
	}
	return ret->failed ? -ENOMEM : 1;
}

int stream__read_line(FILE *file, struct strbuf *ret)
{
	int c = 0;

	strbuf__reset(ret);
	while (c != '\n' && ret->len < STREAM_RECORD_MAX && (c = getc_unlocked(file)) != EOF)
		strbuf__addc(ret, (char)c);
	if (ret->failed)
		return -ENOMEM;
	if (c == '\n' || c == EOF)
		return ret->len > 0;
	return -EFBIG;
}

/* A message begins with its length and the tag of field 1, the schema; JSON begins with a brace. */
bool stream__is_binary(FILE *file)
{
	int first = getc(file), second = first == EOF ? EOF : getc(file);

	if (second != EOF)
		ungetc(second, file);
	if (first != EOF)
		ungetc(first, file);
	return first != EOF && (first & 0x80 || second == 0x0a) && first != '\n';
}

struct sink_stream {
	struct sink sink;
	int fd;
	enum record_format format;
	struct strbuf bytes; /* of the last record */
};

static int sink_stream__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink_stream *s = (struct sink_stream *)sink;
	int res;

	strbuf__reset(&s->bytes);
	res = stream__add(&s->bytes, s->format, record);
	return res ? res : sink_progress__write(sink->progress, s->fd, s->bytes.data, s->bytes.len);
}

static void sink_stream__free(struct sink *sink)
{
	struct sink_stream *s = (struct sink_stream *)sink;

	strbuf__free(&s->bytes);
	free(s);
}

static const struct sink_ops stream_ops = {
	.name = "stdout",
	.record = sink_stream__record,
	.free = sink_stream__free,
};

struct sink *sink_stream__new(int fd, enum record_format format)
{
	struct sink_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sink.ops = &stream_ops;
	s->fd = fd;
	s->format = format;
	return &s->sink;
}
