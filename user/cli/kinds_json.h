/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the catalogue as JSON: "jankbpf-loops/1" of docs/contract.md. */
#ifndef JANK_CLI_KINDS_JSON_H
#define JANK_CLI_KINDS_JSON_H

#include "catalogue/catalogue.h"
#include "export/json/json.h"

/* Adds the row as one object. */
void kinds_json__add(struct jsonw *w, const struct catalogue *cat, const struct catalogue_row *row);

#endif
