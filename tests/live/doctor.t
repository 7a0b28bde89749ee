#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# jankbpf doctor: its lines, its verdict, and that it changes nothing.
. "$(dirname "$0")/../lib/tap.sh"
jank=${JANKBPF:-./jankbpf}

line() { grep -qE "^  $1 +$2 " "$dir/out"; } # VERDICT NAME

features='ringbuf btf tp_btf current_task_btf task_storage task_pt_regs task_iter test_run switch_state
syscall_tracepoints raw_syscalls uprobe attach_cookie perf_event hw_cycles cpu_clock task_iter_pid file_fault cache_add preempt_off
vblank binder array_mmap bpf_stats'
required=ringbuf
typed=' btf tp_btf current_task_btf task_storage task_pt_regs task_iter ' # else the plain probes
types=/sys/kernel/btf/vmlinux

[ "$(id -u)" = 0 ] || skip_all 'needs root'

run "$jank" doctor
[ "$rc" = 0 ]
ok $? 'root may trace: 0'
! line missing '[^ ]+'
ok $? 'nothing is missing'
grep -q '^Tracing is possible' "$dir/out"
ok $? 'the verdict closes the report'
[ ! -s "$dir/err" ]
ok $? 'stderr is empty'
for f in $features CAP_BPF CAP_PERFMON CAP_SYS_PTRACE CAP_SYSLOG perf_event_paranoid kptr_restrict \
	lockdown tracefs bpffs 'pid namespace' RLIMIT_MEMLOCK; do
	line '(ok|degraded)' "$f"
	ok $? "a line for $f"
done
! grep -E '^  (ok|degraded|missing)' "$dir/out" | grep -qvE '^  (ok      |degraded|missing )  .{20} [^ ]'
ok $? 'the columns are aligned'
! grep -q "$(printf '\033')" "$dir/out"
ok $? 'no colour in a file'

for f in $features; do
	run "$jank" doctor --disable-feature "$f" --btf $types
	case $typed in
	*" $f "*) line degraded probes ;;
	*) line ok probes ;;
	esac
	ok $? "without $f: the line of the probes"
	case " $(echo $required) " in
	*" $f "*) line missing "$f" && [ "$rc" = 77 ] ;;
	*) line degraded "$f" && [ "$rc" = 0 ] ;;
	esac
	ok $? "without $f: its line and the exit status"
done
run "$jank" doctor --disable-feature btf
line missing types && [ "$rc" = 77 ]
ok $? 'without types of this kernel'
run "$jank" doctor --disable-feature syscall_tracepoints --disable-feature raw_syscalls \
	--disable-feature uprobe
line missing waits && [ "$rc" = 77 ]
ok $? 'without any means to see a wait'

run setpriv --reuid 65534 --clear-groups --inh-caps=-all "$jank" doctor
[ "$rc" = 77 ] && line missing CAP_BPF && line missing CAP_PERFMON && grep -q 'as root' "$dir/out"
ok $? 'not root: 77, the missing capabilities, the remedy'

run unshare -pf "$jank" doctor
[ "$rc" = 77 ] && line missing 'pid namespace' && grep -q 'mount -t proc' "$dir/out"
ok $? "/proc of another pid namespace: 77, with the remedy"

run unshare -pf --mount-proc "$jank" doctor
[ "$rc" = 0 ] && line degraded 'pid namespace'
ok $? "a container's process ids: degraded"

run unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" doctor' "$jank"
[ "$rc" = 77 ] && line missing types && line degraded btf && grep -q CONFIG_DEBUG_INFO_BTF "$dir/out"
ok $? 'no BTF: 77, with the remedy'

run unshare -m sh -c 'umount -l /sys/kernel/debug /sys/kernel/tracing 2>/dev/null
	"$0" doctor; rc=$?; ls /sys/kernel/tracing >&2; exit $rc' "$jank"
[ "$rc" = 0 ] && line ok syscall_tracepoints && [ ! -s "$dir/err" ]
ok $? 'tracefs is checked without a mount'

# A terminal, by script(1).
if command -v script >/dev/null; then
	run script -qec "NO_COLOR= $jank doctor" /dev/null
	grep -q "$(printf '\033')\[3[23]m" "$dir/out"
	ok $? 'colour on a terminal'
	run script -qec "NO_COLOR=1 $jank doctor" /dev/null
	grep -q 'Tracing is possible' "$dir/out" && ! grep -q "$(printf '\033')" "$dir/out"
	ok $? 'no colour with NO_COLOR'
else
	skip 'colour on a terminal' 'no script(1)'
fi

run sh -c '"$0" doctor >/dev/full' "$jank"
[ "$rc" = 1 ]
ok $? 'a report that cannot be written fails'

end
