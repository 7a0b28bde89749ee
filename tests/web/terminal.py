# SPDX-License-Identifier: GPL-2.0
"""A terminal (tmux) of its own, and what it shows as a page for a picture."""
import html
import os
import re
import subprocess

COLORS = ["#2e3436", "#ef6b5b", "#7ec96a", "#e3b341", "#6ea8fe", "#c792ea", "#4ec9c9", "#d8dee9"]
PAGE = """<!doctype html><meta charset="utf-8"><title>terminal</title><style>
body {{ margin: 0; background: #14171c; }}
pre {{ margin: 14px 18px; color: #d8dee9; font: 13px/17px "DejaVu Sans Mono", monospace; }}
.b {{ font-weight: bold; }} .d {{ opacity: .6; }} .r {{ background: #d8dee9; color: #14171c; }}
</style><pre>{}</pre>"""


class Terminal:
    def __init__(self, folder, size, *command):
        self.socket = os.path.join(folder, "tmux")
        columns, lines = size
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), *command)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def page(self):
        return PAGE.format(as_html(self.tmux("capture-pane", "-pe")))

    def close(self):
        self.tmux("kill-server")


def as_html(text):
    """Spans for the escape sequences of colours, bold, dim and reverse."""
    bold = dim = reverse = False
    color, out = None, []
    for part in re.split(r"(\x1b\[[\d;]*m)", text):
        codes = re.fullmatch(r"\x1b\[([\d;]*)m", part)
        for code in (int(c or 0) for c in codes[1].split(";")) if codes else ():
            if code == 0:
                bold = dim = reverse = False
                color = None
            bold, dim, reverse = bold or code == 1, dim or code == 2, reverse or code == 7
            if 30 <= code <= 37:
                color = COLORS[code - 30]
            elif code == 39:
                color = None
        if not codes and part:
            names = " ".join(name for name, on in (("b", bold), ("d", dim), ("r", reverse)) if on)
            style = f' style="color:{color}"' if color and not reverse else ""
            out.append(f'<span class="{names}"{style}>{html.escape(part)}</span>')
    return "".join(out)
