/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer's side of elffunc_ops: a process that parses the files in which probes are placed. Its
 * answers are not trusted: they only propose where code is, which the tracer reads itself.
 */
#include "name/client.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "files/apart.h"
#include "symbol/elf/elffunc.h"

/* If the process ends by the open file, that is not offered again after the second time. */
static int64_t ask(struct name_client *client, const struct name_request *req, struct wire *ret)
{
	int64_t res;

	client->mark->dev = client->file.dev;
	client->mark->inode = client->file.inode;
	res = name_client__ask(client, req, ret);
	client->mark->dev = client->mark->inode = 0; /* the next request may be about no file */
	return res;
}

/* Offers the file, and asks about it. -EIO: there is no answer. */
static int64_t ask_about(struct name_client *client, int fd, uint32_t op, uint64_t a, uint64_t b,
			 struct wire *ret)
{
	const struct name_request req = { .op = op, .a = a, .b = b };
	struct stat st;
	int64_t res;

	*ret = (struct wire){ .bad = true };
	if (apart__stat(fd, &st) || broker__offer(client->broker, fd))
		return -EACCES;
	client->file = (struct name_suspect){ st.st_dev, st.st_ino };
	strbuf__reset(&client->out);
	res = ask(client, &req, ret);
	broker__offer(client->broker, -1);
	return res == -ECHILD ? -EIO : res;
}

/* Lower-case hex, or none. */
static void take_build_id(const struct name_elf *head, char *ret)
{
	size_t len = strnlen(head->build_id, sizeof(head->build_id));

	ret[0] = '\0';
	if (len < sizeof(head->build_id) && strspn(head->build_id, "0123456789abcdef") == len)
		memcpy(ret, head->build_id, len + 1);
}

static int take_head(struct wire *in, struct elf *ret)
{
	struct name_elf head;
	struct elf_segment seg;

	wire__take(in, &head, sizeof(head));
	if (head.load_cnt > ELF_LOADS_MAX)
		return -EIO;
	for (size_t i = 0; i < head.load_cnt; i++) {
		wire__take(in, &seg, offsetof(struct elf_segment, exec));
		seg.exec = true;
		ret->loads[i] = seg;
	}
	ret->machine = (uint16_t)head.machine;
	take_build_id(&head, ret->build_id);
	ret->load_cnt = head.load_cnt;
	return in->bad ? -EIO : 0;
}

static int elf_open(void *ctx, int fd, uint64_t base, uint64_t size, struct elf *ret)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t res;

	pthread_mutex_lock(&client->lock);
	res = ask_about(client, fd, NAME_ELF_OPEN, base, size, &in);
	res = res ?: take_head(&in, ret);
	if (res)
		pthread_mutex_unlock(&client->lock);
	return !res ? 0 : res == -ENOMEM ? -ENOMEM : -ENOEXEC;
}

static int elf_find(void *ctx, bool each, const char *const *names, size_t cnt,
		    struct elffunc_place *ret)
{
	const struct name_request req = { .op = NAME_ELF_FIND, .a = cnt, .b = each };
	struct name_client *client = ctx;
	struct wire in;
	int64_t res;

	strbuf__reset(&client->out);
	for (size_t i = 0; i < cnt; i++)
		wire__put_text(&client->out, names[i]);
	res = ask(client, &req, &in);
	memset(ret, 0, cnt * sizeof(*ret));
	if (res > 0)
		wire__take(&in, ret, cnt * sizeof(*ret));
	if (res < 0)
		return res == -ENOMEM ? -ENOMEM : -EIO;
	return res > (int64_t)cnt || (res && in.bad) ? -EIO : (int)res;
}

static bool elf_has_section(void *ctx, const char *name)
{
	const struct name_request req = { .op = NAME_ELF_SECTION };
	struct name_client *client = ctx;
	struct wire in;

	strbuf__reset(&client->out);
	wire__put_text(&client->out, name);
	return ask(client, &req, &in) == true;
}

static void elf_close(void *ctx)
{
	const struct name_request req = { .op = NAME_ELF_CLOSE };
	struct name_client *client = ctx;
	struct wire in;

	strbuf__reset(&client->out);
	ask(client, &req, &in);
	pthread_mutex_unlock(&client->lock);
}

static int elf_entry(void *ctx, int fd, uint64_t offset, struct zip_entry *ret)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t res;

	pthread_mutex_lock(&client->lock);
	res = ask_about(client, fd, NAME_ELF_ENTRY, offset, 0, &in);
	if (!res) {
		wire__take(&in, ret, sizeof(*ret));
		ret->name[sizeof(ret->name) - 1] = '\0';
		res = in.bad ? -EIO : 0;
	}
	pthread_mutex_unlock(&client->lock);
	return res < -4095 || res > 0 ? -EIO : (int)res;
}

/* A text from that process may be anything. */
static void clean(char *text)
{
	char copy[PACKAGE_TEXT_SZ];

	memcpy(copy, text, sizeof(copy));
	copy[sizeof(copy) - 1] = '\0';
	package__set_text(text, copy);
}

static int elf_package(void *ctx, int fd, struct package *ret)
{
	struct name_client *client = ctx;
	struct wire in;
	int64_t res;

	*ret = (struct package){};
	pthread_mutex_lock(&client->lock);
	res = ask_about(client, fd, NAME_ELF_PACKAGE, 0, 0, &in);
	if (!res)
		wire__take(&in, ret, sizeof(*ret));
	pthread_mutex_unlock(&client->lock);
	clean(ret->name);
	clean(ret->version);
	return !res && in.bad ? -EIO : res < -4095 || res > 0 ? -EIO : (int)res;
}

const struct elffunc_ops name_client_elf_ops = {
	.open = elf_open,
	.find = elf_find,
	.has_section = elf_has_section,
	.close = elf_close,
	.entry = elf_entry,
	.package = elf_package,
};
