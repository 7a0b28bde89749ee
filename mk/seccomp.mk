# SPDX-License-Identifier: GPL-2.0
# The filters of system calls, where the compiler finds libseccomp for the target. The sanitizers
# make other calls.

LIBSECCOMP   := $(and $(filter /%,$(shell $(CC) -print-file-name=libseccomp.$(if $(STATIC),a,so))),$(wildcard /usr/include/seccomp.h))
HAVE_SECCOMP := $(if $(SANITIZE),,$(LIBSECCOMP))

ifneq ($(HAVE_SECCOMP),)
$(VARIANT)/user/base/syscall_filter.o: CPPFLAGS += -DHAVE_SECCOMP
LDLIBS += -lseccomp
endif

# Without the sanitizers, so that it has the filters in `make unit`, too.
$(VARIANT)/tests/unit/test_syscall_filter: tests/unit/test_syscall_filter.c tests/tap.h user/base/syscall_filter.c \
		user/base/syscall_filter.h user/deliver/deliver_calls.c user/name/name_calls.c user/serve/calls.c \
		user/session/tracer_filter.c
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(if $(LIBSECCOMP),-DHAVE_SECCOMP) $(filter-out -fsanitize=%,$(ALL_CFLAGS)) \
		-o $@ $(filter %.c,$^) $(LDFLAGS) $(if $(LIBSECCOMP),-lseccomp)
