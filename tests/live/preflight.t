#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Who cannot trace is told so before anything starts: 77, one line on stderr with the remedy, no
# record, and COMMAND is not run.
jank=${JANKBPF:-./jankbpf}
dir=$(mktemp -d) || exit 1
chmod 777 "$dir"
trap 'rm -rf "$dir"' EXIT
n=0

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP needs root'
	exit 0
fi

# NAME WORDS WRAPPER...: the trace under WRAPPER is refused with WORDS
cannot() {
	name=$1 words=$2
	shift 2
	rm -f "$dir/ran"
	"$@" "$jank" -- touch "$dir/ran" >"$dir/out" 2>"$dir/err" </dev/null
	rc=$?
	n=$((n + 1))
	if [ "$rc" = 77 ] && [ ! -s "$dir/out" ] && [ ! -e "$dir/ran" ] &&
		[ "$(wc -l <"$dir/err")" = 1 ] && grep -qF -e "$words" "$dir/err"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed "s/^/# rc $rc: /" "$dir/err" "$dir/out"
	fi
}

without_btf() {
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh "$@"
}

cannot 'not root' 'CAP_BPF, CAP_PERFMON' setpriv --reuid 65534 --clear-groups --inh-caps=-all
cannot 'root without CAP_PERFMON' 'lacks here: CAP_PERFMON' \
	setpriv --bounding-set=-perfmon,-sys_admin
cannot 'root of a user namespace' 'user namespace' unshare -Ur
cannot "a container's process ids" '--pid=host' unshare -pf
cannot 'no BTF' 'CONFIG_DEBUG_INFO_BTF' without_btf

# By --disable-feature: as on a kernel that lacks it.
for f in ringbuf; do
	rm -f "$dir/ran"
	"$jank" --disable-feature $f -- touch "$dir/ran" >"$dir/out" 2>"$dir/err" </dev/null
	rc=$?
	n=$((n + 1))
	if [ "$rc" = 77 ] && [ ! -s "$dir/out" ] && [ ! -e "$dir/ran" ] && grep -q "'$f'" "$dir/err"; then
		echo "ok $n - without $f"
	else
		echo "not ok $n - without $f"
		sed "s/^/# rc $rc: /" "$dir/err"
	fi
done

# tracefs is mounted where it isn't.
n=$((n + 1))
unshare -m sh -c 'umount -l /sys/kernel/debug /sys/kernel/tracing 2>/dev/null
	"$0" -- true; rc=$?; [ -e /sys/kernel/tracing/events ] && exit $rc; exit 99' "$jank" \
	>"$dir/out" 2>"$dir/err" </dev/null
rc=$?
if [ "$rc" = 0 ]; then
	echo "ok $n - tracefs is mounted where it isn't"
else
	echo "not ok $n - tracefs is mounted where it isn't"
	sed "s/^/# rc $rc: /" "$dir/err"
fi

echo "1..$n"
