# SPDX-License-Identifier: GPL-2.0
# The programs whose stacks tools/stacks takes: built as distributions build, without frame
# pointers, in a directory of their own. simjank, whose chains of calls are known, has no tail
# calls, and keeps its debugging information; the others are stripped.
#
#   make stacks     the table of docs/stacks.md (as root)

STACKS       := $(OUT)/stacks
STACK_TOOLS  := $(STACKS)/simjank $(if $(NO_LOOPER),,$(STACKS)/simjank-looper)
STACK_LOOPS  := $(addprefix $(STACKS)/loops/,gtk qt5gui netpoll tokio-stall raw-musl)
NODE_INCLUDE := $(firstword $(wildcard /usr/include/node /usr/include/nodejs/src))

stack-programs: $(STACKS)/addon.node #:measure programs without frame pointers, for make stacks
	$(Q)$(MAKE) VARIANT=$(STACKS) TOOL_FLAGS='-fomit-frame-pointer -fno-optimize-sibling-calls' $(STACK_TOOLS)
	$(Q)$(MAKE) STALL_DIR=$(STACKS)/loops RUST_FRAMES= TOOL_FLAGS='-fomit-frame-pointer -DSTALL_ROUNDS=200' $(STACK_LOOPS)
	$(Q)for file in $(filter-out $(STACKS)/simjank,$(STACK_TOOLS) $(STACK_LOOPS)); do [ ! -e $$file ] || strip -g $$file; done

$(STACKS)/addon.node: tools/stacks/addon.cc
	@mkdir -p $(@D)
	$(call msg,CXX,$@)
	$(Q)if [ -n "$(NODE_INCLUDE)" ]; then $(CXX) -O2 -shared -fPIC -fomit-frame-pointer -isystem $(NODE_INCLUDE) -o $@ $<; \
	else echo '  SKIP     $@: no headers of node'; fi

stacks: all stack-programs
	$(Q)tools/stacks/measure



# Our reader of unwind tables beside libdw's. FILES: ELF files of x86-64.
FILES ?= $(wildcard /usr/bin/redis-server /usr/sbin/nginx /usr/bin/node /lib/x86_64-linux-gnu/libc.so.6)

stack-tables: $(VARIANT)/stack_tables #:measure our reader of unwind tables beside libdw's (as root)
	$(Q)$< $(FILES)

$(VARIANT)/stack_tables: $(VARIANT)/tools/stacks/tables.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

-include $(VARIANT)/tools/stacks/tables.d

.PHONY: stack-programs stacks stack-tables
