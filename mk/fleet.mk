# SPDX-License-Identifier: GPL-2.0
# Tests with real backends of a fleet. They start them, on free ports of 127.0.0.1, and skip what is not installed.

FLEET_T       = $(call ONLY,$(sort $(wildcard tests/fleet/*.t)))
FLEET_ENCODE := $(VARIANT)/tests/fleet/encode

$(FLEET_ENCODE): tests/fleet/encode.c $(LIB)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(LIB) $(LDFLAGS) $(LDLIBS)

-include $(FLEET_ENCODE).d

# An outage, and the sender's waits after it.
check-fleet: TEST_TIMEOUT = 600
check-fleet: program tools $(FLEET_ENCODE) #:tests real backends of a fleet, those that are installed (make deps-fleet)
	$(Q)FLEET_ENCODE=$(FLEET_ENCODE) $(if $(OUTAGE_S),OUTAGE_S=$(OUTAGE_S)) $(call RUN_TESTS,$(FLEET_T))

.PHONY: check-fleet
