#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What unmodified programs see of the adapters below /sys and /dev, by both kinds of facade.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

class=/sys/class/infiniband

test_every_libc_call_is_redirected() {
	REAL_PCI_COUNT=$(find /sys/bus/pci/devices -mindepth 1 ! -name '0000:a[01]:00.0' 2>/dev/null | wc -l)
	export REAL_PCI_COUNT
	run -- "$PROBES/tools-redirect" || die "see above"
}

test_management_datagrams_pass_through_umad_devices() {
	status 0 run -- "$PROBES/tools-umad"
}

test_ls_cat_and_python_see_the_adapters() {
	status 0 run -- ls $class /dev/infiniband
	has "$out" $'mlx4_0\nmlx5_0'
	has "$out" $'mlx5_perm_ctrl_local\nmlx5_perm_ctrl_other_vhca\nrdma_cm\numad0\numad1\nuverbs0\nuverbs1'
	status 0 run -- ls -l $class/mlx5_0/ports/1
	is "$err" "" "messages of ls -l"
	status 0 run -- cat $class/mlx5_0/ports/1/link_layer $class/mlx4_0/ports/1/link_layer
	is "$out" $'Ethernet\nInfiniBand' "link layers"
	status 0 run -- python3 -c "import os; print(sorted(os.listdir('$class')))"
	is "$out" "['mlx4_0', 'mlx5_0']" "os.listdir"
	status 0 run -- python3 -c "import os; print(os.path.realpath('$class/mlx5_0/device'))"
	is "$out" /sys/devices/pci0000:a0/0000:a0:00.0 "os.path.realpath"
	status 0 run -- find $class /dev/infiniband
	has "$out" $class/mlx5_0
	status 0 run -- grep -r . $class/mlx4_0/ports/1/counters
	has "$out" port_xmit_data:0
}

# Of an InfiniBand port, too: it stands for the IPoIB one.
test_a_bound_interface_is_below_the_pci_function_of_either_link() {
	local link
	for link in infiniband ethernet; do
		status 0 run --adapter "mlx4_0,link=$link,interface=lo" -- ls $class/mlx4_0/device/net
		is "$out" lo "interfaces of a port with link=$link"
	done
	status 0 run -- ls $class/mlx4_0/device
	[[ $'\n'$out$'\n' != *$'\nnet\n'* ]] || die "an InfiniBand port has an interface that nobody gave it"
}

# What iproute2 asks by netlink agrees with the API.
test_rdma_and_devlink_see_the_adapters() {
	command -v rdma >/dev/null && command -v devlink >/dev/null || skip "rdma and devlink are not installed"
	"$VERBENA" devices --json >"$scratch/devices.json" || die devices
	run -- python3 - "$scratch/devices.json" <<-'PYTHON' || die "see above"
		import json, subprocess, sys

		def ask(*command):
		    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
		    if done.returncode:
		        sys.exit(f"{command}: {done.returncode} {done.stderr}")
		    return json.loads(done.stdout) if done.stdout.strip() else None

		def same(a, b, what):
		    if a != b:
		        sys.exit(f"{what}: {a!r} is not {b!r}")

		known = json.load(open(sys.argv[1]))
		names = [dev["name"] for dev in known]
		shown = ask("rdma", "-j", "dev")
		same([dev["ifname"] for dev in shown], names, "names")
		same([dev["ifindex"] for dev in shown], list(range(len(names))), "indexes")
		same([dev["node_guid"] for dev in shown], [dev["node_guid"] for dev in known], "GUIDs")
		same([dev["fw"] for dev in shown], [dev["firmware"] for dev in known], "firmware")
		same(ask("rdma", "-j", "dev", "show", names[1])[0]["ifname"], names[1], "one device")
		links = ask("rdma", "-j", "link", "show")
		ports = [(dev, port) for dev in known for port in dev["ports"]]
		same([(link["ifname"], link["port"]) for link in links],
		     [(dev["name"], port["port"]) for dev, port in ports], "links")
		for link, (dev, port) in zip(links, ports):
		    same(link["state"], "ACTIVE", "state")
		    same(link.get("lid", 0), port["lid"], "lid")
		one = ask("rdma", "-j", "link", "show", names[1] + "/1")
		same([link["ifname"] for link in one], [names[1]], "one link")
		pci = ["pci/" + dev["pci_slot"] for dev in known]
		same(sorted(ask("devlink", "-j", "dev")["dev"]), pci, "devlink dev")
		info = ask("devlink", "-j", "dev", "info")["info"]
		same([info[p]["versions"]["running"]["fw.version"] for p in pci],
		     [dev["firmware"] for dev in known], "devlink dev info")
		same(sorted(ask("devlink", "-j", "port", "show")["port"]), [p + "/1" for p in pci], "devlink port")
		mode = ask("devlink", "-j", "dev", "eswitch", "show", pci[0])["dev"][pci[0]]["mode"]
		same(mode, "legacy", "devlink dev eswitch")
	PYTHON
	status 0 run -- devlink dev param show pci/0000:a0:00.0 name enable_roce
	has "$out" "value true"
	status 0 run -- rdma link show -j
	has "$out" '"ifname":"mlx5_0"'
	status 1 run -- rdma link show mlx5_0/7
	status 1 run -- rdma resource
	has "$err" "not supported"
}

# Other generic families, and other users of netlink, are the kernel's as before.
test_other_netlink_sockets_are_the_kernels() {
	run -- python3 - <<-'PYTHON' || die "see above"
		import fcntl, os, socket, struct, sys

		def family(name):
		    body = struct.pack("BBxxHH", 3, 1, 4 + len(name) + 1, 2) + name + b"\0"
		    body += b"\0" * (-len(body) % 4)
		    return struct.pack("IHHII", 16 + len(body), 16, 1, 77, 0) + body

		s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
		s.settimeout(20)
		s.send(family(b"nlctrl"))
		kind, = struct.unpack_from("H", s.recv(8192), 4)
		if kind != 16 or s.getsockopt(socket.SOL_SOCKET, 38) != 16:
		    sys.exit("the kernel has not answered for nlctrl")
		whole = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
		whole.settimeout(20)
		whole.send(struct.pack("IHHIIBBxx", 20, 16, 0x301, 78, 0, 3, 1))
		if b"nlctrl\0" not in whole.recv(65536) or whole.getsockopt(socket.SOL_SOCKET, 38) != 16:
		    sys.exit("a list of all families is not the kernel's")
		whole.close()
		port = s.getsockname()[0]
		os.set_inheritable(s.fileno(), True)
		flags = [fcntl.fcntl(s, f) for f in (fcntl.F_GETFL, fcntl.F_GETFD)]
		s.sendmsg([family(b"devlink")])
		if flags != [fcntl.fcntl(s, f) for f in (fcntl.F_GETFL, fcntl.F_GETFD)]:
		    sys.exit("the descriptor has other flags")
		length, kind, flags, seq, to = struct.unpack_from("IHHII", s.recv(8192))
		if (kind, seq, to) != (16, 77, port) or s.getsockname()[0] != port:
		    sys.exit(f"wrong answer for devlink: {kind} {seq} {to}, port {port}")
		# the descriptor's next owner is no netlink socket
		number = s.fileno()
		s.close()
		a, b = socket.socketpair()
		os.dup2(a.fileno(), number)
		with socket.socket(fileno=number) as again:
		    again.send(b"text")
		    if b.recv(10) != b"text":
		        sys.exit("a send to a reused descriptor went astray")
		# the next socket with the number is one by which processes write to each other
		s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
		number = s.fileno()
		s.close()
		u = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
		v = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2)
		v.bind((0, 0))
		if u.fileno() != number or u.sendto(b"text", v.getsockname()) != 4 or v.recv(10) != b"text":
		    sys.exit("a datagram to another process went astray")
	PYTHON
}

# A program that asks without reading is told so, as by the kernel, and is not blocked.
test_a_full_netlink_socket_is_an_error() {
	run -- python3 - <<-'PYTHON' || die "see above"
		import errno, socket, struct

		s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
		try:
		    for round in range(100000):
		        s.send(struct.pack("IHHII", 16, 5 << 10 | 1, 0x301, 1, 0))
		    raise SystemExit("no end of room")
		except OSError as e:
		    if e.errno != errno.ENOBUFS:
		        raise
	PYTHON
}

# Requests cut short, or with attributes that lie about their length, are answered or ignored.
test_malformed_requests_do_no_harm() {
	run -- python3 - <<-'PYTHON' || die "see above"
		import random, socket, struct

		chance = random.Random(15)
		s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
		s.settimeout(20)
		good = struct.pack("IHHIIHHI", 24, 5 << 10 | 1, 1, 1, 0, 8, 1, 0)
		s.send(good)
		if b"mlx5_0\0" not in s.recv(8192):
		    raise SystemExit("no answer to a good request")
		# without the bytes that would align it
		s.send(struct.pack("IHHIIHHB", 21, 5 << 10 | 1, 1, 1, 0, 5, 99, 0))
		if b"mlx" not in s.recv(8192):
		    raise SystemExit("no answer to a request of odd length")
		s.setblocking(False)
		for round in range(500):
		    bad = bytearray(good)
		    for i in range(chance.randrange(1, 4)):
		        bad[chance.randrange(len(bad))] = chance.randrange(256)
		    s.send(bytes(bad[:chance.randrange(len(bad) + 1)]) or b"x")
		    try:
		        while s.recv(8192):
		            pass
		    except BlockingIOError:
		        pass
	PYTHON
}

# The clock that completions have wall clock times of, by its descriptor.
test_the_clock_of_an_adapter_can_be_read() {
	run -- python3 - <<-'PYTHON' || die "see above"
		import errno, fcntl, os, struct, sys, time

		names = os.listdir("/sys/class/infiniband/mlx5_0/device/ptp")
		if len(names) != 1 or os.path.realpath(f"/sys/class/ptp/{names[0]}/device") != os.path.realpath(
		        "/sys/class/infiniband/mlx5_0/device"):
		    sys.exit(f"clocks: {names}")
		if os.path.exists("/sys/class/infiniband/mlx4_0/device/ptp"):
		    sys.exit("an InfiniBand port of a ConnectX-3 has a clock")

		def id_of(fd):
		    return (~fd << 3) | 3

		with open(f"/dev/{names[0]}", "rb") as f:
		    before, clock, after = time.time_ns(), time.clock_gettime_ns(id_of(f.fileno())), time.time_ns()
		    if not before <= clock <= after:
		        sys.exit(f"the clock is at {clock}, not between {before} and {after}")
		    if time.clock_getres(id_of(f.fileno())) != 1e-9:
		        sys.exit("resolution")
		    try:
		        time.clock_settime(id_of(f.fileno()), 1)
		        sys.exit("the clock was set")
		    except OSError as e:
		        if e.errno != errno.EOPNOTSUPP:
		            raise
		    # PTP_SYS_OFFSET with two samples: system, clock, system, clock, system
		    request = 1 << 30 | 832 << 16 | ord("=") << 8 | 5
		    offset = fcntl.ioctl(f, request, struct.pack("I", 2) + bytes(828))
		    times = [sec * 10**9 + ns for sec, ns, _ in struct.iter_unpack("qII", offset[16:16 + 5 * 16])]
		    if times != sorted(times) or not before <= times[0]:
		        sys.exit(f"offsets: {times}")
		    fd = f.fileno()
		for other in (fd, os.open("/dev/null", os.O_RDONLY)):
		    try:
		        time.clock_gettime(id_of(other))
		        sys.exit("a descriptor that is no clock was read as one")
		    except OSError as e:
		        if e.errno != errno.EINVAL:
		            raise
	PYTHON
}

test_an_adapter_without_roce_has_no_gids() {
	command -v devlink >/dev/null || skip "devlink is not installed"
	status 0 run --adapter mlx5_0,roce=disabled -- devlink dev param show pci/0000:a0:00.0 name enable_roce
	has "$out" "value false"
	status 0 run --adapter mlx5_0,roce=disabled -- sh -c "ls $class/mlx5_0/ports/1/gids; ibv_devinfo -v -d mlx5_0"
	has "$out" "state:			PORT_ACTIVE"
	[[ $out != *GID* ]] || die "there are GIDs: $out"
}

test_shell_sees_device_files() {
	status 0 run -- bash -c 'cd /dev/infiniband && [[ -c uverbs0 && -r uverbs0 && -w uverbs0 ]] && pwd -P'
	is "$out" /dev/infiniband "pwd"
	status 0 run -- stat -L -c %F /dev/infiniband/uverbs0
	is "$out" 'character special file' "stat"
	status 0 run -- readlink -f $class/mlx5_0/device/driver
	is "$out" /sys/bus/pci/drivers/mlx5_core "readlink -f"
}

# The tree says what the API says, file by file.
test_files_agree_with_the_api() {
	"$VERBENA" devices --json >"$scratch/devices.json" || die devices
	run -- python3 - "$scratch/devices.json" <<-'PYTHON' || die "see above"
		import ipaddress, json, os, sys

		def text(*parts):
		    with open(os.path.join(*parts)) as f:
		        return f.read().rstrip("\n")

		def same(a, b, what):
		    if a != b:
		        sys.exit(f"{what}: {a!r} is not {b!r}")

		for dev in json.load(open(sys.argv[1])):
		    d = "/sys/class/infiniband/" + dev["name"]
		    same(text(d, "node_guid"), dev["node_guid"], "node_guid")
		    same(text(d, "fw_ver"), dev["firmware"], "fw_ver")
		    same(text(d, "hca_type"), dev["hca_type"], "hca_type")
		    same(text(d, "board_id"), dev["board_id"], "board_id")
		    same(int(text(d, "device/device"), 16), dev["vendor_part_id"], "device")
		    same("PCI_SLOT_NAME=" + dev["pci_slot"] in text(d, "device/uevent"), True, "uevent")
		    same(text("/sys/class/infiniband_verbs", dev["device_file"], "ibdev"), dev["name"], "ibdev")
		    same(len(text(d, "device/resource").split("\n")), 13, "resource")
		    with open(d + "/device/config", "rb") as f:
		        same(f.read(4), bytes([0xB3, 0x15]) + dev["vendor_part_id"].to_bytes(2, "little"), "config")
		    for port in dev["ports"]:
		        p = f"{d}/ports/{port['port']}"
		        same(int(text(p, "lid"), 16), port["lid"], "lid")
		        same(text(p, "link_layer"), port["link_layer"], "link_layer")
		        rate = float(text(p, "rate").split()[0])
		        same(int(rate * 1000), port["rate_mbps"], "rate")
		        same(len(os.listdir(p + "/gids")), port["gid_table_len"], "gids")
		        same(len(os.listdir(p + "/gid_attrs/types")), len(port["gids"]), "types")
		        zero = ":".join(["0000"] * 8)
		        used = [i for i in range(port["gid_table_len"]) if text(p, "gids", str(i)) != zero]
		        same(used, [g["index"] for g in port["gids"]], "used GIDs")
		        for gid in port["gids"]:
		            i = str(gid["index"])
		            same(ipaddress.ip_address(text(p, "gids", i)), ipaddress.ip_address(gid["gid"]), "gid")
		            if gid["interface"]:
		                same(text(p, "gid_attrs/ndevs", i), gid["interface"], "ndev")
		            v2 = gid["type"] == "RoCE v2"
		            same(text(p, "gid_attrs/types", i), "RoCE v2" if v2 else "IB/RoCE v1", "type")
		        same(text(p, "pkeys/0"), "0xffff", "pkey")
	PYTHON
}

test_nothing_changes_without_the_variable() {
	local lib
	lib=$("$VERBENA" version | sed -n 's/^libraries: //p')
	[[ -e $class ]] && skip "this machine has real adapters"
	status 2 env LD_PRELOAD="$lib/libverbena-facade.so" ls $class
	status 2 env LD_PRELOAD="$lib/libverbena-facade.so" VERBENA_FACADE=/no/such ls $class
	status 0 env LD_PRELOAD="$lib/libverbena-facade.so" VERBENA_FACADE=relative ls /sys/class/net
}

test_preload_works_where_namespaces_are_forbidden() {
	status 0 "$PROBES/tools-forbid" "$VERBENA" run -- ls $class
	is "$out" $'mlx4_0\nmlx5_0' adapters
	no_trees
}

test_forbidden_namespaces_are_named_and_preload_is_offered() {
	status 125 "$PROBES/tools-forbid" "$VERBENA" run --facade namespace -- touch "$scratch/ran"
	has "$err" namespace
	has "$err" '--facade preload'
	[[ ! -e $scratch/ran ]] || die "the program ran all the same"
	no_trees
}

need_namespaces() { unprivileged unshare -Ur true 2>/dev/null || skip "user namespaces are forbidden here"; }

test_namespace_shows_the_adapters_to_static_programs() {
	need_namespaces
	status 0 unprivileged "$VERBENA" run --facade namespace -- "$PROBES/tools-static"
	is "$out" "1: CA" node_type
	status 1 run --facade none -- "$PROBES/tools-static"
	no_trees
}

test_namespace_keeps_the_rest_of_the_machine() {
	need_namespaces
	local real net
	real=$(ls /sys/bus/pci/devices /sys/devices/system 2>/dev/null)
	net=$(ls /sys/class/net)
	# shellcheck disable=SC2016
	status 0 unprivileged "$VERBENA" run --facade namespace -- bash -c '
		set -e
		id -u
		[[ $(ls /sys/class/net) == "$1" ]]
		for name in $(ls /sys/class/net); do [[ -e /sys/class/net/$name/ifindex ]]; done
		for name in $2; do [[ -e /sys/bus/pci/devices/$name || -e /sys/devices/system/$name || $name == *: ]]; done
		echo x >/dev/null
		head -c 1 /dev/zero >/dev/shm/verbena-test.$$ && rm /dev/shm/verbena-test.$$
		[[ $(readlink -f /sys/class/infiniband/mlx5_0) == /sys/devices/pci0000:a0/0000:a0:00.0/infiniband/mlx5_0 ]]
		[[ $(cat /sys/class/infiniband/mlx5_0/device/vendor) == 0x15b3 ]]
		! compgen -G "$3/verbena-run-*/stage/*"' bash "$net" "$real" "$XDG_RUNTIME_DIR"
	is "$out" "$(id -u)" "user in the namespace"
	no_trees
}

# /dev/shm is shown together with what is mounted below it.
test_namespace_leaves_no_stage_wherever_the_tree_is() {
	need_namespaces
	local place
	for place in /dev/shm "$XDG_RUNTIME_DIR"; do
		# shellcheck disable=SC2016
		status 0 unprivileged env XDG_RUNTIME_DIR="$place" "$VERBENA" run --facade namespace -- sh -c '
			ls -d "$1"/verbena-run-* >/dev/null || exit 3
			! grep /stage /proc/self/mountinfo' sh "$place"
	done
	no_trees
}

test_namespace_ends_with_the_program() {
	need_namespaces
	status 143 unprivileged "$VERBENA" run --facade namespace -- sh -c 'kill -TERM $$'
	status 127 unprivileged "$VERBENA" run --facade namespace -- no-such-program-anywhere
	[[ -e $class ]] || [[ -z $(ls -d $class 2>/dev/null) ]] || die "a mount was left"
	no_trees
}

test_namespace_dies_with_the_command() {
	need_namespaces
	mkfifo "$scratch/fifo"
	# shellcheck disable=SC2016
	"$VERBENA" run --facade namespace -- sh -c 'echo $$ >"$1"; exec sleep 600' sh "$scratch/fifo" &
	local pid=$! child
	read -r child <"$scratch/fifo"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	wait_for sh -c "! kill -0 $child 2>/dev/null"
	is "$(trees)" 1 "trees of a killed run"
	status 0 run -- true
	no_trees
}

# The outer run is a machine with adapters of its own at the slots that ours take.
test_namespace_on_a_machine_with_real_adapters_shows_only_software_adapters() {
	need_namespaces
	local kind umad
	for kind in preload namespace; do
		# The preloaded library opens these; without it they are not shown.
		umad=$'umad0\n'
		[[ $kind == preload ]] || umad=
		# shellcheck disable=SC2016
		status 0 unprivileged "$VERBENA" run --facade namespace -- \
			"$VERBENA" run --facade $kind -a mlx5_9,model=ConnectX-5 -- bash -c '
			set -e
			ls /sys/class/infiniband /dev/infiniband
			ls /sys/bus/pci/devices | grep :a
			cat /sys/bus/pci/devices/0000:a0:00.0/device /sys/bus/pci/devices/0000:a1:00.0/device
			ls /sys/devices/pci0000:a0/0000:a0:00.0/infiniband
			readlink -f /sys/class/infiniband/mlx5_9/device
			readlink -f /sys/bus/pci/devices/0000:a1:00.0
			ls /sys/bus/pci/drivers/mlx5_core/0000:a0:00.0/infiniband'
		is "$out" "/dev/infiniband:
rdma_cm
${umad}uverbs0

/sys/class/infiniband:
mlx5_9
0000:a0:00.0
0000:a1:00.0
0x1017
0x1003
mlx5_9
/sys/devices/pci0000:a0/0000:a0:00.0
/sys/devices/pci0000:a1/0000:a1:00.0
mlx5_9" "what $kind shows"
	done
	no_trees
}

main "$@"
