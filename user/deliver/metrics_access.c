/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/metrics_access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "files/file.h"

static void forget(struct strbuf *sb)
{
	if (sb->data)
		explicit_bzero(sb->data, sb->cap);
	strbuf__free(sb);
}

/* *ret is the text, which the caller frees. path may be NULL. */
static int read_text(const char *key, const char *path, size_t max, char **ret, struct err *err)
{
	struct strbuf sb = STRBUF_INIT;
	int res = path ? file__read(path, max, &sb) : 0;

	*ret = NULL;
	if (!path)
		return 0;
	if (res)
		err__set_exit(err, JANK_EXIT_USAGE, -res, "[metrics] %s '%s': cannot read it: %s",
			      key, path, res == -EFBIG ? "it is too long" : strerror(-res));
	else if (!sb.len || memchr(sb.data, '\0', sb.len))
		res = err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				    "[metrics] %s '%s': it is empty or binary: give a text file",
				    key, path);
	if (!res && !(*ret = strdup(strbuf__str(&sb))))
		res = err__set(err, ENOMEM, "out of memory");
	forget(&sb);
	return res;
}

/* Cuts it to its first line. */
static int take_password(const char *path, char *text, struct err *err)
{
	size_t len = text__secret_len(text);

	text[len] = '\0';
	return len ? 0
		   : err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				   "[metrics] password-file '%s': no password: its first line "
				   "is empty or has control bytes",
				   path);
}

int metrics_access__read(const struct options *opts, struct metrics_access *ret, struct err *err)
{
	char *cert = NULL, *key = NULL, *password = NULL, *user = NULL;
	int res = read_text("cert-file", opts->metrics_cert, METRICS_FILE_MAX, &cert, err);

	if (!res)
		res = read_text("key-file", opts->metrics_key, METRICS_FILE_MAX, &key, err);
	if (!res)
		res = read_text("password-file", opts->metrics_password, METRICS_PASSWORD_MAX,
				&password, err);
	if (!res && password)
		res = take_password(opts->metrics_password, password, err);
	if (!res && opts->metrics_user && !(user = strdup(opts->metrics_user)))
		res = err__set(err, ENOMEM, "out of memory");
	*ret = (struct metrics_access){ cert, key, user, password };
	if (res)
		metrics_access__free(ret);
	return res;
}

static void free_text(const char *text)
{
	char *own = (char *)text;

	if (own)
		explicit_bzero(own, strlen(own));
	free(own);
}

void metrics_access__free(struct metrics_access *access)
{
	free_text(access->cert);
	free_text(access->key);
	free_text(access->user);
	free_text(access->password);
	*access = (struct metrics_access){};
}

int metrics_access__check(const struct options *opts, struct err *err)
{
	struct metrics_access access;
	int res = metrics_access__read(opts, &access, err);

	if (res)
		return res;
	res = metrics_tls__check(&access, err);
	metrics_access__free(&access);
	return res;
}

static bool is_same(const char *given, const char *right)
{
	size_t len = strlen(given), right_len = strlen(right);
	volatile unsigned char differs = len != right_len;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(given[i] ^ right[i % (right_len + 1)]);
	return !differs;
}

bool metrics_access__allows(const struct metrics_access *access, const char *user,
			    const char *password)
{
	bool user_fits = is_same(user, access->user);

	return is_same(password, access->password) & user_fits;
}
