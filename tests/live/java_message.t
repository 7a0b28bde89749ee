#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a Looper of Java handles: the message's number in both layouts of android.os.Message, the class of its handler or
callback by the names on the stacks, compiled ones and interpreted ones, and the names of the framework's messages. With
stand-ins for the framework and for ART, over the real android::Looper."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import art_message
import bad
from bad import ok
from live import need

LIBRARIES = f"/usr/lib/{os.uname().machine}-linux-gnu/android"
TURNS = 5
LINES = {">>>>> Dispatching to Handler (android.app.ActivityThread$H) null: 159 EXECUTE_TRANSACTION",
         ">>>>> Dispatching to Handler (com.example.shop.CartHandler) null: 4711",
         ">>>>> Dispatching to Handler (?) com.example.shop.Refresh: 7"}


def test(app, layout, *dexes):
    name = f"{art_message.LAYOUTS[layout]}, {'interpreted' if dexes else 'compiled'}"
    process = bad.start([app, str(layout), "20", *dexes])
    records, logs = (bad.scratch(f"{kind}{layout}{len(dexes)}") for kind in ("records", "logs"))
    tracer = bad.Tracer("--json", "-t", "10ms", "--marks", "always", "-o", records, "-p", process.pid)
    words = [f'"what":"{message["what"]}"'.encode() for message in art_message.WANTED]
    bad.wait_for(lambda: all(tracer.stdout().count(word) >= TURNS for word in words), 60)
    result = tracer.stop()
    bad.end(process)
    art_message.check_messages(bad.RESULTS, name, result.blocks())
    subprocess.run([bad.JANK, "report", "--format", "blockcanary", "-o", logs, records], check=True)
    lines = set()
    for log in os.listdir(logs):
        with open(os.path.join(logs, log), encoding="utf-8") as file:
            lines |= set(re.findall("x-message = (.*)", file.read()))
    ok(LINES <= lines, f"{name}: as BlockCanary's Printer has it", lines)
    bad.valid(result, f"{name}: valid records")


bad.need_tracing()
need("gcc", "g++", "smali")
if not os.path.exists(os.path.join(LIBRARIES, "libutils.so")):
    bad.skip_all("no android-libutils-dev")
os.makedirs(bad.scratch("app"))
program = art_message.build_message(bad.scratch("app"), libraries=[LIBRARIES])
handlers = art_message.make_handlers(bad.scratch("app"))
for number in range(len(art_message.LAYOUTS)):
    test(program, number)
    test(program, number, *handlers)
bad.done()
