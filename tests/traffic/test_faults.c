/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wire that drops, duplicates, reorders, delays and corrupts packets, by rules with a seed: data and
 * counters stay right, NAKs become their statuses, and retries take the configured time.
 */
#include "rig.h"

#include <unistd.h>

#define ROUNDS 60
#define CHUNK  20000u

/* Before the device is opened, so that the peers have it, too. */
static void fault(const char *script)
{
	setenv("VERBENA_FAULT", script, 1);
}

/* A loss at the end of a burst costs a timeout. */
static struct options patient(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = 2 << 20;
	o.timeout = 15; /* 134 ms, so that a peer that a busy machine holds up is not given up */
	o.retry_cnt = 7;
	return o;
}

/* ---- data ---- */

#define RECEIVES 32

static size_t place_of(unsigned int i)
{
	return (1 << 20) + i % RECEIVES * CHUNK;
}

/* A message has its own pattern, and a slot of its own until it has been checked. */
static void target(int fd)
{
	struct options o = patient();
	struct end *e = end_open(&o);
	uint64_t sum;

	end_meet(e, fd);
	for (unsigned int i = 0; i < RECEIVES; i++)
		post_recv(e, i, place_of(i), CHUNK);
	tell_mark(fd, 'r');
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct ibv_wc wc = expect_ok(e->rcq, i);

		check_equal(wc.byte_len, 1 + i * 331);
		check_filled(e->buf + place_of(i), wc.byte_len, i);
		post_recv(e, i + RECEIVES, place_of(i), CHUNK);
	}
	hear_mark(fd, 'd');
	check_filled(e->buf + 400000, 100000, 77);
	memcpy(&sum, e->buf + 600000, sizeof(sum));
	check_equal(sum, ROUNDS);
	tell_mark(fd, 'E');
	end_close(e);
}

static void work_of_all_kinds(struct end *e, int fd)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t old;

		fill(e->buf, 1 + i * 331, i);
		post(e, &(struct work){ .id = 1,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.len = 1 + i * 331 });
		fill(e->buf + 100000, 100000, 77);
		post(e, &(struct work){ .op = IBV_WR_RDMA_WRITE,
					.off = 100000,
					.len = 100000,
					.raddr = e->to.va + 400000,
					.rkey = e->to.rkey });
		post(e, &(struct work){ .id = 2,
					.op = IBV_WR_RDMA_READ,
					.flags = IBV_SEND_SIGNALED,
					.off = 300000,
					.len = 50000,
					.raddr = e->to.va + 400000,
					.rkey = e->to.rkey });
		post(e, &(struct work){ .id = 3,
					.op = IBV_WR_ATOMIC_FETCH_AND_ADD,
					.flags = IBV_SEND_SIGNALED,
					.off = 500000,
					.len = 8,
					.compare = 1,
					.raddr = e->to.va + 600000,
					.rkey = e->to.rkey });
		for (unsigned int k = 1; k <= 3; k++)
			expect_ok(e->scq, k);
		check_filled(e->buf + 300000, 50000, 77);
		memcpy(&old, e->buf + 500000, sizeof(old));
		check_equal(old, i);
		memset(e->buf + 300000, 0, 50000);
	}
	tell_mark(fd, 'd');
	hear_mark(fd, 'E');
}

static void stays_right(const char *script)
{
	struct options o = patient();
	struct peer peer;
	struct end *e;

	fault(script);
	peer = peer_start(target);
	e = end_open(&o);
	end_meet(e, peer.fd);
	hear_mark(peer.fd, 'r');
	work_of_all_kinds(e, peer.fd);
	end_close(e);
	peer_join(&peer);
}

static void data_stays_right_with_one_percent_lost(void)
{
	stays_right("drop p=1%");
}

static void data_stays_right_with_five_percent_lost(void)
{
	stays_right("drop p=5% dir=out");
}

static void data_stays_right_with_packets_twice(void)
{
	stays_right("dup p=10%");
}

static void data_stays_right_out_of_order(void)
{
	stays_right("reorder p=5% dir=in");
}

static void data_stays_right_with_bits_flipped(void)
{
	stays_right("corrupt p=2%");
}

static void data_stays_right_with_all_faults_at_once(void)
{
	stays_right("drop p=1%; dup p=1%; reorder p=1%; corrupt p=1%; delay us=300 p=1%");
}

/* ---- atomics and reads ---- */

static void add(struct end *e, uint64_t id)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.flags = IBV_SEND_SIGNALED,
				.off = 8 * id,
				.len = 8,
				.compare = 1,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
}

static char *report_of(const char *script, void (*fn)(int fd))
{
	fault(script);
	return peer_report(fn);
}

static void all_must_fire(const char *script, void (*fn)(int fd))
{
	const char *report = report_of(script, fn);

	check(strstr(report, ": fired ") != NULL);
	check(strstr(report, ": fired 0 times") == NULL);
}

static void add_many(int fd)
{
	struct options o = patient();
	struct pair p = pair_open(&o);
	uint64_t value;

	(void)fd;
	for (unsigned int i = 0; i < 60; i++)
		add(p.a, i);
	for (unsigned int i = 0; i < 60; i++) {
		expect_ok(p.a->scq, i);
		memcpy(&value, p.a->buf + 8 * i, 8);
		check_equal(value, i);
	}
	memcpy(&value, p.b->buf, 8);
	check_equal(value, 60);
	pair_close(&p);
}

static void atomics_are_replayed_and_never_executed_twice(void)
{
	all_must_fire("drop opcode=ATOMIC_ACK every=3; dup opcode=FETCH_ADD every=2", add_many);
}

static void read_much(int fd)
{
	struct options o = patient();
	struct pair p = pair_open(&o);

	(void)fd;
	fill(p.b->buf, 500000, 3);
	for (unsigned int i = 0; i < 4; i++)
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_READ,
					  .flags = IBV_SEND_SIGNALED,
					  .off = 0,
					  .len = 500000,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
	for (unsigned int i = 0; i < 4; i++)
		expect_ok(p.a->scq, i);
	check_filled(p.a->buf, 500000, 3);
	pair_close(&p);
}

static void a_read_is_resumed_in_the_middle(void)
{
	all_must_fire("drop opcode=READ_RESP_MIDDLE nth=100 dir=in;"
		      "drop opcode=READ_RESP_LAST nth=1 dir=in;"
		      "drop opcode=READ_RESP_FIRST nth=3 dir=in;"
		      "drop opcode=READ_REQUEST nth=2 dir=out",
		      read_much);
}

static void reads_complete_on_a_lossy_wire(void)
{
	all_must_fire("drop opcode=READ_RESP_MIDDLE p=5%", read_much);
}

/* Both in one process, so that the memory can be checked as soon as the WRITE completes. */
static void write_then_read(int fd)
{
	struct options o = patient();
	struct pair p = pair_open(&o);

	(void)fd;
	fill(p.a->buf, 64, 9);
	for (unsigned int i = 0; i < 20; i++) {
		memset(p.b->buf, 0, 64);
		post(p.a, &(struct work){ .id = 1,
					  .op = IBV_WR_RDMA_WRITE,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 64,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		post(p.a, &(struct work){ .id = 2,
					  .op = IBV_WR_RDMA_READ,
					  .flags = IBV_SEND_SIGNALED,
					  .off = 4096,
					  .len = 64,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		expect_ok(p.a->scq, 1);
		check_filled(p.b->buf, 64, 9);
		expect_ok(p.a->scq, 2);
		check_filled(p.a->buf + 4096, 64, 9);
	}
	pair_close(&p);
}

static void a_write_before_a_read_is_complete_when_the_read_is_answered(void)
{
	all_must_fire("drop opcode=WRITE_ONLY dir=out every=2", write_then_read);
}

/* One megabyte at a time into a socket that holds a fifth of it. */
static void read_a_row(int fd)
{
	struct options o = patient();
	struct pair p;

	(void)fd;
	setenv("VERBENA_SOCKET_BUFFER", "106496", 1);
	o.timeout =
		18; /* about a second: only packets that were lost are repeated, not slow ones */
	p = pair_open(&o);
	fill(p.b->buf, 1 << 20, 5);
	for (unsigned int i = 0; i < 64; i++)
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_READ,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 1 << 20,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
	for (unsigned int i = 0; i < 64; i++)
		expect_ok(p.a->scq, i);
	check_filled(p.a->buf, 1 << 20, 5);
	pair_close(&p);
}

static void long_reads_do_not_flood_a_small_socket(void)
{
	const char *words = strstr(report_of("", read_a_row), "received ");
	unsigned long long packets = 0;

	/* each packet once, but for requests and a few retries */
	check(words && sscanf(words, "received %llu", &packets) == 1);
	printf("%llu packets\n", packets);
	check(packets < 64 * 1024 * 11 / 10);
}

/* ---- losses that nothing follows ---- */

/* A timeout is longer than any wait here: a request that needs one fails the test. */
static struct pair pair_without_timeouts(void)
{
	struct options o = patient();

	o.timeout = 23; /* 34 s */
	return pair_open(&o);
}

static void do_and_wait(struct end *e, enum ibv_wr_opcode op, uint64_t id, uint32_t len)
{
	post(e, &(struct work){ .id = id,
				.op = op,
				.flags = IBV_SEND_SIGNALED,
				.len = len,
				.compare = 1,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
	expect_ok(e->scq, id);
}

static void one_by_one(int fd)
{
	struct pair p = pair_without_timeouts();
	uint64_t sum;

	(void)fd;
	fill(p.a->buf, 100000, 9);
	do_and_wait(p.a, IBV_WR_RDMA_WRITE, 0, 100000);
	check_filled(p.b->buf, 100000, 9);
	for (unsigned int i = 0; i < 30; i++) {
		fill(p.a->buf, 100, i);
		do_and_wait(p.a, IBV_WR_RDMA_WRITE, 3 * i, 100);
		check_filled(p.b->buf, 100, i);
		memset(p.a->buf, 0, 100);
		do_and_wait(p.a, IBV_WR_RDMA_READ, 3 * i + 1, 100);
		check_filled(p.a->buf, 100, i);
		memset(p.b->buf, 0, 8);
		do_and_wait(p.a, IBV_WR_ATOMIC_FETCH_AND_ADD, 3 * i + 2, 8);
		memcpy(&sum, p.b->buf, 8);
		check_equal(sum, 1);
	}
	pair_close(&p);
}

/* The first write shows that the wire is lossy; from then on losses are found without a timeout. */
static void a_lost_answer_costs_no_timeout(void)
{
	all_must_fire("drop opcode=WRITE_FIRST nth=1 dir=out; drop opcode=ACK every=2 dir=in;"
		      "drop opcode=READ_RESP_ONLY every=3 dir=in;"
		      "drop opcode=ATOMIC_ACK every=3 dir=in",
		      one_by_one);
}

static void a_packet_that_is_lost_repeatedly_costs_no_timeout(void)
{
	all_must_fire(
		"drop opcode=WRITE_FIRST count=3 dir=out; drop opcode=WRITE_ONLY every=3 dir=in",
		one_by_one);
}

/* ---- scripts ---- */

static void an_invalid_fault_script_opens_no_device(void)
{
	struct ibv_device **list = must(ibv_get_device_list(NULL));

	fault("drop p=200%");
	check_refused(ibv_open_device(list[0]), EINVAL);
	ibv_free_device_list(list);
}

/* ---- refusals ---- */

static void send_byte(struct end *e, uint64_t id)
{
	post(e,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 1 });
}

static void a_forced_rnr_is_retried_after_its_timer(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;
	uint64_t begin;

	fault("rnr timer=20 count=3");
	o.rnr_retry = 3;
	p = pair_open(&o);
	post_recv(p.b, 1, 0, 8);
	begin = now_ns();
	send_byte(p.a, 1);
	expect_ok(p.a->scq, 1);
	check(now_ns() - begin >= 3 * 10240000ull);
	expect_ok(p.b->rcq, 1);
	pair_close(&p);
}

static void a_forced_rnr_exceeds_the_count(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	fault("rnr timer=1 count=3");
	o.rnr_retry = 2;
	p = pair_open(&o);
	post_recv(p.b, 1, 0, 8);
	send_byte(p.a, 1);
	expect_wc(p.a->scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_close(&p);
}

static void refused_with(const char *script, enum ibv_wc_status status)
{
	struct pair p;

	fault(script);
	p = pair_open(NULL);
	post_recv(p.b, 1, 0, 8);
	send_byte(p.a, 1);
	expect_wc(p.a->scq, 1, status);
	check_equal(end_state(p.a), status ? IBV_QPS_ERR : IBV_QPS_RTS);
	check_equal(end_state(p.b), status ? IBV_QPS_ERR : IBV_QPS_RTS);
	pair_close(&p);
}

static void a_forced_nak_access_is_a_remote_access_error(void)
{
	refused_with("nak code=access", IBV_WC_REM_ACCESS_ERR);
}

static void a_forced_nak_invalid_is_a_remote_invalid_request(void)
{
	refused_with("nak code=invalid", IBV_WC_REM_INV_REQ_ERR);
}

static void a_forced_nak_op_is_a_remote_operation_error(void)
{
	refused_with("nak code=op", IBV_WC_REM_OP_ERR);
}

static void a_forced_nak_of_the_sequence_is_sent_again(void)
{
	refused_with("nak code=seq count=3", IBV_WC_SUCCESS);
}

static void send_ten(int fd)
{
	struct options o = patient();
	struct pair p;

	(void)fd;
	o.psn = 0xfffffb; /* its fifth packet is the first of the next round */
	p = pair_open(&o);
	for (unsigned int i = 0; i < 10; i++)
		post_recv(p.b, i, 0, 8);
	for (unsigned int i = 0; i < 10; i++) {
		send_byte(p.a, i);
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
	}
	pair_close(&p);
}

static void expect_listed(const char *script, const char *words)
{
	const char *report = report_of(script, send_ten);

	if (!strstr(report, words))
		printf("'%s' is missing:\n%s", words, report);
	check(strstr(report, words) != NULL);
}

static void packets_are_picked_by_their_number(void)
{
	expect_listed("drop psn=0xffffff-1 dir=out opcode=SEND_ONLY every=1 count=3",
		      ": fired 3 times");
	expect_listed("drop psn=0xffffff-1 dir=out opcode=SEND_ONLY count=2",
		      "fault 1: drop out RC SEND_ONLY, connection 1, packet 4, attempt 2 (QP ");
	expect_listed("drop psn=2 dir=in opcode=SEND_ONLY nth=1", "PSN 2)");
}

static void refusals_are_counted_and_listed(void)
{
	expect_listed("rnr timer=1 nth=3; nak code=seq nth=7", "fault 1: rnr in RC SEND_ONLY, ");
	expect_listed("rnr timer=1 nth=3; nak code=seq nth=7",
		      "fault 2, nak code=seq nth=7: fired 1 times");
}

/* The address of the interface (on-wire.sh): all peers have it, so all packets are dropped. */
static void lose_the_peer(int fd)
{
	struct options o = patient();
	struct pair p;

	(void)fd;
	o.retry_cnt = 2;
	p = pair_open(&o);
	post_recv(p.b, 1, 0, 8);
	send_byte(p.a, 1);
	expect_ok(p.a->scq, 1);
	send_byte(p.a, 2);
	expect_wc(p.a->scq, 2, IBV_WC_RETRY_EXC_ERR);
	pair_close(&p);
}

static void a_peer_whose_packets_are_all_dropped_exceeds_the_retries(void)
{
	all_must_fire("drop peer=fe80::ff:fe00:4791 after=4", lose_the_peer);
}

/* ---- time ---- */

static void a_link_that_comes_back_before_the_retries_end_fails_no_request(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	fault("drop to_ms=300");
	o.timeout = 15; /* 134 ms */
	p = pair_open(&o);
	for (unsigned int i = 0; i < 20; i++)
		post_recv(p.b, i, 0, 8);
	for (unsigned int i = 0; i < 20; i++)
		send_byte(p.a, i);
	for (unsigned int i = 0; i < 20; i++)
		expect_ok(p.a->scq, i);
	for (unsigned int i = 0; i < 20; i++)
		expect_ok(p.b->rcq, i);
	pair_close(&p);
}

/* ---- congestion ---- */

/* With the mark that a switch would set; the class of traffic has its bits. */
static void send_marked(int fd)
{
	struct options o = patient();
	struct pair p;

	(void)fd;
	o.traffic_class = 3;
	o.timeout = 18;
	p = pair_open(&o);
	fill(p.a->buf, 1 << 20, 6);
	for (unsigned int i = 0; i < 8; i++)
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 1 << 20,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
	for (unsigned int i = 0; i < 8; i++)
		expect_ok(p.a->scq, i);
	check_filled(p.b->buf, 1 << 20, 6);
	pair_close(&p);
}

static void congestion_marks_are_answered_with_cnps(void)
{
	const char *report = report_of("", send_marked), *words;
	unsigned long said = 0, heard = 0;

	words = strstr(report, "congestion: ");
	check(words != NULL);
	check_equal(
		sscanf(words, "congestion: told the sender %lu times, was told %lu", &said, &heard),
		2);
	check(said > 0 && heard > 0);
}

static void send_marked_datagrams(int fd)
{
	struct options o = options_of(IBV_QPT_UD);
	struct pair p = pair_open(&o);
	struct address b = end_address(p.b);
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	(void)fd;
	address_to_ah_attr(&b, &attr);
	attr.grh.traffic_class = 3;
	ah = must(ibv_create_ah(p.a->pd, &attr));
	for (unsigned int i = 0; i < 200; i++) {
		post_recv(p.b, i, 0, 140);
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 100,
					  .ah = ah,
					  .qpn = p.b->qp->qp_num,
					  .qkey = p.b->o.qkey });
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void congestion_marks_on_datagrams_are_answered_with_cnps(void)
{
	const char *words = strstr(report_of("", send_marked_datagrams), "congestion: ");
	unsigned long said = 0, heard = 0;

	check(words && sscanf(words, "congestion: told the sender %lu times, was told %lu", &said,
			      &heard) == 2);
	check(said > 0 && heard > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_stays_right_with_one_percent_lost),
		TEST(data_stays_right_with_five_percent_lost),
		TEST(data_stays_right_with_packets_twice),
		TEST(data_stays_right_out_of_order),
		TEST(data_stays_right_with_bits_flipped),
		TEST(data_stays_right_with_all_faults_at_once),
		TEST(atomics_are_replayed_and_never_executed_twice),
		TEST(a_read_is_resumed_in_the_middle),
		TEST(reads_complete_on_a_lossy_wire),
		TEST(a_write_before_a_read_is_complete_when_the_read_is_answered),
		TEST(long_reads_do_not_flood_a_small_socket),
		TEST(a_lost_answer_costs_no_timeout),
		TEST(a_packet_that_is_lost_repeatedly_costs_no_timeout),
		TEST(an_invalid_fault_script_opens_no_device),
		TEST(a_forced_rnr_is_retried_after_its_timer),
		TEST(a_forced_rnr_exceeds_the_count),
		TEST(a_forced_nak_access_is_a_remote_access_error),
		TEST(a_forced_nak_invalid_is_a_remote_invalid_request),
		TEST(a_forced_nak_op_is_a_remote_operation_error),
		TEST(a_forced_nak_of_the_sequence_is_sent_again),
		TEST(packets_are_picked_by_their_number),
		TEST(refusals_are_counted_and_listed),
		TEST(a_peer_whose_packets_are_all_dropped_exceeds_the_retries),
		TEST(a_link_that_comes_back_before_the_retries_end_fails_no_request),
		TEST(congestion_marks_are_answered_with_cnps),
		TEST(congestion_marks_on_datagrams_are_answered_with_cnps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
