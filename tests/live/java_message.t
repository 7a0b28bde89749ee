#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What a Looper of Java handles: the message's number in both layouts of android.os.Message, the class of its handler or
callback by the names on the stacks, and the names of the framework's messages. With a stand-in for the framework."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import bad
from bad import ok

SOURCE = os.path.join(bad.ROOT, "tests", "live", "programs", "java_message.c")
FOLDER = bad.scratch("framework")
WANTED = [{"what": "159 EXECUTE_TRANSACTION", "handler": {"symbol": "android.app.ActivityThread$H"}},
          {"what": "4711", "handler": {"symbol": "com.example.shop.CartHandler"}},
          {"what": "7", "callback": {"symbol": "com.example.shop.Refresh"}}]
LINES = {">>>>> Dispatching to Handler (android.app.ActivityThread$H) null: 159 EXECUTE_TRANSACTION",
         ">>>>> Dispatching to Handler (com.example.shop.CartHandler) null: 4711",
         ">>>>> Dispatching to Handler (?) com.example.shop.Refresh: 7"}


def build():
    os.makedirs(FOLDER, exist_ok=True)
    library, main = os.path.join(FOLDER, "boot-framework.oat"), os.path.join(FOLDER, "main.c")
    subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    with open(main, "w", encoding="ascii") as file:
        file.write('#include <stdlib.h>\nvoid loop_once(int) __asm__("android.os.Looper.loopOnce");\n'
                   'int main(int argc, char **argv)\n{\n\tloop_once(atoi(argv[argc - 1]));\n}\n')
    subprocess.run(["cc", "-O1", "-o", os.path.join(FOLDER, "app"), main, library], check=True)


def shown(message):
    return {key: message[key] for key in ("what", "handler", "callback") if key in message}


def test(layout, name):
    app = bad.start([os.path.join(FOLDER, "app"), str(layout)], stdin=subprocess.PIPE)
    records = bad.scratch(f"records{layout}")
    tracer = bad.Tracer("--json", "-t", "10ms", "--marks", "always", "-o", records, "-p", app.pid)
    bad.wait_for(lambda: all(f'"what":"{message["what"]}"'.encode() in tracer.stdout() for message in WANTED), 60)
    result = tracer.stop()
    bad.end(app)
    blocks = [block for block in result.blocks() if block.get("samples")]
    ok({block["loop"] for block in blocks} == {"android-looper"}, f"{name}: the loop", [b["loop"] for b in blocks])
    # The first come before the mark is there: of these only the stacks tell.
    marked = [block for block in blocks if "what" in block.get("message", {})]
    messages = [shown(block["message"]) for block in marked]
    ok(all(message in WANTED for message in messages) and all(message in messages for message in WANTED),
       f"{name}: number, class and name of each message", messages)
    ok(all(0 <= block["message"].get("queued_ns", -1) < 10 ** 9 for block in marked), f"{name}: since when it was due",
       [block["message"] for block in marked])
    logs = bad.scratch(f"logs{layout}")
    subprocess.run([bad.JANK, "report", "--format", "blockcanary", "-o", logs, records], check=True)
    lines = set()
    for log in os.listdir(logs):
        with open(os.path.join(logs, log), encoding="utf-8") as file:
            lines |= set(re.findall("x-message = (.*)", file.read()))
    ok(LINES <= lines, f"{name}: as BlockCanary's Printer has it", lines)
    bad.valid(result, f"{name}: valid records")


bad.need_tracing()
build()
test(0, "Android 10 to 15")
test(1, "later ones")
bad.done()
