#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Makes of schema/options.tbl what has commands and options: C tables, help, man page, completions.

    options.py table|bash|zsh|fish [NAME=VALUE…] >FILE
    options.py man TEMPLATE [NAME=VALUE…] >FILE

The values replace $NAME in the table and @NAME@ in the template. Runs nothing of the program: a cross build cannot.
"""
import json
import os
import re
import sys
import textwrap

FOLDER = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(FOLDER, "options.tbl")
SHELLS = ("bash", "zsh", "fish")
ATTRIBUTES = {"command": ("usage", "summary", "details", "more", "example", "effect", "operand"), "section": ("example", "effect"),
              "option": ("for", "set", "help", "more", "like")}
OPERANDS = (None, "files", "command", "shell")
# How an argument completes, by its name; WORD|WORD in lower case: one of these words.
KINDS = {"FILE": "file", "DIR": "dir", "PID[,PID…]": "pid", "USER": "user", "UID|NAME": "user", "PATH": "cgroup", "NAME[,NAME…]": "loop",
         **dict.fromkeys(("GLOB", "HEX", "HZ", "N", "NAME", "SIZE", "TEXT", "TIME", "SHELL-COMMAND", "GLOB|SIG", "ADDRESS", "URL",
                          "PERCENT", "COMMAND [ARG…]"))}
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "h": 3600 * 10**9, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
BARE_UNITS = {"time": "ms", "long_time": "s"}  # of a number without a unit, by setter
UNMARKED = ("Others", "For tests")  # sections where --help does not mark the options of replay

COLUMNS = 90  # of wrapped text
HELP_COLUMN = 29
NAME_COLUMN = 12  # of the list of commands
INTRO = ("Times each dispatch of a program's event loops and shows those that took too long: where the time went, with what stacks, "
         "and what the machine did meanwhile.")
TIME_NOTE = "TIME is a number with us, ms, s, m or h; a bare number has the unit named beside the option."
FOOTER = ("`jankbpf help COMMAND` shows one command; those marked * go with replay, too. Exit status: 0 done, 1 failed, 2 wrong usage, "
          "77 this kernel or user cannot; with -- COMMAND, COMMAND's own.")


class Wrong(Exception):
    """A mistake in the table, with its line."""


class Entry:
    """A command, a section or an option, with its attributes; usage is a list."""

    def __init__(self, kind, rest, line):
        self.kind, self.rest, self.line, self.attrs = kind, rest, line, {}
        if kind == "option":
            match = re.fullmatch(r"(?:-(\w) )?--([a-z-]*)(?: (.+))?", rest)
            if not match:
                self.fail(f"'{rest}': not [-LETTER] --NAME [ARG]")
            self.short, self.name, self.arg = match.groups()
        else:
            self.name = rest

    def fail(self, why):
        raise Wrong(f"{self.line}: {why}")

    def add(self, word, text):
        if word not in ATTRIBUTES[self.kind]:
            self.fail(f"'{word}': a line here is one of {', '.join(ATTRIBUTES[self.kind])}")
        if word == "usage":
            self.attrs.setdefault(word, []).append(text)
        else:
            self.attrs[word] = text

    def __getattr__(self, word):
        return self.attrs.get("for" if word == "of" else word)

    # --- of an option

    def complete(self, commands, groups, others):
        """Takes what it lacks from the option of `like`, and reads `for` and `set`."""
        if self.like:
            base = others.get(self.like.removeprefix("--")) or self.fail(f"'{self.like}': no such option above")
            words = base.name.split("-")[0], self.name.split("-")[0]
            renamed = {key: text.replace(words[0].upper(), words[1].upper()) for key, text in base.attrs.items()}
            self.attrs = {**{key: text for key, text in renamed.items() if key != "more"}, **self.attrs}
        self.commands = []
        for word in (self.of or self.fail("no line `for`")).split():
            self.commands += list(commands) if word == "ALL" else groups.get(word, [word])
        if set(self.commands) - set(commands):
            self.fail(f"for {self.of}: not all of them are commands or groups")
        self.commands = [command for command in commands if command in self.commands]
        self.setter, *rest = (self.set or "none").split()
        self.member = rest.pop(0) if rest and "=" not in rest[0] and rest[0] != "zero" else None
        self.values = dict(word.partition("=")[::2] for word in rest)
        if set(self.values) - {"default", "min", "max", "zero", "value"}:
            self.fail(f"'set {self.set}': only default=, min=, max=, value= and zero")
        if not self.help:
            self.fail("no line `help`")
        if self.arg and not self.words() and self.arg not in KINDS:
            self.fail(f"'{self.arg}': no such argument; add to KINDS of schema/options.py how it completes")

    def words(self):
        """The words that the argument can be, or None."""
        return self.arg.split("|") if re.fullmatch(r"[a-z0-9_-]+(\|[a-z0-9_-]+)+", self.arg or "") else None

    def takes_list(self):
        return self.setter == "words" or "," in self.arg

    def switches(self):
        return ([f"-{self.short}"] if self.short else []) + [f"--{self.name}"]

    def note(self):
        """The unit of a bare number and the default."""
        parts = [f"in {BARE_UNITS[self.setter]}"] if self.setter in BARE_UNITS else []
        parts += [f"default {self.values['default']}"] if "default" in self.values else []
        return f" ({'; '.join(parts)})" if parts else ""

    def number(self, word):
        match = re.fullmatch(r"(\d+)([a-zA-Z]*)", self.values.get(word, "0"))
        if not match:
            return self.values[word]  # a name in C
        return f"{int(match[1]) * (UNITS[match[2]] if match[2] else 1)}ull"


class Table:
    """schema/options.tbl."""

    def __init__(self, path=TABLE, values=()):
        self.groups, self.commands, self.sections, self.options, self.keys = {}, {}, [], [], []
        entry = word = None
        with open(path, encoding="utf-8") as file:
            lines = re.sub(r"\$([A-Z_]+)", lambda match: dict(values).get(match[1], match[0]), file.read()).splitlines()
        for number, line in enumerate(lines, 1):
            first, _, rest = line.strip().partition(" ")
            rest = rest.strip()
            if not first or line.startswith("#"):
                continue
            if not line[0].isspace():
                entry = self.start(number, first, rest)
            elif not entry:
                raise Wrong(f"{number}: '{first}' belongs to no command, section or option")
            elif line[1].isspace():
                entry.attrs[word] += " " + line.strip()
            else:
                word = first
                entry.add(word, rest)
        self.check()

    def start(self, number, kind, rest):
        """Begins what a line without indentation says; returns what the next lines belong to."""
        if kind == "group":
            name, *words = rest.split()
            self.groups[name] = words
            return None
        if kind == "config":
            section, *words = rest.split()
            self.keys += [(number, section, word) for word in words]
            return None
        if kind not in ATTRIBUTES:
            raise Wrong(f"{number}: '{kind}': neither group, command, section, option nor config")
        entry = Entry(kind, rest, number)
        if kind == "command":
            self.commands[rest] = entry
        elif kind == "section":
            self.sections.append(entry)
            entry.options = []
        elif not self.sections:
            entry.fail("an option before the first section")
        else:
            self.options.append(entry)
            self.sections[-1].options.append(entry)
            entry.section = self.sections[-1]
        return entry

    def check(self):
        for command in self.commands.values():
            missing = [word for word in ("usage", "summary", "details", "example", "effect") if word not in command.attrs]
            if missing or command.operand not in OPERANDS:
                command.fail(f"'{command.name}': no line {missing or 'operand of this kind'}")
        above = {}
        for index, option in enumerate(self.options):
            option.complete(self.commands, self.groups, above)
            first = above.setdefault(option.name, option)
            option.key = f"'{option.short}'" if option.short else str(256 + self.options.index(first))
            option.shared = any(other is not option and other.name == option.name for other in self.options)
            if first is not option and self.options[index - 1].name != option.name:
                option.fail(f"--{option.name}: rows of one name stand one after the other")
        self.keys = [self.key(*key) for key in self.keys]

    def key(self, number, section, word):
        """(section, key, option, live) of a key of the configuration."""
        key, _, option = word.rstrip("*").partition("=")
        taken = {row.name for row in self.options if "agent" in row.commands}
        found = [name for name in ([option] if option else [f"{section}-{key}", key]) if name in taken]
        if not found:
            raise Wrong(f"{number}: [{section}] {key}: agent has no such option")
        return section, key, found[0], word.endswith("*")

    def named(self, with_argument=False):
        return [option for option in self.options if option.name and (option.arg or not with_argument)]

    def switches(self, between):
        """Those of all options with an argument."""
        return between.join(switch for option in self.named(True) for switch in option.switches())


# --- help

def wrapped(text):
    return textwrap.wrap(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def usage(commands):
    lines = [f"jankbpf {text}" for command in commands for text in command.usage]
    return [f"{'Usage:' if i == 0 else '      '} {line}" for i, line in enumerate(lines)]


def option_lines(option, marked):
    if option.name:
        names = (f"-{option.short}, " if option.short else "    ") + f"--{option.name}" + (f" {option.arg}" if option.arg else "")
    else:
        names = f"-- {option.arg}"
    text, names = option.help + option.note(), ("*" if marked else " ") + names
    if len(names) > HELP_COLUMN:  # a line of its own
        return [f" {names}", " " * (HELP_COLUMN + 2) + text]
    return [f" {names.ljust(HELP_COLUMN + 1)}{text}"]


def is_marked(option):
    return "replay" in option.commands and option.section.name not in UNMARKED


def help_all(table):
    lines = [*usage(table.commands.values()), "", *wrapped(INTRO), ""]
    lines += [f"  {command.name.ljust(NAME_COLUMN)}{command.summary}" for command in table.commands.values()]
    for section in table.sections:
        lines += ["", section.name]
        for option in section.options:
            lines += option_lines(option, is_marked(option))
        lines.append(f"    e.g. {section.example}")
    return [*lines, "", *wrapped(TIME_NOTE), *wrapped(FOOTER)]


def help_command(table, command):
    lines = [*usage([command]), "", *wrapped(command.details)]
    for section in table.sections:
        options = [option for option in section.options if command.name in option.commands]
        lines += ["", section.name] if options else []
        for option in options:
            lines += option_lines(option, False)
    if any(option.arg == "TIME" and command.name in option.commands for option in table.options):
        lines += ["", *wrapped(TIME_NOTE)]
    return [*lines, "", f"Example: {command.effect}", f"  {command.example}"]


# --- C

def c_string(text):
    return json.dumps(text, ensure_ascii=False) if text is not None else "NULL"


def c_text(lines):
    return "\n".join(f"\t{c_string(line + chr(10))}" for line in lines)


def c_option(option):
    bits = " | ".join(f"1u << CMD_{name.upper()}" for name in option.commands) if option.of != "ALL" else "~0u"
    offset = f".offset = offsetof(struct options, {option.member}), " if option.member else ""
    setter = f"option__set_{option.setter}" if option.set else "NULL"
    default = option.values.get("default")
    return (f"#line {option.line} \"schema/options.tbl\"\n"
            f"\t{{ {option.key}, {c_string(option.name or None)}, {c_string(option.arg)}, {c_string(default)}, {bits},\n"
            f"\t  {setter}, {offset}.min = {option.number('min')}, .max = {option.number('max')},\n"
            f"\t  .zero = {int('zero' in option.values)}, .value = {option.values.get('value', 0)} }},")


def c_tables(table):
    yield "/* SPDX-License-Identifier: GPL-2.0 */\n/* Made by schema/options.py of options.tbl. */"
    yield "const struct option_row option_rows[] = {"
    yield from map(c_option, table.options)
    yield "};\nconst struct command_row command_rows[] = {"
    for name, command in table.commands.items():
        yield f"#line {command.line} \"schema/options.tbl\"\n\t{{ CMD_{name.upper()}, {c_string(name)},"
        yield c_text(help_command(table, command)) + " },"
    yield "};\nconst struct config_key config_keys[] = {"
    for section, key, option, live in table.keys:
        yield f"\t{{ {c_string(section)}, {c_string(key)}, {c_string(option)}, {int(live)} }},"
    yield f"}};\nconst char help_text[] =\n{c_text(help_all(table))};"
    yield "const struct completion_script completion_scripts[] = {"
    for shell in SHELLS:
        yield f"\t{{ {c_string(shell)},\n{c_text(completion(table, shell).splitlines())} }},"
    yield "};"


# --- the man page

def roff(text):
    for char, escape in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("…", "...")):
        text = text.replace(char, escape)
    return text


def roff_line(text):
    """Like roff, and no request."""
    return ("\\&" if text.startswith(".") else "") + roff(text)


def sentences(text):
    """Like roff; options are bold."""
    parts = re.split(r"(?:^|(?<=[ (]))(--?[A-Za-z][a-z-]*)", text)
    return "".join(f"\\fB{roff(part)}\\fR" if i % 2 else roff(part) for i, part in enumerate(parts))


def man_option(option):
    yield ".TP"
    yield ((f"\\fB\\-{option.short}\\fR, " if option.short else "") + f"\\fB\\-\\-{roff(option.name)}\\fR"
           + (f" \\fI{roff_line(option.arg)}\\fR" if option.arg else ""))
    yield sentences(f"{option.help}{option.note()}.")
    if option.more:
        yield sentences(option.more)
    if is_marked(option):
        yield "Also with \\fBreplay\\fR."


def man_options(table):
    for section in table.sections:
        yield f".SS {section.name}"
        for option in section.options:
            yield from man_option(option)
        yield f".PP\nExample, {roff_line(section.effect)}:\n.PP\n.RS 4\n\\fB{roff_line(section.example)}\\fR\n.RE"


def man_synopsis(table):
    yield ".nf"
    for command in table.commands.values():
        for text in command.usage:
            yield f"\\fBjankbpf\\fR {sentences(text)}"
    yield ".fi"


def man_commands(table):
    for command in table.commands.values():
        yield f".TP\n.B {command.name}\n{sentences(command.details)}"
        if command.more:
            yield sentences(command.more)
        yield f".br\nExample, {roff_line(command.effect)}:\n.br\n\\fB{roff_line(command.example)}\\fR"


def man(table, path, values):
    parts = {"OPTIONS": man_options, "SYNOPSIS": man_synopsis, "COMMANDS": man_commands}
    return fill(path, {**{name: "\n".join(make(table)) for name, make in parts.items()}, **values})


# --- completions: schema/completion has their fixed parts

def fill(path, values):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], file.read())


def cases(table, files, commands, shells):
    """(command, what completes its words), for those that take words."""
    texts = {"files": files, "command": commands, "shell": shells}
    return [(command.name, texts[command.operand]) for command in table.commands.values() if command.operand]


BASH = {"file": "_jankbpf_paths -f", "dir": "_jankbpf_paths -d", "pid": '_jankbpf_list "$(_jankbpf_pids)"', "user": "_jankbpf_users",
        "loop": '_jankbpf_list "$(_jankbpf_loops)"', "cgroup": "_jankbpf_cgroups"}


def bash_argument(option):
    if option.words():
        call = f"_jankbpf_{'list' if option.takes_list() else 'words'} '{' '.join(option.words())}'"
    elif KINDS[option.arg]:
        call = BASH[KINDS[option.arg]]
    else:
        return []
    names = [f"{name}:--{option.name}" for name in option.commands] if option.shared else [f"*:{name}" for name in option.switches()]
    return [f"\t{'|'.join(names)}) {call} ;;"]


def bash(table):
    words = f"_jankbpf_words '{' '.join(table.commands)}'"
    operands = [*cases(table, "_jankbpf_paths -f", words, f"_jankbpf_words '{' '.join(SHELLS)}'"), ("''", words)]
    return {"ARGUMENTS": "\n".join(line for option in table.named(True) for line in bash_argument(option)),
            "OPTIONS": "\n".join(f"\t{name}) echo {' '.join('--' + option.name for option in table.named() if name in option.commands)} ;;"
                                 for name in table.commands),
            "OPERANDS": "\n".join(f"\t{name}) {call} ;;" for name, call in operands),
            "SWITCHES": table.switches("|"), "COMMANDS": "|".join(table.commands)}


ZSH = {None: " ", "file": "_files", "dir": "_files -/", "pid": "_jankbpf_pids", "user": "_users", "loop": "_jankbpf_loops",
       "cgroup": "_files -W /sys/fs/cgroup -/"}


def zsh_quoted(text, special):
    return re.sub(rf"([{re.escape(special)}])", r"\\\1", text).replace("'", "'\\''")


def zsh_action(option):
    if not option.arg:
        return ""
    if not option.words():
        action = ZSH[KINDS[option.arg]]
    else:
        words = " ".join(option.words())
        action = f"_jankbpf_list -- {words}" if option.takes_list() else f"({words})"
    return f":{zsh_quoted(option.arg, ':')}:{action}"


def zsh_option(option):
    """A spec of _arguments for each switch, if the command takes it."""
    before = "*" if "(repeatable)" in option.help else f"({' '.join(option.switches())})"
    specs = [f"\t\t'{before}{switch}{('=' if switch[1] == '-' else '+') if option.arg else ''}[{zsh_quoted(option.help, '[]:')}]"
             f"{zsh_action(option)}'" for switch in option.switches()]
    return f"\t[[ $command == ({'|'.join(option.commands)}) ]] && options+=(\n" + "\n".join(specs) + ")"


def zsh(table):
    operands = cases(table, "*:file:_files", "1:command:_jankbpf_commands", f"1:shell:({' '.join(SHELLS)})")
    return {"DESCRIBED": "\n".join(f"\t\t'{command.name}:{zsh_quoted(command.summary, ':')}'" for command in table.commands.values()),
            "OPTIONS": "\n".join(map(zsh_option, table.named())),
            "OPERANDS": "\n".join(f"\t({name}) operands=('{spec}') ;;" for name, spec in operands),
            "SWITCHES": table.switches("|"), "COMMANDS": "|".join(table.commands)}


FISH = {None: "-x", "file": "-r -F", "dir": "-x -a '(__fish_complete_directories (__jankbpf_value))'",
        "pid": "-x -a '(__jankbpf_list (__jankbpf_pids))'", "user": "-x -a '(__fish_complete_users)'",
        "loop": "-x -a '(__jankbpf_list (__jankbpf_loops))'", "cgroup": "-x -a '(__jankbpf_cgroups)'"}


def fish_quoted(text):
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def fish_line(of, rest):
    return f"complete -c jankbpf -n '__jankbpf_is {' '.join(of)}' {rest}"


def fish_option(option):
    words = [f"-s {option.short}"] if option.short else []
    words.append(f"-l {option.name}")
    if option.words():
        each = " ".join(option.words())
        words.append(f"-x -a '{f'(__jankbpf_list {each})' if option.takes_list() else each}'")
    elif option.arg:
        words.append(FISH[KINDS[option.arg]])
    return fish_line((["none"] if "trace" in option.commands else []) + option.commands,
                     " ".join([*words, "-d", fish_quoted(option.help)]))


def fish(table):
    words = dict(cases(table, "-F", f"-a '{' '.join(table.commands)}'", f"-a '{' '.join(SHELLS)}'"))
    lines = []
    for command in table.commands.values():
        lines.append(fish_line(["none"], f"-a {command.name} -d {fish_quoted(command.summary)}"))
        lines += [fish_line([command.name], words[command.name])] if command.operand else []
    return {"COMPLETIONS": "\n".join([*lines, *map(fish_option, table.named())]),
            "SWITCHES": table.switches(" "), "COMMANDS": " ".join(table.commands)}


def completion(table, shell):
    return fill(os.path.join(FOLDER, "completion", shell), {"bash": bash, "zsh": zsh, "fish": fish}[shell](table))


def main(args):
    values = dict(arg.split("=", 1) for arg in args if "=" in arg)
    what, *paths = [arg for arg in args if "=" not in arg]
    try:
        table = Table(values=values)
        if what == "man":
            print(man(table, paths[0], values), end="")
        elif what == "table":
            print("\n".join(c_tables(table)))
        else:
            print(completion(table, what), end="")
    except Wrong as wrong:
        sys.exit(f"{TABLE}:{wrong}")


if __name__ == "__main__":
    main(sys.argv[1:])
