# SPDX-License-Identifier: GPL-2.0
# jankbpf. `make help` lists the targets; V=1 shows the commands. Each kind of build has a directory of
# its own, so that they never mix:
#
#   make                                    .output/rel
#   make SANITIZE=address,undefined         .output/san      everything of user space with them
#   make STATIC=1                           .output/static   one file, that needs nothing beside it
#   make CROSS_COMPILE=aarch64-linux-gnu-   .output/arm64/…  the same for another machine

VERSION   := 0.1.0
CLANG     ?= clang
BPFTOOL   ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
CC        ?= cc
CXX       ?= c++
PREFIX    ?= /usr/local
DESTDIR   ?=
SANITIZE  ?=
STATIC    ?=
CROSS_COMPILE ?=

ifneq ($(CROSS_COMPILE),)
CC        := $(CROSS_COMPILE)gcc
CXX       := $(CROSS_COMPILE)g++
AR        := $(CROSS_COMPILE)ar
endif
ifneq ($(and $(SANITIZE),$(STATIC)),)
$(error SANITIZE and STATIC exclude each other: the sanitizers need the dynamic linker)
endif

# Of the machine that the program is for. ARCH is the kernel's and libbpf's name of it.
TRIPLET   := $(shell $(CC) -dumpmachine 2>/dev/null)
ifeq ($(TRIPLET)$(if $(CROSS_COMPILE),,native),)
$(error no compiler $(CC): make deps-cross)
endif
# A fresh machine gets its compiler from `make deps`, or from `demo` and `check` before they build.
TRIPLET   := $(or $(TRIPLET),$(shell uname -m)-linux-gnu)
MACHINE   := $(firstword $(subst -, ,$(TRIPLET)))
ARCH      := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(MACHINE)))

OUT       := .output$(if $(CROSS_COMPILE),/$(ARCH))
VARIANT   := $(OUT)/$(if $(SANITIZE),san,$(if $(STATIC),static,rel))

# With the sanitizers, what is compiled soonest and still shows lines.
CFLAGS    ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
comma     := ,
WARN      := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter \
             -Wformat=2 -Werror=implicit-function-declaration
# Without unused sections, for size.
STATICFLAGS := $(if $(STATIC),-ffunction-sections -fdata-sections)
# Of our programs, not of those that the tests trace. FORTIFY_SOURCE needs an optimizing compiler, and
# the sanitizers do the same checks better.
PROTECT_arm64 := -mbranch-protection=standard
PROTECT_x86   := -fcf-protection
takes      = $(shell $(CC) -Werror $(1) -S -o /dev/null -xc /dev/null 2>/dev/null && echo $(1))
FORTIFY   := $(if $(SANITIZE)$(filter -O0,$(CFLAGS)),,$(if $(filter -O%,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDEN    := -fPIE -fstack-protector-strong -fstack-clash-protection $(call takes,$(PROTECT_$(ARCH))) $(FORTIFY)
# C without exceptions needs no tables to unwind itself: 250 KB of a static program.
HARDEN    += $(if $(STATIC),-fno-asynchronous-unwind-tables -fno-unwind-tables)
SANFLAGS  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
CPPFLAGS  += -I. -Iuser -I$(OUT) -D_GNU_SOURCE -DJANK_VERSION='"$(VERSION)"'
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SANFLAGS) $(STATICFLAGS) $(HARDEN) -fno-strict-aliasing -pthread
BPF_CFLAGS := -target bpf -mcpu=v3 -g -gno-column-info -O2 -Wall -Wextra -Wno-unused-parameter \
              -D__TARGET_ARCH_$(ARCH) -I. -Ivmlinux -idirafter /usr/include/$(TRIPLET)
LDLIBS    := -lbpf -ldw -lxxhash -ljansson -lprotobuf-c -lelf -lz -llzma -liberty -lcap-ng -linih -lm -lpthread
ifneq ($(STATIC),)
override LDFLAGS += -static -no-pie -Wl,--gc-sections
# A C library without this file has no static-pie.
STATIC_PIE := $(if $(filter /%,$(shell $(CC) -print-file-name=rcrt1.o)),-static-pie,-static -no-pie)
# A function of libcap-ng that we do not call would bring them in, and with them what loads nss modules.
override LDFLAGS += -Wl,--defsym=getpwuid=0 -Wl,--defsym=initgroups=0
# What newer static libelfs need, where it is.
LDLIBS    += $(if $(filter /%,$(shell $(CC) -print-file-name=libzstd.a)),-lzstd)
endif
# Short relocations (200 KB less), where the linker makes them and a static program's C library
# applies them: glibc 2.36.
RELR_TEST := \#include <features.h>\n_Static_assert(__GLIBC_PREREQ(2, 36), "");int main(void) { return 0; }
RELR := $(if $(STATIC),$(shell printf '$(RELR_TEST)' | $(CC) -Wl,--fatal-warnings,-z,pack-relative-relocs \
          -o /dev/null -xc - 2>/dev/null && echo $(comma)-z$(comma)pack-relative-relocs))
# The program is loaded at a random address, and its tables of pointers are read-only after its start.
PIE_LDFLAGS = $(filter-out -static -no-pie,$(LDFLAGS)) $(if $(STATIC),$(STATIC_PIE),-pie) \
              -Wl,-z,relro,-z,now,-z,noexecstack$(RELR)
STRIP_ALL   := $(if $(STATIC),-s)
STRIP_DEBUG := $(if $(STATIC),-Wl$(comma)--strip-debug)

ifeq ($(V),1)
Q :=
msg :=
else
Q := @
msg = @printf '  %-8s %s\n' "$(1)" "$(2)";
MAKEFLAGS += --no-print-directory
endif

# A build that tests or a demonstration ask for takes all CPUs, unless the user has said how many.
JOBS        = $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# maps.bpf.c comes first: bpftool 7.1 leaves a map's offset at 0 when its extern was linked before it.
# The sources whose programs take longest to load follow: threads load these, libbpf the others (program_loads.h).
BPF_FIRST := $(patsubst %,bpf/%.bpf.c,maps sched iter)
BPF_SRC   := $(BPF_FIRST) $(filter-out $(BPF_FIRST),$(wildcard bpf/*.bpf.c))
BPF_HDR   := $(wildcard bpf/*.h vmlinux/*.h)
SKEL      := $(OUT)/jankbpf.skel.h $(OUT)/jankbpf_plain.skel.h $(OUT)/calibrate.skel.h

# Everything but main and what needs a skeleton is pure enough for the host tests.
SKEL_SRC  := $(shell grep -l '^.include ".*\.skel\.h"' user/*/*.c)
APP_SRC   := $(wildcard user/options/*.c user/deliver/*.c user/session/*.c user/serve/*.c user/cli/*.c)
LIB_SRC   := $(filter-out $(SKEL_SRC) $(APP_SRC),$(wildcard user/*/*.c user/*/*/*.c))
SRC       := $(APP_SRC) $(LIB_SRC) $(SKEL_SRC)
OBJ       := $(SRC:%.c=$(VARIANT)/%.o)
LIB       := $(VARIANT)/libjank.a

.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.SECONDARY:

all: program tools #:build the program and the tools

# Links in the root name what runs here, and what is to be carried elsewhere.
LINK := $(if $(STATIC),jankbpf-$(MACHINE),$(if $(CROSS_COMPILE),,jankbpf))
link  = $(Q)[ "$$(readlink $@)" = $< ] || ln -sf $< $@

program: $(VARIANT)/jankbpf $(LINK)

jankbpf jankbpf-$(MACHINE): $(VARIANT)/jankbpf
	$(link)

$(VARIANT)/jankbpf: $(APP_SRC:%.c=$(VARIANT)/%.o) $(SKEL_SRC:%.c=$(VARIANT)/%.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(PIE_LDFLAGS) $(STRIP_ALL) -o $@ $^ $(LDLIBS)

$(LIB): $(LIB_SRC:%.c=$(VARIANT)/%.o)
	$(call msg,AR,$@)
	$(Q)rm -f $@; $(AR) rcs $@ $^

# Objects with other flags would not link, or lack their protection.
$(VARIANT)/cflags: cflags-changed
	@mkdir -p $(@D)
	@echo '$(ALL_CFLAGS)' | cmp -s - $@ || echo '$(ALL_CFLAGS)' > $@

$(VARIANT)/%.o: %.c $(VARIANT)/cflags
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Failed allocations are counted, whoever calls malloc.
$(VARIANT)/user/%.o: CPPFLAGS += -include user/base/alloc.h

$(SKEL_SRC:%.c=$(VARIANT)/%.o): $(SKEL)

$(VARIANT)/user/base/names.o: $(OUT)/syscall_names.h

# arm64's numbers are other macros, so the compiler shall see to them.
$(OUT)/syscall_names.h:
	@mkdir -p $(@D)
	$(call msg,GEN,$@)
	$(Q)echo '#include <sys/syscall.h>' | $(CC) -E -dM - | \
		sed -n '/syscalls\|arch_specific/d; s/^#define __NR_\([a-z0-9_]*\) .*/[__NR_\1] = "\1",/p' | sort > $@

# --- BPF: one object a concern, linked into one skeleton; all of it twice, for kernels with typed
# tracepoints and task storage, and plain for those without

define bpf-skeleton
$(OUT)/$(1)/%.bpf.o: bpf/%.bpf.c $$(BPF_HDR)
	@mkdir -p $$(@D)
	$$(call msg,BPF,$$@)
	$$(Q)$$(CLANG) $$(BPF_CFLAGS) $(3) -c -o $$@ $$<

$(OUT)/$(2).bpf.o: $(4:bpf/%.bpf.c=$(OUT)/$(1)/%.bpf.o)
	$$(call msg,BPFLINK,$$@)
	$$(Q)$$(BPFTOOL) gen object $$@ $$^
	$$(Q)llvm-objcopy --wildcard --strip-symbol='LBB*' $$@ # labels of the compiler's: an eighth of the file

$(OUT)/$(2).skel.h: $(OUT)/$(2).bpf.o
	$$(call msg,SKEL,$$@)
	$$(Q)$$(BPFTOOL) gen skeleton $$< name $(2) > $$@
endef

$(eval $(call bpf-skeleton,bpf,jankbpf,,$(BPF_SRC)))
$(eval $(call bpf-skeleton,bpf_plain,jankbpf_plain,-DJANK_PLAIN,$(BPF_SRC)))
$(eval $(call bpf-skeleton,bpf,calibrate,,bpf/calibrate/calibrate.bpf.c))
$(OUT)/bpf/uprobes.bpf.o $(OUT)/bpf_plain/uprobes.bpf.o: bpf/copy_user_stack.bpf.c # includes it

include $(wildcard mk/*.mk)
-include $(OBJ:.o=.d)

clean: #:build remove what was built
	$(call msg,CLEAN,$(OUT))
	$(Q)rm -rf $(OUT) $(if $(CROSS_COMPILE),jankbpf-$(MACHINE),jankbpf jankbpf-* simjank simjank-looper)

.PHONY: all clean program tools cflags-changed jankbpf jankbpf-$(MACHINE)
