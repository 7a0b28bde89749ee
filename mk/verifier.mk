# SPDX-License-Identifier: GPL-2.0
# What the verifier makes of the probes: printed whenever they were built anew, where BPF can be loaded;
# elsewhere nothing is said. `make verifier` prints it at any time, or why it cannot.

VERISTAT := $(VARIANT)/veristat

$(VERISTAT): $(VARIANT)/tools/veristat.o $(SKEL_SRC:%.c=$(VARIANT)/%.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(STRIP_ALL) -o $@ $^ $(LDLIBS)

-include $(VARIANT)/tools/veristat.d

# After the program, so that its counts are the last thing to be read. What is built for elsewhere reports there.
all: $(if $(STATIC)$(CROSS_COMPILE),$(VERISTAT),verifier-report)
verifier-report: $(VERISTAT) jankbpf tools
	$(Q)if [ ! $(OUT)/verifier.txt -nt $(OUT)/jankbpf.bpf.o ]; then \
		$(VERISTAT) >$(OUT)/verifier.txt 2>/dev/null; status=$$?; \
		[ $$status = 77 ] && rm -f $(OUT)/verifier.txt && exit 0; \
		cat $(OUT)/verifier.txt; \
		[ $$status = 0 ] || { rm -f $(OUT)/verifier.txt; $(VERISTAT) >/dev/null; exit 1; }; \
	fi

verifier: $(VERISTAT) #:measure how many instructions the verifier walks, by program
	$(Q)$(VERISTAT)

.PHONY: verifier verifier-report
