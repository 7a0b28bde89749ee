# SPDX-License-Identifier: GPL-2.0
# jankbpf. `make help` lists the targets; V=1 shows the commands; SANITIZE=address,undefined builds
# everything of user space with them.

VERSION   := 0.1.0
CLANG     ?= clang
BPFTOOL   ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
CC        ?= cc
CXX       ?= c++
PREFIX    ?= /usr/local
DESTDIR   ?=
SANITIZE  ?=

OUT       := .output
VARIANT   := $(if $(SANITIZE),$(OUT)/san,$(OUT)/rel)
ARCH      := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
TRIPLET   := $(shell $(CC) -dumpmachine)

CFLAGS    ?= -O2 -g
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
             -Wformat=2 -Werror=implicit-function-declaration
SANFLAGS  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
CPPFLAGS  += -I. -Iuser -I$(OUT) -D_GNU_SOURCE -DJANK_VERSION='"$(VERSION)"'
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SANFLAGS) -fno-strict-aliasing -pthread
BPF_CFLAGS := -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Wno-unused-parameter \
              -D__TARGET_ARCH_$(ARCH) -I. -Ivmlinux -idirafter /usr/include/$(TRIPLET)
LDLIBS    := -lbpf -lxxhash -ljansson -lelf -lz -llzma -liberty -lcap-ng -lpthread

ifeq ($(V),1)
Q :=
msg :=
else
Q := @
msg = @printf '  %-8s %s\n' "$(1)" "$(2)";
MAKEFLAGS += --no-print-directory
endif

# maps.bpf.c comes first: bpftool 7.1 leaves a map's offset at 0 when its extern was linked before it.
BPF_SRC   := bpf/maps.bpf.c $(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c))
BPF_OBJ   := $(BPF_SRC:bpf/%.bpf.c=$(OUT)/bpf/%.bpf.o)
BPF_HDR   := $(wildcard bpf/*.h vmlinux/*.h)
SKEL      := $(OUT)/jankbpf.skel.h

# Everything but main and what needs the skeleton is pure enough for the host tests.
SKEL_SRC  := user/kernel/loader.c
APP_SRC   := $(wildcard user/app/*.c)
LIB_SRC   := $(filter-out $(SKEL_SRC),$(wildcard user/base/*.c user/model/*.c user/symbol/*.c \
             user/export/*.c user/intake/*.c user/kernel/*.c))
SRC       := $(APP_SRC) $(LIB_SRC) $(SKEL_SRC)
OBJ       := $(SRC:%.c=$(VARIANT)/%.o)
LIB       := $(VARIANT)/libjank.a

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.SECONDARY:

all: jankbpf tools #: the program and the tools

jankbpf: $(VARIANT)/jankbpf
	$(Q)ln -sf $< $@

$(VARIANT)/jankbpf: $(APP_SRC:%.c=$(VARIANT)/%.o) $(SKEL_SRC:%.c=$(VARIANT)/%.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(LIB_SRC:%.c=$(VARIANT)/%.o)
	$(call msg,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

$(VARIANT)/%.o: %.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(SKEL_SRC:%.c=$(VARIANT)/%.o): $(SKEL)

$(VARIANT)/user/base/syscall_name.o: $(OUT)/syscall_names.h

$(OUT)/syscall_names.h:
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)echo '#include <sys/syscall.h>' | $(CC) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' | sort -u > $@

# --- BPF: one object a concern, linked into one skeleton

$(OUT)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR)
	@mkdir -p $(@D)
	$(call msg,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(OUT)/jankbpf.bpf.o: $(BPF_OBJ)
	$(call msg,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(OUT)/jankbpf.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name jankbpf > $@

include $(wildcard mk/*.mk)
-include $(OBJ:.o=.d)

clean: #: remove what was built
	$(call msg,CLEAN,$(OUT))
	$(Q)rm -rf $(OUT) jankbpf simjank simjank-looper

.PHONY: all clean tools
