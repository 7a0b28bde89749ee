# SPDX-License-Identifier: GPL-2.0
# For tests/live/mmaps.t: the program that follows, the probes that count, a library and its
# callers.

FOLLOW_DIR := $(OUT)/follow
FOLLOW_SRC := $(wildcard tests/live/follow/follow*.c)

follow-test: $(addprefix $(FOLLOW_DIR)/,follow count.bpf.o libfollow.so worker worker-linked)

$(FOLLOW_DIR)/follow: $(FOLLOW_SRC) tests/live/follow/follow.h tests/tap.h tests/unit/zip_writer.h $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $(FOLLOW_SRC) $(LIB) $(LDFLAGS) $(LDLIBS)

$(FOLLOW_DIR)/count.bpf.o: tests/live/follow/count.bpf.c
	@mkdir -p $(@D)
	$(call msg,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

# Text has the same offset in the file as in memory, which worker.c relies on.
$(FOLLOW_DIR)/libfollow.so: tests/live/follow/library.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) -std=gnu11 $(WARN) -O2 -fPIC -shared -Wl,-soname,libfollow.so -o $@ $<

$(FOLLOW_DIR)/worker: tests/live/follow/worker.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -pthread -o $@ $< -ldl

$(FOLLOW_DIR)/worker-linked: tests/live/follow/worker.c $(FOLLOW_DIR)/libfollow.so
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -DLINKED $(WARN) -O2 -pthread -o $@ $< -ldl \
		-L$(FOLLOW_DIR) -lfollow '-Wl,-rpath,$$ORIGIN'

.PHONY: follow-test
