/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names without the parts that differ between builds, machines or runs. Any thread. */
#ifndef JANK_BASE_STABLE_NAME_H
#define JANK_BASE_STABLE_NAME_H

#include "base/strbuf.h"

/*
 * A function: without compiler suffixes (".cold", ".constprop.0"), Rust hash and JIT tier. Of a
 * script's location only the file.
 */
void stable_name__add_function(struct strbuf *sb, const char *function);

/*
 * A systemd unit: without the process id, container id, UUID or count at the end of its name. So
 * "app-gnome-foo-12.scope" is "app-gnome-foo.scope", "docker-<64 digits>.scope" is "docker.scope",
 * "session-3.scope" is "session.scope". A service keeps decimal numbers ("redis-6379.service").
 */
void stable_name__add_unit(struct strbuf *sb, const char *unit);

#endif
