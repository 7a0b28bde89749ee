# SPDX-License-Identifier: GPL-2.0
# simjank over epoll and over android::Looper. With frame pointers from a function's first
# instruction on (no shrink-wrapping) and without tail calls, so that a walk by frame pointers finds
# the handlers.

# On arm64 with signed return addresses, as Android and most distributions build.
TOOL_FLAGS  := -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-shrink-wrap \
               $(if $(filter arm64,$(ARCH)),-mbranch-protection=standard)
TOOL_CFLAGS  = $(filter-out $(HARDEN),$(ALL_CFLAGS)) $(if $(STATIC),-fno-pie) $(TOOL_FLAGS)
TOOL_CXXFLAGS = -std=gnu++17 -Wall -Wextra -Wshadow -Wno-unused-parameter $(CFLAGS) $(SANFLAGS) \
               -fno-strict-aliasing -pthread $(TOOL_FLAGS)

ANDROID_INC := /usr/include/android
ANDROID_LIB := /usr/lib/$(TRIPLET)/android

SIMJANK_SRC := $(filter-out tools/simjank_epoll.c,$(sort $(wildcard tools/simjank_*.c)))
SIMJANK_OBJ := $(SIMJANK_SRC:%.c=$(VARIANT)/%.o)
TOOL_OBJ    := $(SIMJANK_OBJ) $(VARIANT)/tools/simjank_epoll.o $(VARIANT)/tools/simjank_looper.o

# The reason if there is no simjank-looper.
LOOPER_NEEDS := $(ANDROID_INC)/utils/Looper.h $(ANDROID_LIB)/libutils.so
NO_LOOPER    := $(if $(STATIC),libutils is a shared library only,$(addprefix no ,$(firstword \
                $(filter-out $(wildcard $(LOOPER_NEEDS)),$(LOOPER_NEEDS)))))

# Links in the root point to programs that run here.
tools: $(addprefix $(if $(STATIC)$(CROSS_COMPILE),$(VARIANT)/),simjank $(if $(NO_LOOPER),,simjank-looper))
tools: $(if $(NO_LOOPER),simjank-looper-skipped)

simjank simjank-looper: %: $(VARIANT)/%
	$(link)

simjank-looper-skipped:
	@echo '  SKIP     simjank-looper: $(NO_LOOPER)$(if $(STATIC),, (package android-libutils-dev))'

# Symbols stay, so that stacks have names.
$(VARIANT)/simjank: $(SIMJANK_OBJ) $(VARIANT)/tools/simjank_epoll.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) $(STRIP_DEBUG) -o $@ $^

# A cross linker does not search libutils' own libraries, some of which only the target has.
$(VARIANT)/simjank-looper: $(SIMJANK_OBJ) $(VARIANT)/tools/simjank_looper.o
	$(call msg,LINK,$@)
	$(Q)$(CXX) $(TOOL_CXXFLAGS) $(LDFLAGS) -o $@ $^ -L$(ANDROID_LIB) -Wl,-rpath,$(ANDROID_LIB) \
		$(if $(CROSS_COMPILE),-Wl$(comma)--allow-shlib-undefined) -lutils

$(VARIANT)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

$(VARIANT)/tools/%.o: tools/%.cc
	@mkdir -p $(@D)
	$(call msg,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) -isystem $(ANDROID_INC) $(TOOL_CXXFLAGS) -MMD -MP -c -o $@ $<

-include $(TOOL_OBJ:.o=.d)

.PHONY: simjank simjank-looper simjank-looper-skipped
