# SPDX-License-Identifier: GPL-2.0
# The HTTP server of `jankbpf agent`, by the library of mk/serve.mk.
# Without it metrics are not served by default. Without GnuTLS' header they have no TLS.

$(VARIANT)/user/deliver/metrics_http.o: CPPFLAGS += $(SERVE_DEFS)

$(VARIANT)/user/deliver/metrics_tls.o: CPPFLAGS += $(if $(call have_library,gnutls),-DHAVE_GNUTLS)
