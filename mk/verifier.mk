# SPDX-License-Identifier: GPL-2.0
# The verifier's statistics of the probes: printed after every build of the probes, if BPF can be
# loaded here. `make verifier` prints them at any time, or says why it cannot.

VERISTAT := $(VARIANT)/veristat

$(VERISTAT): $(VARIANT)/tools/veristat.o $(SKEL_SRC:%.c=$(VARIANT)/%.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(STRIP_ALL) -o $@ $^ $(LDLIBS)

-include $(VARIANT)/tools/veristat.d

# After the program, so that its counts are the last output. Builds for other machines report there.
all: $(if $(STATIC)$(CROSS_COMPILE),$(VERISTAT),verifier-report)
verifier-report: $(VERISTAT) jankbpf tools
	$(Q)if [ ! $(OUT)/verifier.txt -nt $(OUT)/jankbpf.bpf.o ]; then \
		$(VERISTAT) >$(OUT)/verifier.txt 2>/dev/null; status=$$?; \
		[ $$status = 77 ] && rm -f $(OUT)/verifier.txt && exit 0; \
		cat $(OUT)/verifier.txt; \
		[ $$status = 0 ] || { rm -f $(OUT)/verifier.txt; $(VERISTAT) >/dev/null; exit 1; }; \
	fi

verifier: $(VERISTAT) #:measure the instructions that the verifier walks, by program
	$(Q)$(VERISTAT)

.PHONY: verifier verifier-report
