#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Captures of unmodified programs, several processes into one file, as Wireshark reads them.

usage: capture.py VERBENA; run it by tests/traffic/on-wire.sh.
"""
import os
import subprocess
import tempfile

from common import WAIT_SECONDS, VERBENA, check, listens, order, run_pair, wait_for


def tshark(capture, *arguments):
    done = subprocess.run(["tshark", "-r", capture, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=WAIT_SECONDS, check=False)
    if done.returncode:
        raise SystemExit(f"tshark: {done.stderr}")
    return done.stdout.splitlines()


def check_capture(capture, least, opcodes):
    frames = tshark(capture, "-T", "fields", "-E", "separator=|", "-e", "frame.protocols",
                    "-e", "infiniband.bth.opcode", "-e", "frame.comment")
    check(len(frames) >= least, f"{len(frames)} frames, {least} at least")
    bad = tshark(capture, "-Y", "_ws.malformed || _ws.expert.severity == error")
    check(not bad, "malformed: " + "\n".join(bad[:3]))
    seen, processes = set(), set()
    for frame in frames:
        protocols, opcode, comment = frame.split("|", 2)
        check("infiniband" in protocols, f"no RoCE: {frame}")
        check("QP 0x" in comment, f"no queue pair in the comment: {frame}")
        seen.add(int(opcode, 0))
        processes.add(comment.split(":")[0])
    check(len(processes) == 2, f"two processes wrote, not {processes}")
    check(opcodes <= seen, f"opcodes {opcodes} are in the capture, not only {seen}")
    check(any("wr_id" in frame for frame in frames), "no comment names a work request")


def rc_and_two_processes(folder):
    capture = os.path.join(folder, "rc.pcapng")
    run_pair(["--capture", capture], "ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1", "-c", "-n", "50",
             "-s", "5000")
    # first, middle and last of a SEND, and acknowledgements; each packet goes out and comes in
    check_capture(capture, 2 * 2 * 50 * 5, {0, 1, 2, 17})


def ud(folder):
    capture = os.path.join(folder, "ud.pcapng")
    run_pair(["--capture", capture], "ibv_ud_pingpong", "-d", "mlx5_0", "-g", "1", "-n", "50", "-s",
             "500")
    check_capture(capture, 2 * 2 * 50, {100})


def faults_are_counted_and_listed(folder):
    capture = os.path.join(folder, "faults.pcapng")
    report = os.path.join(folder, "report")
    # An acknowledgement that is lost at the very end is not repeated: its sender has ended.
    script = "pass opcode=ACK; drop every=90; corrupt every=70 dir=in bit=400"
    run_pair(["--capture", capture, "--fault", script,
              "--stat=" + report], "ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1", "-c", "-n", "50",
             "-s", "5000")
    with open(report, encoding="ascii") as lines:
        text = lines.read()
    for words in ("drop every=90: fired ", "bad ICRC", "fault 2: drop", "captured "):
        check(words in text, f"the report lacks '{words}':\n{text}")
    check("fired 0 times" not in text, text)
    comments = tshark(capture, "-T", "fields", "-e", "frame.comment")
    check(any("dropped: bad ICRC" in comment for comment in comments),
          "the capture does not tell of packets that were spoilt")


def captures_and_faults_go_on_and_off_at_run_time(folder):
    capture = os.path.join(folder, "later.pcapng")
    command = [VERBENA, "run", "--path", "wire", "--", "ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1",
               "-n", "100000000", "-s", "100"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for("the server listens", lambda: listens(18515) or server.poll() is not None)
    client = subprocess.Popen([*command, "127.0.0.1"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        order("capture", capture)
        wait_for("there is a capture", lambda: os.path.getsize(capture) > 100000)
        order("fault", "drop every=100")
        # what was lost is sent again, and says so
        wait_for("packets get lost", lambda: b"retry" in open(capture, "rb").read())
        order("fault", "off")
        order("capture", "off")
        # processes that write no more still run
        wait_for("the capture is off", lambda: not is_open(server, capture) and
                 not is_open(client, capture))
        check(client.poll() is None and server.poll() is None, "the programs go on")
        check(not tshark(capture, "-Y", "_ws.malformed"), "nothing is malformed")
    finally:
        for process in (client, server):
            process.terminate()
            process.wait(timeout=WAIT_SECONDS)


def fabric_traffic_is_captured_as_the_packets_it_would_have_been(folder):
    """Switched on by order, without a wire; whole messages become rows of path MTUs."""
    runs = (
        (["ibv_rc_pingpong", "-d", "mlx5_0", "-g", "1", "-m", "1024", "-c", "-n", "20", "-s", "20000"], 2 * 2 * 20 * 20,
         {0, 1, 2, 17}),
        (["ib_write_bw", "-d", "mlx5_0", "-F", "-m", "1024", "-n", "20", "-s", "65536"], 2 * 20 * 64, {6, 7, 8, 17}),
        (["ib_read_bw", "-d", "mlx5_0", "-F", "-m", "1024", "-n", "20", "-s", "65536"], 2 * 20 * 64, {12, 13, 14, 15}),
        (["ib_atomic_lat", "-d", "mlx5_0", "-F", "-n", "20"], 2 * 20, {18, 20}),
        (["ibv_ud_pingpong", "-d", "mlx5_0", "-g", "1", "-n", "20", "-s", "500"], 2 * 2 * 20, {100}),
        # InfiniBand has no wire at all
        (["ibv_rc_pingpong", "-d", "mlx4_0", "-n", "20", "-s", "5000"], 2 * 2 * 20 * 5, {0, 1, 2, 17}),
    )
    for number, (command, least, opcodes) in enumerate(runs):
        capture = os.path.join(folder, f"fabric{number}.pcapng")
        order("capture", capture)
        run_pair(["--path", "auto", "--adapter", command[2]], *command)
        order("capture", "off")
        check_capture(capture, least, opcodes)
        check_numbers(capture)


def check_numbers(capture):
    """In each process, requests of a connection are numbered in a row, and answers name some of them."""
    last, asked = {}, {}
    for line in tshark(capture, "-T", "fields", "-E", "separator=|", "-e", "infiniband.bth.opcode", "-e",
                       "infiniband.bth.destqp", "-e", "infiniband.bth.psn", "-e", "infiniband.reth.dmalen",
                       "-e", "frame.comment"):
        opcode, to, psn, length, comment = line.split("|", 4)
        opcode, psn, process = int(opcode, 0), int(psn), comment.split(":")[0]
        if 13 <= opcode <= 18:   # an answer; it goes the other way
            check(any(psn in numbers for (who, _), numbers in asked.items() if who == process),
                  f"an answer to nothing: {line}")
            continue
        key = process, to
        if key in last:
            check(psn == (last[key] + 1) % 2**24, f"after {last[key]}: {line}")
        count = (int(length, 0) + 1023) // 1024 if opcode == 12 else 1
        asked.setdefault(key, set()).update((psn + i) % 2**24 for i in range(count))
        last[key] = (psn + count - 1) % 2**24


def is_open(process, path):
    """Whether the program under `verbena run` has the file open."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as text:
        children = text.read().split()
    for pid in [process.pid, *children]:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{fd}") == path:
                    return True
            except FileNotFoundError:
                pass
    return False


def wrong_options_are_refused():
    for options in (["--fault", "drop p=2"], ["--fault", "lose p=0.1"], ["--path", "air"],
                    ["--seed", "x"], ["--capture", "/nowhere/file"]):
        done = subprocess.run([VERBENA, "run", *options, "--", "true"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=WAIT_SECONDS, check=False)
        check(done.returncode == 125 and options[0] in done.stderr, f"{options}: {done}")


def main():
    # What is tested is that --capture and --fault take the wire by themselves.
    os.environ.pop("VERBENA_PATH", None)
    for what in ("capture", "fault"):
        order(what, "off")   # a run that failed may have left something
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        rc_and_two_processes(folder)
        ud(folder)
        faults_are_counted_and_listed(folder)
        captures_and_faults_go_on_and_off_at_run_time(folder)
        fabric_traffic_is_captured_as_the_packets_it_would_have_been(folder)
    wrong_options_are_refused()


main()
