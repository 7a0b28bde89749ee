#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The page of `jankbpf report --format html` in a headless Chromium: recorded runs, keys, search, links, hostile names."""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "replay", "reference")]
import driver  # noqa: E402
import outputs  # noqa: E402
import replay  # noqa: E402

EVIL = "</script><img src=x onerror=alert(1)><b>\u2028\u202e__proto__ ]]> <!-- <script>"
SHOWN = EVIL.replace("\u2028\u202e", "??")
NAMES = ("threads", "given", "redis", "qt", "chains", "hang")
COUNT = 10000
SPANS = 500
SIZE_MAX = 20 << 20


def records_of(name):
    return replay.records(outputs.read(name, outputs.RECORDS))


class Check:
    def __init__(self):
        self.tap, self.scratch, self.browser = replay.Tap(), replay.Scratch(), driver.Browser()

    def page(self, name, records):
        path = self.scratch.put(name + ".jsonl", b"".join(json.dumps(record).encode() + b"\n" for record in records))
        ret = self.scratch.file(name + ".html")
        run = self.scratch.run("report", "--format", "html", "-o", ret, path)
        self.tap.check(run.returncode == 0, f"{name}: the report is written", run.stderr)
        return ret

    def texts(self, css):
        return self.browser.run("[...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", css)

    def text(self, css):
        return "\n".join(self.texts(css))

    def wait(self, expression, what):
        end = time.monotonic() + 20
        while not (found := self.browser.run(expression)) and time.monotonic() < end:
            time.sleep(0.05)
        self.tap.check(found, what)

    def quiet(self, what):
        said = self.browser.log()
        self.tap.check(not said, f"{what}: the console is empty", *said[:3])

    def open(self, path, address=""):
        self.browser.open(path, address)
        self.wait("document.documentElement.dataset.ready === '1'", f"{os.path.basename(path)}{address[:12]} opens")

    # --- recorded runs

    def recorded(self):
        records = [record for name in NAMES for record in records_of(name)]
        blocks = [record for record in records if record["type"] == "block"]
        path = self.page("recorded", records)
        self.open(path)
        self.quiet("recorded")
        totals = self.browser.run("[...document.querySelectorAll('.fault')].map((node) => node.dataset.sig)")
        sums = {sig: sum(block.get("delay_ns", block["duration_ns"]) for block in blocks if block["cause"]["signature"] == sig)
                for sig in totals}
        self.tap.check(len(totals) > 5 and list(sums.values()) == sorted(sums.values(), reverse=True),
                       "the list has the faults, the worst first", sums)
        self.browser.click("[data-sort=max]")
        first = self.browser.run("document.querySelector('.fault').dataset.sig")
        longest = max(blocks, key=lambda block: block.get("delay_ns", block["duration_ns"]))
        self.tap.check(first == longest["cause"]["signature"], "a click on Max sorts by the longest", first)
        self.detail(totals, blocks)
        self.search(blocks)
        self.area()
        self.links(path, longest)
        self.themes()
        self.quiet("after all")

    def detail(self, totals, records):
        sig = totals[3]
        self.browser.click(f".fault[data-sig='{sig}']")
        self.tap.check(sig in self.text("#detail .chips"), "a click on a fault shows it")
        self.tap.check(self.texts(".flame button") and self.texts(".block-row") and self.texts(".frames li"),
                       "with a flame graph, its blocks, and stacks")
        self.browser.click(".block-row")
        self.tap.check(len(self.texts(".timeline .lane")) >= 2 and "Facts" in self.text("#detail h3"),
                       "a click on a block shows its timeline and facts")
        self.browser.run("document.querySelector('.track i:last-child').click()")
        self.browser.keys(driver.ESCAPE)
        self.tap.check(not self.texts(".timeline"), "Esc goes back to the fault")
        before = self.browser.run("document.querySelector('.fault.on').dataset.sig")
        self.browser.keys("j")
        after = self.browser.run("document.querySelector('.fault.on').dataset.sig")
        self.browser.keys("k")
        self.tap.check(before != after and before == self.browser.run("document.querySelector('.fault.on').dataset.sig"),
                       "j and k step through the faults", before, after)
        self.browser.keys(driver.ENTER)
        self.tap.check(self.texts(".timeline"), "Enter opens a block")
        self.copies(records)
        self.browser.keys(driver.ESCAPE + "?")
        self.tap.check(self.browser.run("document.getElementById('keys').open"), "? shows the keys")
        self.browser.click("#keys .plain")

    def copied(self, label):
        self.browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.browser.run("[...document.querySelectorAll('.crumbs button')].find((node) => node.textContent === arguments[0])"
                         ".click()", label)
        self.wait("document.querySelector('.crumbs').textContent.includes('Copied')", f"{label} says that it did")
        return self.browser.run("navigator.clipboard.readText()")

    def copies(self, records):
        block = json.loads(self.copied("Copy JSON"))
        self.tap.check(block in records and block["id"] in self.browser.run("decodeURIComponent(location.hash)"), "the copy is the record",
                       block)
        text = self.copied("Copy text")
        inner = max(block["samples"], key=lambda sample: sample.get("ns", 0))["stack"][0]["function"]
        self.tap.check(block["cause"]["summary"] in text and inner in text, "the text has sentence and stacks", text[:300])

    def search(self, blocks):
        self.browser.keys("/keyscommand")
        want = sum("keysCommand" in json.dumps(block["cause"]) for block in blocks)
        self.wait("document.querySelectorAll('.fault').length === 1", "/ and a word filter the list")
        self.tap.check(self.text("#totals").startswith(f"{want} of "), "and count the blocks", self.text("#totals"))
        self.browser.keys(driver.ESCAPE)
        self.wait("document.querySelectorAll('.fault').length > 5", "Esc clears the search")
        self.browser.keys(driver.ESCAPE)

    def area(self):
        box = self.browser.run("(({left, top, width, height}) => [left, top, width, height])"
                               "(document.getElementById('heatmap').getBoundingClientRect())")
        left, top, width, height = (int(value) for value in box)
        self.browser.drag(left + 60, top + 2, left + width // 3, top + height - 4)
        self.tap.check(" of " in self.text("#totals") and "Esc shows all" in self.text("#map-note"),
                       "a drag on the map selects blocks", self.text("#totals"))
        self.browser.keys(driver.ESCAPE)
        self.tap.check(" of " not in self.text("#totals").split("faults")[0], "Esc shows all", self.text("#totals"))

    def links(self, path, block):
        self.open(path, f"#sig={block['cause']['signature']}&id={block['id']}")
        self.tap.check(block["cause"]["summary"] in self.text("#detail h2") and self.texts(".timeline"),
                       "a link with a block's id shows that block")
        self.browser.keys("j" * 2 + driver.ESCAPE)
        self.tap.check(self.browser.run("location.hash") == f"#sig={block['cause']['signature']}", "the address follows")

    def themes(self):
        color = "getComputedStyle(document.body).backgroundColor"
        light = self.browser.run(color)
        self.browser.set_dark(True)
        dark = self.browser.run(color)
        self.browser.keys("t")
        self.tap.check(light != dark and self.browser.run(color) == light, "dark as the system says; t changes it", light, dark)
        self.browser.keys("t")
        self.browser.set_dark(False)

    # --- hostile names

    def hostile(self):
        records = records_of("chains")
        for record in records:
            if record["type"] != "block":
                continue
            record["process"] = record["thread"] = record["unit"] = record["exe"] = EVIL
            record["cause"].update(summary=EVIL, signature=EVIL, what=EVIL)
            for sample in record["samples"]:
                sample["syscall"] = EVIL
                for frame in sample["stack"]:
                    frame.update(function=EVIL, module=EVIL, file=EVIL)
            for link in record.get("chain", ()):
                link.update(comm=EVIL, process=EVIL, syscall=EVIL)
        self.open(self.page("hostile", records))
        self.browser.keys(driver.ENTER)
        self.browser.run("document.querySelector('.track i:last-child').click()")
        self.tap.check(SHOWN in self.text("#detail h2") and SHOWN in self.text(".frames"), "hostile names are shown as text")
        self.tap.check(self.browser.run("document.querySelectorAll('img, iframe, b b, script').length") == 1,
                       "and make no elements")
        self.quiet("hostile")

    # --- odd records

    def odd(self):
        """Many spans, times that no run can have, and fields that are absent."""
        block = next(record for record in records_of("chains") if record["type"] == "block" and record.get("chain"))
        spans = [{"t_ns": block["start_ns"] + 1000 * i, "state": "futex", "ns": 500 + i, "stack": []} for i in range(SPANS)]
        big = {"t_ns": 2**63 - 1, "ns": 2**63 - 1, "runnable_ns": 2**63 - 1}
        records = [{**block, "id": "spans", "samples": spans},
                   {**block, "id": "big", "start_ns": 2**63 - 1, "start_delay_ns": 2**63 - 1, "duration_ns": 2**63 - 1, "delay_ns": 2**63 - 1,
                    "samples": [{**sample, **big} for sample in block["samples"]], "chain": [{**link, **big} for link in block["chain"]]},
                   {"type": "block", "schema": "jankbpf/1", "id": "bare", "duration_ns": 1000}]
        path = self.page("odd", records)
        for record in records:
            self.open(path, f"#id={record['id']}")
            self.tap.check(self.texts(".timeline .lane"), f"a block is shown: {record['id']}")
            self.quiet(record["id"])
            if record["id"] == "spans":
                self.tap.check(f"{SPANS - 60} shorter spans" in self.text("#detail") and len(self.texts(".lane:first-child .state-futex")) == 60,
                               "the timeline has the 60 longest spans", self.texts(".part p.dim"))

    def empty(self):
        self.open(self.page("empty", [record for record in records_of("threads") if record["type"] == "summary"]))
        self.tap.check("no block" in self.text("#faults"), "a run without blocks says so", self.text("#faults"))
        self.quiet("empty")

    # --- many blocks

    def many(self):
        blocks = [record for name in NAMES for record in records_of(name) if record["type"] == "block"]
        records = [{**blocks[i % len(blocks)], "id": f"many-{i}"} for i in range(COUNT)]
        path = self.page("many", records)
        size = os.path.getsize(path)
        self.tap.check(size <= SIZE_MAX, f"{COUNT} blocks are {size / 1e6:.1f} MB", size)
        self.browser.cdp("Performance.enable", timeDomain="threadTicks")
        self.open(path)
        took = {entry["name"]: entry["value"] for entry in self.browser.cdp("Performance.getMetrics")["metrics"]}
        self.tap.check(took["TaskDuration"] < 2, f"and open in {took['TaskDuration']:.2f} s of CPU time", took["TaskDuration"])
        self.quiet("many")

    def run(self):
        try:
            self.recorded()
            self.hostile()
            self.odd()
            self.empty()
            self.many()
        finally:
            self.browser.close()
        self.tap.end()


Check().run()
