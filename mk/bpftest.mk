# SPDX-License-Identifier: GPL-2.0
# A separate skeleton for tests/bpf/test_logic_*.c: the probes' maps and static functions, called by
# programs that user space can run. maps.bpf.c comes first, as in the program's own skeleton.

BPFTEST_OBJ  := $(addprefix $(OUT)/bpf/,maps.bpf.o copy_user_stack.bpf.o script.bpf.o) $(OUT)/bpftest/logic.bpf.o
BPFTEST_SKEL := $(OUT)/bpftest.skel.h

$(OUT)/bpftest/logic.bpf.o: tests/bpf/logic.bpf.c tests/bpf/logic.h $(BPF_HDR)
	@mkdir -p $(@D)
	$(call msg,BPF,$<)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Wno-unused-function -c -o $@ $<

$(OUT)/bpftest.bpf.o: $(BPFTEST_OBJ)
	$(call msg,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BPFTEST_SKEL): $(OUT)/bpftest.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name bpftest > $@

# Without ASan: a system call's argument must be at an address that ASan uses for its shadow. Static
# ones run in virtual machines.
$(VARIANT)/tests/bpf/test_logic_%: tests/bpf/test_logic_%.c tests/bpf/logic.h tests/bpf/logic_run.h tests/tap.h \
		user/intake/records.c user/base/err.c user/model/display_frames.c user/probes/history_buffers.c $(BPFTEST_SKEL)
	@mkdir -p $(@D)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(ALL_CFLAGS)) \
		$(if $(STATIC),,-fsanitize=undefined) -o $@ $(filter %.c,$^) $(LDFLAGS) -lbpf -lelf -lz
