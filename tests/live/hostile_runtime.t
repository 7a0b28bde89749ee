#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Programs of another user that pretend to be V8 and HotSpot: their layouts let each object be of each type, point to
themselves, and have lengths of 2 GiB, or are numbers drawn at random. The trace goes on, in bounded time and memory,
and another program's functions keep their names."""
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from live import ROOT, Tap, Trace, end, frames, need, start  # noqa: E402

LANGUAGES = os.path.join(ROOT, "user", "symbol", "languages")
NOBODY = 65534
RANDOM = 3  # programs with random layouts, of each runtime
SECONDS = 10
CPU_MAX = 0.5  # of a CPU, of the process that makes names
RSS_MAX_KB = 80 * 1024
HONEST = ("function honest() { for (const end = Date.now() + 60; Date.now() < end;); }\n"
          "setInterval(honest, 150); console.log('ready');")
WORDS = "for (size_t i = 0; i < cnt; i += 2) { heap[i] = (uint64_t)(heap + 2 * (rand() %% %s)) + %d; heap[i + 1] = %s; }"
HUGE = "0x7fffffff00000000"
SELF = "self"  # instead of draws: each pointer is to the same object, which points to itself


def source(name):
    with open(os.path.join(LANGUAGES, name), encoding="utf-8") as file:
        return file.read()


def is_random(draw):
    return isinstance(draw, random.Random)


def v8_layout(draw):
    """A type is the two upper bytes of a pointer: 0. Members are pointers, lengths small integers."""
    names = re.findall(r'"((?!v8dbg_)[A-Za-z]\w*)"', source("v8_layout.c").split("by_version[]")[0])
    fixed = {"TaggedSize": 8, "FirstNonstringType": 1, "off_fp_function": -16, "off_fp_bytecode_array": -24,
             "off_fp_bytecode_offset": -32, "class_Map__instance_type__uint16_t": 6}
    lines = ["#include <stdint.h>", "#include <stdlib.h>"]
    for name in names:
        value = 8 if "ength" in name or "SMI" in name else 0 if name.startswith(("type_", "First", "Last")) else 16
        if is_random(draw) and name != "TaggedSize":
            value = draw.choice((value, -8, 0, 8, 16, 1 << 30, -(1 << 31) + 1, (1 << 31) - 1, 6))
        lines.append(f"const int32_t v8dbg_{name} = {fixed.get(name, value) if not is_random(draw) or draw.random() < 0.5 else value};")
    for name, value in (("major_", 11), ("minor_", 3), ("build_", 244)):
        lines.append(f"const int _ZN2v88internal7Version{len(name)}{name}E = {value};")
    among = "(cnt / 2)" if draw is not SELF else "1"
    lines.append("void fill(uint64_t *heap, size_t cnt, unsigned char *page) {" + WORDS % (among, 1, HUGE) +
                 "for (uint64_t *at = (uint64_t *)(page - 57344); at < (uint64_t *)(page + 2048); at++) "
                 f"*at = (uint64_t)(heap + 2 * (rand() % {among})) + 1; }}")
    return "\n".join(lines)


def hotspot_layout(draw):
    """Compiled code whose tables have 15 MiB, or what is drawn."""
    text = source("hotspot_layout.c")
    members = re.findall(r'\{ (HS_\w+), "([^"]+)", "([^"]+)" \}', text)
    values = re.findall(r'\{ (HS_\w+), "([^"]+)" \}', text)
    modern = {"_code_offset", "_data_offset", "_kind", "_mutable_data", "_mutable_data_size", "_relocation_size",
              "_immutable_data", "_immutable_data_size", "_scopes_data_offset"}
    at = {"HS_HEAP_MEMORY": 0, "HS_SPACE_LOW": 0, "HS_SPACE_HIGH": 8, "HS_HEAP_SEGMENTS": 64, "HS_HEAP_SHIFT": 128,
          "HS_ARRAY_LENGTH": 0, "HS_ARRAY_DATA": 8, "HS_STUBS_BUFFER": 0, "HS_STUBS_LIMIT": 8, "HS_BLOCK_USED": 0,
          "HS_BLOB_HEADER": 4, "HS_BLOB_CODE": 8, "HS_BLOB_CODE_END": 16, "HS_NMETHOD_METHOD": 24, "HS_NMETHOD_METADATA": 36,
          "HS_NMETHOD_PCS": 40, "HS_NMETHOD_PCS_END": 44, "HS_NMETHOD_SCOPES": 48, "HS_NMETHOD_ID": 32}
    sizes = {"HS_SIZE_PC_DESC": 16, "HS_SIZE_NMETHOD": 64, "HS_SIZE_BLOCK": 0}
    statics = {"HS_VM_MAJOR": "&major", "HS_HEAPS": "&heaps", "HS_INTERPRETER": "&stubs"}
    kinds = {"HS_BLOCK_USED": "bool", "HS_ARRAY_LENGTH": "int", "HS_HEAP_SHIFT": "int", "HS_STUBS_LIMIT": "int",
             "HS_BLOB_HEADER": "int", "HS_NMETHOD_METADATA": "int", "HS_NMETHOD_PCS": "int", "HS_NMETHOD_PCS_END": "int",
             "HS_NMETHOD_ID": "int", "HS_SYMBOL_LENGTH": "u2", "HS_VM_MAJOR": "int"}
    rows = []
    for field, kind, name in members:
        if name in modern:
            continue
        offset = at.get(field, 16 if not is_random(draw) else draw.choice((0, 8, 16, 24, 4088)))
        rows.append(f'{{ "{kind}", "{name}", "{kinds.get(field, "void *")}", {int(field in statics)}, '
                    f'{0 if field in statics else offset}, {statics.get(field, 0)} }},')
    types = [f'{{ "{name}", 0, 0, 0, 0, {sizes.get(field, 32 if not is_random(draw) else draw.choice((0, 8, 4096, 1 << 40)))} }},'
             for field, name in values if field.startswith("HS_SIZE")]
    constants = [f'{{ "{name}", 1 }},' for field, name in values if not field.startswith("HS_SIZE") and "Kind" not in name]
    tail = draw.choice(("0", HUGE, "-1", "(uint64_t)(heap + 2)")) if is_random(draw) else "(uint64_t)(heap + 2 * (rand() % (cnt / 2)))"
    return f"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static int major = 17;
static uint64_t *space[32], *data[1] = {{ (uint64_t *)space }};
static unsigned char segments[4096];
static struct {{ uint64_t cnt; void *data; }} array = {{ 1, data }};
static struct {{ void *buffer; uint64_t limit; }} queue = {{ segments, 16 }};
static void *heaps = &array, *stubs = &queue;
struct s {{ const char *type, *name, *kind; int32_t is_static; uint64_t offset; void *address; }};
struct t {{ const char *name, *super; int32_t a, b, c; uint64_t size; }};
struct i {{ const char *name; int32_t value; }};
static struct s structs[] = {{ {" ".join(rows)} {{ 0 }} }};
static struct t types[] = {{ {" ".join(types)} {{ 0 }} }};
static struct i constants[] = {{ {" ".join(constants)} {{ 0 }} }};
struct s *gHotSpotVMStructs = structs;
struct t *gHotSpotVMTypes = types;
struct i *gHotSpotVMIntConstants = constants;
void fill(uint64_t *heap, size_t cnt, unsigned char *page)
{{
	uint32_t offsets[] = {{ 7, 64, 0, 16, 15 << 20 }};

	{WORDS % ("(cnt / 2)" if draw is not SELF else "1", 0, tail)}
	space[0] = (uint64_t *)page;
	space[1] = (uint64_t *)(page + 4096);
	space[8] = (uint64_t *)segments;
	*(int *)&space[16] = 12;
	memset(page, 1, 8);
	memcpy(page + 4, &(uint32_t){{ 64 }}, 4);
	memcpy(page + 8, &(uint64_t){{ (uint64_t)page }}, 8);
	memcpy(page + 16, &(uint64_t){{ (uint64_t)page + 4096 }}, 8);
	memcpy(page + 24, &heap[0], 8);
	memcpy(page + 32, offsets, sizeof(offsets));
	memcpy(page + 48, &(uint64_t){{ (uint64_t)page }}, 8);
}}
"""


def compile_false(folder, name, layout, library):
    home = os.path.join(folder, name)
    os.mkdir(home)
    paths = {what: os.path.join(home, what) for what in ("layout.c", "libjvm.so", "false")}
    with open(paths["layout.c"], "w", encoding="utf-8") as file:
        file.write(layout)
    main = os.path.join(HERE, "programs", "false_runtime.c")
    if library:
        subprocess.run(["cc", "-w", "-fPIC", "-shared", "-o", paths["libjvm.so"], paths["layout.c"]], check=True)
        subprocess.run(["cc", "-w", "-O2", "-D_GNU_SOURCE", "-o", paths["false"], main, paths["libjvm.so"],
                        f"-Wl,-rpath,{home}"], check=True)
    else:
        subprocess.run(["cc", "-w", "-O2", "-D_GNU_SOURCE", "-rdynamic", "-o", paths["false"], main, paths["layout.c"]], check=True)
    return paths["false"]


def ready(command, uid=None):
    process = start(command, uid=uid, stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() != "ready\n":
        raise RuntimeError(command)
    return process


def namer(trace):
    """The process that makes names: CPU seconds, and its peak of memory in KiB."""
    children = subprocess.run(["pgrep", "-P", str(trace.process.pid), "-f", "jankbpf-name"], capture_output=True, text=True).stdout
    for pid in children.split():
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            peak = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak
    raise RuntimeError("no process makes names")


def check(tap, what, hostile, folder):
    program = os.path.join(folder, "honest.js")
    with open(program, "w", encoding="ascii") as file:
        file.write(HONEST)
    processes = [ready(["node", program])]
    try:
        processes += [ready([path], NOBODY) for path in hostile]
        with Trace(*(process.pid for process in processes)) as trace:
            time.sleep(SECONDS)
            cpu, peak = namer(trace)
    finally:
        for process in processes:
            end(process)
            process.stdout.close()
    counts = {process.pid: sum(b["pid"] == process.pid for b in trace.blocks) for process in processes}
    honest = [b for b in trace.blocks if b["pid"] == processes[0].pid and any(True for _ in frames(b))]
    right = [b for b in honest if ((b["cause"] or {}).get("frame") or {}).get("function") == "honest"]
    tap.check(min(counts.values()) >= SECONDS, f"{what}: blocks of each program", counts)
    tap.check(len(right) >= 0.9 * len(honest) > 0, f"{what}: {len(right)} of {len(honest)} blocks of node blame its function",
              *trace.messages)
    tap.check(cpu <= CPU_MAX * SECONDS, f"{what}: {cpu:.2f} s of CPU for names in {SECONDS} s")
    tap.check(peak <= RSS_MAX_KB, f"{what}: {peak} KiB at most")
    lost = trace.summary["lost"]
    tap.check(not lost.get("namer_restarted") and trace.status == 0, f"{what}: the process that makes names did not end", lost)
    named = {(f.get("function"), f.get("file")) for b in trace.blocks if b["pid"] != processes[0].pid for f in frames(b)
             if f.get("language") and (f.get("function") or f.get("file"))}
    tap.check(not named, f"{what}: no frame of the others has a name", *named)
    told = [line for line in trace.messages if "that is not known here" in line]
    tap.check(1 <= lost.get("files_unread", 0) <= len(hostile) and len(told) == 1 and folder in told[0],
              f"{what}: they are counted, at most once each, and told once", lost, *told)


def main():
    need("node", "cc")
    if os.uname().machine != "x86_64":
        print("1..0 # SKIP the program's code is x86-64's")
        return
    tap = Tap()
    draws = [None, SELF] + [random.Random(seed) for seed in range(RANDOM)]
    with tempfile.TemporaryDirectory(prefix="jank-false-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        for what, layout, library in (("V8", v8_layout, False), ("HotSpot", hotspot_layout, True)):
            hostile = [compile_false(folder, f"{what}{nr}", layout(draw), library) for nr, draw in enumerate(draws)]
            check(tap, what, hostile, folder)
    tap.end()


if __name__ == "__main__":
    main()
