# SPDX-License-Identifier: GPL-2.0
"""Shared by the tests of messages that a Looper of Java handles (programs/java_message.c, java_message_app.cc)."""
import os
import subprocess

from art import ENOUGH, FLAGS, PROGRAMS, RUNTIME, assemble, build_library

LAYOUTS = ("Android 10 to 15", "later ones")
WANTED = [{"what": "159 EXECUTE_TRANSACTION", "handler": {"symbol": "android.app.ActivityThread$H"}},
          {"what": "4711", "handler": {"symbol": "com.example.shop.CartHandler"}},
          {"what": "7", "callback": {"symbol": "com.example.shop.Refresh"}}]
METHODS = {"159": ["android.app.ActivityThread$H.handleMessage"],
           "4711": ["com.example.shop.CartHandler.handleMessage"],
           "7": ["com.example.shop.Refresh.run", "android.os.Handler.handleCallback"]}
BELOW = ["android.os.Handler.dispatchMessage", "android.os.Looper.loopOnce"]
HANDLER = """.class public L{path};
.super Ljava/lang/Object;
.source "{source}.java"
.method public static {method}()V
    .registers 3
    .line 12
:again
    invoke-static {{}}, L{path};->tick()Z
    move-result v1
    add-int/lit8 v0, v0, 0x1
    if-eqz v1, :again
    return-void
.end method
.method public static native tick()Z
.end method
"""


def build_message(folder, prefix="", libraries=()):
    """The app, whose framework has compiled handlers, too. prefix: of the compilers; libraries: where android::Looper's is."""
    parts = [build_library(folder, "libart.so", prefix + "gcc", *RUNTIME),
             build_library(folder, "boot-framework.oat", prefix + "gcc", "java_message.c")]
    app = os.path.join(folder, "app")
    subprocess.run([prefix + "g++", "-std=gnu++17", *FLAGS[1:], "-isystem", "/usr/include/android", "-o", app,
                    os.path.join(PROGRAMS, "java_message_app.cc"), *parts, *(f"-L{path}" for path in libraries),
                    f"-Wl,-rpath,{':'.join(['$ORIGIN', *libraries])}", "-Wl,--allow-shlib-undefined", "-lutils"], check=True)
    return app


def make_handlers(folder):
    """DEX files of the three handlers."""
    names = [methods[0].rpartition(".") for methods in METHODS.values()]
    return [assemble(folder, f"handler{number}", HANDLER.format(path=name.replace(".", "/"), source=name.split(".")[-1], method=method))
            for number, (name, _, method) in enumerate(names)]


def shown(message):
    return {key: message[key] for key in ("what", "handler", "callback") if key in message}


def is_working(sample):
    """In the handler, on a stack that was read to its end."""
    functions = {frame.get("function") for frame in sample["stack"]}
    return functions & {"work", "tick"} and "main" in functions


def is_right(block):
    """The message, without its class if no stack shows the handler."""
    message = shown(block["message"])
    number = {"what": message["what"]}
    return message in WANTED or number["what"] in METHODS and message == number and not any(map(is_working, block["samples"]))


def check_messages(tap, name, blocks):
    """Number, class and time of each message, and by its number the methods on the stacks of those that work."""
    blocks = [block for block in blocks if block.get("samples")]
    tap.check({block["loop"] for block in blocks} == {"android-looper"}, f"{name}: the loop", [block["loop"] for block in blocks])
    # The first come before the mark is there: of these only the stacks tell.
    marked = [block for block in blocks if "what" in block.get("message", {})]
    messages = [shown(block["message"]) for block in marked]
    tap.check(all(map(is_right, marked)) and all(message in messages for message in WANTED),
              f"{name}: number, class and name of each of {len(messages)} messages", messages[:6],
              *[block["message"] for block in marked if not is_right(block)][:3])
    tap.check(all(0 <= block["message"].get("queued_ns", -1) < 10 ** 9 for block in marked), f"{name}: since when it was due",
              [block["message"] for block in marked])
    check_stacks(tap, name, marked)


def check_stacks(tap, name, blocks):
    named = frames = stacks = 0
    wrong, bare = [], []
    for block in blocks:
        want = METHODS[block["message"]["what"].split()[0]] + BELOW
        for sample in block["samples"]:
            if not is_working(sample):
                continue
            stacks += 1
            frames += len(want)
            found = [frame.get("function") for frame in sample["stack"] if frame.get("language") == "java"]
            named += len(want) if found == want else 0
            wrong += [(block["message"], found)] if set(found) - set(want) else []
            bare += [(block["message"], found)] if found != want else []
    tap.check(stacks >= len(blocks) / 2, f"{name}: {stacks} stacks of {len(blocks)} blocks reach main")
    tap.check(named >= ENOUGH * frames > 0, f"{name}: {named} of {frames} methods have their names", *bare[:3])
    tap.check(not wrong, f"{name}: {len(wrong)} stacks have a wrong name", *wrong[:3])
