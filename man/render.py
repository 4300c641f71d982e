#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""render.py PANDOC MAN HTML: manual pages of section 3 into MAN/man3, and all pages as HTML, with an index that
searches without a network, into HTML.

pandoc starts slowly, so it runs once for each format, on all pages in one text, which is split again here."""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pages

TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<nav><a href="index.html">Verbena manual</a></nav>
<main>
{body}
</main>
</body>
</html>
"""


class Other:
    """A page of another section: Markdown with a title line, made into HTML only."""

    def __init__(self, path):
        self.name, self.section = re.fullmatch(r"(.*)\.(\d)\.md", path.name).groups()
        self.text = re.sub(r"\A%.*\n", "", path.read_text())
        match = re.search(r"^# NAME\n\n(\S+) - (.*?)\n\n", self.text, re.M | re.S)
        self.names, self.summary = [match[1]], match[2].replace("\n", " ")

    def markdown(self):
        return self.text

    def library(self):
        return "programs and files"


def pandoc(program, form, all_pages):
    """Each page in the output format, as pandoc makes it without a header."""
    text = "\n\n".join(page.markdown() for page in all_pages)
    done = subprocess.run([program, "-f", "markdown-smart", "-t", form, "--no-highlight"], input=text,
                          capture_output=True, text=True, check=True).stdout
    start = r"^\.SH NAME\n" if form == "man" else r'^<h1 id="name[-0-9]*">NAME</h1>\n'
    parts = re.split(start, done, flags=re.M)[1:]
    if len(parts) != len(all_pages):
        sys.exit(f"render.py: {len(all_pages)} pages went in, {len(parts)} came out")
    return parts


def write_man(program, found, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page, text in zip(found, pandoc(program, "man", found)):
        head = f'.TH "{page.name}" "3" "" "Verbena" "Verbena"\n.hy\n.SH NAME\n'
        (folder / f"{page.name}.3").write_text(head + text)
        for name in page.names:
            if name != page.name:
                (folder / f"{name}.3").write_text(f".so man3/{page.name}.3\n")


def file_of(page):
    return f"{page.name}.{getattr(page, 'section', 3)}.html"


def link(text, where):
    """Names of pages, as NAME(SECTION) or alone, lead to them."""
    def target(match):
        name = match[1].replace("\\", "")
        if (name, match[2]) not in where:
            return match[0]
        return f'<a href="{where[name, match[2]]}"><strong>{name}</strong></a>({match[2]})'
    return re.sub(r"<strong>([\w-]+)</strong>\((\d)\)", target, text)


def write_html(program, found, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    where = {(name, getattr(page, "section", "3")): file_of(page) for page in found for name in page.names}
    index = []
    for page, text in zip(found, pandoc(program, "html", found)):
        body = "<h1>NAME</h1>\n" + link(text, where)
        body = re.sub(r'(<h[1-6] id="[^"]*?)-\d+">', r'\1">', body)
        title = f"{page.name}({getattr(page, 'section', 3)})"
        (folder / file_of(page)).write_text(TEMPLATE.format(title=html.escape(title), body=body))
        words = html.unescape(re.sub(r"<[^>]*>", " ", text))
        index.append({"file": file_of(page), "title": title, "names": page.names, "summary": page.summary,
                      "library": page.library(), "text": re.sub(r"\s+", " ", words)})
    (folder / "pages.js").write_text(f"const PAGES = {json.dumps(index, indent=0)};\n")
    for name in ("index.html", "style.css"):
        shutil.copy(pages.FOLDER / "html" / name, folder / name)


def main():
    program, man, folder = sys.argv[1:]
    found = pages.read_all()
    write_man(program, found, pathlib.Path(man) / "man3")
    others = [Other(path) for path in sorted(pages.FOLDER.glob("*.md"))]
    write_html(program, others + found, pathlib.Path(folder))


if __name__ == "__main__":
    main()
