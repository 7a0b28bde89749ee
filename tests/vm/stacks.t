#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whole stacks on arm64: Debian's redis-server, a program over the real android::Looper, and a
stripped Go program. Frame pointers lead nowhere in the first two; Go's are below its frames. Redis
exports its functions, so the callers of a command are known."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools", "vm"), os.path.join(ROOT, "tests", "lib")]
import apt  # noqa: E402
import device  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
import lazy  # noqa: E402
import programs  # noqa: E402
from live import Tap, skip_all  # noqa: E402

KERNEL = os.environ.get("JANK_VM", "arm64/6.12")
SUITE = "bookworm"
COMPILER = "aarch64-linux-gnu-gcc"
TIMEOUT_S = 280
WAYS = {"copied": "", "pointers": "--stack-bytes 0"}
SCRIPT = """
run() { # PROGRAM [ARG...], with its own libraries
	program=$1
	shift
	/$program/lib/ld-linux-aarch64.so.1 --library-path /$program/lib /$program/$program "$@"
}
cp /redis-server/lib/ld-linux-aarch64.so.1 /lib/
export LD_LIBRARY_PATH=/redis-server/lib
/redis-server/redis-server --port 0 --unixsocket /tmp/redis --save '' --enable-debug-command yes >/dev/null &
redis=$!
unset LD_LIBRARY_PATH
for try in $(seq 100); do [ -e /tmp/redis ] && break; sleep 0.2; done
do_redis() { run redis-cli -s /tmp/redis "$@" >/dev/null || exit 1; }
do_redis debug populate 100000
trace() { # NAME [OPTION...]
	name=$1
	shift
	/jankbpf --json -v -t 30ms -F 199 "$@" -p $redis >/out/$name.out 2>/out/$name.err &
	jankbpf=$!
	for try in $(seq 100); do grep -q 'tracing;' /out/$name.err && break; sleep 0.2; done
	for turn in 1 2 3; do
		do_redis keys '*nothing*'
		do_redis eval 'local n = 0; for i = 1, 400000 do n = n + i % 7 end; return n' 0
		do_redis debug sleep 0.1
	done
	sleep 1
	kill -INT $jankbpf
	wait $jankbpf
}
trace copied
trace pointers --stack-bytes 0
kill $redis
/jankbpf --json -t 10ms -F 999 -- /lib/ld-linux-aarch64.so.1 --library-path /redis-server/lib /lazy /liblazy.so \\
	>/out/lazy.out 2>/out/lazy.err || exit 1
/jankbpf --json -t 30ms -F 199 -- /simjank-looper --quiet --scenario busy:60ms,sleep:60ms,mutex:60ms --count 12 --gap 30ms \\
	--start-delay 1s >/out/looper.out 2>/out/looper.err || exit 1
[ -e /netpoll ] || exit 0
for turn in 1 2 3; do
	(sleep 2; echo) | /jankbpf --json -t 30ms -F 499 -l go -- /netpoll >>/out/go.out 2>>/out/go.err || exit 1
done
exit 0
"""
READS = ["readQueryFromClient", "main"]
# Exported functions of Redis on the stack of a command, innermost first.
CHAINS = {"keysCommand": ["keysCommand", "call", "processCommand", *READS],
          "debugCommand": ["debugCommand", "call", "processCommand", *READS],
          "lua_pcall": ["lua_pcall", "call", "processCommand", *READS]}


def user_stacks(found):
    """When a process exits, the memory of its stack is freed before its last samples."""
    for block in found:
        for sample in block["samples"]:
            if any(frame.get("function") == "exit_mmap" for frame in sample.get("stack", ())):
                continue
            stack = [frame for frame in sample.get("stack", ()) if not frame.get("kernel")]
            if stack:
                yield sample, stack


def names(stack):
    return [frame.get("function") for frame in stack]


def is_in_order(chain, stack):
    rest = iter(names(stack))
    return all(function in rest for function in chain)


def is_whole(stack, ends):
    return any(frame.get("function") in ends for frame in stack[-3:])


def check_redis(tap, folder):
    shares = {}
    for way in WAYS:
        stacks = [stack for _, stack in user_stacks(guests.blocks(folder, way + ".out"))]
        whole = [stack for stack in stacks if is_whole(stack, ("main", "_start", "__libc_start_main"))]
        shares[way] = (len(whole), len(stacks))
        tap.note(f"redis-server, {way}: {len(whole)} of {len(stacks)} stacks reach main")
        if way == "copied":
            tap.check(len(stacks) >= 30 and len(whole) >= 0.99 * len(stacks), "redis-server: stacks are whole",
                      *[names(stack) for stack in stacks if stack not in whole][:5],
                      guests.text(os.path.join(folder, "copied.err"))[-1500:])
            for function, chain in CHAINS.items():
                found = [stack for stack in stacks if function in names(stack)]
                wrong = [names(stack) for stack in found if not is_in_order(chain, stack)]
                tap.check(found and not wrong, f"{function}: {len(found)} stacks have the right callers", *wrong[:3])


def check_looper(tap, folder):
    stacks = [stack for _, stack in user_stacks(guests.blocks(folder, "looper.out"))]
    whole = [stack for stack in stacks if is_whole(stack, ("main", "_start", "__libc_start_main", "clone", "thread_start"))]
    tap.check(len(stacks) >= 20 and len(whole) >= 0.99 * len(stacks),
              f"android::Looper: {len(whole)} of {len(stacks)} stacks are whole",
              *[stack for stack in stacks if stack not in whole][:5],
              guests.text(os.path.join(folder, "looper.err"))[-1500:])
    handled = [names(stack) for stack in stacks if any((name or "").startswith("handle_") for name in names(stack))]
    wrong = [found for found in handled if not ("loop__run_front" in found and "main" in found)]
    tap.check(handled and not wrong, f"all {len(handled)} stacks of a handler reach main through the loop", *wrong[:3])


def check_go(tap, folder):
    """Go's handlers: `spin` reads the clock, `nap` sleeps; a goroutine's first function calls both.
    On the runtime's own stack, a walk ends where the runtime switched to it. Not judged: stacks where the runtime
    makes a signal handler look like a call, at an address without a call."""
    # What the program writes itself.
    found = [record for record in guests.records(folder, "go.out") if record.get("type") == "block"]
    stacks = [stack for stack in (names(each) for _, each in user_stacks(found)) if "runtime.asyncPreempt" not in stack]
    ends = ("runtime.goexit", "runtime.clone", "runtime.mstart", "runtime.rt0_go", "runtime.systemstack", "runtime.mcall",
            "runtime.morestack")
    whole = [stack for stack in stacks if stack[-1] in ends]
    # runtime.nanotime1 and walltime read the clock on another stack, which the Go table does not
    # follow.
    tap.check(len(stacks) >= 20 and len(whole) >= 0.9 * len(stacks), f"Go: {len(whole)} of {len(stacks)} stacks are whole",
              *[stack for stack in stacks if stack not in whole][:5], guests.text(os.path.join(folder, "go.err"))[-1500:])
    for function in ("main.now", "main.spin", "main.nap"):
        found = [stack for stack in stacks if function in stack]
        wrong = [stack for stack in found if not {"main.serve", "runtime.goexit"} <= set(stack)]
        tap.check(found and not wrong, f"{function}: {len(found)} stacks reach the goroutine's first function through main.serve", *wrong[:3])


def check_lazy(tap, folder):
    """Handwritten code of ld.so. Its unwind tables count from where the linker's stub left the
    stack."""
    found = [names(stack) for _, stack in user_stacks(guests.blocks(folder, "lazy.out")) if "call_all" in names(stack)]
    wrong = [stack for stack in found if not is_in_order(lazy.CHAIN, [{"function": name} for name in stack])
             or stack.count("call_all") > 1]
    inner = sum(stack.index("call_all") >= 2 for stack in found)
    tap.check(inner >= 20 and not wrong, f"ld.so resolving a call: {inner} of {len(found)} stacks have its callers", *wrong[:3],
              guests.text(os.path.join(folder, "lazy.err"))[-1500:])


def build_go(folder):
    """[] if there is no Go compiler."""
    path = os.path.join(folder, "netpoll")
    if not shutil.which("go"):
        return []
    subprocess.run(["go", "build", "-ldflags", "-s -w", "-o", path, os.path.join(ROOT, "tests", "loops", "netpoll.go")], check=True,
                   env={**os.environ, "GOARCH": "arm64", "CGO_ENABLED": "0", "HOME": folder, "GOCACHE": os.path.join(folder, "cache")})
    return [(path, "/netpoll")]


def boot(kernel, folder, go):
    redis = programs.get(kernel.arch, SUITE, "redis-server", "usr/bin/redis-server")
    client = programs.get(kernel.arch, SUITE, "redis-tools", "usr/bin/redis-cli")
    jankbpf = guests.static("arm64", "jankbpf")
    looper = os.path.join(guests.out_folder("arm64"), "rel", "simjank-looper")
    guests.need_built([jankbpf, looper], "deps-cross static android-parts")
    try:
        files = [(path, "/" + os.path.basename(path)) for path in lazy.build(folder, COMPILER)]
    except (OSError, subprocess.CalledProcessError) as reason:
        raise apt.Unavailable(f"{COMPILER}: {reason}; make deps-cross") from reason
    files += [*go, (jankbpf, "/jankbpf"), *device.program_files(looper, "/simjank-looper")]
    return guests.boot(kernel, SCRIPT, folder, files, (redis, "/redis-server"), (client, "/redis-cli"), timeout_s=TIMEOUT_S)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="jank-stacks-") as folder:
        try:
            kernel = kernels.get(KERNEL)
            go = build_go(folder)
            result = boot(kernel, folder, go)
        except apt.Unavailable as reason:
            skip_all(f"{KERNEL}: {reason}")
        tap.note(f"{KERNEL}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        if tap.check(result.status == 0, f"{KERNEL} boots and ends well", result.why, result.last_lines()):
            check_redis(tap, folder)
            check_looper(tap, folder)
            check_lazy(tap, folder)
            if go:
                check_go(tap, folder)
            else:
                tap.skip("Go's stacks", "no Go compiler: golang-go")
    tap.end()


if __name__ == "__main__":
    main()
