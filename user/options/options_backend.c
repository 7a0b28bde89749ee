/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the options that say where records are sent, and who may read the metrics. */
#include <errno.h>
#include <netinet/in.h>
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
		   b->cert_file || b->key_file || b->proxy || b->compress || b->signals;

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

/* --- metrics */

static bool is_loopback(const char *address)
{
	struct sockaddr_storage at;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&at;
	socklen_t len;

	if (parse__address(address, &at, &len))
		return false;
	return at.ss_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
				       : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

int parse__check_metrics(struct parse *p)
{
	const struct options *opts = p->opts;
	bool serves = opts->metrics_listen, asks = opts->metrics_user || opts->metrics_password;

	if (!opts->metrics_cert != !opts->metrics_key)
		return parse__refuse(p, "TLS of the metrics needs both: give cert-file and "
					"key-file in [metrics]");
	if (!opts->metrics_user != !opts->metrics_password)
		return parse__refuse(p, "a user of the metrics needs a password: give user and "
					"password-file in [metrics]");
	if (serves && asks && !opts->metrics_cert && !is_loopback(opts->metrics_listen))
		return parse__refuse(
			p,
			"the password of the metrics would cross the network in clear text: for "
			"%s give cert-file and key-file in [metrics], or listen on a loopback "
			"address",
			opts->metrics_listen);
	return check_file(p, "metrics", "cert-file", opts->metrics_cert, false)	     ?:
	       check_file(p, "metrics", "key-file", opts->metrics_key, true)	     ?:
	       check_file(p, "metrics", "password-file", opts->metrics_password, true);
}

/* --- backends */

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
