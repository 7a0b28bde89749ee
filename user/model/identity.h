/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a block says of its process: schema/identity.proto, read while the process lived, kept until
 * the run ends. Owned as base/proto.h says. Each thread has a copy of its own.
 */
#ifndef JANK_MODEL_IDENTITY_H
#define JANK_MODEL_IDENTITY_H

#include "base/strbuf.h"
#include "schema/identity.pb-c.h"
#include <stdint.h>

#define UID_UNKNOWN UINT32_MAX

Jankbpf__Identity *identity__new(void);		       /* NULL: out of memory */
Jankbpf__Identity *identity__called(const char *name); /* only a name is known. NULL: likewise */
/* A deep copy. NULL: out of memory, or process is NULL. */
Jankbpf__Identity *identity__copy(const Jankbpf__Identity *process);
/* A copy of only the name, unit, container and pod: what rows of a summary have. */
Jankbpf__Identity *identity__names(const Jankbpf__Identity *process);
void identity__free(Jankbpf__Identity *process); /* accepts NULL */

/* Uid, or UID_UNKNOWN. Name, or NULL. Both accept NULL. */
uint32_t identity__uid(const Jankbpf__Identity *process);
const char *identity__name(const Jankbpf__Identity *process);

/*
 * Replaces what is known of the application by that of another message; NULL: by nothing. Returns 0
 * or -ENOMEM.
 */
int identity__set_application(Jankbpf__Identity *process, const Jankbpf__Identity *from);
/* Adds its version, "2.7.1" or Android's "2.7.1 (45)"; nothing if it is not known. */
void identity__add_version(struct strbuf *sb, const Jankbpf__Identity *process);

#endif
