/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RDMA WRITE and READ on reliable connections.
 */
#include "rig.h"

#include <arpa/inet.h>
#include <stdatomic.h>

#define BIG (16u << 20)

static const uint32_t sizes[] = { 0,    1,    2,    3,    4,    7,    8,    9,     63,
				  64,   65,   100,  255,  256,  1000, 1023, 1024,  1025,
				  2048, 2049, 4095, 4096, 4097, 8192, 8193, 65536, 1 << 20 };

static struct options roomy(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BIG + 8192;
	return o;
}

static void write_at(struct end *e, uint64_t id, size_t off, uint32_t len, size_t there)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = len,
				.raddr = e->to.va + there,
				.rkey = e->to.rkey });
}

static void read_at(struct end *e, uint64_t id, size_t off, uint32_t len, size_t there)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_RDMA_READ,
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = len,
				.raddr = e->to.va + there,
				.rkey = e->to.rkey });
}

static void writes_of_every_size_land_and_nothing_beside(void)
{
	struct options o = roomy();
	struct pair p = pair_open(&o);

	for (size_t i = 0; i < array_size(sizes); i++) {
		uint32_t len = sizes[i];
		size_t there = 64 + i % 9;

		memset(p.b->buf, 0xee, len + 200);
		fill(p.a->buf + i % 7, len, i);
		write_at(p.a, i, i % 7, len, there);
		check_equal(expect_ok(p.a->scq, i).opcode, IBV_WC_RDMA_WRITE);
		check(is_all(p.b->buf, there, 0xee));
		check_filled(p.b->buf + there, len, i);
		check(is_all(p.b->buf + there + len, 100, 0xee));
	}
	check_empty(p.b->rcq);
	pair_close(&p);
}

static void reads_of_every_size_fetch_and_touch_nothing_beside(void)
{
	struct options o = roomy();
	struct pair p = pair_open(&o);

	for (size_t i = 0; i < array_size(sizes); i++) {
		uint32_t len = sizes[i];
		size_t off = 64 + i % 9;
		struct ibv_wc wc;

		memset(p.a->buf, 0xee, len + 200);
		fill(p.b->buf + i % 7, len, i);
		read_at(p.a, i, off, len, i % 7);
		wc = expect_ok(p.a->scq, i);
		check_equal(wc.opcode, IBV_WC_RDMA_READ);
		check_equal(wc.byte_len, len);
		check(is_all(p.a->buf, off, 0xee));
		check_filled(p.a->buf + off, len, i);
		check(is_all(p.a->buf + off + len, 100, 0xee));
	}
	pair_close(&p);
}

static void every_alignment_of_both_sides_is_exact(void)
{
	struct pair p = pair_open(NULL);

	for (unsigned int from = 0; from < 17; from++)
		for (unsigned int to = 0; to < 17; to++) {
			uint32_t len = 90 + from * 17 + to;

			memset(p.b->buf, 0xee, 1024);
			fill(p.a->buf + from, len, from);
			write_at(p.a, 1, from, len, 32 + to);
			expect_ok(p.a->scq, 1);
			check(is_all(p.b->buf, 32 + to, 0xee));
			check_filled(p.b->buf + 32 + to, len, from);
			check(is_all(p.b->buf + 32 + to + len, 32, 0xee));
			memset(p.a->buf + 2048, 0xee, 1024);
			read_at(p.a, 2, 2048 + to, len, 32 + to);
			expect_ok(p.a->scq, 2);
			check_filled(p.a->buf + 2048 + to, len, from);
			check(is_all(p.a->buf + 2048 + to + len, 32, 0xee));
		}
	pair_close(&p);
}

static void sixteen_mebibytes_are_written_and_read_back(void)
{
	struct options o = roomy();
	struct pair p = pair_open(&o);

	fill(p.a->buf + 5, BIG, 3);
	write_at(p.a, 1, 5, BIG, 9);
	expect_ok(p.a->scq, 1);
	check_filled(p.b->buf + 9, BIG, 3);
	memset(p.a->buf, 0, BIG + 64);
	read_at(p.a, 2, 1, BIG, 9);
	expect_ok(p.a->scq, 2);
	check_filled(p.a->buf + 1, BIG, 3);
	pair_close(&p);
}

static void every_count_of_elements_is_gathered_and_scattered(void)
{
	struct options o = options_of(IBV_QPT_RC);
	uint32_t most = rig_attr()->max_sge, most_read = rig_attr()->max_sge_rd;
	struct ibv_sge sge[64];
	struct pair p;

	if (!most_read || most_read > most)
		most_read = most;
	o.send_sge = most;
	o.send_wr = 16;
	p = pair_open(&o);
	for (uint32_t n = 1; n <= most; n++) {
		struct ibv_send_wr *bad, wr = { .wr_id = n,
						.sg_list = sge,
						.num_sge = n,
						.opcode = IBV_WR_RDMA_WRITE,
						.send_flags = IBV_SEND_SIGNALED };
		uint32_t total = 0;

		wr.wr.rdma.remote_addr = p.a->to.va + 1;
		wr.wr.rdma.rkey = p.a->to.rkey;
		for (uint32_t i = 0; i < n; i++) {
			sge[i] = (struct ibv_sge){ (uintptr_t)p.a->buf + 4096 + i * 211, 1 + i * 5,
						   p.a->mr->lkey };
			fill(p.a->buf + 4096 + i * 211, 1 + i * 5, i);
			total += 1 + i * 5;
		}
		memset(p.b->buf, 0xee, 8192);
		check_ok(ibv_post_send(p.a->qp, &wr, &bad));
		expect_ok(p.a->scq, n);
		for (uint32_t i = 0, at = 1; i < n; at += 1 + i * 5, i++)
			check_filled(p.b->buf + at, 1 + i * 5, i);
		check_equal((unsigned char)p.b->buf[1 + total], 0xee);
		if (n > most_read)
			continue;
		wr.opcode = IBV_WR_RDMA_READ;
		memset(p.a->buf + 4096, 0xee, 64 * 211);
		check_ok(ibv_post_send(p.a->qp, &wr, &bad));
		check_equal(expect_ok(p.a->scq, n).byte_len, total);
		for (uint32_t i = 0; i < n; i++) {
			check_filled(p.a->buf + 4096 + i * 211, 1 + i * 5, i);
			check_equal((unsigned char)p.a->buf[4096 + i * 211 + 1 + i * 5], 0xee);
		}
	}
	pair_close(&p);
}

/*
 * A connection that begins again with the same PSN: its first read has the same number as the first one before, and
 * must not be taken for a repetition of it.
 */
static void the_first_read_after_a_reset_brings_its_own_data(void)
{
	static const uint32_t lengths[] = { 5000, 5000, 3000 };
	struct options o = roomy();
	struct pair p = pair_open(&o);
	struct address to_a = p.b->to, to_b = p.a->to;

	for (uint32_t i = 0; i < array_size(lengths); i++) {
		fill(p.b->buf, lengths[i], i);
		memset(p.a->buf, 0xee, 8192);
		read_at(p.a, i, 0, lengths[i], 0);
		check_equal(expect_ok(p.a->scq, i).byte_len, lengths[i]);
		check_filled(p.a->buf, lengths[i], i);
		end_reset(p.a);
		end_reset(p.b);
		end_connect(p.a, &to_b);
		end_connect(p.b, &to_a);
	}
	pair_close(&p);
}

static void a_write_with_immediate_takes_a_receive_but_not_its_memory(void)
{
	struct pair p = pair_open(NULL);
	static const uint32_t lengths[] = { 0, 1, 100, 5000, 20000 };

	for (unsigned int i = 0; i < array_size(lengths); i++) {
		uint32_t len = lengths[i];
		struct ibv_wc wc;

		memset(p.b->buf, 0xee, 1 << 16);
		post_recv(p.b, 40 + i, 60000, 16);
		fill(p.a->buf, len, i);
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE_WITH_IMM,
					  .flags = IBV_SEND_SIGNALED,
					  .imm = 0x5000 + i,
					  .len = len,
					  .raddr = p.a->to.va + 8,
					  .rkey = p.a->to.rkey });
		wc = expect_ok(p.b->rcq, 40 + i);
		check_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		check_equal(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
		check_equal(ntohl(wc.imm_data), 0x5000 + i);
		check_equal(wc.byte_len, len);
		check_filled(p.b->buf + 8, len, i);
		check(is_all(p.b->buf + 60000, 16, 0xee));
		check_equal(expect_ok(p.a->scq, i).opcode, IBV_WC_RDMA_WRITE);
	}
	pair_close(&p);
}

/* A write of no bytes asks nothing of key and address. */
static void an_empty_write_or_read_needs_no_key(void)
{
	struct pair p = pair_open(NULL);

	post(p.a, &(struct work){ .id = 1, .op = IBV_WR_RDMA_WRITE, .flags = IBV_SEND_SIGNALED });
	expect_ok(p.a->scq, 1);
	post(p.a, &(struct work){ .id = 2, .op = IBV_WR_RDMA_READ, .flags = IBV_SEND_SIGNALED });
	expect_ok(p.a->scq, 2);
	pair_close(&p);
}

/* One-sided work waits for the sends before it: what a send announces was not overtaken. */
static void a_write_behind_a_send_does_not_overtake_it(void)
{
	struct pair p = pair_open(NULL);

	p.b->buf[100] = 0;
	p.a->buf[0] = 7;
	/* no receive yet: the send waits, and the write behind it */
	post(p.a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 1 });
	write_at(p.a, 2, 0, 1, 100);
	for (int i = 0; i < 1000; i++) {
		check_empty(p.a->scq);
		check_equal(__atomic_load_n(&p.b->buf[100], __ATOMIC_ACQUIRE), 0);
	}
	post_recv(p.b, 3, 0, 1);
	expect_ok(p.a->scq, 1);
	expect_ok(p.a->scq, 2);
	expect_ok(p.b->rcq, 3);
	check_equal(p.b->buf[100], 7);
	pair_close(&p);
}

static void a_read_sees_the_writes_before_it(void)
{
	struct pair p = pair_open(NULL);

	for (unsigned int i = 0; i < 200; i++) {
		fill(p.a->buf, 3000, i);
		post(p.a, &(struct work){ .op = IBV_WR_RDMA_WRITE,
					  .len = 3000,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		read_at(p.a, i, 8192, 3000, 0);
		expect_ok(p.a->scq, i);
		check_filled(p.a->buf + 8192, 3000, i);
	}
	pair_close(&p);
}

static void more_reads_than_may_be_outstanding_all_come_back(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.rd_atomic = 1;
	p = pair_open(&o);
	fill(p.b->buf, 32 * 64, 8);
	for (unsigned int i = 0; i < 32; i++)
		read_at(p.a, i, 4096 + i * 64, 64, i * 64);
	for (unsigned int i = 0; i < 32; i++)
		expect_ok(p.a->scq, i);
	check_filled(p.a->buf + 4096, 32 * 64, 8);
	pair_close(&p);
}

/* Big reads with work behind them, and no second chance: on a path that loses nothing none is
 * needed. */
static struct options unforgiving(void)
{
	struct options o = roomy();

	o.retry_cnt = 0;
	o.rnr_retry = 0;
	return o;
}

static void read_from_me(int fd)
{
	struct options o = unforgiving();
	struct end *e = end_open(&o);

	fill(e->buf, 1 << 20, 4);
	end_meet(e, fd);
	for (unsigned int i = 0; i < 8; i++)
		post_recv(e, 50 + i, BIG, 64);
	tell_mark(fd, 'p');
	for (unsigned int i = 0; i < 8; i++)
		expect_ok(e->rcq, 50 + i);
	hear_mark(fd, 'E');
	end_close(e);
}

static void reads_with_work_behind_them_need_no_retry(void)
{
	struct peer peer = peer_start(read_from_me);
	struct options o = unforgiving();
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	hear_mark(peer.fd, 'p');
	for (unsigned int i = 0; i < 8; i++) {
		read_at(e, 2 * i, 4096, 1 << 20, 0);
		post(e, &(struct work){ .id = 2 * i + 1,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.len = 64 });
	}
	for (unsigned int i = 0; i < 16; i++)
		expect_ok(e->scq, i);
	check_filled(e->buf + 4096, 1 << 20, 4);
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

/* The region is known by an address of the program's choice. */
static void a_region_is_addressed_by_its_iova(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *mr = must(ibv_reg_mr_iova(p.b->pd, p.b->buf + 100, 1000, 0x7000 + 100,
						 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));

	fill(p.a->buf, 10, 1);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 10,
				  .raddr = 0x7000 + 105,
				  .rkey = mr->rkey });
	expect_ok(p.a->scq, 1);
	check_filled(p.b->buf + 105, 10, 1);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

/* ---- two processes ---- */

static void passive(int fd)
{
	struct options o = roomy();
	struct end *e = end_open(&o);

	fill(e->buf + (BIG / 2), BIG / 2, 77);
	end_meet(e, fd);
	hear_mark(fd, 'W');
	check_filled(e->buf + 3, 1 << 20, 12);
	check(is_all(e->buf + 3 + (1 << 20), 100, 0));
	tell_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

static void writes_and_reads_cross_processes(void)
{
	struct peer peer = peer_start(passive);
	struct options o = roomy();
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (size_t i = 0; i < array_size(sizes); i++) {
		fill(e->buf + 5, sizes[i], i);
		write_at(e, i, 5, sizes[i], 3);
		expect_ok(e->scq, i);
		memset(e->buf + 5, 0, sizes[i]);
		read_at(e, i, 6, sizes[i], 3);
		expect_ok(e->scq, i);
		check_filled(e->buf + 6, sizes[i], i);
	}
	fill(e->buf, 1 << 20, 12);
	write_at(e, 1, 0, 1 << 20, 3);
	read_at(e, 2, 1 << 20, BIG / 2, BIG / 2);
	expect_ok(e->scq, 1);
	expect_ok(e->scq, 2);
	check_filled(e->buf + (1 << 20), BIG / 2, 77);
	tell_mark(peer.fd, 'W');
	hear_mark(peer.fd, 'E');
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

#define ROUNDS 2000u

/* The target never looks at a completion: it spins on the last byte of each message, and all bytes
 * before it must be there when it changes. */
static void spinner(int fd)
{
	struct end *e = end_open(NULL);
	static const uint32_t lengths[] = { 1, 2, 8, 9, 64, 65, 777, 4096, 12345 };

	end_meet(e, fd);
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		uint32_t len = lengths[i % array_size(lengths)];
		_Atomic char *last = (_Atomic char *)(e->buf + len - 1);
		char want = (i & 0x7f) + 1;

		wait_for(atomic_load_explicit(last, memory_order_acquire) == want);
		check(is_all(e->buf, len, want));
		tell_mark(fd, 'n');
	}
	end_close(e);
}

static void the_last_byte_of_a_write_is_seen_last(void)
{
	struct peer peer = peer_start(spinner);
	static const uint32_t lengths[] = { 1, 2, 8, 9, 64, 65, 777, 4096, 12345 };
	struct end *e = end_open(NULL);

	end_meet(e, peer.fd);
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		uint32_t len = lengths[i % array_size(lengths)];

		memset(e->buf, (i & 0x7f) + 1, len);
		write_at(e, i, 0, len, 0);
		expect_ok(e->scq, i);
		hear_mark(peer.fd, 'n');
	}
	end_close(e);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_of_every_size_land_and_nothing_beside),
		TEST(reads_of_every_size_fetch_and_touch_nothing_beside),
		TEST(every_alignment_of_both_sides_is_exact),
		TEST(sixteen_mebibytes_are_written_and_read_back),
		TEST(every_count_of_elements_is_gathered_and_scattered),
		TEST(the_first_read_after_a_reset_brings_its_own_data),
		TEST(a_write_with_immediate_takes_a_receive_but_not_its_memory),
		TEST(an_empty_write_or_read_needs_no_key),
		TEST(a_write_behind_a_send_does_not_overtake_it),
		TEST(a_read_sees_the_writes_before_it),
		TEST(more_reads_than_may_be_outstanding_all_come_back),
		TEST(reads_with_work_behind_them_need_no_retry),
		TEST(a_region_is_addressed_by_its_iova),
		TEST(writes_and_reads_cross_processes),
		TEST(the_last_byte_of_a_write_is_seen_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
