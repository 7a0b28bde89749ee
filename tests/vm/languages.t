#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Functions of JavaScript and Java on arm64, without flags: Debian's node and OpenJDK in a guest, with the known stalls
of tests/languages. Each stall blames the program's function; stacks have its functions, with their lines. JANK_VM names
another kernel, JANK_LANGUAGES one of the two."""
import collections
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, part) for part in ("tools/vm", "tests/lib", "tests/languages")]
import apt  # noqa: E402
import cases  # noqa: E402
import guests  # noqa: E402
import kernels  # noqa: E402
import programs  # noqa: E402
from live import Moment, Tap, skip_all  # noqa: E402

KERNEL = os.environ.get("JANK_VM", "arm64/6.12")
SUITE = "bookworm"
TIMEOUT_S = 900
MEMORY_MB = 2560
JVM = "usr/lib/jvm/java-17-openjdk-arm64"
LIBRARIES = "lib/aarch64-linux-gnu"
# Where a program is in its package, folders that it needs, and libraries that it loads itself.
PACKAGES = {
    "node": ("nodejs", "usr/bin/node", ["usr/share/nodejs"], []),
    "java": ("openjdk-17-jre-headless", JVM + "/bin/java", [JVM, "etc/java-17-openjdk"],
             ["libjvm.so", "libnio.so", "libnet.so", "libzip.so", "libjava.so", "libjimage.so"]),
}
# An emulated CPU is slow: a fifth of the rows. Its clock counts instructions, so that this is no overload.
COMMANDS = {"node": "/node/node /stalls/stalls.js /tmp/late 5", "java": f"/{JVM}/bin/java -Dscale=5 -cp /stalls Stalls 9000 /tmp/late"}
# Debian's libnode of arm64 has no symbols of V8's builtins, so JSEntry has no name; these C++ functions call it.
ENTRIES = {"node": "v8::internal::Execution::Call", "java": ""}
LOOPS = {"node": ("onCommand", "uv_run"), "java": ("Stalls.onCommand", "JavaMain")}
# The first block waits for the tables of all files.
SCRIPT = """
ln -s /{libraries}/ld-linux-aarch64.so.1 /lib/ld-linux-aarch64.so.1
mkfifo /tmp/late
now() {{ read -r up _ </proc/uptime; echo "$up"; }}
answers() {{ grep -c "$1" /tmp/answers; }}
wait_for() {{ # COUNT WORD
	until [ "$(answers "$2")" -ge "$1" ]; do kill -0 $program || exit 1; sleep 0.1; done
}}
do_case() {{
	[ $1 != fifo ] || (sleep 1; echo x >/tmp/late) &
	cnt=$(answers done)
	echo $1 >&3
	wait_for $((cnt + 1)) done
}}
start() {{ # NAME COMMAND...
	name=$1
	shift
	rm -f /tmp/lines /tmp/answers
	mkfifo /tmp/lines
	: >/tmp/answers
	if [ $name = java ]; then
		nc -l -p 9000 </tmp/lines >/tmp/answers &
		exec 3>/tmp/lines
		"$@" >/out/$name.log 2>&1 3>&- &
	else
		"$@" </tmp/lines >/tmp/answers 2>/out/$name.log &
		exec 3>/tmp/lines
	fi
	program=$!
	wait_for 1 ready
}}
run() {{ # NAME CASE...
	name=$1
	shift
	for case; do do_case $case; done
	/jankbpf --json -v -t 40ms -F 99 -p $program >/out/$name.out 2>/out/$name.err &
	jankbpf=$!
	until grep -q 'tracing;' /out/$name.err; do kill -0 $jankbpf || exit 1; sleep 0.2; done
	until grep -q '"type":"block"' /out/$name.out; do do_case busy; sleep 1; done
	for case in "$@" "$@"; do
		begin=$(now)
		do_case $case
		echo $case $begin $(now) >>/out/$name.moments
		sleep 0.5
	done
	kill -INT $jankbpf
	wait $jankbpf
	kill $program
	exec 3>&-
	hand-over
}}
"""


def script(names):
    text = SCRIPT.format(libraries=LIBRARIES)
    for name in names:
        text += f"start {name} {COMMANDS[name]}\nrun {name} {' '.join(cases.RUNTIMES[name].cases)}\n"
    return text + "exit 0\n"


def moments(folder, name):
    """{case: [Moment]}. The guest's uptime has hundredths of a second."""
    ret = collections.defaultdict(list)
    for line in guests.text(os.path.join(folder, name + ".moments")).splitlines():
        case, begin, end = line.split()
        moment = Moment()
        moment.begin_ns, moment.end_ns = (int(float(at) * 1e9) for at in (begin, end))
        ret[case].append(moment)
    return ret


def results_of(folder, name):
    runtime = cases.RUNTIMES[name]._replace(entry=ENTRIES[name])
    where = cases.lines(os.path.join(ROOT, "tests", "languages", runtime.program))
    blocks = guests.blocks(folder, name + ".out")
    return {case: [cases.judge(runtime, case, cases.block_of(moment, blocks), where) for moment in each]
            for case, each in moments(folder, name).items()}


def whole(folder, name):
    """How many stacks of the handler lead through the runtime to the loop, and how many there are."""
    stacks = [[frame.get("function") for frame in sample.get("stack", ())]
              for block in guests.blocks(folder, name + ".out") for sample in block["samples"]]
    handler, loop = LOOPS[name]
    stacks = [stack for stack in stacks if handler in stack]
    return sum(loop in stack for stack in stacks), len(stacks)


def check(tap, folder, name):
    results = results_of(folder, name)
    every = [result for each in results.values() for result in each]
    best = cases.best_of(results)
    for case, result in best.items():
        tap.note(f"{name} {case}: {result.named} of {result.stacks}, blamed {result.blamed}, lines {dict(result.lines)}")
    # Its allocations are the collector's work, too.
    right = [case for case, result in best.items() if result.is_right or case == "collection"]
    tap.check(set(right) == set(cases.RUNTIMES[name].cases), f"{name}: each case blames the program's function",
              {case: result.blamed for case, result in best.items() if case not in right},
              guests.text(os.path.join(folder, name + ".err"))[-1500:], guests.text(os.path.join(folder, name + ".log"))[-1500:])
    stacks, named = (sum(getattr(result, what) for result in every) for what in ("stacks", "named"))
    tap.check(stacks >= 50 and named >= 0.97 * stacks, f"{name}: {named} of {stacks} stacks have the program's functions",
              *[stack for result in every for stack in result.missed][:5])
    reached, handled = whole(folder, name)
    tap.check(handled and reached >= 0.95 * handled, f"{name}: {reached} of {handled} stacks of the handler reach {LOOPS[name][1]}")
    good, bad = (sum(result.lines[is_good] for result in every) for is_good in (True, False))
    tap.check(good and good >= 0.9 * (good + bad), f"{name}: {good} of {good + bad} lines are right",
              {case: dict(result.off) for case, result in best.items() if result.off})
    wrong = sum((result.wrong for result in every), start=collections.Counter())
    tap.check(not wrong, f"{name}: no function of {sum(result.frames for result in every)} is wrong", dict(wrong))


def files_of(names, folder):
    """Files and trees of the guest."""
    program = guests.static("arm64", "jankbpf")
    guests.need_built([program], "deps-cross static")
    files, trees = [(program, "/jankbpf")], []
    for name in names:
        package, path, own, loads = PACKAGES[name]
        at = programs.get("arm64", SUITE, package, path, own, loads)
        trees += [(os.path.join(at, "lib"), "/" + LIBRARIES), *((os.path.join(at, tree), "/" + tree) for tree in own)]
        if name == "java":
            cases.command_of("java", "java", folder)
            trees.append((folder, "/stalls"))
        else:
            files += [(os.path.join(at, "node"), "/node/node"), (os.path.join(ROOT, "tests", "languages", "stalls.js"), "/stalls/stalls.js")]
    return files, trees


def main():
    tap = Tap()
    names = [name for name in PACKAGES if name in os.environ.get("JANK_LANGUAGES", "node java").split()]
    if "java" in names and not shutil.which("javac"):
        skip_all("no javac")
    with tempfile.TemporaryDirectory(prefix="jank-languages-") as folder, tempfile.TemporaryDirectory(prefix="jank-java-") as built:
        try:
            kernel = kernels.get(KERNEL)
            files, trees = files_of(names, built)
            result = guests.boot(kernel, script(names), folder, files, *trees, timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB,
                                 counted=True)
        except apt.Unavailable as reason:
            skip_all(f"{KERNEL}: {reason}")
        tap.note(f"{KERNEL}: {kernel.release}, up after {result.up_s:.1f} s, ended after {result.run_s:.1f} s")
        tap.check(result.status == 0, f"{KERNEL} boots and ends well", result.why, result.last_lines())
        for name in names:
            check(tap, folder, name)
    tap.end()


if __name__ == "__main__":
    main()
