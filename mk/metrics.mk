# SPDX-License-Identifier: GPL-2.0
# The HTTP server of `jankbpf agent`, by the library of mk/serve.mk.
# Without it metrics are not served by default.

$(VARIANT)/user/deliver/metrics_http.o $(VARIANT)/user/options/options_table.o: CPPFLAGS += $(SERVE_DEFS)
