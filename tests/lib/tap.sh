# SPDX-License-Identifier: GPL-2.0
# For tests in shell: TAP results, a private directory in $dir, and the output of a command. Source
# it:
#   . "$(dirname "$0")/../lib/tap.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0

skip_all() { # REASON
	echo "1..0 # SKIP $1"
	exit 0
}

# COMMAND...: writes its output to $dir/out and $dir/err, sets $rc to its status
run() {
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	rc=$?
}

# STATUS NAME: prints a result; if it is bad, also the last command's output
ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
		return
	fi
	echo "not ok $n - $2"
	for said in "$dir/err" "$dir/out"; do
		[ ! -e "$said" ] || sed "s/^/# rc $rc: /" "$said"
	done
}

skip() { # NAME REASON
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

end() {
	echo "1..$n"
}
