#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""programs.py BUILD TEST: Debian's unmodified programs under `verbena run` see both adapters."""
import re
import subprocess
import sys

import common
from common import PYTHON, run, want


def ibv_devices(build):
    want(run(build, "ibv_devices"), r"device\s+node GUID", r"mlx5_0\s+a088c203[0-9a-f]{8}",
         r"mlx4_0\s+0002c903[0-9a-f]{8}")


def ibv_devinfo_mlx5(build):
    text = run(build, "ibv_devinfo", "-v", "-d", "mlx5_0")
    want(text, r"hca_id:\s+mlx5_0", r"transport:\s+InfiniBand \(0\)", r"fw_ver:\s+28\.43\.1014",
         r"node_guid:\s+a088:c203:....:....", r"vendor_id:\s+0x02c9", r"vendor_part_id:\s+4129",
         r"hw_ver:\s+0x0", r"board_id:\s+MT_0000000838", r"phys_port_cnt:\s+1",
         r"max_mr_size:\s+0xffffffffffffffff", r"page_size_cap:\s+0xfffffffffffff000",
         r"max_qp:\s+131072", r"max_qp_wr:\s+32768", r"device_cap_flags:\s+0x[0-9a-f]{8}", r"XRC",
         r"MEM_MGT_EXTENSIONS", r"MEM_WINDOW_TYPE_2B", r"MANAGED_FLOW_STEERING",
         r"max_sge:\s+30", r"max_cqe:\s+4194303", r"max_qp_rd_atom:\s+16",
         r"atomic_cap:\s+ATOMIC_HCA \(1\)", r"max_srq_wr:\s+32767", r"local_ca_ack_delay:\s+16",
         r"rc_odp_caps:", r"SUPPORT_WRITE", r"hca_core_clock:\s+1000000kHZ",
         r"max_tso:\s+262144", r"max_rwq_indirection_table_size:\s+2048",
         r"max_wq_type_rq:\s+8388608", r"maximum dm size:\s+131072|num_comp_vectors:\s+8", r"port:\s+1",
         r"state:\s+PORT_(ACTIVE \(4\)|DOWN \(1\))", r"max_mtu:\s+4096 \(5\)", r"port_lid:\s+0",
         r"link_layer:\s+Ethernet", r"max_msg_sz:\s+0x40000000", r"gid_tbl_len:\s+255",
         r"active_width:\s+4X \(2\)", r"active_speed:\s+100\.0 Gbps \(128\)",
         r"GID\[  0\]:\s+fe80:.*, RoCE v1", r"GID\[  1\]:\s+fe80:.*, RoCE v2",
         r"GID\[  2\]:\s+.*, RoCE v1", r"GID\[  3\]:\s+.*, RoCE v2")


def ibv_devinfo_mlx4(build):
    text = run(build, "ibv_devinfo", "-v", "-d", "mlx4_0")
    want(text, r"hca_id:\s+mlx4_0", r"fw_ver:\s+2\.42\.5000", r"node_guid:\s+0002:c903:....:....",
         r"vendor_id:\s+0x02c9", r"vendor_part_id:\s+4099", r"board_id:\s+MT_1090120019",
         r"phys_port_cnt:\s+1", r"max_qp:\s+392632", r"max_qp_wr:\s+16351", r"XRC",
         r"max_sge:\s+32", r"max_pkeys:\s+128", r"hca_core_clock:\s+427000kHZ", r"port:\s+1",
         r"state:\s+PORT_ACTIVE \(4\)", r"sm_lid:\s+[1-9]\d*", r"port_lid:\s+[1-9]\d*",
         r"link_layer:\s+InfiniBand", r"pkey_tbl_len:\s+128", r"gid_tbl_len:\s+128",
         r"active_speed:\s+14\.0 Gbps \(16\)", r"phys_state:\s+LINK_UP \(5\)",
         r"GID\[  0\]:\s+fe80:0000:0000:0000:0002:c903:.*")


def ibv_devinfo(build):
    """All at once; and a device or a port that is not there is the tool's failure, not ours."""
    text = run(build, "ibv_devinfo")
    if re.findall(r"^hca_id:\s+(\S+)", text, re.M) != ["mlx5_0", "mlx4_0"]:
        print(text)
        common.fail("ibv_devinfo does not show both adapters")
    want(run(build, "ibv_devinfo", "-l"), r"2 HCAs found:", r"mlx5_0", r"mlx4_0")
    run(build, "ibv_devinfo", "-d", "mlx9_0", status=255)
    run(build, "ibv_devinfo", "-d", "mlx5_0", "-i", "2", status=4)


def ibv_asyncwatch(build):
    watch = common.Terminal(build, "ibv_asyncwatch")
    watch.wait_for(r"mlx5_0: async event FD \d+")
    watch.stop()


def ibv_asyncwatch_event(build):
    common.enter_network_namespace()
    common.ip("link", "set", "lo", "up")
    common.ip("link", "add", "va", "type", "veth", "peer", "name", "vb")
    for name in ("va", "vb"):
        common.ip("link", "set", name, "addrgenmode", "none", check=False)
        common.ip("link", "set", name, "up")
    watch = common.Terminal(build, "ibv_asyncwatch")
    watch.wait_for(r"async event FD \d+")
    common.ip("addr", "add", "10.11.12.13/24", "dev", "va")
    watch.wait_for(r"event_type IBV_EVENT_GID_CHANGE \(18\), port 1")
    watch.text = ""
    common.ip("addr", "del", "10.11.12.13/24", "dev", "va")
    watch.wait_for(r"event_type IBV_EVENT_GID_CHANGE \(18\), port 1")
    watch.stop()


def ucx_info(build):
    """Both are found; once there are queue pairs, each offers its transports."""
    text = run(build, "ucx_info", "-d")
    for name in ("mlx5_0", "mlx4_0"):
        if name not in text:
            print(text)
            common.fail(f"ucx_info does not see {name}")
        if common.works("ibv_create_qp"):
            want(text, rf"# Memory domain: {name}", r"#\s+Transport: rc_verbs", rf"#\s+Device: {name}:1")


def fi_info(build):
    """libfabric lists the verbs provider when it can try out a queue pair."""
    text = run(build, "fi_info", "-l")
    want(text, r"tcp:")
    if common.works("ibv_create_qp"):
        want(text, r"verbs:")
        want(run(build, "fi_info", "-p", "verbs"), r"provider: verbs.*", r"domain: mlx5_0.*")


def perftest(build):
    want(run(build, "ib_write_bw", "--version", status=1), r"Version: .+")


def raw_ethernet_fs_rate(build):
    text = run(build, "raw_ethernet_fs_rate", "-d", "mlx5_0", "-F", "--server", "-n", "2000",
               "-E", "02:00:00:00:00:02", "-B", "02:00:00:00:00:01", "-J", "2.2.2.2",
               "-j", "1.1.1.1", "-K", "7", "-k", "8")
    want(text, r"(?m)^2000 +[0-9.]+\s+[0-9.]+\s+[0-9.]+\s+[0-9.]+\s+[0-9.]+ *$")


def pyverbs_imports(build):
    text = run(build, PYTHON, "-c",
               "import pyverbs.device, pyverbs.cmid, pyverbs.providers.mlx5.mlx5dv\n"
               "import pyverbs.providers.efa.efadv\n"
               "print(*(d.name.decode() for d in pyverbs.device.get_device_list()))\n")
    want(text, r"mlx5_0 mlx4_0")


def pyverbs_device(build, adapter):
    """Debian's own test_device.py: no failure, and no test left out but for a reason it knows."""
    with common.temporary_folder() as folder:
        tests = common.pyverbs_tests(folder)
        for path in tests.glob("test_*.py"):
            if path.name != "test_device.py":
                path.unlink()
        done = subprocess.run(
            common.command(build, PYTHON, "tests/run_tests.py", "--dev", adapter, "-v"),
            cwd=folder, capture_output=True, text=True, timeout=300,
            env={**common.environment(), "PYTHONDONTWRITEBYTECODE": "1"})
    print(done.stderr)
    common.complain_of_sanitizers(done.stdout + done.stderr)
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.M)
    if done.returncode or not ran or int(ran[1]) < 22:
        common.fail(f"test_device.py on {adapter} ended with {done.returncode}")
    skipped = set(re.findall(r"skipped ['\"](.*)['\"]$", done.stderr, re.M))
    allowed = {"Device memory is not supported"} if adapter.startswith("mlx4") else set()
    if skipped - allowed:
        common.fail(f"skipped on {adapter}: {skipped - allowed}")


def pyverbs_device_mlx5(build):
    pyverbs_device(build, "mlx5_0")


def pyverbs_device_mlx4(build):
    pyverbs_device(build, "mlx4_0")


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
    print(f"{sys.argv[2]}: as expected")
