#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs in a guest for tests/vm/kernel.py. It judges nothing. All output goes to /out, each status
# last, and from there to the host at once, so that a guest that runs out of time has delivered the
# results of what it finished.
. /settings # features, work, hang, clean, form: set by kernel.py

did() { # NAME COMMAND...: its output goes to NAME.out and NAME.err
	name=$1
	shift
	"$@" >"/out/$name.out" 2>"/out/$name.err"
	status=$?
	[ "$name" != doctor ] || cp /out/doctor.out /doctor.out # hand-over takes it away
	hand-over
	echo "$status" >"/out/$name.status"
	hand-over
	echo "$name $status $(cut -d' ' -f1 /proc/uptime)" # how long each took
}

trace() { # NAME OPTION...: jankbpf's OPTIONs, "--", simjank's
	name=$1
	shift
	did "$name" jankbpf --json -t 25ms --debugging "$@" --quiet --truth "/out/$name.truth"
}

# Without a disk, there is nothing to wait for.
grep -q ' /var/tmp ext4 ' /proc/mounts && clean=$clean,disk,dsync,page_fault

did doctor jankbpf doctor
[ $form = ci ] || did veristat veristat
for way in "kernel --backend kernel" "uprobe --backend uprobe" "plain --disable-feature tp_btf"; do
	trace $way -- simjank --scenario $clean --count 48 --length 40ms-70ms --gap 20ms --order random \
		--start-delay 500ms
done
for way in "hang" "hang-plain --disable-feature tp_btf"; do
	trace $way --hang 200ms -- simjank $hang
done
for feature in $features; do
	# The kernel lacks it: all other traces are without it.
	[ $form != whole ] && grep -qE "^  (degraded|missing) +$feature " /doctor.out && continue
	types=
	[ "$feature" != btf ] || types='--btf /sys/kernel/btf/vmlinux'
	trace "without-$feature" -d 20s --disable-feature $feature $types -- simjank $work
done
trace embedded -d 20s --disable-feature btf -- simjank $work
for test in /tests/*; do
	[ ! -x "$test" ] || did "${test##*/}" timeout -s KILL 240 "$test"
done
exit 0
