#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# jankbpf on an Android device over adb: pushes the static binary, runs it as root, pulls its files.
# It checks before it acts: a message says in one sentence what is missing, with the remedy. Exit
# status: as jankbpf's own (1 failed, 2 wrong usage, 77 the device cannot), and of `run`, jankbpf's.
set -u

ADB=${ADB:-adb}
DIR=/data/local/tmp
SERIAL=${ANDROID_SERIAL:-}
EX_FAILED=1 EX_USAGE=2 EX_CANNOT=77
KERNEL_MIN=5008 # 5.8 introduced the ring buffer

usage() {
	cat <<'END'
Usage: android.sh [-s SERIAL] [--dir DIR] push [BINARY]
       android.sh [-s SERIAL] [--dir DIR] run ARG…
       android.sh [-s SERIAL] [--dir DIR] pull REMOTE… [LOCALDIR]

push   puts jankbpf on the device: BINARY, or the static one for its processor (make STATIC=1)
run    runs it there as root with jankbpf's arguments, in DIR. Records come on stdout, messages on
       stderr; the exit status is jankbpf's. Ctrl-C ends it as it does here, with a summary; a second
       one kills it.
pull   fetches what it wrote (-o, --journal) to LOCALDIR, which is made if need be; without it, to
       this folder. REMOTE is below DIR unless it begins with /.

  -s SERIAL   this device (default: $ANDROID_SERIAL, or the only one)
  --dir DIR   the device's folder for the binary and its files (default: /data/local/tmp)

$ADB is the adb to use. It needs root on the device: a userdebug build, or su.
END
}

say() { printf 'android.sh: %s\n' "$*" >&2; }

die() { # STATUS MESSAGE
	status=$1
	shift
	say "$*"
	exit "$status"
}

# Quotes each argument as one word for the device's shell, whatever it contains.
quote() {
	for word; do
		printf "'"
		printf '%s' "$word" | sed "s/'/'\\\\''/g"
		printf "' "
	done
}

device() { "$ADB" ${SERIAL:+-s "$SERIAL"} "$@"; }

# The shell protocol keeps stdout, stderr and the exit status separate.
has_shell_v2() { device features 2>/dev/null </dev/null | grep -q '^shell_v2'; }

# Unchanged stdout, even if exec-out is a terminal that changes it.
raw_out() { # COMMAND
	if has_shell_v2; then
		device shell -T "$1"
	else
		device exec-out "stty raw -echo 2>/dev/null; { $1; } | cat"
	fi
}

# --- checks of adb and the device

choose_device() {
	command -v "$ADB" >/dev/null 2>&1 || die $EX_FAILED "there is no '$ADB': install adb (Debian:" \
		"apt-get install adb), or give its path in ADB="
	listed=$("$ADB" devices 2>&1) || die $EX_FAILED "$ADB devices failed: $listed"
	listed=$(printf '%s\n' "$listed" | tr -d '\r' | awk -F '\t' 'NF > 1 { print $1, $2 }')
	if [ -z "$SERIAL" ]; then
		case $(printf '%s' "$listed" | grep -c .) in
		0) die $EX_FAILED "no device: plug one in and turn on USB debugging in its developer options," \
			"or adb connect HOST" ;;
		1) SERIAL=${listed%% *} ;;
		*) die $EX_FAILED "more than one device: choose by -s SERIAL or ANDROID_SERIAL from" \
			"$(printf '%s\n' "$listed" | sed 's/ .*//' | tr '\n' ' ')" ;;
		esac
	fi
	check_state "$(printf '%s\n' "$listed" | SERIAL=$SERIAL awk '$1 == ENVIRON["SERIAL"] { sub(/[^ ]* /, ""); print }')"
}

check_state() {
	case $1 in
	device) return ;;
	'') why="is not there: adb devices lists those that are" ;;
	offline) why="is offline: plug it in again, or adb reconnect offline" ;;
	unauthorized | authorizing) why="does not trust this computer yet: confirm the dialog on its screen" ;;
	"no permissions"*) why="may not be opened by this user: see udev rules (Debian: android-sdk-platform-tools-common)" ;;
	bootloader | recovery | sideload | rescue) why="is in $1 mode: start Android, as by adb reboot" ;;
	*) why="is in the state '$1': wait until adb devices says 'device'" ;;
	esac
	die $EX_FAILED "the device $SERIAL $why"
}

# All queries of the device at once: KEY VALUE lines.
ask_device() {
	answers=$(device shell "echo id \$(id -u); echo machine \$(uname -m); echo kernel \$(uname -r)
		echo selinux \$(getenforce 2>/dev/null)
		test -d $(quote "$DIR")&& echo dir yes; test -x $(quote "$DIR/jankbpf")&& echo pushed yes
		echo free \$(df -kP $(quote "$DIR")2>/dev/null | tail -n 1)" 2>&1 </dev/null | tr -d '\r')
	[ -n "$(answer machine)" ] || die $EX_FAILED "the device $SERIAL has no usable shell: $answers"
}

answer() { printf '%s\n' "$answers" | sed -n "s/^$1 //p"; }

check_machine() {
	case $(answer machine) in
	aarch64 | armv8*) machine=aarch64 ;;
	x86_64) machine=x86_64 ;;
	*) die $EX_CANNOT "the device's kernel is for $(answer machine): jankbpf is for aarch64 and x86_64" ;;
	esac
	release=$(answer kernel)
	number=$(printf '%s\n' "$release" | awk -F '[.-]' '{ print $1 * 1000 + $2 }')
	[ "$number" -ge $KERNEL_MIN ] || die $EX_CANNOT "the device's kernel is $release: jankbpf needs 5.8 or" \
		"later (Android 12 and later come with 5.10 or later, on new devices)"
	[ "$(answer dir)" = yes ] || die $EX_FAILED "there is no folder $DIR on the device: give one by --dir"
}

connect() {
	choose_device
	ask_device
	check_machine
}

# --- root: as_root COMMAND prints the line for the device's shell that runs COMMAND so

root_by=

as_root() {
	case $root_by in
	su0) printf 'su 0 sh -c %s' "$(quote "$1")" ;;
	suc) printf 'su -c %s' "$(quote "$1")" ;;
	*) printf '%s' "$1" ;;
	esac
}

is_root() { [ "$(device shell "$(as_root 'id -u')" 2>/dev/null </dev/null | tr -d '\r' | tail -n 1)" = 0 ]; }

# adbd restarts as root; the device disappears meanwhile.
restart_as_root() {
	device root </dev/null 2>&1 | tr -d '\r' | grep -q 'restarting' || return 1
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 1
		[ "$(device get-state 2>/dev/null)" = device ] && is_root && return
	done
	return 1
}

become_root() {
	[ "$(answer id)" = 0 ] && return
	restart_as_root && return
	for root_by in su0 suc; do
		is_root && return
	done
	die $EX_CANNOT "no root on the device: neither 'adb root' nor su gives it; use a userdebug build" \
		"(adb root works there) or a rooted device, and grant su to the shell in its root manager"
}

# We do not change SELinux; but a user whom it refuses should know why.
hint_selinux() {
	[ "$(answer selinux)" = Enforcing ] || return 0
	domain=$(device shell "$(as_root 'id -Z')" 2>/dev/null </dev/null | tr -d '\r')
	case $domain in
	*:su:* | *:magisk:* | *:ksu:*) ;;
	*) say "SELinux is enforcing and root is ${domain:-of an unknown domain} here: if jankbpf is refused," \
		"try 'su 0 setenforce 0' on the device" ;;
	esac
}

# --- push

find_binary() {
	here=$(dirname "$0")
	for binary in "$here/jankbpf-$machine" "$here/../jankbpf-$machine"; do
		[ -e "$binary" ] && return
	done
	case $machine in
	"$(uname -m)") made="make STATIC=1" ;;
	*) made="make STATIC=1 CROSS_COMPILE=$machine-linux-gnu-" ;;
	esac
	die $EX_FAILED "there is no jankbpf-$machine beside this script or in the folder above:" \
		"build it with '$made', or name the BINARY"
}

check_binary() {
	[ -f "$binary" ] && [ -r "$binary" ] || die $EX_FAILED "cannot read '$binary'"
	elf=$(od -An -tx1 -N4 "$binary" | tr -d ' ') of=$(od -An -tu1 -j18 -N1 "$binary" | tr -d ' ')
	case $elf:$of:$machine in
	7f454c46:183:aarch64 | 7f454c46:62:x86_64) ;;
	*) die $EX_FAILED "'$binary' is no program for $machine, which the device is" ;;
	esac
	need_kb=$(($(wc -c <"$binary") / 1024 + 1024))
	free_kb=$(answer free | awk '{ print $4 }')
	case $free_kb in
	'' | *[!0-9]*) ;; # a df with another format
	*) [ "$free_kb" -ge "$need_kb" ] || die $EX_FAILED "$DIR on the device has $free_kb KB free, and" \
		"$need_kb KB are needed: make room, or choose another folder by --dir" ;;
	esac
}

push() {
	[ $# -le 1 ] || die $EX_USAGE "push takes one BINARY; see android.sh --help"
	connect
	binary=${1:-}
	[ -n "$binary" ] || find_binary
	check_binary
	told=$(device push "$binary" "$DIR/jankbpf" 2>&1 </dev/null) || die $EX_FAILED "cannot push '$binary': $told"
	version=$(device shell "chmod 755 $(quote "$DIR/jankbpf")&& $(quote "$DIR/jankbpf")--version" 2>&1 </dev/null |
		tr -d '\r')
	case $version in
	jankbpf\ *) say "$version is at $DIR/jankbpf of $SERIAL ($machine, kernel $release)" ;;
	*) die $EX_FAILED "'$binary' does not start on the device (is it static, by make STATIC=1?): $version" ;;
	esac
}

# --- run

# Leaves its pid in a file, for the signal. The shell around it lives longer and cleans up.
remote_command() { # ARG…
	printf 'cd %s&& { sh -c %s%s./jankbpf %s; s=$?; rm -f %s; (exit $s); }' "$(quote "$DIR")" \
		"$(quote 'echo $$ >"$0"; exec "$@"')" "$(quote "$pidfile")" "$(quote "$@")" "$(quote "$pidfile")"
}

# A process started by & does not get the Ctrl-C that the terminal sends to its foreground
# processes.
signal_remote() { # SIGNAL
	file=$(quote "$pidfile")
	device shell "$(as_root "i=0; while [ ! -s $file ] && [ \$i -lt 50 ]; do sleep 0.1; i=\$((i + 1)); done
		kill -$1 \$(cat $file)")" >/dev/null 2>&1 </dev/null &
	signallers="$signallers $!"
}

interrupted() {
	interrupts=$((interrupts + 1))
	case $interrupts in
	1) signal_remote INT ;;
	2) signal_remote KILL ;;
	*) kill "$(cat "$local_dir/pid")" ;;
	esac
}

# Without the shell protocol: only stdout comes through exec-out, the rest is kept in files until
# the end.
run_v1() { # COMMAND
	say "this adb or device is too old to keep messages apart: they come at the end, and COMMAND gets no input"
	errors=$(quote "$pidfile.err") code=$(quote "$pidfile.status")
	raw_out "{ $1; } 2>$errors </dev/null; echo \$? >$code"
	device exec-out "cat $errors" </dev/null >&2
	result=$(device exec-out "cat $code; rm -f $errors $code" </dev/null | tr -d '\r')
	return "${result:-$EX_FAILED}"
}

# The status goes through a file, because a signal during `wait` hides it. stdin is named because a
# process started by & has none otherwise.
start() { # COMMAND…
	if (: 3<&0) 2>/dev/null; then exec 3<&0; else exec 3</dev/null; fi
	{
		trap '' INT HUP
		"$@" <&3 &
		echo $! >"$local_dir/pid"
		wait $!
		echo $? >"$local_dir/status"
	} &
	runner=$!
	exec 3<&-
}

wait_for_end() {
	while [ ! -s "$local_dir/status" ]; do
		wait "$runner"
		[ -s "$local_dir/status" ] || kill -0 "$runner" 2>/dev/null || return $EX_FAILED
	done
	return "$(cat "$local_dir/status")"
}

tidy() {
	# shellcheck disable=SC2086
	[ -z "$signallers" ] || kill $signallers 2>/dev/null
	rm -rf "$local_dir"
}

run() {
	# `--` is allowed before jankbpf's own options; before a COMMAND it is jankbpf's.
	case ${1:-}:${2:-} in --:-*) shift ;; esac
	connect
	[ "$(answer pushed)" = yes ] ||
		die $EX_FAILED "there is no jankbpf in $DIR on the device: 'android.sh push' puts it there"
	become_root
	hint_selinux
	interrupts=0 signallers=
	pidfile=${DIR%/}/.jankbpf.$$.$(date +%s)
	local_dir=$(mktemp -d) || exit $EX_FAILED
	trap tidy EXIT
	trap interrupted INT TERM HUP
	command=$(as_root "$(remote_command "$@")")
	if has_shell_v2; then
		start "$ADB" ${SERIAL:+-s "$SERIAL"} shell -T "$command"
	else
		start run_v1 "$command"
	fi
	wait_for_end
	status=$?
	# adb reports a broken connection as success: if the file does not exist, jankbpf itself
	# ended.
	[ "$(device shell "test -e $(quote "$pidfile")|| echo ended" 2>/dev/null </dev/null | tr -d '\r')" = ended ] ||
		die $EX_FAILED "the connection to $SERIAL ended before jankbpf did: it may go on there until it writes" \
			"its next record"
	exit "$status"
}

# --- pull

remote_path() { # RELATIVE-OR-ABSOLUTE
	case $1 in
	/*) printf '%s' "$1" ;;
	*) printf '%s/%s' "${DIR%/}" "$1" ;;
	esac
}

# Only root may read root's files: if adb's own pull cannot, tar brings them.
pull_one() { # REMOTE LOCALDIR
	path=$(remote_path "${1%/}")
	[ "$(device shell "$(as_root "test -e $(quote "$path")&& echo yes")" </dev/null | tr -d '\r')" = yes ] ||
		die $EX_FAILED "there is no $path on the device"
	if [ -z "$root_by" ]; then
		told=$(device pull "$path" "$2/" 2>&1 </dev/null) || die $EX_FAILED "cannot pull $path: $told"
	else
		name=$(basename "$path")
		packed="tar -cf - -C $(quote "$(dirname "$path")")$(quote "$name")2>/dev/null"
		raw_out "$(as_root "$packed")" </dev/null | tar -xf - -C "$2" && [ -e "$2/$name" ] ||
			die $EX_FAILED "cannot pull $path: its archive ended early"
	fi
	say "$path is in $2"
}

pull() {
	[ $# -ge 1 ] || die $EX_USAGE "pull needs the REMOTE file or folder; see android.sh --help"
	last=.
	if [ $# -ge 2 ]; then
		for last; do :; done
	fi
	connect
	become_root
	mkdir -p -- "$last" || exit $EX_FAILED
	count=$(($# > 1 ? $# - 1 : 1))
	for remote; do
		[ "$count" -gt 0 ] || break
		pull_one "$remote" "$last"
		count=$((count - 1))
	done
}

# --- the command line

needs_value() { [ "$1" -ge 2 ] || die $EX_USAGE "$2 needs a value; see android.sh --help"; }

while [ $# -gt 0 ]; do
	case $1 in
	-s)
		needs_value $# "$1"
		SERIAL=$2
		shift
		;;
	--dir)
		needs_value $# "$1"
		DIR=$2
		shift
		;;
	-h | --help)
		usage
		exit 0
		;;
	push | pull | run)
		"$@"
		exit
		;;
	*) die $EX_USAGE "'$1' is none of push, run and pull; see android.sh --help" ;;
	esac
	shift
done
die $EX_USAGE "give one of push, run and pull; see android.sh --help"
