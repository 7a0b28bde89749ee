# SPDX-License-Identifier: GPL-2.0
# For tests/live/sites.t: the counting program and its workers. The build needs neither musl nor the
# real Looper; the test skips what is missing, with the reason.

SITES_DIR  := $(OUT)/sites
MUSL_CC    ?= $(shell command -v musl-gcc)
SITES_BIN  := $(addprefix $(SITES_DIR)/,sites worker worker-static \
              $(if $(MUSL_CC),worker-musl) $(if $(wildcard /usr/include/android/utils/Looper.h),looper))

sites-test: $(SITES_BIN)

$(SITES_DIR)/sites: tests/live/sites/sites.c $(LIB) tests/tap.h
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $< $(LIB) $(LDFLAGS) $(LDLIBS)

$(SITES_DIR)/worker: tests/live/sites/worker.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -pthread -o $@ $<

$(SITES_DIR)/worker-static: tests/live/sites/worker.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -static -pthread -o $@ $<

$(SITES_DIR)/worker-musl: tests/live/sites/worker.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(MUSL_CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -pthread -o $@ $<

$(SITES_DIR)/looper: tests/live/sites/looper.cc
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CXX) -std=gnu++17 -Wall -O2 -isystem /usr/include/android -o $@ $< \
		-L/usr/lib/$(TRIPLET)/android -Wl,-rpath,/usr/lib/$(TRIPLET)/android -lutils

.PHONY: sites-test
