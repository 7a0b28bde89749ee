# SPDX-License-Identifier: GPL-2.0
# Types for kernels without their own: the files of btf/ARCH become a table in the program. How to
# add a kernel: docs/kernels.md.

BTF_INC    := $(OUT)/btf_embedded.inc
BTF_FILES  := $(wildcard btf/$(ARCH)/*.btf btf/$(ARCH)/*.match)
BTF_HELPER := $(OUT)/btf_helper.bpf.o

# The folder is a dependency, too: a removed file is a change.
$(BTF_INC): tools/btf/table $(BTF_FILES) $(wildcard btf/$(ARCH))
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/btf/table btf/$(ARCH) > $@

$(VARIANT)/user/probes/btf_source.o: $(BTF_INC)

# Reads all that the probes' headers declare, so that minimised types stay enough when the probes
# change.
$(OUT)/btf_helper.bpf.c: tools/btf/helper $(BPF_HDR)
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)tools/btf/helper $(CLANG) $(BPF_CFLAGS) > $@

$(BTF_HELPER): $(OUT)/btf_helper.bpf.c
	$(call msg,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Wno-unused-function -c -o $@ $<

btf-helper: $(BTF_HELPER)

# Types of the kernels of tools/vm, or any other file:
#   make btf BTF_KERNELS=x86_64/6.12
#   make btf BTF=vmlinux RELEASE=5.10.198-android12-9
BTF_KERNELS ?= $(addprefix $(MACHINE:aarch64=arm64)/,5.10 6.1)

btf: $(BTF_HELPER) #:sources types of kernels without their own, minimised into btf/
	$(Q)BPFTOOL=$(BPFTOOL) tools/btf/add $< btf/$(ARCH) \
		$(if $(BTF),--file '$(BTF)' '$(or $(RELEASE),$(error say RELEASE=, as uname -r does))',$(BTF_KERNELS))

.PHONY: btf-helper btf
