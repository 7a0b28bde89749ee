#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The page of `jankbpf serve` in a headless Chromium: newest blocks, marks, live updates, mute, delete, hostile names, many records."""
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "replay", "reference")]
import driver  # noqa: E402
import outputs  # noqa: E402
import replay  # noqa: E402
from serve import Serve, until  # noqa: E402

EVIL = "</script><img src=x onerror=alert(1)><b>\u2028\u202e__proto__ ]]> <!-- <script>"
SHOWN = EVIL.replace("\u2028\u202e", "??")
NAMES = ("threads", "given", "redis", "qt", "chains", "hang")
COUNT = 3000
LARGE = 200
WORST_NS = 7_040_000_000


def records_of(name):
    return replay.records(outputs.read(name, outputs.RECORDS))


class Check:
    def __init__(self):
        self.tap, self.browser = replay.Tap(), driver.Browser()
        self.folder = tempfile.mkdtemp(prefix="jank-serve-web-")
        self.serve = None

    def dir(self, name, records):
        path = os.path.join(self.folder, name)
        os.mkdir(path, 0o700)
        self.append(path, records)
        return path

    @staticmethod
    def append(path, records):
        with open(path + "/blocks.jsonl", "a", encoding="utf-8") as file:
            for record in records:
                file.write(json.dumps(record) + "\n")

    def open(self, path):
        self.serve = Serve([replay.JANKBPF], path)
        self.browser.visit(self.serve.url)
        self.tap.check(until(lambda: self.browser.run("document.documentElement.dataset.ready === '1' && document.querySelector('.live-dot.live')"), 120),
                       f"{os.path.basename(path)} opens", self.text(".serve-bar"), self.text(".troubles"))

    def close(self):
        self.browser.visit("about:blank")
        self.serve.stop()

    def text(self, css):
        return self.browser.run("[...document.querySelectorAll(arguments[0])].map((node) => node.textContent).join('\\n')", css)

    def count(self, css):
        return self.browser.run("document.querySelectorAll(arguments[0]).length", css)

    def wait(self, expression, what):
        found = until(lambda: self.browser.run(expression))
        self.tap.check(found, what, self.text(".serve-bar"), self.text(".troubles"))

    def quiet(self, what):
        said = self.browser.log()
        self.tap.check(not said, f"{what}: the console is empty", *said[:3])

    def press(self, label, within="body"):
        done = self.browser.run("(() => { const found = [...document.querySelectorAll(arguments[1] + ' button')]"
                                ".find((node) => node.textContent.startsWith(arguments[0])); if (found) found.click(); return Boolean(found); })()",
                                label, within)
        self.tap.check(done, f"there is a button {label}")

    # --- recorded runs

    def recorded(self):
        records = [record for name in NAMES for record in records_of(name)]
        blocks = [record for record in records if record["type"] == "block"]
        path = self.dir("recorded", records)
        self.open(path)
        self.tap.check(self.browser.run("location.href.includes('token')") is False, "the address has no token any more")
        rows = self.browser.run("[...document.querySelectorAll('.block')].map((node) => node.dataset.id)")
        self.tap.check(rows == [block["id"] for block in reversed(blocks)], "the newest blocks come first", len(rows), len(blocks))
        self.tap.check(self.count(".block.unread") >= len(blocks) - 1 and "unread" in self.text(".serve-bar"), "and are unread")
        self.reading(path)
        self.views()
        self.muting()
        self.live(path, blocks)
        self.deleting(path)
        self.quiet("recorded")
        self.close()

    def reading(self, path):
        before = self.count(".block.unread")
        self.browser.click(".block.unread .say")
        self.wait("document.querySelector('.timeline')", "a click opens a block")
        self.wait(f"document.querySelectorAll('.block.unread').length === {before - 1}", "which is read then")
        self.browser.keys("jj")
        self.wait(f"document.querySelectorAll('.block.unread').length === {before - 3}", "j steps to the next ones")
        self.tap.check(until(lambda: os.path.exists(path + "/serve.marks")), "the marks are kept")
        self.browser.visit(self.serve.url.partition("#")[0])
        self.wait(f"document.querySelectorAll('.block.unread').length === {before - 3}", "and known after a reload")
        self.press("Mark all read")
        self.wait("!document.querySelector('.block.unread')", "all can be marked as read")
        self.wait("document.querySelector('.serve-bar').textContent.includes('all read')", "and the server knows")

    def views(self):
        self.browser.click("[data-view=faults]")
        self.tap.check(self.count(".list-head") == 1 and self.count(".fault.block") == 0, "the other list has the faults, as in a report")
        self.browser.click(".fault")
        self.tap.check("Where the time went" in self.text("#detail"), "with their page")
        self.browser.click("[data-view=newest]")
        self.tap.check(self.count(".fault.block") > 10, "and back")

    def muting(self):
        before = self.count(".block")
        self.browser.click(".block .say")
        sig = self.browser.run("location.hash.match(/sig=([0-9a-f]+)/)[1]")
        self.press("Mute", "#detail")
        self.wait("document.querySelector('.serve-bar').textContent.includes('1 fault muted')", "a muted fault is counted")
        self.tap.check(self.count(".block") < before, "and hidden", before, self.count(".block"))
        self.press("1 fault muted")
        self.tap.check(sig in self.text("#keys"), "it is listed on request")
        self.press("Show them in the list", "#keys")
        self.tap.check(self.count(".block") == before and "muted" in self.text(".badge"), "and can be shown")
        self.press("1 fault muted")
        self.press("Unmute", "#keys")
        self.wait("!document.querySelector('.serve-bar').textContent.includes('muted')", "muting is undone")
        self.tap.check(self.count(".block") == before, "and all are shown again")

    def live(self, path, blocks):
        self.browser.click(".block .say")
        detail = self.text("#detail h2")
        self.append(path, [{**blocks[0], "id": "fresh-1"}])
        self.wait("document.querySelector('.block').dataset.id === 'fresh-1'", "a new block appears on top")
        self.tap.check(self.count(".block.unread") == 1 and self.text("#detail h2") == detail, "unread, and the details stay")
        self.wait("document.title.startsWith('(1) ')", "the title counts it")

    def deleting(self, path):
        self.browser.click("[data-id='fresh-1'] .say")
        self.press("Delete", "#detail")
        self.tap.check("Delete this block?" in self.text("#keys") and "fresh-1" in self.files(path), "a deletion is asked for first")
        self.press("Delete", "#keys")
        self.wait("!document.querySelector(\"[data-id='fresh-1']\")", "then the block is gone")
        self.tap.check(until(lambda: "fresh-1" not in self.files(path)), "from the file, too")
        self.tap.check(self.browser.run("document.querySelector('.block.on') !== null"), "and the next one is selected")
        self.press("Delete all", ".serve-bar")
        self.press("Cancel", "#keys")
        self.tap.check(self.files(path), "nothing is deleted on Cancel")
        self.press("Delete all", ".serve-bar")
        self.press("Delete", "#keys")
        self.wait("document.querySelector('#faults').textContent.includes('No block was recorded yet')", "all can be deleted")
        self.tap.check(not self.files(path), "from the file, too")

    @staticmethod
    def files(path):
        with open(path + "/blocks.jsonl", encoding="utf-8") as file:
            return file.read()

    # --- others

    def hostile(self):
        records = [record for record in records_of("chains") if record["type"] == "block"]
        for record in records:
            record["process"] = record["thread"] = record["unit"] = record["exe"] = EVIL
            record["cause"].update(summary=EVIL, signature=EVIL, what=EVIL)
            for sample in record["samples"]:
                sample["syscall"] = EVIL
                for frame in sample["stack"]:
                    frame.update(function=EVIL, module=EVIL, file=EVIL)
        path = self.dir("hostile", records)
        self.open(path)
        self.browser.click(".block .say")
        self.tap.check(SHOWN in self.text("#detail h2") and SHOWN in self.text(".block"), "hostile names are shown as text")
        self.tap.check(self.browser.run("document.querySelectorAll('img, iframe, b b, script').length") == 1, "and make no elements")
        self.press("Mute", "#detail")
        self.wait("document.querySelector('.troubles').textContent.includes('signature')", "what is no signature is not muted")
        self.browser.log()  # the refusal
        with open(path + "/blocks.jsonl", "a", encoding="utf-8") as file:
            file.write("damage\n")
        self.wait("document.querySelector('.troubles').textContent.includes('Damaged records')", "damage is reported")
        shutil.rmtree(path)
        self.wait("document.querySelector('.serve-bar').textContent.includes('is gone')", "so is a removed directory")
        self.quiet("hostile")
        self.close()

    def empty(self):
        path = self.dir("empty", [])
        self.open(path)
        self.tap.check("No block was recorded yet" in self.text("#faults"), "an empty directory says so")
        self.append(path, records_of("redis"))
        self.wait("document.querySelector('.block')", "and shows the first block when it comes")
        self.quiet("empty")
        self.serve.stop()
        self.wait("document.querySelector('.serve-bar').textContent.includes('no connection')", "a server that ended is reported")
        self.browser.visit("about:blank")
        self.browser.log()  # the failed connections

    def many(self):
        blocks = [record for name in NAMES for record in records_of(name) if record["type"] == "block"]
        path = self.dir("many", [{**blocks[i % len(blocks)], "id": f"many-{i}", **({"duration_ns": WORST_NS, "delay_ns": WORST_NS} if i == 5 else {})}
                                  for i in range(COUNT)])
        self.open(path)
        self.wait(f"document.querySelector('.unread-count').textContent.startsWith('{COUNT:,}')", "many blocks are counted")
        self.wait(f"document.querySelector('#totals').textContent.startsWith('{COUNT:,} blocks · ')", "older ones are loaded until all are there")
        self.press("Longest", ".serve-bar")
        self.tap.check(self.browser.run("document.querySelector('.block').dataset.id") == "many-5", "the longest is on top of its list")
        sig, before = self.top_share(None)
        self.quiet("many")
        self.close()
        self.large(blocks, path, sig, before)

    def large(self, blocks, many, sig, before):
        """Too much for a page to load all: the counts are of all records, and the longest is there."""
        wide = [blocks[5], *(block for block in blocks if block["samples"])]
        path = self.dir("large", [])
        with open(many + "/blocks.jsonl", encoding="utf-8") as file, open(path + "/blocks.jsonl", "a", encoding="utf-8") as to:
            to.writelines(file)
            for i in range(LARGE):
                record = {**wide[i % len(wide)], "id": f"large-{i}"}
                record["samples"] = [{**sample, "stack": [{**frame, "function": f"f_{i}_{n}_{k}_" + "x" * 60} for k, frame in enumerate(sample["stack"])]}
                                     for n, sample in enumerate(record["samples"] * 30)][:150]
                to.write(json.dumps(record) + "\n")
        self.open(path)
        whole = f"{COUNT + LARGE:,} blocks ("
        self.wait(f"document.querySelector('#totals').textContent.startsWith('{whole}')", "the head counts all blocks, and says how many are loaded")
        self.tap.check("Load older" in self.text(".serve-bar"), "older ones can be loaded")
        self.press("Longest", ".serve-bar")
        self.tap.check(self.browser.run("document.querySelector('.block').dataset.id") == "many-5", "the longest, an old one, is there")
        self.browser.click("[data-view=faults]")
        blocks_of = self.browser.run("[...document.querySelectorAll('.fault .figures')].reduce((sum, node) => "
                                     "sum + Number(node.children[1].textContent.replace(',', '')), 0)")
        self.tap.check(blocks_of == COUNT + LARGE, "the figures of the faults are of all blocks", blocks_of)
        _, after = self.top_share(sig)
        self.tap.check(after > 0 and before > 0, "a fault of another part is shown", before, after)
        self.quiet("large")
        self.close()

    def top_share(self, sig):
        """The signature of a fault (None: the first), and the percentage of its longest stack."""
        self.browser.click("[data-view=faults]")
        sig = sig or self.browser.run("document.querySelector('.fault').dataset.sig")
        self.browser.run("[...document.querySelectorAll('.fault')].find((node) => node.dataset.sig === arguments[0]).click()", sig)
        text = self.browser.run("document.querySelector('.stacks .stack h4 .dim').textContent")
        self.browser.click("[data-view=newest]")
        return sig, 100 if text.startswith(">") else int(text.split()[0].strip("<>"))

    def run(self):
        try:
            self.recorded()
            self.hostile()
            self.empty()
            self.many()
        finally:
            if self.serve:
                self.serve.stop()
            self.browser.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        self.tap.end()


Check().run()
