# SPDX-License-Identifier: GPL-2.0
# Fault injection for the whole program: each call of the C library fails once, under a library for
# LD_PRELOAD. An hour or more, so it is no part of `make check`. tests/faults/run lists the variables
# that choose a part: make faults SITES=20; make faults SCENES=replay FILES=user/export

FAULTS_LIB := $(OUT)/faults/faults.so

faults: #:tests each call of the C library fails once, while it traces and replays (as root)
	$(Q)$(MAKE) $(JOBS) all
	$(Q)$(MAKE) $(WITH_SAN) $(SAN)/jankbpf $(FAULTS_LIB)
	$(Q)tests/faults/run

# For tests/live/upsets.t.
faults-clock: $(OUT)/faults/clock.so

$(FAULTS_LIB): tests/faults/sites.c tests/faults/wraps.c
$(OUT)/faults/clock.so: tests/faults/clock.c
$(FAULTS_LIB) $(OUT)/faults/clock.so: tests/faults/sites.h
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -O2 -g -fPIC -fno-builtin -shared -o $@ $(filter %.c,$^)

.PHONY: faults faults-clock
