/* SPDX-License-Identifier: GPL-2.0 */
/* Which language a JIT compiler's function is written in, by the form of its name. */
#ifndef JANK_SYMBOL_INTERPRETERS_LANGUAGE_H
#define JANK_SYMBOL_INTERPRETERS_LANGUAGE_H

/* "javascript", "java", "python", "dotnet": static; NULL: none that is known, or a runtime's own code. */
const char *language__of(const char *name);

#endif
