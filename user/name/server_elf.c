/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process's side of elffunc_ops (symbol/elf/elffunc.h): one file at a time. */
#include "name/server.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "files/broker.h"

static void close_elf(struct server *s)
{
	if (s->elf.fd >= 0)
		elffunc__close(&s->elf);
}

static void put_head(struct strbuf *sb, const struct elf *elf)
{
	struct name_elf head = { .machine = elf->machine };

	memcpy(head.build_id, elf->build_id, sizeof(head.build_id));
	for (size_t i = 0; i < elf->load_cnt; i++)
		head.load_cnt += elf->loads[i].exec;
	strbuf__add(sb, &head, sizeof(head));
	for (size_t i = 0; i < elf->load_cnt; i++)
		if (elf->loads[i].exec)
			strbuf__add(sb, &elf->loads[i], offsetof(struct elf_segment, exec));
}

/* a: the offset in the file, b: the size there */
int64_t serve_elf_open(struct server *s, const struct name_request *req, struct wire *in)
{
	int fd = broker_client__open(BROKER_OFFERED, NULL, "", NULL), res;

	close_elf(s);
	if (fd < 0)
		return fd;
	res = elffunc__open_within(fd, req->a, req->b, &s->elf);
	if (!res)
		put_head(&s->out, &s->elf.elf);
	return res;
}

/* a: number of names; b: find each */
int64_t serve_elf_find(struct server *s, const struct name_request *req, struct wire *in)
{
	struct elffunc_place places[ELFFUNC_NAMES_MAX];
	const char *names[ELFFUNC_NAMES_MAX];
	size_t len;
	int res;

	if (s->elf.fd < 0)
		return -EIO;
	if (req->a > ELFFUNC_NAMES_MAX)
		return -EINVAL;
	for (uint64_t i = 0; i < req->a; i++) {
		names[i] = wire__take_text(in, &len);
		if (!names[i])
			return -EINVAL;
	}
	res = req->b ? elffunc__find_each(&s->elf, names, req->a, places)
		     : elffunc__find(&s->elf, names, req->a, places);
	if (res > 0)
		strbuf__add(&s->out, places, req->a * sizeof(*places));
	return res;
}

int64_t serve_elf_section(struct server *s, const struct name_request *req, struct wire *in)
{
	size_t len;
	const char *name = wire__take_text(in, &len);

	return s->elf.fd >= 0 && name && elffunc__has_section(&s->elf, name);
}

int64_t serve_elf_close(struct server *s, const struct name_request *req, struct wire *in)
{
	close_elf(s);
	return 0;
}

/* a: the offset in the archive */
int64_t serve_elf_entry(struct server *s, const struct name_request *req, struct wire *in)
{
	int fd = broker_client__open(BROKER_OFFERED, NULL, "", NULL), res;
	struct zip_entry entry = {};

	if (fd < 0)
		return fd;
	res = zip_entry__at(fd, req->a, &entry);
	if (!res)
		strbuf__add(&s->out, &entry, sizeof(entry));
	close(fd);
	return res;
}

int64_t serve_elf_package(struct server *s, const struct name_request *req, struct wire *in)
{
	int fd = broker_client__open(BROKER_OFFERED, NULL, "", NULL), res;
	struct package package;

	if (fd < 0)
		return fd;
	res = package__of_file(fd, &package);
	if (!res)
		strbuf__add(&s->out, &package, sizeof(package));
	close(fd);
	return res;
}
