# SPDX-License-Identifier: BSD-2-Clause
"""DPDK's crypto driver: its test program encrypts and decrypts vectors and compares, on adapters with
the tweak in either byte order. It cannot have wrapped keys; of an adapter that wants them only the
login is checked. Arguments: BUILD."""
import os
import pathlib
import re
import shutil
import sys
import tempfile

import aes
import common

PROGRAM = "dpdk-test-crypto-perf"
KEK, CREDENTIAL = bytes(range(32)), bytes(range(64, 104))
# The driver hands the IV on as it is.
IV = bytes(range(16))
OPS = 64

CONFIG = f"""
[mlx5_0]
model = ConnectX-6
[mlx5_1]
model = ConnectX-6-Dx
[mlx5_2]
model = ConnectX-6-Dx
crypto_kek = {KEK.hex()}
crypto_credential = {CREDENTIAL.hex()}
"""


def vector(**fields):
    return "".join(f"{name} =\n" + ", ".join(f"0x{byte:02x}" for byte in value) + "\n"
                   for name, value in fields.items())


def program(build, device, key, size, *options, status=0):
    return common.run(build, "sh", "-c", 'exec "$@" 2>&1', "sh", PROGRAM, "--no-huge",
                      "--no-shconf", "-m", "512", "-l", "0,1", "-a", device, "--", "--devtype",
                      "mlx5_pci", "--optype", "cipher-only", "--cipher-algo", "aes-xts",
                      "--cipher-key-sz", str(len(key)), "--cipher-iv-sz", "16", "--buffer-sz",
                      str(size), "--total-ops", str(OPS), "--burst-sz", "16", *options,
                      status=status)


def failed_ops(build, device, data, operation, key, size):
    said = program(build, device, key, size, "--ptest", "verify", "--test-file", str(data),
                   "--cipher-op", operation)
    # lcore, size, burst, enqueued, dequeued, then tries that failed, and wrong results
    row = re.search(rf"^\s+\d+\s+{size}\s+16\s+{OPS}\s+{OPS}\s+\d+\s+\d+\s+(\d+)\s*$", said, re.M)
    if not row:
        common.fail(f"{operation} of {size} bytes: not {OPS} operations\n{said}")
    return int(row[1])


def check(build, device, order, data, key, size):
    plain = bytes(i * 7 & 0xff for i in range(size))
    coded = aes.xts(key, int.from_bytes(IV, order), size, plain)
    for operation in ("encrypt", "decrypt"):
        data.write_text(vector(plaintext=plain, ciphertext=coded, cipher_key=key, cipher_iv=IV))
        if failed_ops(build, device, data, operation, key, size):
            common.fail(f"{operation} of {size} bytes with a key of {len(key)} is wrong")
    # The program does compare.
    data.write_text(vector(plaintext=plain, ciphertext=plain, cipher_key=key, cipher_iv=IV))
    if failed_ops(build, device, data, "encrypt", key, size) != OPS:
        common.fail("a wrong vector is not noticed")


def check_login(build, device, credential):
    """With a credential the driver gets as far as the program's own check of key lengths."""
    for text, expected in ((aes.wrap(KEK, CREDENTIAL).hex(), r".*does not support capabilities.*"),
                           (aes.wrap(KEK, bytes(40)).hex(), r".*cannot be used.*")):
        credential.write_text(text)
        said = program(build, f"{device},wcs_file={credential}", bytes(48), 512, "--ptest",
                       "throughput", status=1)
        common.want(said, expected)


def slot_of(build, adapter):
    return common.run(build, "sh", "-c",
                      f"basename $(readlink -f /sys/class/infiniband/{adapter}/device)").strip()


def main():
    build = sys.argv[1]
    if not shutil.which(PROGRAM):
        common.skip(f"{PROGRAM} is not installed (package dpdk-dev)")
    with tempfile.TemporaryDirectory() as folder:
        config, data, credential = (pathlib.Path(folder) / name
                                    for name in ("crypto.conf", "vector", "credential"))
        config.write_text(CONFIG)
        os.environ["VERBENA_CONFIG"] = str(config)
        devices = [f"{slot_of(build, f'mlx5_{i}')},class=crypto" for i in range(3)]
        for length, size in ((32, 512), (64, 4096)):
            key = bytes(i * 11 & 0xff for i in range(length))
            check(build, devices[0], "little", data, key, size)
            check(build, devices[1], "big", data, key, size)
        check_login(build, devices[2], credential)


main()
