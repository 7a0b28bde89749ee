/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The package metadata of an ELF file. See elf.h. */
#include "symbol/elf/elf.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define PACKAGE_NOTE 0xcafe1a7eu
#define NOTE_MAX     4096 /* bytes of JSON; usual are 150 */
#define NO_SEED	     1	  /* of jansson's tables: nothing here grows with what a file says */

static void take_text(const json_t *tree, const char *key, char *ret)
{
	const char *text = json_string_value(json_object_get(tree, key));

	if (text)
		package__set_text(ret, text);
}

/* JSON_DISABLE_EOF_CHECK: the text ends with zeros. */
static int parse(const char *text, size_t len, struct package *ret)
{
	json_t *tree;

	json_object_seed(NO_SEED); /* jansson's own comes from a file, which is not open to us */
	tree = json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL);
	take_text(tree, "name", ret->name);
	take_text(tree, "version", ret->version);
	json_decref(tree);
	return ret->name[0] && ret->version[0] ? 0 : -ENOENT;
}

static int read_note(const struct elf *elf, struct package *ret)
{
	const struct elf_section *section = elf__section(elf, ".note.package");
	struct image_part note;
	char text[NOTE_MAX];

	if (!section ||
	    !elf_note__find(&elf->img, (struct image_part){ section->offset, section->size },
			    PACKAGE_NOTE, "FDO", &note) ||
	    note.size > sizeof(text) || image__read(&elf->img, note.begin, text, note.size))
		return -ENOENT;
	return parse(text, note.size, ret);
}

int package__of_file(int fd, struct package *ret)
{
	struct image img;
	struct elf elf;
	int res = image__of_fd(&img, fd);

	*ret = (struct package){};
	if (res)
		return res;
	if (elf__open(&elf, &img))
		return apk__package(fd, ret);
	res = read_note(&elf, ret);
	elf__close(&elf);
	return res;
}
