# SPDX-License-Identifier: BSD-2-Clause
"""Differences that are explained: docs/differences-rxe.md has a row for each rule, and programs/ a program.

A rule takes the lines that it explains out of context.ours (Verbena) and context.theirs, and marks what is different
from there on."""
import re

from compare import MAKERS, WR, message_length, piece_ranges

RXE, MLX4, WIRE = {}, {}, {}


def rule(name, *tables):
    def add(function):
        for table in tables:
            table[name] = function
        return function
    return add


def swap(context, ours, theirs):
    """Takes out one line of either side where both are there."""
    if ours in context.ours and theirs in context.theirs:
        context.ours.remove(ours)
        context.theirs.remove(theirs)
        return True
    return False


def drop_ours(context, start):
    for line in [x for x in context.ours if x.startswith(start)]:
        context.ours.remove(line)


@rule("grh-flag", RXE)
def grh_flag(c):
    for line in list(c.theirs):
        found = re.match(r"^(cq\d+ (qp\d+) recv .* flags=)0x([0-9a-f]+)(.*)$", line)
        if found and c.kind.get(found[2]) != "UD":
            swap(c, f"{found[1]}{int(found[3], 16) & ~1:#x}{found[4]}", line)


@rule("current-state", RXE)
def current_state(c):
    for line in list(c.theirs):
        found = re.match(r"^state=(\w+) cur=\w+$", line)
        if found:
            swap(c, f"state={found[1]} cur={found[1]}", line)


@rule("queried-capabilities", RXE)
def queried_capabilities(c):
    for line in list(c.theirs):
        if line.startswith("init ") and line.endswith("cap other"):
            swap(c, line.replace("cap other", "cap same"), line)


@rule("local-protection-status", RXE)
def local_protection_status(c):
    """LOC_PROT of a send, or MW_BIND of a LOCAL_INV."""
    for line in list(c.theirs):
        found = WR.match(line)
        if found and found[3] == "send" and found[5] == "LOC_QP_OP":
            op = c.sent.get(found[4], {}).get("op")
            swap(c, line.replace("LOC_QP_OP", "MW_BIND" if op == "LOCAL_INV" else "LOC_PROT"), line)


@rule("send-queue-error-state", RXE)
def send_queue_error_state(c):
    """A failed send of UC or UD: SQE and receives that stay, or ERR and receives that are flushed."""
    failed = {found[2] for found in map(WR.match, c.raw[1]) if found and found[3] == "send"
              and found[5].startswith("LOC_") and c.kind.get(found[2]) in ("UC", "UD")}
    c.mark(*failed)
    return failed


send_queue_error_state.always = True  # the completions may be the same


@rule("window-bounds", RXE)
def window_bounds(c):
    for request in c.op.requests:
        bind = [r for o in c.ops.values() for r in o.requests
                if f"mw{r.get('mw')}" == request.get("rem", "").partition(":")[0] and "off" in r]
        if not bind or not any(x.endswith("REM_ACCESS") for x in c.ours):
            continue
        first, length = piece_ranges(request["rem"], message_length(request))[0]
        if first + length > int(bind[0]["off"]) + int(bind[0]["len"]):
            c.mark("qp" + c.op.words["qp"])
            for line in [x for x in c.ours + c.theirs if x.startswith("bytes ")]:
                c.mark_bytes(line)


@rule("receive-too-small", RXE)
def receive_too_small(c):
    """LOC_LEN and REM_INV_REQ, or LOC_QP_OP and REM_OP; LOC_PROT, or LOC_QP_OP."""
    for line in list(c.theirs):
        found = WR.match(line)
        if not found or c.kind.get(found[2]) != "RC":
            continue
        if found[3] == "recv" and found[5] == "LOC_QP_OP":
            swap(c, line.replace("LOC_QP_OP", "LOC_LEN"), line) or swap(c, line.replace("LOC_QP_OP", "LOC_PROT"), line)
        elif found[3] == "send" and found[5] == "REM_OP":
            swap(c, line.replace("REM_OP", "REM_INV_REQ"), line)


@rule("wrong-key-to-invalidate", RXE)
def wrong_key_to_invalidate(c):
    if any(r.get("op") == "SEND_INV" for r in c.op.requests) and any(x.endswith("LOC_ACCESS") for x in c.ours) \
            and any(x.endswith("REM_INV_REQ") for x in c.theirs):
        c.mark("qp" + c.op.words["qp"])


@rule("invalidation-flag", RXE)
def invalidation_flag(c):
    for mine in list(c.ours):
        found = re.match(r"^(.* flags=)0x8 inv=\w+$", mine)
        if found:
            swap(c, mine, found[1] + "0x5")


@rule("srq-limit-at-creation", RXE)
def srq_limit_at_creation(c):
    limited = {"srq" + o.words["srq"] for o in c.ops.values()
               if o.verb == "create_srq" and o.words.get("limit", "0") != "0"}
    if c.op.verb == "query_srq" and "srq" + c.op.words["srq"] in limited and "limit=0" in c.ours:
        c.ours, c.theirs = [], []
    for line in [x for x in c.theirs if x.startswith("async SRQ_LIMIT_REACHED")]:
        if line.split()[-1] in limited:
            c.theirs.remove(line)


@rule("srq-below-its-limit", RXE)
def srq_below_its_limit(c):
    """Armed while fewer receives are posted: an event now, or when the next one is taken."""
    if c.op.verb == "modify_srq":
        for line in [x for x in c.ours if x.startswith("async SRQ_LIMIT_REACHED")]:
            c.ours.remove(line)
            c.early_events.add(line)
    for line in [x for x in c.theirs if x in c.early_events]:
        c.theirs.remove(line)
        c.early_events.discard(line)
    if c.op.verb == "query_srq" and f"async SRQ_LIMIT_REACHED srq{c.op.words['srq']}" in c.early_events:
        c.ours, c.theirs = [], []


@rule("bad-request-pointer", RXE)
def bad_request_pointer(c):
    for line in list(c.theirs):
        found = re.match(r"^(ibv_post_\w+: \w+ bad=)none$", line)
        for mine in [x for x in c.ours if found and x.startswith(found[1])]:
            swap(c, mine, line)


@rule("pkey-error", RXE)
def pkey_error(c):
    swap(c, "ibv_query_pkey: -1 EINVAL", "ibv_query_pkey: -1 ENOENT")


@rule("unreliable-receive-fault", RXE)
def unreliable_receive_fault(c):
    for line in list(c.theirs):
        found = WR.match(line)
        if found and found[3] == "recv" and found[5] == "LOC_QP_OP" and c.kind.get(found[2]) in ("UC", "UD"):
            c.theirs.remove(line)
            c.mark(found[2])
            for x in [x for x in c.ours + c.theirs if x.startswith("bytes ")]:
                c.mark_bytes(x)


@rule("drained-event", RXE)
def drained_event(c):
    if c.op.verb == "modify_qp" and not int(c.op.words.get("mask", "0"), 0) & 4:
        for line in [x for x in c.theirs if x.startswith("async send queue drained")]:
            c.theirs.remove(line)


@rule("return-from-sqd", RXE)
def return_from_sqd(c):
    if c.op.verb == "modify_qp" and c.op.words.get("to") == "RTS" and any(x.startswith("stuck ") for x in c.theirs):
        c.mark("qp" + c.op.words["qp"])
        for x in [x for x in c.ours + c.theirs if x.startswith("bytes ")]:
            c.mark_bytes(x)


@rule("atomic-length", RXE, MLX4)
def atomic_length(c):
    """An element that has not 8 bytes: libmlx5 writes 8, libmlx4 refuses the request when it is executed, rxe when it is
    posted. A target that is not aligned: the responder refuses it, rxe's library does."""
    wrong = [r for r in c.op.requests if r.get("op") in ("CMP_SWAP", "FETCH_ADD")
             and (not re.match(r"^[^,]*:8$", r.get("sge", "")) or int(r["rem"].partition(":")[2]) % 8)]
    if wrong:
        c.mark("qp" + c.op.words["qp"])
    return wrong


atomic_length.always = True  # the request may be carried out later, after SQD


@rule("responder-event", RXE)
def responder_event(c):
    drop_ours(c, "async local access violation work queue error")
    drop_ours(c, "async invalid request local work queue error")
    drop_ours(c, "async local work queue catastrophic error")


@rule("last-receive-event", RXE)
def last_receive_event(c):
    drop_ours(c, "async last WQE reached")


@rule("receive-in-error-state", RXE)
def receive_in_error_state(c):
    for line in list(c.theirs):
        found = re.match(r"^stuck wr=(\d+) of (qp\d+)$", line)
        for mine in list(c.ours):
            at = WR.match(mine)
            if found and at and at[4] == found[1] and at[5] == "WR_FLUSH" and at[3] == "recv":
                swap(c, mine, line)
                c.mark(found[2])


@rule("bound-region", RXE)
def bound_region(c):
    swap(c, "ibv_dereg_mr: EBUSY", "ibv_dereg_mr: EINVAL")
    # A window that was bound while its queue pair was marked.
    if c.op.verb == "dereg_mr" and "mr" + c.op.words["mr"] in c.maybe_bound:
        c.ours, c.theirs = [], []
        c.mark("mr" + c.op.words["mr"])


@rule("write-with-immediate-refused", RXE)
def write_with_immediate_refused(c):
    for line in list(c.theirs):
        found = WR.match(line)
        if found and found[3] == "recv" and found[5] in ("REM_ACCESS", "REM_INV_REQ"):
            swap(c, line.replace(found[5], "LOC_ACCESS"), line)


@rule("claimed-state", RXE)
def claimed_state(c):
    """IBV_QP_CUR_STATE that is not the state."""
    if c.op.verb == "modify_qp" and int(c.op.words.get("mask", "0"), 0) & 2:
        if swap(c, "ibv_modify_qp: EINVAL", "ibv_modify_qp: 0"):
            c.mark("qp" + c.op.words["qp"])


@rule("unknown-attribute", RXE)
def unknown_attribute(c):
    if c.op.verb == "modify_srq" and int(c.op.words.get("mask", "0"), 0) & ~3:
        swap(c, "ibv_modify_srq: EINVAL", "ibv_modify_srq: 0")


@rule("solicited-error-event", RXE)
def solicited_error_event(c):
    """A completion with an error, on a queue that is armed for solicited ones."""
    for line in [x for x in c.ours if x.startswith("event cq")]:
        queue = line.split()[1]
        failed = [f for f in map(WR.match, c.raw[0]) if f and f[1] == queue and f[5] != "SUCCESS"]
        armed = [o.words.get("solicited") for o in c.ops.values() if o.verb == "req_notify" and "cq" + o.words["cq"] == queue]
        if failed and "1" in armed:
            c.ours.remove(line)
            c.marked_events.add(queue)


@rule("no-timeout", RXE)
def no_timeout(c):
    """A request to a peer that does not answer: it fails, or is repeated for ever."""
    for line in [x for x in c.theirs if x.startswith("stuck wr=")]:
        if any(f" wr={line.split()[1][3:]} RETRY_EXC" in x for x in c.ours):
            c.mark(line.split()[-1])


@rule("limits", RXE, MLX4)
def limits(c):
    """Sizes that one adapter has and the other has not: none at all, many elements, or many entries."""
    sizes = {"sw": 1 << 15, "rw": 1 << 15, "ss": 30, "rs": 30, "inl": 1 << 10, "wr": 1 << 15, "sge": 27, "cqe": 1 << 15}
    unusual = c.op.verb.startswith(("create_", "resize_")) and \
        [key for key, most in sizes.items() if key in c.op.words and not 0 < int(c.op.words[key]) < most]
    if unusual and c.op.verb in MAKERS:
        c.ours, c.theirs = [], []
        c.mark_one_sided()
    elif unusual and c.op.verb == "resize_cq":
        c.ours, c.theirs = [], []


@rule("table-sizes", MLX4)
def table_sizes(c):
    """Tables of P_Keys and GIDs: one entry and 255 on mlx5, 128 and 128 on mlx4."""
    if c.op.verb == "query_tables" and c.op.words.get("index", "0") != "0":
        c.ours, c.theirs = [], []
    if c.op.words.get("sgid") == "200":
        swap(c, "ibv_create_ah: ENODATA", "ibv_create_ah: EINVAL")
        swap(c, "ibv_modify_qp: ENODATA", "ibv_modify_qp: EINVAL")


@rule("unspecified-bytes", RXE, MLX4, WIRE)
def unspecified_bytes(c):
    """Buffers of a message that failed or was dropped have any part of it."""
    ranges = c.unspecified()
    for side in (c.ours, c.theirs):
        for line in [x for x in side if x.startswith("bytes ")]:
            first, length = (int(n) for n in re.match(r"bytes (\d+)\+(\d+) ", line).groups())
            # Ranges that touch are one line.
            if all(any(a <= byte < a + n for a, n in ranges) for byte in (first, first + length - 1)):
                side.remove(line)
                c.mark_bytes(line)


@rule("behind-a-failure", RXE, MLX4, WIRE)
def behind_a_failure(c):
    """Whether a request that was flushed behind a failed one has been carried out."""
    if c.op.verb != "post_send":
        return
    flushed = [x for x in c.raw[0] if x in c.raw[1] and " send " in x and x.endswith("WR_FLUSH")]
    q = "qp" + c.op.words["qp"]
    if flushed and not [x for x in c.ours + c.theirs if f" {q} send " in x]:
        c.mark(q)
        for line in [x for x in c.ours + c.theirs if x.startswith("bytes ")]:
            c.mark_bytes(line)


@rule("numbers-of-packets", RXE, WIRE, MLX4)
def numbers_of_packets(c):
    """Requests that are carried out in shared memory have no packets."""
    for side in (c.ours, c.theirs):
        for line in [x for x in side if re.match(r"attr (rq|sq)_psn=", x)]:
            side.remove(line)
