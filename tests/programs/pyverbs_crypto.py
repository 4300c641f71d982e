#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pyverbs_crypto.py BUILD: Debian's own tests of encryption, unmodified, on an adapter that imports keys
wrapped and on one that imports them in plaintext. Each runs what the other leaves out."""
import json
import os
import pathlib
import re
import struct
import sys

import aes
import common
from common import PYTHON
from pair import Program

KEK, CREDENTIAL = bytes(range(32)), bytes(range(64, 104))
# Keys of 128 and of 256 bits.
SHORT, LONG = (bytes(i * step & 0xff for i in range(size)) for step, size in ((3, 32), (5, 64)))
CONFIG = f"""
[mlx5_0]
model = ConnectX-6-Dx
[mlx5_1]
model = ConnectX-6-Dx
crypto_kek = {KEK.hex()}
crypto_credential = {CREDENTIAL.hex()}
"""
TESTS = 7
LEFT_OUT = {"mlx5_0": "The device does not support wrapped DEK",
            "mlx5_1": "The device does not support plaintext DEK"}
SECONDS = 120


def words(size, order, data):
    return list(struct.unpack(f"{order}{len(data) // size}{'Q' if size == 8 else 'I'}", data))


def details():
    """What the tests want to know of an adapter."""
    return [{
        "credential": words(8, ">", aes.wrap(KEK, CREDENTIAL)),
        "wrapped_key": words(8, ">", aes.wrap(KEK, SHORT)),
        "wrapped_256_bits_key": words(8, ">", aes.wrap(KEK, LONG)),
        "plaintext_key": words(4, "=", SHORT),
        "plaintext_256_bits_key": words(4, "=", LONG),
        "encrypted_data_for_512_c": words(8, ">", aes.xts(SHORT, 0, 512, b"c" * 512)),
        "encrypted_data_for_1024_c": words(8, ">", aes.xts(SHORT, 0, 512, b"c" * 1024)),
    }]


def run_tests(build, folder, adapter):
    """The names of the tests that passed."""
    program = Program(build, PYTHON, "tests/run_tests.py", "--dev", adapter, "-v", "-k",
                      "Mlx5Crypto", cwd=folder)
    ended = program.ended(SECONDS)
    program.close()
    print(program.text())
    if not ended or program.process.returncode:
        common.fail(f"the tests on {adapter} failed")
    reasons = set(re.findall(r"skipped ['\"](.*)['\"]$", program.text(), re.M))
    if reasons - {LEFT_OUT[adapter]}:
        common.fail(f"{adapter} leaves tests out for {sorted(reasons)}")
    return set(re.findall(r"^(test_\w+) \(.*\) \.\.\. ok$", program.text(), re.M))


def main():
    build = sys.argv[1]
    passed = set()
    with common.temporary_folder() as folder:
        common.pyverbs_tests(folder)
        info, config = pathlib.Path(folder) / "info", pathlib.Path(folder) / "crypto.conf"
        info.write_text(json.dumps(details()))
        config.write_text(CONFIG)
        os.environ |= {"MLX5_CRYPTO_TEST_INFO": str(info), "VERBENA_CONFIG": str(config)}
        for adapter in LEFT_OUT:
            passed |= run_tests(build, folder, adapter)
    if len(passed) < TESTS:
        common.fail(f"only {sorted(passed)} passed; there are {TESTS} tests")
    print(f"{len(passed)} tests: as expected")


if __name__ == "__main__":
    main()
