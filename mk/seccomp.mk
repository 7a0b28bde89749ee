# SPDX-License-Identifier: GPL-2.0
# The filters of system calls, where the compiler finds libseccomp for the target. The sanitizers
# make other calls.

HAVE_SECCOMP := $(if $(SANITIZE),,$(and $(filter /%,$(shell $(CC) -print-file-name=libseccomp.$(if $(STATIC),a,so))),$(wildcard /usr/include/seccomp.h)))

ifneq ($(HAVE_SECCOMP),)
$(VARIANT)/user/base/syscall_filter.o: CPPFLAGS += -DHAVE_SECCOMP
LDLIBS += -lseccomp
endif
