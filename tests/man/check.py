#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check.py: manual pages of calls (man/3) against headers and sources. Needs a compiler, not pandoc.

- Every public call (docs/support.py knows them) has one page, and each page all sections.
- Prototypes under SYNOPSIS are compatible with the headers: they are compiled behind them.
- Programs under EXAMPLE compile without a warning.
- Constants, types and calls that the text names are in the headers, variables of the environment in
  verbena-env(7), and pages that it refers to exist.
- Errors: what ERRORS lists is what functions that the call reaches can give (reach.py), and what those in the
  call's own file give is listed. The key errors-by adds places for single errors, `ERRNO=place`: a file of src/ or
  tests/ that names the error, or a function of libc that the call reaches and that fails so. The key not-given takes
  errors away that the call's file names and no caller sees."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import reach

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "man"), str(ROOT / "docs")]
import pages  # noqa: E402
import support  # noqa: E402
from support import common  # noqa: E402

TITLES = ["SYNOPSIS", "DESCRIPTION", "HERE AND ON HARDWARE", "RETURN VALUE", "ERRORS", "NOTES", "EXAMPLE", "SEE ALSO"]
# Macros that put another function in the place of the one that is exported.
MACROS = {"ibv_query_port": "___ibv_query_port", "mlx5dv_create_flow": "_mlx5dv_create_flow"}
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
HEADER_WORD = re.compile(r"\b(?:(?:IBV|MLX5|MLX5DV|MLX4|MLX4DV|RDMA|RAI|RSOCKET)_[A-Z0-9_]+"
                         r"|(?:ibv|mlx5dv|mlx4dv|rdma|mlx5|mlx4)_[a-z0-9_]+)\b(?!\\?\*)")
# Names of devices, of files and of tools that look like names of the headers.
OTHER_WORD = re.compile(r"(MLX5_CQE_SIZE|mlx5_ifc_\w+|mlx[45]_\d|mlx[45]_(core|ib)|ibv_(devinfo|devices|asyncwatch"
                        r"|\w+_pingpong)|rdma_(cm|verbs|client|server|xclient|xserver))$")


def compile_c(name, text, report, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.c"
        path.write_text(text)
        done = subprocess.run(["gcc", *common.OURS.flags, *flags, "-fsyntax-only", str(path)],
                              capture_output=True, text=True)
    if done.returncode:
        report.add(f"{name}: does not compile:\n{done.stderr}")


def check_names(found, public, report):
    where = collections.defaultdict(list)
    for page in found:
        for name in page.names:
            where[name].append(page.path.name)
    for name, files in where.items():
        if name not in public:
            report.add(f"{files[0]}: {name} is no public call")
        if len(files) > 1:
            report.add(f"{name} is on {' and '.join(files)}")
    for name in sorted(set(public) - set(where)):
        report.add(f"{name} has no page")
    return where


def check_sections(page, report):
    if page.titles != TITLES:
        report.add(f"{page.path.name}: sections are {page.titles}, want {TITLES}")
    if not page.names or not page.summary:
        report.add(f"{page.path.name}: has no names or no summary")
    for title, text in page.sections.items():
        if not text.strip():
            report.add(f"{page.path.name}: {title} is empty")
    for number, line in enumerate(page.body.splitlines(), page.first_line):
        if len(line) > 120 and not line.startswith("**"):  # terms of a list have one line
            report.add(f"{page.path.name}:{number}: is longer than 120 columns")


def source_prototype(name):
    """The prototype of an exported call that no public header declares."""
    for path in sorted((ROOT / "src").rglob("*.c")):
        match = re.search(rf"^(?:VB_API )?([a-z][^;{{}}=()\n]*\b{name}\([^;{{}}]*\))\n?[{{;]", path.read_text(), re.M)
        if match:
            return f"{match[1]};"
    return ""


def check_synopsis(found, declared, report):
    """All pages in one file; macros that hide a call's prototype are taken away first."""
    text = [common.INCLUDE_ALL, "#include <infiniband/marshall.h>", "#include <sys/types.h>"]
    for page in found:
        text += [source_prototype(name) for name in page.names if name not in declared]
        text += [f"#undef {name}\n#define {name} {other}" for name, other in MACROS.items() if name in page.names]
        for line, code in page.code("SYNOPSIS"):
            text += [f"#undef {name}" for name in page.names if name not in MACROS]
            text.append(f'#line {line} "{page.path}"')
            text.append(code)
        for name in page.names:
            if not re.search(rf"\b{name}\(", page.sections.get("SYNOPSIS", "")):
                report.add(f"{page.path.name}: no prototype of {name}")
            if name not in declared and not source_prototype(name):
                report.add(f"{page.path.name}: nothing declares {name}")
    compile_c("prototypes", "\n".join(text), report)


def check_examples(page, report):
    code = page.code("EXAMPLE")
    if not code:
        report.add(f"{page.path.name}: EXAMPLE has no program")
    for line, text in code:
        compile_c(page.path.name, f'#line {line} "{page.path}"\n{text}', report, *WARNINGS)
    for name in re.findall(r"examples/([\w.]+)", page.body):
        if not (ROOT / "examples" / name).exists():
            report.add(f"{page.path.name}: there is no examples/{name}")


def check_words(page, words, variables, where, report):
    text = page.body.replace("\\_", "_")
    for word in sorted(set(HEADER_WORD.findall(text.replace("**", "")))):
        if word not in words and word not in where and not OTHER_WORD.match(word):
            report.add(f"{page.path.name}: {word} is in no header")
    for word in sorted(set(re.findall(r"\bVERBENA_\w+", text)) - variables):
        report.add(f"{page.path.name}: {word} is not in verbena-env(7)")
    others = {tuple(path.name.split(".")[0:1] + [path.name.split(".")[-2]]) for path in (ROOT / "man").glob("*.md")}
    for name, section in set(re.findall(r"\*\*([\w.-]+)\*\*\((\d)\)", text)):
        ours = re.match(r"(ibv_|mlx[45]dv_|rdma_|verbena)", name)
        if section == "3" and ours and name not in where:
            report.add(f"{page.path.name}: refers to {name}(3), which is no page")
        if name.startswith("verbena") and (name.split(".")[0], section) not in others:
            report.add(f"{page.path.name}: refers to {name}({section}), which is no page")


def own_files(name, sources):
    """Where a call is written: its own file, or those that an inline call leads to."""
    functions = sources.by_name[name]
    if any(function.path.suffix == ".h" for function in functions):
        functions = [other for function in functions for other in sources.called(function)]
    return {function.path for function in functions if function.path.suffix == ".c"}


def check_errors(page, sources, report):
    named = set()
    for term in re.findall(r"^(\*\*.*)\n(?:\n?):   ", page.sections.get("ERRORS", ""), re.M):
        named |= set(re.findall(r"\bE[A-Z0-9]+\b", term)) & reach.ERRNOS
    told = set(re.findall(r"\bE[A-Z0-9]{2,}\b", page.sections.get("ERRORS", ""))) & reach.ERRNOS
    if told - named:
        report.add(f"{page.path.name}: ERRORS mentions {sorted(told - named)} without an entry")
    reached = [function for name in page.names for function in sources.reach(name)]
    given = set().union(*(function.errnos for function in reached), set())
    words = set().union(*(function.words for function in reached), set())
    for item in page.keys.get("errors-by", "").split():
        error, _, place = item.partition("=")
        path = ROOT / place
        if error not in reach.ERRNOS:
            report.add(f"{page.path.name}: errors-by: {error} is no error")
        elif path.is_file():
            if not re.search(rf"\b{error}\b", path.read_text()):
                report.add(f"{page.path.name}: errors-by: {place} does not have {error}")
        elif place not in words:
            report.add(f"{page.path.name}: errors-by: no function that the calls reach uses {place}")
        given.add(error)
    for error in sorted(named - given):
        report.add(f"{page.path.name}: nothing that the calls reach gives {error}")
    own = set()
    for name in page.names:
        files = own_files(name, sources)
        own |= set().union(*(function.errnos for function in sources.reach(name)
                             if function.path in files), set())
    handled = set(page.keys.get("not-given", "").split())
    for error in sorted(handled - own):
        report.add(f"{page.path.name}: not-given: {error} is not in the calls' own files")
    for error in sorted(own - named - handled - {"EINTR", "EAGAIN", "EWOULDBLOCK"}):
        report.add(f"{page.path.name}: {error}, which its own file gives, is not under ERRORS")


def main():
    report = common.Report("manual pages")
    found = pages.read_all()
    calls = support.Calls()
    words = set()
    for path in (ROOT / "include").rglob("*.h"):
        words |= set(re.findall(r"\w+", path.read_text()))
    variables = set(re.findall(r"VERBENA_\w+", (ROOT / "man" / "verbena-env.7.md").read_text()))
    sources = reach.Sources()
    where = check_names(found, calls.public(), report)
    check_synopsis(found, calls.declared, report)
    for page in found:
        check_sections(page, report)
        check_examples(page, report)
        check_words(page, words, variables, where, report)
        check_errors(page, sources, report)
    return report.end(f"{len(found)} pages describe {len(where)} calls")


if __name__ == "__main__":
    sys.exit(main())
