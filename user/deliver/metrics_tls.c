/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check of the certificate and key of the metrics. libmicrohttpd only says that it cannot start.
 * GnuTLS is loaded on demand: only this process, and that which serves, needs it.
 */
#include "deliver/metrics_access.h"

#include <errno.h>

#ifdef HAVE_GNUTLS

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

#define LIBRARY	  "libgnutls.so.30"
#define CHAIN_MAX 16

#define TLS_FUNCTIONS(X)                                                                           \
	X(x509_crt_list_import)                                                                    \
	X(x509_crt_deinit)                                                                         \
	X(x509_crt_get_activation_time)                                                            \
	X(x509_crt_get_expiration_time)                                                            \
	X(x509_privkey_init)                                                                       \
	X(x509_privkey_import2)                                                                    \
	X(x509_privkey_deinit)                                                                     \
	X(certificate_allocate_credentials)                                                        \
	X(certificate_set_x509_key_mem)                                                            \
	X(certificate_free_credentials)                                                            \
	X(strerror)

#define TLS_MEMBER(name) __typeof__(gnutls_##name) *name;
struct tls_library {
	TLS_FUNCTIONS(TLS_MEMBER)
};

static int load(struct tls_library *tls, struct err *err)
{
	void *so = dlopen(LIBRARY, RTLD_NOW);
	bool whole = so;

#define TLS_LOAD(name)                                                                             \
	if (so)                                                                                    \
		*(void **)&tls->name = dlsym(so, "gnutls_" #name);                                 \
	whole = whole && tls->name;
	TLS_FUNCTIONS(TLS_LOAD)
	return whole ? 0
		     : err__set(err, ENOENT,
				"TLS of the metrics needs " LIBRARY
				", which cannot be loaded: install libgnutls30, or leave out "
				"cert-file and key-file in [metrics]");
}

static gnutls_datum_t datum(const char *text)
{
	return (gnutls_datum_t){ (unsigned char *)text, (unsigned)strlen(text) };
}

static int refuse(const struct tls_library *tls, int code, const char *what, struct err *err)
{
	return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "[metrics] %s (%s)", what,
			     tls->strerror(code));
}

static void check_time(const struct tls_library *tls, gnutls_x509_crt_t crt)
{
	time_t now = time(NULL);

	if (tls->x509_crt_get_expiration_time(crt) < now)
		log__warn("[metrics] cert-file: the certificate has expired: clients refuse it; "
			  "renew it and restart the agent");
	else if (tls->x509_crt_get_activation_time(crt) > now)
		log__warn("[metrics] cert-file: the certificate is not valid yet: clients refuse "
			  "it until then");
}

static int check_cert(const struct tls_library *tls, const char *text, struct err *err)
{
	gnutls_x509_crt_t list[CHAIN_MAX];
	gnutls_datum_t data = datum(text);
	unsigned cnt = CHAIN_MAX;
	int res = tls->x509_crt_list_import(list, &cnt, &data, GNUTLS_X509_FMT_PEM,
					    GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);

	if (res < 1)
		return refuse(tls, res,
			      "cert-file: no certificate in PEM form: give the server's, then "
			      "those of its authorities, at most 16",
			      err);
	check_time(tls, list[0]);
	for (int i = 0; i < res; i++)
		tls->x509_crt_deinit(list[i]);
	return 0;
}

static int check_key(const struct tls_library *tls, const char *text, struct err *err)
{
	gnutls_datum_t data = datum(text);
	gnutls_x509_privkey_t key;
	int res = tls->x509_privkey_init(&key);

	if (res >= 0) {
		res = tls->x509_privkey_import2(key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
		tls->x509_privkey_deinit(key);
	}
	return res < 0 ? refuse(tls, res,
				"key-file: no private key in PEM form, or one with a passphrase: "
				"give it without",
				err)
		       : 0;
}

static int check_both(const struct tls_library *tls, const struct metrics_access *access,
		      struct err *err)
{
	gnutls_datum_t cert = datum(access->cert), key = datum(access->key);
	gnutls_certificate_credentials_t both;
	int res = tls->certificate_allocate_credentials(&both);

	if (res >= 0) {
		res = tls->certificate_set_x509_key_mem(both, &cert, &key, GNUTLS_X509_FMT_PEM);
		tls->certificate_free_credentials(both);
	}
	return res < 0 ? refuse(tls, res,
				"key-file: not the key of the first certificate in cert-file: give "
				"the two that belong together",
				err)
		       : 0;
}

int metrics_tls__check(const struct metrics_access *access, struct err *err)
{
	struct tls_library tls = {};
	int res;

	if (!access->cert)
		return 0;
	res = load(&tls, err) ?: check_cert(&tls, access->cert, err);
	if (!res)
		res = check_key(&tls, access->key, err);
	return res ?: check_both(&tls, access, err);
}

#else

int metrics_tls__check(const struct metrics_access *access, struct err *err)
{
	return access->cert
		       ? err__set_exit(err, JANK_EXIT_USAGE, ENOSYS,
				       "this build has no TLS for the metrics: leave out cert-file "
				       "and key-file in [metrics], and let a proxy add it")
		       : 0;
}

#endif
