/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "net.h"
#include "pair.h"
#include "roce/decode.h"
#include "roce/capture.h"
#include "roce/inspect.h"
#include "util/api.h"
#include "util/explain.h"

static char folder[] = "/tmp/verbena-capture-XXXXXX";
static char file[64];

static int fresh_file(void **state)
{
	snprintf(file, sizeof(file), "%s/capture.pcapng", folder);
	unlink(file);
	return 0;
}

static struct roce_capture *start(void)
{
	struct roce_capture *cap;

	assert_int_equal(roce_capture_create(&cap), 0);
	assert_false(roce_capture_on(cap));
	assert_int_equal(roce_capture_start(cap, file), 0);
	assert_true(roce_capture_on(cap));
	return cap;
}

static struct roce_frame frame(const char *src, const char *dst)
{
	return (struct roce_frame){
		.src = addr(src),
		.dst = addr(dst),
		.sport = 0xc123,
		.dport = ROCE_UDP_PORT,
		.ip_id = 77,
		.ttl = 64,
		.out = true,
	};
}

static void put(struct roce_capture *cap, const struct roce_frame *f, uint8_t op, uint32_t wish,
		const char *comment)
{
	struct roce_pkt pkt = sample_packet(op, wish);
	struct iovec piece = { (void *)pattern(), pkt.len };

	roce_capture_packet(cap, f, &pkt, 0xffff, &piece, pkt.len ? 1 : 0, comment);
}

/* Lines of tshark's output for the file; the test is skipped where there is no tshark. */
static char *tshark(const char *options)
{
	static char text[1 << 20];
	char command[512];
	size_t n;
	FILE *f;

	if (system("env -u LD_PRELOAD sh -c 'command -v tshark' >/dev/null 2>&1"))
		skip();
	snprintf(command, sizeof(command),
		 "env -u LD_PRELOAD HOME=%s tshark --disable-protocol rpcordma -r %s %s 2>%s/err",
		 folder, file, options, folder);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	if (pclose(f))
		fail_msg("%s failed: %s", command, text);
	return text;
}

static unsigned int lines(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void wireshark_decodes_every_opcode_and_finds_none_malformed(void **state)
{
	static const struct {
		const char *src, *dst;
	} ways[] = { { "10.0.0.1", "10.0.0.2" },
		     { "fd00::1", "fd00::2" },
		     { "10.0.0.1", "239.1.2.3" },
		     { "fd00::1", "ff0e::1" } };
	struct roce_capture *cap = start();
	unsigned int expected = 0;
	char *text, *line;

	for (size_t w = 0; w < array_size(ways); w++) {
		struct roce_frame f = frame(ways[w].src, ways[w].dst);

		for (unsigned int op = 0; op < 256; op++) {
			if (!roce_opcode_find(op))
				continue;
			put(cap, &f, op, 301, NULL);
			expected++;
		}
	}
	roce_capture_destroy(cap);

	text = tshark("-T fields -e infiniband.bth.opcode -e infiniband.bth.destqp "
		      "-e infiniband.bth.psn -e infiniband.bth.padcnt -Y infiniband");
	assert_int_equal(lines(text), expected);
	line = text;
	for (size_t w = 0; w < array_size(ways); w++) {
		for (unsigned int op = 0; op < 256; op++) {
			struct roce_pkt pkt;
			char want[64];

			if (!roce_opcode_find(op))
				continue;
			pkt = sample_packet(op, 301);
			snprintf(want, sizeof(want), "%u\t0x%06x\t%u\t%u\n", op, pkt.dqpn, pkt.psn,
				 roce_pad(pkt.len));
			if (strncmp(line, want, strlen(want)))
				fail_msg("%s: %.60s", want, line);
			line += strlen(want);
		}
	}
	/* Neither malformed nor with a wrong check sum, nor anything else worth a warning. */
	text = tshark("-o ip.check_checksum:TRUE -o udp.check_checksum:TRUE "
		      "-Y '_ws.malformed || _ws.expert.severity >= \"Warning\"'");
	assert_string_equal(text, "");
}

static void wireshark_reads_the_same_header_fields(void **state)
{
	struct roce_frame f = frame("10.0.0.1", "10.0.0.2");
	struct roce_capture *cap = start();
	char *text;

	put(cap, &f, ROCE_PKT_WRITE_ONLY, 100, NULL);
	roce_capture_stop(cap);
	text = tshark("-T fields -e infiniband.reth.va -e infiniband.reth.r_key "
		      "-e infiniband.reth.dmalen -e ip.id -e udp.srcport -e infiniband.bth.a");
	assert_string_equal(text, "0x1122334455667788\t0x99aabbcc\t16909060\t0x004d\t49443\t1\n");

	unlink(file);
	assert_int_equal(roce_capture_start(cap, file), 0);
	put(cap, &f, ROCE_PKT_FETCH_ADD, 0, NULL);
	roce_capture_stop(cap);
	text = tshark("-T fields -e infiniband.atomiceth.swapdt -e infiniband.atomiceth.cmpdt");
	assert_string_equal(text, "11647051513882650536\t12804494279291877304\n");

	unlink(file);
	assert_int_equal(roce_capture_start(cap, file), 0);
	put(cap, &f, ROCE_TR_UD | ROCE_PKT_SEND_ONLY, 0, NULL);
	roce_capture_destroy(cap);
	text = tshark("-T fields -e infiniband.deth.q_key -e infiniband.deth.srcqp");
	assert_string_equal(text, "0x0000000011111111\t0x00000123\n");
}

static void comments_and_directions_are_in_the_file(void **state)
{
	struct roce_frame f = frame("10.0.0.1", "10.0.0.2");
	struct roce_capture *cap = start();
	char want[128], *text;

	put(cap, &f, ROCE_PKT_SEND_ONLY, 5, "QP 0x42 wr_id 7 RTS");
	f.out = false;
	put(cap, &f, ROCE_PKT_ACK, 0, NULL);
	roce_capture_destroy(cap);
	text = tshark("-T fields -e frame.comment -e frame.packet_flags_direction");
	snprintf(want, sizeof(want),
		 "%s[%d]: QP 0x42 wr_id 7 RTS\t0x00000002\n%s[%d]\t0x00000001\n",
		 program_invocation_short_name, getpid(), program_invocation_short_name, getpid());
	assert_string_equal(text, want);
}

static void a_capture_of_endpoints_shows_both_sides_and_what_was_dropped(void **state)
{
	struct roce_inspect inspect = { .capture = NULL };
	struct roce_endpoint_opts opts = { .inspect = &inspect };
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_FIRST, 256);
	struct roce_capture *cap;
	struct pair p;
	char *text;

	assert_int_equal(roce_capture_create(&cap), 0);
	assert_int_equal(roce_fault_create(&inspect.fault), 0);
	assert_int_equal(
		roce_fault_load(inspect.fault, "corrupt dir=out nth=3 bit=300 again=yes", 1, 0), 0);
	inspect.capture = cap;
	pair_init(&p, "127.0.0.1", "127.0.0.2", &opts);
	/* not yet */
	assert_int_equal(pair_add(&p, &pkt, 0), 0);
	assert_int_equal(roce_tx_flush(p.tx), 0);
	pair_receive(&p, 1);
	/* on */
	assert_int_equal(roce_capture_start(cap, file), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pair_add(&p, &pkt, i), 0);
	assert_int_equal(roce_tx_flush(p.tx), 0);
	pair_receive(&p, 4);
	roce_capture_stop(cap);
	/* off */
	assert_int_equal(pair_add(&p, &pkt, 0), 0);
	assert_int_equal(roce_tx_flush(p.tx), 0);
	pair_receive(&p, 5);

	text = tshark("-Y infiniband");
	assert_int_equal(lines(text), 8);
	text = tshark("-T fields -e ip.id -Y 'frame.packet_flags_direction == 2'");
	assert_string_equal(text, "0x0000\n0x0001\n0x0002\n0x0003\n");
	text = tshark("-T fields -e frame.comment -Y 'frame.comment contains \"fault\"'");
	assert_int_equal(lines(text), 1);
	text = tshark("-T fields -e frame.comment -Y 'frame.comment contains \"bad ICRC\"'");
	assert_int_equal(lines(text), 1);
	pair_fini(&p);
	roce_capture_destroy(cap);
	roce_fault_destroy(inspect.fault);
}

/* ---- the file itself ---- */

/* Walks the blocks; returns the number of packets, and fails on anything that is out of place. */
static unsigned int walk(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	unsigned int packets = 0, heads = 0;
	uint32_t head[2], end;
	off_t at = 0;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	while (at < st.st_size) {
		assert_int_equal(pread(fd, head, 8, at), 8);
		assert_true(head[1] >= 12 && !(head[1] & 3) && at + head[1] <= st.st_size);
		assert_int_equal(pread(fd, &end, 4, at + head[1] - 4), 4);
		assert_int_equal(end, head[1]);
		heads += head[0] == 0x0a0d0d0a;
		packets += head[0] == 6;
		at += head[1];
	}
	assert_int_equal(heads, 1);
	close(fd);
	return packets;
}

static void several_processes_write_one_file_without_mixing_blocks(void **state)
{
	enum { PROCESSES = 4, PACKETS = 400 };
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			struct roce_frame f = frame("10.0.0.1", "10.0.0.2");
			struct roce_capture *cap;

			if (roce_capture_create(&cap) || roce_capture_start(cap, file))
				_exit(1);
			for (int k = 0; k < PACKETS; k++) {
				put(cap, &f, ROCE_PKT_SEND_ONLY, (k * 37) % 4096, "one of many");
				if (k % 7 == 0)
					roce_capture_flush(cap);
			}
			roce_capture_stop(cap);
			_exit(0);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(walk(), PROCESSES * PACKETS);
}

static void a_forked_child_does_not_write_its_parents_packets_again(void **state)
{
	struct roce_frame f = frame("10.0.0.1", "10.0.0.2");
	struct roce_capture *cap = start();
	int status;
	pid_t pid;

	put(cap, &f, ROCE_PKT_SEND_ONLY, 5, NULL);
	pid = fork();
	if (!pid) {
		put(cap, &f, ROCE_PKT_SEND_ONLY, 5, NULL);
		roce_capture_flush(cap);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	roce_capture_destroy(cap);
	assert_int_equal(walk(), 2);
}

static void starting_again_appends(void **state)
{
	struct roce_frame f = frame("10.0.0.1", "10.0.0.2");
	struct roce_capture *cap = start();
	uint64_t frames, lost;

	put(cap, &f, ROCE_PKT_SEND_ONLY, 5, NULL);
	assert_int_equal(roce_capture_start(cap, file), -EALREADY);
	roce_capture_stop(cap);
	put(cap, &f, ROCE_PKT_SEND_ONLY, 5, NULL);
	assert_int_equal(roce_capture_start(cap, file), 0);
	put(cap, &f, ROCE_PKT_SEND_ONLY, 5, NULL);
	put(cap, &f, ROCE_PKT_SEND_ONLY, 5, NULL);
	roce_capture_count(cap, &frames, &lost);
	assert_int_equal(frames, 2);
	assert_int_equal(lost, 0);
	roce_capture_destroy(cap);
	assert_int_equal(walk(), 3);
}

static void a_file_that_is_something_else_is_left_alone(void **state)
{
	struct roce_capture *cap;
	struct stat st;
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "my thesis", 9), 9);
	close(fd);
	assert_int_equal(roce_capture_create(&cap), 0);
	assert_int_equal(roce_capture_start(cap, file), -EINVAL);
	assert_non_null(strstr(explain_last(), file));
	assert_int_equal(roce_capture_start(cap, "/nowhere/file"), -ENOENT);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 9);
	roce_capture_destroy(cap);
}

/* Acts as a full disk, for this process only. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_ends_the_capture_and_is_counted(void **state)
{
	struct roce_frame f = frame("10.0.0.1", "10.0.0.2");
	struct roce_capture *cap;
	uint64_t frames, lost;

	assert_int_equal(roce_capture_create(&cap), 0);
	if (access("/dev/full", W_OK))
		skip();
	/* the section header cannot be written */
	assert_int_equal(roce_capture_start(cap, "/dev/full"), -ENOSPC);
	assert_int_equal(roce_capture_start(cap, file), 0);
	limit_files(200);
	put(cap, &f, ROCE_PKT_SEND_ONLY, 4096, NULL);
	roce_capture_flush(cap);
	limit_files(RLIM_INFINITY);
	roce_capture_count(cap, &frames, &lost);
	assert_int_equal(lost, 1);
	assert_false(roce_capture_on(cap));
	roce_capture_destroy(cap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(wireshark_decodes_every_opcode_and_finds_none_malformed,
				       fresh_file),
		cmocka_unit_test_setup(wireshark_reads_the_same_header_fields, fresh_file),
		cmocka_unit_test_setup(comments_and_directions_are_in_the_file, fresh_file),
		cmocka_unit_test_setup(a_capture_of_endpoints_shows_both_sides_and_what_was_dropped,
				       fresh_file),
		cmocka_unit_test_setup(several_processes_write_one_file_without_mixing_blocks,
				       fresh_file),
		cmocka_unit_test_setup(a_forked_child_does_not_write_its_parents_packets_again,
				       fresh_file),
		cmocka_unit_test_setup(starting_again_appends, fresh_file),
		cmocka_unit_test_setup(a_file_that_is_something_else_is_left_alone, fresh_file),
		cmocka_unit_test_setup(a_full_disk_ends_the_capture_and_is_counted, fresh_file),
	};
	int failed;

	net_enter();
	if (!mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	net_shell("rm -rf %s", folder);
	return failed;
}
