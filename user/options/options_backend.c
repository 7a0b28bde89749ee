/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the options that say where records are sent. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options/options_parse.h"
#include "options/options_table.h"

static const char *const words[SEND_CNT] = { "clickhouse", "otlp" };

/* secret: closed to others than owner and group. */
static int check_file(struct parse *p, const char *word, const char *option, const char *path,
		      bool secret)
{
	struct stat st;

	if (!path)
		return 0;
	if (stat(path, &st) || access(path, R_OK))
		return parse__refuse(p, "--%s-%s '%s': cannot read it: %s", word, option, path,
				     strerror(errno));
	if (!S_ISREG(st.st_mode))
		return parse__refuse(p, "--%s-%s '%s': not a file", word, option, path);
	if (secret && st.st_mode & S_IRWXO)
		return parse__refuse(p, "--%s-%s '%s': every user can read it: chmod 600 it", word,
				     option, path);
	return 0;
}

static int check_files(struct parse *p, const char *word, const struct backend_options *b)
{
	return check_file(p, word, "password-file", b->password_file, true) ?:
	       check_file(p, word, "token-file", b->token_file, true)	    ?:
	       check_file(p, word, "ca-file", b->ca_file, false)	    ?:
	       check_file(p, word, "cert-file", b->cert_file, false)	    ?:
	       check_file(p, word, "key-file", b->key_file, true);
}

static int check_backend(struct parse *p, const char *word, const struct backend_options *b)
{
	bool any = b->database || b->user || b->password_file || b->token_file || b->ca_file ||
		   b->cert_file || b->key_file || b->proxy || b->compress;

	if (!b->url_cnt && any)
		return parse__refuse(p, "options of %s need --%s-url", word, word);
	if (b->password_file && !b->user)
		return parse__refuse(p, "--%s-password-file needs --%s-user", word, word);
	if (!b->cert_file != !b->key_file)
		return parse__refuse(p, "--%s-cert-file and --%s-key-file go together: give both",
				     word, word);
	if (b->url_cnt && !p->opts->spool && p->opts->command != CMD_FLEET)
		return parse__refuse(p,
				     "--%s-url sends the records of a spool: give its directory "
				     "by --spool DIR",
				     word);
	return check_files(p, word, b);
}

int parse__check_backends(struct parse *p)
{
	bool any = false;

	for (int i = 0; i < SEND_CNT; i++) {
		struct backend_options *backend = &p->opts->sends[i];

		if (check_backend(p, words[i], backend))
			return p->code;
		any |= backend->url_cnt;
		if (!backend->database)
			backend->database = "jankbpf";
	}
	if (p->opts->command == CMD_FLEET && !any)
		return parse__refuse(p, "fleet asks ClickHouse: give --clickhouse-url");
	if (p->opts->command != CMD_SEND)
		return 0;
	if (!p->opts->spool)
		return parse__refuse(p, "send needs the DIR of --spool");
	if (!any)
		return parse__refuse(p,
				     "send needs a backend: give --clickhouse-url or --otlp-url");
	return 0;
}
