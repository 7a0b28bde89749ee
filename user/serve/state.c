/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the page shows of the whole directory: counts, mutes, damage, and what is under way. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/groups.h"
#include "export/json/json.h"
#include "serve/archive.h"
#include "serve/server.h"

#define LOOK_NS	  (NS_PER_SEC / 10)
#define LOOK_PART 9 /* times as long for other work as for a look */

/* Blocks of a muted signature. */
struct muted_count {
	struct group_node node; /* by its hash */
	uint64_t cnt;
};

struct counts {
	const struct server *server;
	struct groups muted;
	uint64_t blocks, unread, muted_cnt, unparsed, left;
	struct jsonw *w;
};

static void count_muted(struct counts *c, uint64_t sig)
{
	struct muted_count *count = groups__get(&c->muted, &sig, sizeof(sig));

	c->muted_cnt++;
	if (count)
		count->cnt++;
}

static void count_one(struct counts *c, const struct indexed_record *at)
{
	c->blocks++;
	if (marks__is_muted(&c->server->marks, at->sig))
		count_muted(c, at->sig);
	else
		c->unread += !marks__is_read(&c->server->marks, at->id);
}

static void count_all(struct counts *c, struct record_index *index)
{
	if (record_index__mark_replaced(index))
		return;
	for (int i = 0; i < FILE_CNT; i++) {
		const struct indexed_file *file = &index->files[i];

		c->left += file->left_blocks;
		for (size_t n = 0; n < file->cnt; n++) {
			const struct indexed_record *at = &file->records[n];

			c->unparsed += at->kind == KIND_UNREAD && !at->doomed;
			if (indexed_record__is_shown(at))
				count_one(c, at);
		}
	}
	c->blocks += c->left;
}

/* --- the text */

static void add_mute(void *ctx, const char *signature)
{
	struct counts *c = ctx;
	uint64_t sig = record_index__hash(signature);
	const struct muted_count *count = groups__find(&c->muted, &sig, sizeof(sig));

	jsonw__object(c->w);
	jsonw__kstr(c->w, "signature", signature);
	jsonw__ku64(c->w, "blocks", count ? count->cnt : 0);
	jsonw__object_end(c->w);
}

static void add_trouble(struct jsonw *w, const struct server *server)
{
	const struct record_index *index = &server->index;

	if (index->odd_cnt || index->damage[0]) {
		jsonw__ku64(w, "odd", index->odd_cnt);
		jsonw__kstr(w, "damage", index->damage);
	}
	if (server->marks.save_error)
		jsonw__kstr(w, "unsaved", strerror(-server->marks.save_error));
	if (index->dirfd >= 0 && faccessat(index->dirfd, ".", W_OK, AT_EACCESS))
		jsonw__kstr(w, "readonly", strerror(errno));
}

static void add_state(struct strbuf *sb, struct server *server)
{
	struct counts c = { .server = server };
	struct jsonw w;

	groups__init(&c.muted, sizeof(struct muted_count), MARKS_MUTE_MAX, NULL);
	count_all(&c, &server->index);
	c.w = &w;
	jsonw__init(&w, sb);
	jsonw__object(&w);
	jsonw__kstr(&w, "dir", server->index.path);
	jsonw__ku64(&w, "version", server->index.version);
	jsonw__ku64(&w, "next", server->index.next_seq);
	jsonw__ku64(&w, "blocks", c.blocks);
	jsonw__ku64(&w, "unread", c.unread);
	jsonw__ku64(&w, "hidden", c.muted_cnt);
	jsonw__ku64(&w, "unparsed", c.unparsed);
	jsonw__ku64(&w, "left", c.left);
	jsonw__kbool(&w, "gone", server->index.dirfd < 0);
	jsonw__kbool(&w, "deleting", server->removal);
	jsonw__kbool(&w, "zip", archive__is_available());
	jsonw__karray(&w, "muted");
	marks__each_muted(&server->marks, add_mute, &c);
	jsonw__array_end(&w);
	add_trouble(&w, server);
	jsonw__object_end(&w);
	groups__free(&c.muted);
}

bool server__look_at_state(struct server *server)
{
	uint64_t now = clock__mono_ns();
	struct strbuf state = STRBUF_INIT;
	uint64_t took;
	bool changed;

	if (!server->stale || now < server->state_ns)
		return false;
	server->stale = false;
	add_state(&state, server);
	/* Of a large index this takes a while: other work has most of the time. */
	took = clock__mono_ns() - now;
	server->state_ns = now + LOOK_NS + LOOK_PART * took;
	changed = !state.failed && strcmp(strbuf__str(&state), strbuf__str(&server->state));
	if (changed) {
		strbuf__free(&server->state);
		server->state = state;
		server->state_nr++;
	} else {
		strbuf__free(&state);
	}
	return changed;
}

/* --- marks of the blocks in the index */

int server__read_all(struct server *server, uint64_t seq)
{
	int res = 0;

	for (int i = 0; i < FILE_CNT; i++) {
		const struct indexed_file *file = &server->index.files[i];

		for (size_t n = 0; !res && n < file->cnt && file->records[n].seq <= seq; n++)
			if (file->records[n].id)
				res = marks__set_read(&server->marks, file->records[n].id);
	}
	return res;
}

struct known {
	uint64_t *ids;
	size_t cnt;
};

static int by_id(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

static bool is_known(void *ctx, uint64_t id)
{
	const struct known *known = ctx;

	return bsearch(&id, known->ids, known->cnt, sizeof(id), by_id);
}

void server__prune(struct server *server)
{
	struct known known = {};
	size_t cnt = 0;

	for (int i = 0; i < FILE_CNT; i++)
		cnt += server->index.files[i].cnt;
	known.ids = calloc(cnt + 1, sizeof(*known.ids));
	if (!known.ids)
		return;
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < server->index.files[i].cnt; n++)
			known.ids[known.cnt++] = server->index.files[i].records[n].id;
	qsort(known.ids, known.cnt, sizeof(*known.ids), by_id);
	marks__prune(&server->marks, is_known, &known);
	free(known.ids);
}
