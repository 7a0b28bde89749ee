/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Losses of the run: those of the kernel side, and what the log says of all of them. */
#include "base/log.h"
#include "base/strbuf.h"
#include "export/values.h"
#include "files/apart.h"
#include "files/unread.h"
#include "session/session_parts.h"

void session__add_losses(const struct session *s, struct losses *ret)
{
	loader__losses(s->loader, ret->cnt); /* the first JANK_LOSS_CNT are kernel losses */
	losses__add(ret, LOSS_SKIPPED, loader__skipped(s->loader));
	losses__add(ret, LOSS_UNANSWERED, apart__refused_cnt());
	losses__add(ret, LOSS_UNREAD, unread__cnt());
	losses__add(ret, LOSS_NAMER_RESTARTED, name_client__restart_cnt(s->sites));
	losses__add(ret, LOSS_NAMER_FORBIDDEN,
		    name_client__forbidden_cnt(s->names) + name_client__forbidden_cnt(s->sites));
}

/* The losses until now: the own ones and those of the kernel. */
static struct losses sum_of(const struct losses *own, const struct losses *kernel)
{
	struct losses ret = *own;

	for (int i = 0; i < LOSS_CNT; i++)
		losses__add(&ret, i, kernel->cnt[i]);
	losses__add_memory(&ret);
	return ret;
}

void session__keep_losses(struct session *s)
{
	if (s->loader)
		session__add_losses(s, &s->counts.kernel_losses);
}

bool loss__is_detail(int reason)
{
	return value__loss_takes(loss__key(reason)) == LOSS_TAKES_DETAIL;
}

void session__report_unread(void)
{
	char text[512];

	while (unread__next(text, sizeof(text)))
		log__warn("%s", text);
}

/*
 * Reports losses that were not known when the summary was sent: its own, or those of the last
 * blocks.
 */
void session__report_losses(struct session *s)
{
	struct losses losses = sum_of(&s->losses, &s->counts.kernel_losses);
	struct strbuf lost = STRBUF_INIT, detail = STRBUF_INIT;

	for (int i = 0; i < LOSS_CNT; i++) {
		struct strbuf *line = loss__is_detail(i) ? &detail : &lost;

		if (losses.cnt[i])
			strbuf__addf(line, "%s%llu %s", line->len ? ", " : "",
				     (unsigned long long)losses.cnt[i], loss__key(i));
	}
	session__report_unread();
	if (lost.len)
		log__warn("lost: %s", strbuf__str(&lost));
	if (detail.len)
		log__info("no block is missing by it, but detail was left out: %s",
			  strbuf__str(&detail));
	strbuf__free(&lost);
	strbuf__free(&detail);
}
