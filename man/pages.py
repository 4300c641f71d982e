# SPDX-License-Identifier: BSD-2-Clause
"""Sources of manual pages of section 3: what render.py and tests/man/check.py read.

man/3/<page>.3.md begins with a few `key: value` lines between two lines of `---`:
- names: the calls that the page describes. The page itself is named after the first, or after the file;
- summary: what they do, for the line under NAME, which is made of the two;
- errors-by, not-given (optional): errors that the source does not name, and those that it names but handles itself;
  see tests/man/check.py."""
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent
KEYS = {"names", "summary", "errors-by", "not-given"}
LIBRARIES = {"ibv_": "libibverbs", "mlx5dv_": "libmlx5", "mlx4dv_": "libmlx4"}


class Page:
    """One source: its keys, its sections as {title: text}, and the line that its text begins at."""

    def __init__(self, path):
        self.path = path
        self.name = path.name.split(".")[0]
        text = path.read_text()
        match = re.match(r"---\n(.*?)\n---\n", text, re.S)
        if not match:
            raise ValueError(f"{path}: does not begin with its keys between two lines of ---")
        self.keys = {}
        for line in re.sub(r"\n\s+", " ", match[1]).splitlines():
            key, _, value = line.partition(":")
            if key not in KEYS:
                raise ValueError(f"{path}: unknown key {key}; there are {', '.join(sorted(KEYS))}")
            self.keys[key] = value.strip()
        self.names = self.keys.get("names", "").split()
        self.summary = self.keys.get("summary", "")
        self.first_line = match[0].count("\n") + 1
        self.body = text[match.end():]
        parts = re.split(r"^# (.*)\n", self.body, flags=re.M)
        self.titles = parts[1::2]
        self.sections = dict(zip(self.titles, parts[2::2]))

    def line_of(self, text):
        """The number of the line in the file where a part of the body begins."""
        return self.first_line + self.body[:self.body.index(text)].count("\n")

    def code(self, title):
        """[(line, text)] of the fenced blocks of C in a section."""
        section = self.sections.get(title, "")
        start = self.line_of(section) if section else 0
        return [(start + section[:match.start(1)].count("\n"), match[1])
                for match in re.finditer(r"^```c\n(.*?)^```$", section, re.M | re.S)]

    def markdown(self):
        """The whole page, with its NAME."""
        names = ", ".join(name.replace("_", r"\_") for name in self.names)
        return f"# NAME\n\n{names} - {self.summary}\n\n{self.body.strip()}\n"

    def library(self):
        for prefix, library in LIBRARIES.items():
            if self.name.startswith(prefix):
                return library
        return "librdmacm"


def read_all():
    return [Page(path) for path in sorted((FOLDER / "3").glob("*.3.md"))]
