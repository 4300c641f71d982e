#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The layout test notices what it is there for: each of these changes to a copy of our headers
brings the finding it should."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import common

LAYOUT = pathlib.Path(__file__).with_name("layout.py")
# what it is; a pattern that must be in exactly one header; its replacement; the finding to expect
CHANGES = [
    ("two members swapped", r"(uint32_t vendor_err;)\n(\s+)(uint32_t byte_len;)", r"\3\n\2\1",
     "struct ibv_wc.vendor_err: u32 at byte 16, 4 bytes in Debian's headers, u32 at byte 20"),
    ("a member in the middle", r"(struct ibv_sge \{\n)", r"\1\tuint64_t stranger;\n",
     "struct ibv_sge.stranger: new, but u64 at byte 0, 8 bytes covers"),
    ("a member at the end, unlisted", r"(\tuint8_t dlid_path_bits;\n)(\}|\s+\})",
     r"\1\tuint64_t stranger;\n\2", "not in additions.txt: member struct ibv_wc.stranger"),
    ("a narrower type", r"uint16_t pkey_tbl_len;", "uint8_t pkey_tbl_len;",
     "struct ibv_port_attr.pkey_tbl_len: u16 at byte 32, 2 bytes in Debian's headers, u8"),
    ("another enumerator value", r"IBV_WC_RECV_RDMA_WITH_IMM = 129",
     "IBV_WC_RECV_RDMA_WITH_IMM = 130",
     "IBV_WC_RECV_RDMA_WITH_IMM = 129 in Debian's headers, 130"),
    ("an enumerator gone", r"\n\s*IBV_ACCESS_REMOTE_ATOMIC\b[^,]*,", "",
     "IBV_ACCESS_REMOTE_ATOMIC = 8 in Debian's headers, not in ours"),
    ("another argument type", r"(int ibv_query_gid\(struct ibv_context \*context, )uint8_t",
     r"\1uint32_t", "ibv_query_gid: s32 (struct ibv_context *, u8,"),
    ("another return type", r"\nint (ibv_fork_init\(void\);)", r"\nlong \1",
     "ibv_fork_init: s32 (void) * in Debian's headers, s64"),
]


def change(folder, pattern, replacement):
    hits = [path for path in sorted(folder.rglob("*.h")) if re.search(pattern, path.read_text())]
    if len(hits) != 1:
        return f"{pattern!r} is in {len(hits)} headers, not in one"
    text, count = re.subn(pattern, replacement, hits[0].read_text())
    hits[0].write_text(text)
    return None if count == 1 else f"{pattern!r} is there {count} times, not once"


def main():
    report = common.Report("layout_notices")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "include"
        shutil.copytree(common.ROOT / "include", folder)
        for what, pattern, replacement, _ in CHANGES:
            wrong = change(folder, pattern, replacement)
            if wrong:
                report.add(f"{what}: {wrong}")
        done = subprocess.run([sys.executable, LAYOUT, folder], capture_output=True, text=True)
    for what, _, _, finding in CHANGES:
        if finding not in done.stdout:
            report.add(f"{what}: layout.py does not say {finding!r}")
    if report.findings or done.returncode != 1:
        report.add(f"layout.py ended with {done.returncode} saying:\n{done.stdout}{done.stderr}")
    return report.end(f"each of {len(CHANGES)} changes is noticed")


if __name__ == "__main__":
    sys.exit(main())
