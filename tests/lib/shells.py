# SPDX-License-Identifier: GPL-2.0
"""Shells that complete a line by the script of `jankbpf completion`."""
import os
import pty
import select
import subprocess
import time

TIMEOUT_S = 30

BASH = """
source "$1"
cd "$2"
read -ra COMP_WORDS <<<"${3//=/ = }"
[[ $3 != *' ' ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_jankbpf
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Each compadd that adds candidates (not one that only filters an array) writes them to a file.
ZSH = """
PROMPT= RPROMPT=
unsetopt beep autolist
fpath=(%(folder)s/fpath $fpath)
autoload -Uz compinit && compinit -u -d %(folder)s/zcompdump
bindkey '^I' complete-word
zstyle ':completion:*' insert-tab false
zstyle ':completion:*' verbose yes
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
		builtin compadd "$@"
		return
	fi
	local -a hits
	builtin compadd -A hits "$@"
	local hit
	for hit in $hits; do print -r -- "$IPREFIX$hit" >>%(folder)s/hits; done
	builtin compadd "$@"
}
end-completion() { exit }
comppostfuncs=(end-completion)
cd %(folder)s
"""


class Shell:
    """complete(line): the candidates at the end of the line."""
    name = None

    def __init__(self, jankbpf, folder):
        self.folder, self.errors = folder, []
        self.env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": folder, "TERM": "dumb"}
        self.script = os.path.join(folder, "jankbpf." + self.name)
        with open(self.script, "w", encoding="utf-8") as file:
            subprocess.run([jankbpf, "completion", self.name], stdout=file, check=True)
        self.prepare()

    def prepare(self):
        pass

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, cwd=self.folder,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False)
        if done.stderr:
            self.errors.append(f"{command[-1]}: {done.stderr}")
        return [line for line in done.stdout.splitlines() if line]


class Bash(Shell):
    name = "bash"

    def complete(self, line):
        return self.run("bash", "--norc", "-c", BASH, "bash", self.script, self.folder, line)


class Fish(Shell):
    name = "fish"

    def complete(self, line):
        lines = self.run("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", self.script, line)
        return [text.split("\t")[0] for text in lines]


class Zsh(Shell):
    """In a terminal: compsys works only in the line editor."""
    name = "zsh"

    def prepare(self):
        os.mkdir(os.path.join(self.folder, "fpath"))
        os.symlink(self.script, os.path.join(self.folder, "fpath/_jankbpf"))
        with open(os.path.join(self.folder, "setup.zsh"), "w", encoding="utf-8") as file:
            file.write(ZSH % {"folder": self.folder})

    def complete(self, line):
        hits = os.path.join(self.folder, "hits")
        open(hits, "w", encoding="ascii").close()
        leader, follower = pty.openpty()
        zsh = subprocess.Popen(["zsh", "-f", "-i"], stdin=follower, stdout=follower, stderr=follower,
                               env=self.env, cwd=self.folder, start_new_session=True)
        os.close(follower)
        os.write(leader, f"source {self.folder}/setup.zsh\n{line}\t".encode())
        screen = self.drain(leader)
        os.close(leader)
        try:
            zsh.wait(1)
        except subprocess.TimeoutExpired:
            zsh.kill()
            zsh.wait()
            self.errors.append(f"{line}: no end: {screen[-400:]}")
        if b"_jankbpf" in screen.replace(line.encode(), b"").split(b"\n", 1)[-1]:  # "_jankbpf:3: bad pattern"
            self.errors.append(f"{line}: {screen[-400:]}")
        with open(hits, encoding="utf-8") as file:
            return file.read().splitlines()

    @staticmethod
    def drain(leader):
        """What the terminal shows until zsh ends, or for a time."""
        screen, deadline = b"", time.monotonic() + TIMEOUT_S
        while select.select([leader], [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                screen += os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
        return screen


SHELLS = (Bash, Zsh, Fish)
