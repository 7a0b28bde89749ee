# SPDX-License-Identifier: GPL-2.0
# simjank over epoll and over android::Looper. Frame pointers from a function's first instruction on (no
# shrink-wrapping) and real calls, so that a walk by frame pointers finds the handlers.

TOOL_FLAGS  := -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-shrink-wrap
TOOL_CFLAGS  = $(ALL_CFLAGS) $(TOOL_FLAGS)
TOOL_CXXFLAGS = -std=gnu++17 -Wall -Wextra -Wshadow -Wno-unused-parameter $(CFLAGS) $(SANFLAGS) \
               -fno-strict-aliasing -pthread $(TOOL_FLAGS)

ANDROID_INC := /usr/include/android
ANDROID_LIB := /usr/lib/$(TRIPLET)/android

SIMJANK_SRC := tools/simjank_main.c tools/simjank_options.c tools/simjank_value.c tools/simjank_loop.c \
               tools/simjank_truth.c tools/simjank_scenario.c tools/simjank_stage.c \
               tools/simjank_helpers.c
SIMJANK_OBJ := $(SIMJANK_SRC:%.c=$(VARIANT)/%.o)
TOOL_OBJ    := $(SIMJANK_OBJ) $(VARIANT)/tools/simjank_epoll.o $(VARIANT)/tools/simjank_looper.o

tools: simjank $(if $(wildcard $(ANDROID_INC)/utils/Looper.h),simjank-looper,simjank-looper-skipped)

simjank simjank-looper: %: $(VARIANT)/%
	$(Q)ln -sf $< $@

simjank-looper-skipped:
	@echo '  SKIP     simjank-looper: no $(ANDROID_INC)/utils/Looper.h (package android-libutils-dev)'

$(VARIANT)/simjank: $(SIMJANK_OBJ) $(VARIANT)/tools/simjank_epoll.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $^

$(VARIANT)/simjank-looper: $(SIMJANK_OBJ) $(VARIANT)/tools/simjank_looper.o
	$(call msg,LINK,$@)
	$(Q)$(CXX) $(TOOL_CXXFLAGS) $(LDFLAGS) -o $@ $^ -L$(ANDROID_LIB) -Wl,-rpath,$(ANDROID_LIB) -lutils

$(VARIANT)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	$(call msg,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

$(VARIANT)/tools/%.o: tools/%.cc
	@mkdir -p $(@D)
	$(call msg,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) -isystem $(ANDROID_INC) $(TOOL_CXXFLAGS) -MMD -MP -c -o $@ $<

-include $(TOOL_OBJ:.o=.d)

.PHONY: simjank-looper-skipped
