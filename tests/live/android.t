#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# tools/android.sh with devices that it must refuse, or that need a request for root. A fake adb
# answers for them. tests/vm/android.t uses a real adbd.
script=$(dirname "$0")/../../tools/android.sh
. "$(dirname "$0")/../lib/tap.sh"
mkdir "$dir/bin" "$dir/tools" "$dir/device"

# A device is a set of variables; its shell is this machine's, with the device's uname and id.
cat >"$dir/bin/adb" <<'END'
#!/bin/sh
tab=$(printf '\t')
if [ "$1" = devices ]; then
	printf 'List of devices attached\n'
	for device in ${DEVICES-}; do printf '%s\n' "$device" | tr ':_' "$tab "; done
	printf '\n'
	exit
fi
[ "$1" = -s ] && shift 2
what=$1
shift
[ "$1" = -T ] && shift
case $what in
features) printf 'cmd\nshell_v2\n' ;;
get-state) echo device ;;
root)
	[ -n "${USERDEBUG-}" ] || { echo 'adbd cannot run as root in production builds'; exit; }
	echo "$what" >>"$HERE/asked"
	echo 'restarting adbd as root'
	: >"$HERE/rooted"
	;;
push) cp "$1" "$2" ;;
shell) PATH=$HERE/device:$PATH exec sh -c "$1" ;;
esac
END
cat >"$dir/device/uname" <<'END'
#!/bin/sh
case $1 in -m) echo "${MACHINE-aarch64}" ;; -r) echo "${KERNEL-6.6.30-android15}" ;; esac
END
cat >"$dir/device/id" <<'END'
#!/bin/sh
case $1 in
-Z) echo "u:r:${DOMAIN-su}:s0" ;;
*) if [ -n "${IS_ROOT-}" ] || [ -e "$HERE/rooted" ]; then echo 0; else echo 2000; fi ;;
esac
END
printf '#!/bin/sh\necho "${SELINUX-Enforcing}"\n' >"$dir/device/getenforce"
cat >"$dir/device/su" <<'END'
#!/bin/sh
case ${SU-none}:$1 in
android:0) shift; IS_ROOT=1 exec "$@" ;;
other:-c) IS_ROOT=1 exec sh -c "$2" ;;
*) echo 'su: permission denied' >&2; exit 1 ;;
esac
END
printf '#!/bin/sh\nprintf "<%%s>" "$@"\necho aside >&2\nexit 5\n' >"$dir/jankbpf"
chmod +x "$dir"/bin/* "$dir"/device/* "$dir/jankbpf"
cp "$script" "$dir/tools/android.sh"
unset ANDROID_SERIAL ADB
export HERE="$dir" PATH="$dir/bin:$PATH" DEVICES=phone:device

# NAME STATUS WORDS ARG…: ends with that status, and one line on stderr that contains the words
refuses() {
	name=$1 status=$2 words=$3
	shift 3
	run "$dir/tools/android.sh" "$@"
	[ "$rc" = "$status" ] && [ "$(wc -l <"$dir/err")" = 1 ] && [ ! -s "$dir/out" ] && grep -qF -e "$words" "$dir/err"
	ok $? "$name"
}

# NAME ARG…: `run` works: it passes records, messages and the status
runs() {
	name=$1
	shift
	run "$dir/tools/android.sh" --dir "$dir" run "$@"
	[ "$rc" = 5 ] && [ "$(cat "$dir/out")" = "<-t><25ms><a  b>" ] && grep -qx aside "$dir/err"
	ok $? "$name"
}

refuses 'no command' 2 'give one of push, run and pull'
refuses 'no such command' 2 "'frob' is none of push, run and pull" frob
refuses '-s without its value' 2 '-s needs a value' -s
refuses 'push of two' 2 'push takes one BINARY' push a b
refuses 'pull of nothing' 2 'pull needs the REMOTE' pull
run "$dir/tools/android.sh" --help
[ "$rc" = 0 ] && grep -q '^Usage: android.sh' "$dir/out" && [ ! -s "$dir/err" ]
ok $? '--help is on stdout'

ADB=$dir/none refuses 'no adb' 1 'install adb' push
DEVICES='' refuses 'no device' 1 'no device: plug one in' push
DEVICES='a:device b:device' refuses 'two devices' 1 'choose by -s SERIAL or ANDROID_SERIAL from a b' push
DEVICES='a:device b:offline' refuses 'two devices, one of them offline' 1 'more than one device' run -a
DEVICES='a:device b:device' refuses '-s of an unknown device' 1 'the device c is not there' -s c push
DEVICES='a:device b:offline' refuses '-s of the offline device' 1 'the device b is offline' -s b push
DEVICES='a:device b:unauthorized' ANDROID_SERIAL=b refuses 'ANDROID_SERIAL of a device that does not trust us' 1 \
	'confirm the dialog' pull x
DEVICES='a:unauthorized' refuses 'unauthorized' 1 'the device a does not trust this computer yet: confirm the dialog' run -a
DEVICES='a:offline' refuses 'offline' 1 'adb reconnect offline' run -a
DEVICES='a:no_permissions' refuses 'no permissions' 1 'udev' run -a
DEVICES='a:recovery' refuses 'recovery' 1 'is in recovery mode: start Android' run -a
DEVICES='a:connecting' refuses 'a state of its own' 1 "in the state 'connecting'" run -a

KERNEL=4.19.191-perf refuses 'an old kernel' 77 'kernel is 4.19.191-perf: jankbpf needs 5.8 or later' --dir "$dir" run -a
KERNEL=5.4.210 refuses 'a kernel a little too old' 77 'needs 5.8 or later' --dir "$dir" push
MACHINE=armv7l refuses 'a kernel of 32 bits' 77 'for armv7l: jankbpf is for aarch64 and x86_64' --dir "$dir" push
refuses 'no folder' 1 'there is no folder /nowhere on the device: give one by --dir' --dir /nowhere run -a
refuses 'not pushed' 1 "'android.sh push' puts it there" --dir "$dir/device" run -a
refuses 'no binary' 1 'there is no jankbpf-aarch64 beside this script' --dir "$dir" push
refuses 'no such binary' 1 "cannot read '/nowhere'" --dir "$dir" push /nowhere
refuses 'no program' 1 "jankbpf' is no program for aarch64" --dir "$dir" push "$dir/jankbpf"

SU=none refuses 'a production build without su' 77 "no root on the device: neither 'adb root' nor su gives it" \
	--dir "$dir" run -a
[ ! -e "$dir/asked" ]
ok $? 'and adb root was not called'
refuses 'pull of a missing file' 77 'no root on the device' --dir "$dir" pull x
IS_ROOT=1 refuses 'pull of a missing file, as root' 1 "there is no $dir/x on the device" --dir "$dir" pull x

IS_ROOT=1 runs 'the shell is root' -t 25ms 'a  b'
[ ! -e "$dir/asked" ]
ok $? 'so adb root was not called'
SU=android runs "Android's su" -t 25ms 'a  b'
SU=other runs 'another su' -- -t 25ms 'a  b'
USERDEBUG=1 SU=none runs 'a userdebug build' -t 25ms 'a  b'
[ "$(wc -l <"$dir/asked")" = 1 ]
ok $? 'adb root was called once'
rm -f "$dir/rooted"
[ "$(grep -c SELinux "$dir/err")" = 0 ]
ok $? 'su is free of SELinux: no hint'
IS_ROOT=1 DOMAIN=shell runs 'SELinux may refuse' -t 25ms 'a  b'
grep -q 'SELinux is enforcing and root is u:r:shell:s0' "$dir/err"
ok $? 'and the hint says so'
IS_ROOT=1 DOMAIN=shell SELINUX=Permissive runs 'SELinux is permissive' -t 25ms 'a  b'
[ "$(grep -c SELinux "$dir/err")" = 0 ]
ok $? 'and there is no hint'
[ -z "$(find "$dir" -name '.jankbpf.*')" ]
ok $? 'no run left a file behind'

end
