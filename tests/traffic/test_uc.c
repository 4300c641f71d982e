/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unreliable connections: order without acknowledgement. What cannot be taken is dropped, and the
 * sender never learns of it.
 */
#include "rig.h"

#include <arpa/inet.h>

static struct pair open_pair(size_t bytes)
{
	struct options o = options_of(IBV_QPT_UC);

	o.bytes = bytes;
	return pair_open(&o);
}

static void send_one(struct end *e, uint64_t id, uint32_t len)
{
	fill(e->buf, len, id);
	post(e,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
	expect_ok(e->scq, id);
}

static void messages_of_every_size_arrive_in_order(void)
{
	static const uint32_t sizes[] = { 0,    1,    8,    1023, 1024,   1025,
					  2048, 2049, 8192, 8193, 100000, 1 << 20 };
	struct pair p = open_pair(2 << 20);

	for (unsigned int i = 0; i < array_size(sizes); i++) {
		post_recv(p.b, i, 3, sizes[i]);
		send_one(p.a, i, sizes[i]);
		check_equal(expect_ok(p.b->rcq, i).byte_len, sizes[i]);
		check_filled(p.b->buf + 3, sizes[i], i);
	}
	pair_close(&p);
}

static void writes_land_and_immediates_complete_receives(void)
{
	struct pair p = open_pair(1 << 20);
	static const uint32_t sizes[] = { 1, 64, 5000, 300000 };

	for (unsigned int i = 0; i < array_size(sizes); i++) {
		struct ibv_wc wc;

		fill(p.a->buf, sizes[i], i);
		post_recv(p.b, i, 0, 0);
		post(p.a, &(struct work){ .op = IBV_WR_RDMA_WRITE,
					  .len = sizes[i],
					  .raddr = p.a->to.va + 1,
					  .rkey = p.a->to.rkey });
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE_WITH_IMM,
					  .flags = IBV_SEND_SIGNALED,
					  .imm = i,
					  .len = 1,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		expect_ok(p.a->scq, i);
		wc = expect_ok(p.b->rcq, i);
		check_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		check_equal(ntohl(wc.imm_data), i);
		/* the write before it is there */
		check_filled(p.b->buf + 1, sizes[i], i);
	}
	pair_close(&p);
}

static void a_message_without_a_receive_is_dropped(void)
{
	struct pair p = open_pair(1 << 20);
	static const uint32_t sizes[] = { 10, 30000, 400000 };
	struct pair marker = open_pair(4096);

	for (unsigned int i = 0; i < array_size(sizes); i++) {
		send_one(p.a, 1, sizes[i]);
		/* one process, one way: when this one is here, that one is gone */
		post_recv(marker.b, 6, 0, 8);
		send_one(marker.a, 1, 8);
		expect_ok(marker.b->rcq, 6);
		check_empty(p.b->rcq);
		check_equal(end_state(p.a), IBV_QPS_RTS);
		post_recv(p.b, 7, 0, 100);
		send_one(p.a, 2, 55);
		check_equal(expect_ok(p.b->rcq, 7).byte_len, 55);
		check_filled(p.b->buf, 55, 2);
	}
	pair_close(&marker);
	pair_close(&p);
}

static void a_write_without_a_right_is_dropped(void)
{
	struct pair p = open_pair(1 << 16);

	memset(p.b->buf, 0, 64);
	fill(p.a->buf, 64, 9);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 64,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey ^ 0x100 });
	expect_ok(p.a->scq, 1);
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 64,
				  .raddr = p.a->to.va + p.a->to.len - 63,
				  .rkey = p.a->to.rkey });
	expect_ok(p.a->scq, 2);
	post_recv(p.b, 3, 1024, 64);
	send_one(p.a, 4, 8);
	expect_ok(p.b->rcq, 3);
	check(is_all(p.b->buf, 64, 0));
	check_equal(end_state(p.b), IBV_QPS_RTS);
	check_equal(end_state(p.a), IBV_QPS_RTS);
	pair_close(&p);
}

static void a_missing_peer_is_no_error_on_uc(void)
{
	struct pair p = open_pair(1 << 16);

	end_drop_qp(p.b);
	for (unsigned int i = 0; i < 200; i++)
		send_one(p.a, i, 100);
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 64,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	expect_ok(p.a->scq, 2);
	check_equal(end_state(p.a), IBV_QPS_RTS);
	pair_close(&p);
}

static void a_message_to_a_lid_that_no_port_has_is_lost(void)
{
	struct options o = options_of(IBV_QPT_UC);
	struct end *a, *b;
	struct address to_b;

	if (rig_is_ethernet())
		rig_skip("LIDs are of InfiniBand");
	a = end_open(&o);
	b = end_open(&o);
	to_b = end_address(b);
	to_b.lid = 0xbfff;
	end_connect(b, &(struct address[]){ end_address(a) }[0]);
	end_connect(a, &to_b);
	post_recv(b, 1, 0, 64);
	send_one(a, 1, 32);
	post(a, &(struct work){ .id = 2,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = 8,
				.raddr = (uintptr_t)b->buf + 4096,
				.rkey = b->mr->rkey });
	expect_ok(a->scq, 2);
	check_empty(b->rcq);
	check(is_all(b->buf + 4096, 8, 0));
	end_close(a);
	end_close(b);
}

/* Reads and atomics need an answer, and no packet of this type has a key to invalidate (IBTA volume 1, table 38). */
static void operations_that_uc_does_not_have_are_refused(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
						  IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_INV };

	for (unsigned int i = 0; i < array_size(ops); i++) {
		struct pair p = open_pair(1 << 16);
		struct work w = {
			.id = 1, .op = ops[i], .len = 8, .raddr = p.a->to.va, .rkey = p.a->to.rkey
		};

		/* when it is posted, or by its completion */
		if (!try_post(p.a, &w)) {
			struct ibv_wc wc = expect_wc(p.a->scq, 1, IBV_WC_LOC_QP_OP_ERR);

			check(wc.vendor_err != 0);
		}
		pair_close(&p);
	}
}

#define STREAM 5000u

static void sink(int fd)
{
	struct options o = options_of(IBV_QPT_UC);
	unsigned int got = 0, last = 0;
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (unsigned int i = 0; i < 64; i++)
		post_recv(e, i, i * 512, 512);
	tell_mark(fd, 'p');
	wait_for(({
		struct ibv_wc wc;

		while (ibv_poll_cq(e->rcq, 1, &wc) == 1) {
			unsigned int n;

			check_equal(wc.status, IBV_WC_SUCCESS);
			memcpy(&n, e->buf + wc.wr_id * 512, sizeof(n));
			/* some may be missing, none is doubled (but the last) or out of order */
			check(n > last || n == STREAM);
			last = n;
			got++;
			post_recv(e, wc.wr_id, wc.wr_id * 512, 512);
		}
		last == STREAM;
	}));
	check(got > 0);
	tell_mark(fd, 'E');
	end_close(e);
}

static void a_stream_to_another_process_keeps_its_order(void)
{
	struct peer peer = peer_start(sink);
	struct options o = options_of(IBV_QPT_UC);
	struct end *e = end_open(&o);
	unsigned int n = 0;

	end_meet(e, peer.fd);
	hear_mark(peer.fd, 'p');
	for (n = 1; n < STREAM; n++) {
		memcpy(e->buf, &n, sizeof(n));
		post(e,
		     &(struct work){
			     .id = n, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 300 });
		expect_ok(e->scq, n);
	}
	/* the last one is said until it is heard */
	wait_for(({
		memcpy(e->buf, &n, sizeof(n));
		post(e,
		     &(struct work){
			     .id = n, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 300 });
		expect_ok(e->scq, n);
		is_readable(peer.fd, 5);
	}));
	hear_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_of_every_size_arrive_in_order),
		TEST(writes_land_and_immediates_complete_receives),
		TEST(a_message_without_a_receive_is_dropped),
		TEST(a_write_without_a_right_is_dropped),
		TEST(a_missing_peer_is_no_error_on_uc),
		TEST(a_message_to_a_lid_that_no_port_has_is_lost),
		TEST(operations_that_uc_does_not_have_are_refused),
		TEST(a_stream_to_another_process_keeps_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
