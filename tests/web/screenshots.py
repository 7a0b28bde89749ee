#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The pictures of docs/report.md, docs/serve.md and docs/top.md: traces simjank and a redis for half a minute (as root), writes the report, and takes its
pictures: `screenshots.py DIR [RECORDS]`. With RECORDS, a directory of -o, nothing is traced."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import driver  # noqa: E402
from serve import Serve, until  # noqa: E402
from terminal import Terminal  # noqa: E402

PORT = "7391"
LUA = "local i = 0 while i < 3000000 do i = i + 1 end"
SECONDS = 30
SIZE_MAX = 200 << 10


def redis(*words):
    subprocess.run(["redis-cli", "-p", PORT, *words], stdout=subprocess.DEVNULL, check=False)


def load(seconds):
    redis("debug", "populate", "300000")
    end, turn = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        redis("keys", "x*")
        if turn % 3 == 0:
            redis("eval", LUA, "0")
        if turn % 20 == 5:
            redis("debug", "sleep", "0.2")
        turn += 1
        time.sleep(0.15)


def trace(folder):
    started = [subprocess.Popen([os.path.join(ROOT, "simjank"), "--order", "random", "--gap", "40ms", "--threads", "2",
                                 "--duration", f"{SECONDS + 20}s", "--quiet"]),
               subprocess.Popen(["redis-server", "--port", PORT, "--save", "", "--dir", folder], stdout=subprocess.DEVNULL)]
    pids = ",".join(str(process.pid) for process in started)
    time.sleep(1)
    kept = os.path.join(folder, "kept")
    tracer = subprocess.Popen([os.path.join(ROOT, "jankbpf"), "-q", "-p", pids, "-t", "10ms", "-o", kept],
                              stdout=subprocess.DEVNULL)
    terminal = Terminal(folder, (140, 24), os.path.join(ROOT, "jankbpf"), "top", "-p", pids, "-t", "10ms")
    time.sleep(3)
    load(SECONDS)
    terminal.press("Tab")
    time.sleep(1)
    with open(os.path.join(folder, "top.html"), "w", encoding="utf-8") as file:
        file.write(terminal.page())
    terminal.close()
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    for process in started:
        process.terminate()
        process.wait()
    return kept


# The longest block with a chain of at least two other threads, else with any.
FIND = """(() => {
  for (const row of document.querySelectorAll('.fault')) {
    row.click();
    if (/held by thread 'holder'.*which/.test(document.querySelector('#detail h2').textContent)) return true;
  }
  document.querySelector('.fault').click();
  return false;
})()"""


def take(browser, folder, name):
    path = os.path.join(folder, name + ".png")
    browser.screenshot(path)
    size = os.path.getsize(path)
    print(path, size)
    if size > SIZE_MAX:
        raise SystemExit(f"{path}: {size} bytes are too many")


def pictures(page, folder):
    os.makedirs(folder, exist_ok=True)
    browser = driver.Browser()
    try:
        browser.open(page)
        for theme in ("light", "dark"):
            browser.set_dark(theme == "dark")
            browser.run("document.querySelector('.fault').click()")
            browser.move(700, 790)
            take(browser, folder, f"report-fault-{theme}")
            browser.run(FIND)
            browser.keys(driver.ENTER)
            browser.run("document.querySelectorAll('.track')[1].querySelector('i').click()")
            take(browser, folder, f"report-block-{theme}")
        browser.set_dark(False)
        browser.run("document.querySelector('.flame').scrollIntoView()")
        take(browser, folder, "report-flame-light")
    finally:
        browser.close()


def served(kept, folder):
    """Some blocks were read, and a fault is muted. The trace's directory may belong to root."""
    serve = Serve([os.path.join(ROOT, "jankbpf")], kept)
    browser = driver.Browser()
    try:
        browser.visit(serve.url)
        until(lambda: browser.run("document.querySelector('.live-dot.live') && document.querySelector('.block')"))
        browser.run("document.querySelectorAll('.block')[3].click()")
        browser.keys("jj")
        browser.run("[...document.querySelectorAll('#detail button')].find((node) => node.textContent === 'Mute fault').click()")
        until(lambda: browser.run("document.querySelector('.serve-bar').textContent.includes('muted')"))
        browser.run("document.querySelectorAll('.block')[1].click()")
        browser.run("document.getElementById('faults').scrollTo(0, 0)")
        for theme in ("light", "dark"):
            browser.set_dark(theme == "dark")
            take(browser, folder, f"serve-newest-{theme}")
        browser.run("document.querySelector('[data-view=faults]').click()")
        browser.run("document.querySelector('.fault').click()")
        take(browser, folder, "serve-faults-dark")
    finally:
        browser.close()
        serve.stop()


def live(page, folder):
    browser = driver.Browser(width=1150, height=440)
    try:
        browser.open(page)
        take(browser, folder, "top")
    finally:
        browser.close()


def main():
    with tempfile.TemporaryDirectory(prefix="jankbpf-pictures-") as folder:
        kept = sys.argv[2] if len(sys.argv) > 2 else trace(folder)
        page = os.path.join(folder, "report.html")
        subprocess.run([os.path.join(ROOT, "jankbpf"), "report", "--format", "html", "-o", page, kept], check=True)
        pictures(page, sys.argv[1])
        served(kept, sys.argv[1])
        if os.path.exists(os.path.join(folder, "top.html")):
            live(os.path.join(folder, "top.html"), sys.argv[1])


main()
