#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A user who cannot trace is told so before anything starts: status 77, one line on stderr with the
# remedy, no record, and COMMAND does not run.
. "$(dirname "$0")/../lib/tap.sh"
jank=${JANKBPF:-./jankbpf}
chmod 777 "$dir"

[ "$(id -u)" = 0 ] || skip_all 'needs root'

# NAME WORDS WRAPPER...: a trace under WRAPPER is refused with WORDS
cannot() {
	name=$1 words=$2
	shift 2
	rm -f "$dir/ran"
	run "$@" "$jank" -- touch "$dir/ran"
	[ "$rc" = 77 ] && [ ! -s "$dir/out" ] && [ ! -e "$dir/ran" ] &&
		[ "$(wc -l <"$dir/err")" = 1 ] && grep -qF -e "$words" "$dir/err"
	ok $? "$name"
}

without_btf() {
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh "$@"
}

cannot 'not root' 'CAP_BPF, CAP_PERFMON' setpriv --reuid 65534 --clear-groups --inh-caps=-all
cannot 'root without CAP_PERFMON' 'lacks here: CAP_PERFMON' \
	setpriv --bounding-set=-perfmon,-sys_admin
cannot 'root of a user namespace' 'user namespace' unshare -Ur
cannot "/proc of another pid namespace" '--pid=host' unshare -pf
cannot 'no BTF' 'CONFIG_DEBUG_INFO_BTF' without_btf

# By --disable-feature: as on a kernel without it.
for f in ringbuf; do
	rm -f "$dir/ran"
	run "$jank" --disable-feature $f -- touch "$dir/ran"
	[ "$rc" = 77 ] && [ ! -s "$dir/out" ] && [ ! -e "$dir/ran" ] && grep -q "'$f'" "$dir/err"
	ok $? "without $f"
done

# tracefs is mounted if it is not yet.
run unshare -m sh -c 'umount -l /sys/kernel/debug /sys/kernel/tracing 2>/dev/null
	"$0" -- true; rc=$?; [ -e /sys/kernel/tracing/events ] && exit $rc; exit 99' "$jank"
ok $rc "tracefs is mounted if it is not yet"

end
