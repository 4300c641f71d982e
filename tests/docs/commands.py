#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the commands that a page of the documentation shows, and compares what they print with what the page says.

usage: commands.py PAGE BUILD [--write]

Commands are the lines that begin with "$ " in blocks of ```console; the lines below are their output, "..." in it stands
for any lines. They run one after the other in one shell, in a folder with the programs of BUILD/examples, with BUILD/bin
first in PATH, in a network namespace with nothing but loopback. A comment before the block says what is special:

    <!-- not run: REASON -->      a block that is not run
    <!-- numbers vary -->         numbers in the output may differ
    <!-- fails -->                the last command's exit status is not 0
    <!-- needs PROGRAM -->        left out where there is no such program

Hints are joined by ", ". --write puts the output into the page, except for blocks with "...".
Exit status 77: the machine allows no network namespace.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:<!-- (?P<hints>[^\n]*) -->\n)?```console\n(?P<body>.*?)```\n", re.S)
MARK = "commands.py: exit status "


def parts(body):
    """[(command, output)] of a block; a command goes on after a backslash."""
    found = []
    for line in body.splitlines():
        if found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        else:
            sys.exit(f"output without a command: {line}")
    return found


class Shell:
    def __init__(self, scratch, build):
        env = {k: v for k, v in os.environ.items() if not k.startswith("VERBENA") and k != "LD_PRELOAD"}
        env.update(PATH=f"{build}/bin:{env['PATH']}", VERBENA_DIR=f"{scratch}/dir", XDG_CONFIG_HOME=f"{scratch}/config",
                   HOME=scratch, LC_ALL="C.UTF-8")
        os.mkdir(f"{scratch}/dir", 0o700)
        self.bash = subprocess.Popen(["bash"], cwd=f"{scratch}/examples", env=env, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        """(lines, exit status)"""
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '%s%d\\n' '\n{MARK}' $?\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith(MARK):
                # The mark begins a line of its own, whatever the output ends with.
                return (lines[:-1] if lines and not lines[-1] else lines), int(line[len(MARK):])
            lines.append(line.rstrip("\n").rsplit("\r", 1)[-1].rstrip())
        sys.exit(f"the shell ended at: {command}")


def same(wanted, got, numbers_vary):
    def plain(text):
        text = re.sub(r" +|(?<=#)#+", " ", text) # columns and bars
        return re.sub(r"0x[0-9a-f]+|[0-9a-f:]*::[0-9a-f:]*|\d[\d.,]*", "N", text)

    if not numbers_vary:
        plain = str
    pattern = "".join("(?:.*\n)*?" if w.strip() == "..." else re.escape(plain(w)) + "\n" for w in wanted)
    return re.fullmatch(pattern, "".join(plain(g) + "\n" for g in got)) is not None


def namespace():
    """Into a network namespace of our own, by running this again."""
    if os.environ.get("COMMANDS_IN_NAMESPACE"):
        return
    for way in (["--net"], ["--net", "--map-root-user"]):
        if subprocess.run(["unshare", *way, "true"], capture_output=True, check=False).returncode == 0:
            os.environ["COMMANDS_IN_NAMESPACE"] = "yes"
            os.execvp("unshare", ["unshare", *way, "sh", "-c", 'ip link set lo up; exec "$@"', "sh",
                                  sys.executable, *sys.argv])
    print("SKIPPED: no network namespace is allowed here")
    sys.exit(77)


class Page:
    def __init__(self, shell):
        self.shell = shell
        self.wrong = 0
        self.ran = 0

    def block(self, match):
        hints = (match["hints"] or "").split(", ")
        missing = [h.split()[1] for h in hints if h.startswith("needs ") and not shutil.which(h.split()[1])]
        if hints[0].startswith("not run: ") or missing:
            print(f"left out: {match['body'].splitlines()[0]} ({hints[0] if not missing else 'no ' + missing[0]})")
            return match[0]
        text, steps = "", parts(match["body"])
        for i, (command, wanted) in enumerate(steps):
            got, status = self.shell.run(command)
            self.ran += 1
            if (status != 0) != ("fails" in hints and i == len(steps) - 1):
                self.wrong += 1
                print(f"$ {command}\nexit status {status}")
            if not same(wanted, got, "numbers vary" in hints):
                self.wrong += 1
                print("\n".join([f"$ {command}", "--- printed:", *got, "--- the page says:", *wanted]))
            keep = "..." in (w.strip() for w in wanted)
            text += "".join(line + "\n" for line in [f"$ {command}", *(wanted if keep else got)])
        return match[0].replace(match["body"], text)


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--write"]):
        sys.exit(__doc__)
    namespace()
    name, build = sys.argv[1], os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        os.mkdir(f"{scratch}/examples")
        for program in os.listdir(f"{build}/examples"):
            os.symlink(f"{build}/examples/{program}", f"{scratch}/examples/{program}")
        page = Page(Shell(scratch, build))
        with open(name, encoding="utf-8") as file:
            text = file.read()
        written = BLOCK.sub(page.block, text)
        page.shell.bash.stdin.close()
        page.shell.bash.wait()
    if sys.argv[3:]:
        with open(name, "w", encoding="utf-8") as file:
            file.write(written)
        return
    print(f"{page.ran} commands ran, {page.wrong} faults")
    sys.exit(page.wrong != 0 or page.ran == 0)


main()
