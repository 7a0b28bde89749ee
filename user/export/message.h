/* SPDX-License-Identifier: GPL-2.0 */
/* What a dispatch handled, as the exports write it. */
#ifndef JANK_EXPORT_MESSAGE_H
#define JANK_EXPORT_MESSAGE_H

#include "base/strbuf.h"
#include "model/message.h"

/*
 * In a few words, "QTimerEvent to MainWindow", "on_read(), tcp 10.0.0.1:80->10.0.0.7:41322"; any bytes.
 * Nothing where nothing of it is known. Accepts NULL.
 */
void message__add_phrase(struct strbuf *sb, const struct message *message);

/* A name in short, "timer_cb()"; `call`: it is a function's. */
void message_name__add(struct strbuf *sb, const struct message_name *name, bool call);

/* The event's bits by the names of epoll_ctl(2), lower case: "in|hup"; those without a name in hex. */
void message__add_events(struct strbuf *sb, uint32_t events);

#endif
