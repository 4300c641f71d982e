#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pyverbs_suite.py BUILD ADAPTER [cm|lag]: Debian's own tests of pyverbs, unmodified; with `cm`, those of
rdmacm, whose addresses are of the interface that sysfs shows below the adapter; with `lag`, those of bonded
links. The switch of an mlx5 adapter is in switchdev mode, which tests of the FDB domain ask devlink for.

None may fail but those that are wrong, and one that is left out has to say why: pyverbs-skips.txt lists the reasons that
count, each with the line of docs/support.md that admits to it, or with what the machine lacks."""
import os
import pathlib
import re
import sys

import common
from common import PYTHON
from pair import Program
from place import Place

SKIPS = pathlib.Path(__file__).with_name("pyverbs-skips.txt")
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "support.md"
MODULES = {f"test_{name}" for name in (
    "addr", "pd", "mr", "cq", "cqex", "cq_events", "qp", "qpex", "atomic", "odp", "parent_domain",
    "relaxed_ordering", "shared_pd", "fork", "tag_matching")}
MLX5_MODULES = {f"test_mlx5_{name}" for name in (
    "cq", "dc", "devx", "dm_ops", "dma_memcpy", "dr", "flow", "huge_page", "mkey",
    "pp", "query_port", "raw_wqe", "sched", "timestamp", "uar", "udp_sport", "var")}
MLX5_MODULES |= {"test_flow", "test_rss_traffic"}
CM_MODULES = {"test_rdmacm"}
MLX5_CM_MODULES = {"test_mlx5_rdmacm"}
# As many are there in Debian 12: for all adapters, and for mlx5.
LEAST = (132, 77)
CM_LEAST = (10, 2)
# The other module comes first, since the suite cannot import this one alone.
LAG_MODULES = {"test_addr", "test_mlx5_lag_affinity"}
LAG_LEAST = 5
SECONDS = 600
# Wrong in Debian 12's release, which wants test-and-set on device memory to set all bits; rdma-core 52
# corrected the tests: the operation stores 1.
WRONG = {f"tests.test_mlx5_dm_ops.Mlx5DmOpAddresses.test_{name}" for name in (
    "dm_atomic_ops", "parallel_dm_atomic_ops")}


def allowed_skips(adapter):
    """Patterns for this model; a capability has to be in the table of those that we lack."""
    model = adapter.split("_")[0]
    table = PAGE.read_text().partition("## Capabilities that are not offered")[2]
    allowed = []
    for number, line in enumerate(SKIPS.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3:
            common.fail(f"{SKIPS.name}:{number}: want `models | reason | why`")
        models, pattern, why = parts
        kind, _, what = why.partition(": ")
        if model not in models.split():
            continue
        if kind == "capability":
            row = re.search(rf"^\| {re.escape(what)} \| ([^|]*) \| [^|]+ \|$", table, re.M)
            if not row or model not in row[1]:
                common.fail(f"{SKIPS.name}:{number}: docs/support.md does not say of {model} that "
                            f"{what} is not offered")
        elif kind != "machine" or not what:
            common.fail(f"{SKIPS.name}:{number}: why is neither `capability: …` nor `machine: …`")
        allowed.append(pattern)
    return allowed


def run_tests(build, adapter, modules):
    with common.temporary_folder() as folder:
        tests = common.pyverbs_tests(folder)
        for path in tests.glob("test_*.py"):
            if path.stem not in modules:
                path.unlink()
        program = Program(build, PYTHON, "tests/run_tests.py", "--dev", adapter, "-v", cwd=folder)
        ended = program.ended(SECONDS)
        program.close()
    print(program.text())
    if not ended:
        common.fail(f"not over within {SECONDS} s")
    common.complain_of_sanitizers(program.text())
    return program.process.returncode, program.text()


def check_failures(status, text, modules):
    """Those that are wrong fail, and no other."""
    wrong = {name for name in WRONG if name.split(".")[1] in modules}
    failed = set(re.findall(r"^(?:FAIL|ERROR): .* \((\S+)\)$", text, re.M))
    if failed != wrong:
        common.fail(f"failed: {sorted(failed)}; expected of Debian's release: {sorted(wrong)}")
    if bool(status) != bool(wrong):
        common.fail(f"the suite ended with {status}")


def main():
    build, adapter = sys.argv[1:3]
    modules, for_mlx5, (least, least_for_mlx5) = MODULES, MLX5_MODULES, LEAST
    if sys.argv[3:] == ["cm"]:
        modules, for_mlx5, (least, least_for_mlx5) = CM_MODULES, MLX5_CM_MODULES, CM_LEAST
        Place(build, hosts=False)
        os.environ["VERBENA_ADAPTERS"] = f"{adapter},link=ethernet,interface=va"
    if not sys.argv[3:] and adapter.startswith("mlx5"):
        os.environ["VERBENA_ADAPTERS"] = f"{adapter},eswitch=switchdev"
    if sys.argv[3:] == ["lag"]:
        modules, for_mlx5, least, least_for_mlx5 = LAG_MODULES, set(), LAG_LEAST, 0
        os.environ["VERBENA_ADAPTERS"] = f"{adapter},lag=lo lo"
    if adapter.startswith("mlx5"):
        modules, least = modules | for_mlx5, least + least_for_mlx5
    allowed = allowed_skips(adapter)
    status, text = run_tests(build, adapter, modules)
    ran = re.search(r"^Ran (\d+) tests", text, re.M)
    check_failures(status, text, modules)
    if not ran:
        common.fail(f"the suite did not count its tests on {adapter}")
    missing = modules - set(re.findall(r"\(tests\.(test_\w+)\.", text))
    if missing or int(ran[1]) < least:
        common.fail(f"only {ran[1]} tests ran; nothing of {sorted(missing)}")
    reasons = re.findall(r"skipped ['\"](.*)['\"]$", text, re.M)
    told = re.search(r"^(?:OK|FAILED) \(.*skipped=(\d+)\)", text, re.M)
    if len(reasons) != (int(told[1]) if told else 0):
        common.fail(f"{len(reasons)} reasons for skips were found, but the suite counts otherwise")
    unknown = {r for r in reasons if not any(re.fullmatch(p, r) for p in allowed)}
    if unknown:
        common.fail(f"{SKIPS.name} does not allow {adapter} to skip for {sorted(unknown)}")
    print(f"{ran[1]} tests on {adapter}: as expected")


if __name__ == "__main__":
    main()
