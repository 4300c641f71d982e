#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rendered.py BUILD: what render.py has made: each call has a manual page that man finds and a way to its text in
HTML, links in HTML lead somewhere, and nothing there needs a network. Skips in a build without pandoc."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "man"), str(ROOT / "tests" / "abi")]
import common  # noqa: E402
import pages  # noqa: E402


def check_man(found, folder, report):
    for page in found:
        for name in page.names:
            path = folder / "man3" / f"{name}.3"
            text = path.read_text() if path.exists() else ""
            target = re.match(r"\.so (man3/\S+)\n$", text)
            if target:
                text = (folder / target[1]).read_text()
            if f".TH \"{page.name}\"" not in text or ".SH EXAMPLE" not in text:
                report.add(f"{path} is missing, or not the page {page.name}")
    if not shutil.which("man"):
        return
    for page in found[:3]:
        name = page.names[-1]
        done = subprocess.run(["man", "-M", folder, "-E", "UTF-8", name], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANPAGER": "cat", "PAGER": "cat"})
        # Systems that leave manual pages out have a man that only says so.
        if "minimized" not in done.stdout and page.summary.split()[0] not in done.stdout:
            report.add(f"man -M {folder} {name}: {done.stdout}{done.stderr}")


def check_html(found, folder, report):
    index = json.loads(re.fullmatch(r"const PAGES = (.*);\n", (folder / "pages.js").read_text(), re.S)[1])
    listed = {name for entry in index for name in entry["names"]}
    for name in sorted({name for page in found for name in page.names} - listed):
        report.add(f"{folder}/index.html does not list {name}")
    for path in sorted(folder.glob("*.html")):
        text = path.read_text()
        for target in re.findall(r'(?:href|src)="([^"]*)"', text):
            if re.match(r"\w+:|//", target) or not (folder / target.split("#")[0]).exists():
                report.add(f"{path.name}: {target} is not in the folder")
        for name in re.findall(r"<strong>((?:ibv|mlx[45]dv|rdma)_\w+)</strong>\(3\)", text):
            report.add(f"{path.name}: {name}(3) is no link")


def main():
    build = pathlib.Path(sys.argv[1])
    man, html = build / "share/verbena/man", build / "share/doc/verbena/html"
    if not (html / "pages.js").exists():
        print("skipped: no pandoc in this build, no rendered pages")
        return 77
    report = common.Report("rendered manual pages")
    found = pages.read_all()
    check_man(found, man, report)
    check_html(found, html, report)
    return report.end(f"{len(found)} pages as man and HTML")


if __name__ == "__main__":
    sys.exit(main())
