# SPDX-License-Identifier: BSD-2-Clause
"""What the ABI tests and docs/support.py share: where things are, version scripts, stub tables,
the dynamic symbols of a library, and a way to report every difference before failing."""
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]

# soname -> folder below src/ that holds its version script and its stub table
LIBRARIES = {
    "libibverbs.so.1": "verbs",
    "libmlx5.so.1": "mlx5",
    "libmlx4.so.1": "mlx4",
    "librdmacm.so.1": "cm",
}

# The headers programs include; Debian's libibverbs-dev and librdmacm-dev bring the same names.
HEADERS = [
    "infiniband/arch.h",
    "infiniband/ib.h",
    "infiniband/ib_user_ioctl_verbs.h",
    "infiniband/mlx4dv.h",
    "infiniband/mlx5_api.h",
    "infiniband/mlx5_user_ioctl_verbs.h",
    "infiniband/mlx5dv.h",
    "infiniband/opcode.h",
    "infiniband/sa-kern-abi.h",
    "infiniband/sa.h",
    "infiniband/tm_types.h",
    "infiniband/verbs.h",
    "infiniband/verbs_api.h",
    "rdma/rdma_cma.h",
    "rdma/rdma_cma_abi.h",
    "rdma/rdma_verbs.h",
    "rdma/rsocket.h",
]



class Headers:
    """One of the two sets of public headers: how to compile with it, which files belong to it."""

    def __init__(self, folder, flags):
        self.folder = folder
        self.flags = ["-std=gnu17", "-D_GNU_SOURCE", *flags]

    def point_to(self, folder):
        self.__init__(str(folder), ["-I", str(folder)])

    def owns(self, path):
        if not path.startswith(f"{self.folder}/"):
            return False
        # the system's folder holds much more; ours splits the large headers into parts
        return self is OURS or path[len(self.folder) + 1:] in HEADERS


OURS = Headers(str(ROOT / "include"), ["-I", str(ROOT / "include")])
DEBIAN = Headers("/usr/include", [])
INCLUDE_ALL = "".join(f"#include <{name}>\n" for name in HEADERS)


class Report:
    """Collects findings; `end` prints them all and gives the exit code."""

    def __init__(self, what):
        self.what = what
        self.findings = []

    def add(self, text):
        self.findings.append(text)

    def end(self, good):
        for text in self.findings:
            print(text)
        if self.findings:
            print(f"FAILED: {self.what}: {len(self.findings)} findings")
            return 1
        print(f"ok: {good}")
        return 0


def run(*command, **options):
    """The standard output of a command; a failure ends the test with everything it said."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          errors="replace", **options)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)}\nended with {done.returncode}:\n"
                 f"{done.stdout}{done.stderr}")
    return done.stdout


def debian_library(soname):
    """The path of Debian's own library, whatever LD_LIBRARY_PATH says."""
    arch = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
    for folder in (f"/usr/lib/{arch}", "/usr/lib64", "/usr/lib"):
        path = pathlib.Path(folder) / soname
        if path.exists():
            return path
    sys.exit(f"Debian's {soname} is not installed; ./do setup brings it")


def exports(path):
    """{(symbol, node): (is default version, kind, size)} of a shared library. Node "" is none."""
    found = {}
    for line in run("readelf", "--wide", "--dyn-syms", path).splitlines():
        part = line.split()
        if len(part) < 8 or not part[0].endswith(":") or part[4] not in ("GLOBAL", "WEAK"):
            continue
        if part[6] in ("UND", "ABS"):
            continue
        match = re.fullmatch(r"([^@]+)(?:(@@?)(.*))?", part[7])
        found[match[1], match[3] or ""] = (match[2] == "@@", part[3], int(part[2], 0))
    return found


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda match: "\n" * match[0].count("\n"), text,
                  flags=re.S)


def version_script(soname):
    """[(node, [symbol...])] in the order of the file, wildcards included."""
    folder = LIBRARIES[soname]
    path = ROOT / "src" / folder / f"{soname.split('.')[0]}.map"
    nodes = []
    for node, body in re.findall(r"([\w.]+)\s*\{(.*?)\}", strip_comments(path.read_text()), re.S):
        symbols = []
        scope = "global"
        for label, name in re.findall(r"(\w+)\s*:|([\w*]+)\s*;", body):
            if label:
                scope = label
            elif scope == "global":
                symbols.append(name)
        nodes.append((node, symbols))
    if not nodes:
        sys.exit(f"{path}: no version node found")
    return nodes


def stub_tables(soname):
    """[(kind, symbol, node or None)]: STUB and PRIVATE lines have no node of their own, OLD lines do."""
    found = []
    for path in sorted((ROOT / "src" / LIBRARIES[soname]).glob("*.c")):
        for table, kind, name, node in re.findall(
                r'^(STUB|PRIVATE|OLD)_([A-Z0-9]+)\((\w+)(?:, "([\w.]+)")?\)$', path.read_text(), re.M):
            if (table == "OLD") != bool(node):
                sys.exit(f"{path}: {table}_{kind}({name}): only OLD lines name a node")
            found.append((kind, name, node or None))
    return found


def old_versions(soname):
    """[(symbol, node)] of older versions that work, as their functions say"""
    found = []
    for path in sorted((ROOT / "src" / LIBRARIES[soname]).glob("*.c")):
        found += re.findall(r'^__asm__\("\.symver \w+,(\w+)@([\w.]+)"\);$', path.read_text(), re.M)
    return found


def private(node):
    return "PRIVATE" in node


def private_nodes():
    """[(symbol, node)]: every private symbol of libibverbs under every number of the private node, and
    the registration that has the number in its name. private.h has the numbers."""
    folder = ROOT / "src" / "verbs"
    numbers = re.findall(r"@IBVERBS_PRIVATE_(\d+)", (folder / "private.h").read_text())
    names = set()
    for path in sorted(folder.glob("*.c")):
        names |= set(re.findall(r"^(?:VB_PRIVATE|PRIVATE_[A-Z0-9]+)\((\w+)\);?$", path.read_text(), re.M))
    found = [(name, f"IBVERBS_PRIVATE_{number}") for number in numbers for name in sorted(names)]
    # rdma-core 15 and older register without a number
    found += [(f"verbs_register_driver_{number}", f"IBVERBS_PRIVATE_{number}")
              for number in numbers if int(number) > 15]
    return found


def declarations(headers):
    """{name: (is inline, path of its header, returns a pointer)}, asked from the compiler."""
    text = run("gcc", *headers.flags, "-x", "c", "-fsyntax-only", "-aux-info", "/dev/stdout", "-",
               input=INCLUDE_ALL)
    found = {}
    for path, rest in re.findall(r"^/\* (.+?):\d+:\w+ \*/ (.*)$", text, re.M):
        match = re.search(r"(\w+) \(", rest)
        if match and headers.owns(path):
            inline = rest.startswith("static") or found.get(match[1], (False,))[0]
            pointer = "*" in rest[:match.start()]
            found[match[1]] = inline, path[len(headers.folder) + 1:], pointer
    return found


def functions(headers):
    """{name: is inline} of the functions that public headers declare"""
    return {name: inline for name, (inline, *_) in declarations(headers).items()}
