/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unreliable datagrams: address handles made by hand and from completions, Q_Keys, the GRH, and
 * what is dropped.
 */
#include "rig.h"

#include <arpa/inet.h>

#define GRH 40u

static struct pair open_pair(void)
{
	struct options o = options_of(IBV_QPT_UD);

	return pair_open(&o);
}

static struct ibv_ah *ah_to(struct end *from, const struct address *to, bool global)
{
	struct ibv_ah_attr attr;

	address_to_ah_attr(to, &attr);
	if (global && !attr.is_global) {
		attr.is_global = 1;
		attr.grh.dgid = to->gid;
		attr.grh.sgid_index = rig_gid_index();
		attr.grh.hop_limit = 5;
		attr.grh.flow_label = 0x12345;
		attr.grh.traffic_class = 0x10;
	}
	return must(ibv_create_ah(from->pd, &attr));
}

/* From p->a to p->b. */
static void send_to(struct pair *p, struct ibv_ah *ah, uint32_t len, uint32_t qkey, uint64_t id)
{
	fill(p->a->buf, len, id);
	post(p->a, &(struct work){ .id = id,
				   .op = IBV_WR_SEND,
				   .flags = IBV_SEND_SIGNALED,
				   .len = len,
				   .ah = ah,
				   .qpn = p->b->qp->qp_num,
				   .qkey = qkey });
	check_equal(expect_ok(p->a->scq, id).opcode, IBV_WC_SEND);
}

static struct ibv_wc take(struct end *e, size_t off, uint32_t len, uint64_t id)
{
	struct ibv_wc wc = expect_ok(e->rcq, id);

	check_equal(wc.opcode, IBV_WC_RECV);
	check_equal(wc.byte_len, len + GRH);
	return wc;
}

static void a_datagram_arrives_behind_the_grh_area(void)
{
	static const uint32_t lengths[] = { 0, 1, 2, 8, 100, 255, 256, 1023, 1024 };
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);

	for (unsigned int i = 0; i < array_size(lengths); i++) {
		struct ibv_wc wc;

		memset(p.b->buf, 0xee, 8192);
		post_recv(p.b, i, 1, GRH + lengths[i]);
		send_to(&p, ah, lengths[i], p.b->o.qkey, i);
		wc = take(p.b, 1, lengths[i], i);
		check_equal(wc.src_qp, p.a->qp->qp_num);
		check_equal(wc.qp_num, p.b->qp->qp_num);
		check_equal(!!(wc.wc_flags & IBV_WC_GRH), rig_is_ethernet());
		if (!rig_is_ethernet())
			check_equal(wc.slid, b.lid);
		check_filled(p.b->buf + 1 + GRH, lengths[i], i);
		check_equal((unsigned char)p.b->buf[1 + GRH + lengths[i]], 0xee);
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void the_grh_says_how_many_hops_are_left(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	bool ipv4 = b.gid.raw[10] == 0xff && b.gid.raw[11] == 0xff;
	struct ibv_ah_attr attr;

	address_to_ah_attr(&b, &attr);
	for (uint8_t hops = 5; attr.is_global && hops < 200; hops += 60) {
		struct ibv_ah *ah;

		attr.grh.hop_limit = hops;
		ah = must(ibv_create_ah(p.a->pd, &attr));
		post_recv(p.b, hops, 0, GRH + 16);
		send_to(&p, ah, 16, p.b->o.qkey, hops);
		take(p.b, 0, 16, hops);
		check_equal((uint8_t)p.b->buf[ipv4 ? 20 + 8 : 7], hops);
		check_ok(ibv_destroy_ah(ah));
	}
	pair_close(&p);
}

/* The length that the GRH, or the IP header in its place, says. */
static uint32_t grh_length(const struct end *e, bool ipv4)
{
	const uint8_t *h = (const uint8_t *)e->buf;

	return ipv4 ? h[22] << 8 | h[23] : h[4] << 8 | h[5];
}

static void the_grh_counts_padding_and_immediate_data(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, true);
	bool ipv4 = rig_is_ethernet() && b.gid.raw[10] == 0xff && b.gid.raw[11] == 0xff;
	/* IP 20 (v4 only), UDP 8 (Ethernet only), BTH 12, DETH 8, ICRC 4 */
	uint32_t headers = (ipv4 ? 20 : 0) + (rig_is_ethernet() ? 8 : 0) + 24;

	for (uint32_t len = 14; len <= 16; len++)
		for (int imm = 0; imm < 2; imm++) {
			post_recv(p.b, len, 0, GRH + len);
			post(p.a, &(struct work){ .id = len,
						  .op = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
						  .flags = IBV_SEND_SIGNALED,
						  .len = len,
						  .ah = ah,
						  .qpn = p.b->qp->qp_num,
						  .qkey = p.b->o.qkey });
			expect_ok(p.a->scq, len);
			take(p.b, 0, len, len);
			check_equal(grh_length(p.b, ipv4), headers + 16 + 4 * imm);
		}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* As libmlx5 returns it: on Ethernet the bits say what kind of header the datagram has. */
static void the_service_level_is_what_the_driver_returns(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	bool ipv4 = b.gid.raw[10] == 0xff && b.gid.raw[11] == 0xff;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	address_to_ah_attr(&b, &attr);
	attr.sl = 3;
	ah = must(ibv_create_ah(p.a->pd, &attr));
	post_recv(p.b, 1, 0, GRH + 16);
	send_to(&p, ah, 16, p.b->o.qkey, 1);
	wc = take(p.b, 0, 16, 1);
	if (rig_is_ethernet() && rig_is_mlx5())
		check_equal(wc.sl, ipv4 ? 2 : 1);
	else
		check_equal(wc.sl, 3);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* The datagram behind it arrives, so the first one is not late. */
static void a_datagram_to_a_lid_that_no_port_has_is_lost(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b), nobody = b;
	struct ibv_ah *ah, *good;

	if (rig_is_ethernet())
		rig_skip("LIDs are of InfiniBand");
	nobody.lid = 0xbfff;
	ah = ah_to(p.a, &nobody, false);
	good = ah_to(p.a, &b, false);
	post_recv(p.b, 1, 0, GRH + 16);
	post_recv(p.b, 2, 0, GRH + 16);
	send_to(&p, ah, 8, p.b->o.qkey, 1);
	send_to(&p, good, 16, p.b->o.qkey, 2);
	take(p.b, 0, 16, 1);
	check_empty(p.b->rcq);
	check_ok(ibv_destroy_ah(ah));
	check_ok(ibv_destroy_ah(good));
	pair_close(&p);
}

static void datagrams_go_up_to_the_largest_mtu_and_no_further(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);
	struct ibv_port_attr port;
	uint32_t mtu;

	check_ok(ibv_query_port(p.a->ctx, 1, &port));
	mtu = 128u << port.active_mtu;
	post_recv(p.b, 1, 0, GRH + mtu);
	send_to(&p, ah, mtu, p.b->o.qkey, 1);
	take(p.b, 0, mtu, 1);
	check_filled(p.b->buf + GRH, mtu, 1);
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_SEND,
				  .len = mtu + 1,
				  .ah = ah,
				  .qpn = b.qpn,
				  .qkey = p.b->o.qkey });
	expect_wc(p.a->scq, 2, IBV_WC_LOC_LEN_ERR);
	check_equal(end_state(p.a), IBV_QPS_SQE);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void immediate_data_and_inline_and_pieces_work_on_datagrams(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct ibv_sge sge[2];
	struct ibv_send_wr *bad, wr = { .sg_list = sge, .num_sge = 2 };
	struct address b;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair p;

	o.inline_bytes = 64;
	p = pair_open(&o);
	b = end_address(p.b);
	ah = ah_to(p.a, &b, false);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.qpn;
	wr.wr.ud.remote_qkey = o.qkey;
	fill(p.a->buf, 64, 3);
	sge[0] = (struct ibv_sge){ (uintptr_t)p.a->buf, 13, p.a->mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)p.a->buf + 13, 50, p.a->mr->lkey };
	for (int i = 0; i < 2; i++) {
		wr.wr_id = i;
		wr.opcode = i ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
		wr.imm_data = htonl(0xabcd);
		wr.send_flags = IBV_SEND_SIGNALED | (i ? IBV_SEND_INLINE : 0);
		post_recv(p.b, i, 0, 256);
		check_ok(ibv_post_send(p.a->qp, &wr, &bad));
		expect_ok(p.a->scq, i);
		wc = take(p.b, 0, 63, i);
		check_filled(p.b->buf + GRH, 63, 3);
		check_equal(!!(wc.wc_flags & IBV_WC_WITH_IMM), i);
		if (i)
			check_equal(ntohl(wc.imm_data), 0xabcd);
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void a_datagram_without_an_address_is_refused(void)
{
	struct pair p = open_pair();
	struct ibv_send_wr *bad = NULL, wr = { .opcode = IBV_WR_SEND };

	check_equal(ibv_post_send(p.a->qp, &wr, &bad), EINVAL);
	check(bad == &wr);
	pair_close(&p);
}

static void a_wrong_q_key_is_dropped(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);

	post_recv(p.b, 9, 0, 256);
	send_to(&p, ah, 10, p.b->o.qkey + 1, 1);
	send_to(&p, ah, 20, p.b->o.qkey ^ 0x01000000, 2);
	send_to(&p, ah, 30, p.b->o.qkey, 3);
	take(p.b, 0, 30, 9);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* A key with the top bit set stands for the sender's own. */
static void a_controlled_q_key_means_that_of_the_queue_pair(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);

	post_recv(p.b, 9, 0, 256);
	send_to(&p, ah, 10, 0x80000000, 1);
	take(p.b, 0, 10, 9);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void datagrams_without_a_receive_are_lost(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);

	struct pair marker = open_pair();
	struct address m = end_address(marker.b);
	struct ibv_ah *to_marker = ah_to(marker.a, &m, false);

	for (unsigned int i = 0; i < 5; i++)
		send_to(&p, ah, 10, p.b->o.qkey, i);
	/* one process, one way: when this one is here, those are gone */
	post_recv(marker.b, 9, 0, 256);
	send_to(&marker, to_marker, 1, marker.b->o.qkey, 8);
	take(marker.b, 0, 1, 9);
	check_ok(ibv_destroy_ah(to_marker));
	pair_close(&marker);
	post_recv(p.b, 9, 0, 256);
	send_to(&p, ah, 33, p.b->o.qkey, 7);
	take(p.b, 0, 33, 9);
	check_equal(end_state(p.b), IBV_QPS_RTS);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void datagrams_to_a_missing_queue_pair_complete(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);

	for (unsigned int i = 0; i < 3; i++) {
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 8,
					  .ah = ah,
					  .qpn = i == 0   ? 0xabcdef
						 : i == 1 ? 5
							  : 0xfffffe,
					  .qkey = p.b->o.qkey });
		expect_ok(p.a->scq, i);
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

static void a_datagram_too_long_for_the_receive_is_dropped_and_leaves_it(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);

	memset(p.b->buf, 0xee, 4096);
	post_recv(p.b, 9, 0, GRH + 16);
	post_recv(p.b, 10, 1024, GRH + 64);
	send_to(&p, ah, 17, p.b->o.qkey, 1);
	send_to(&p, ah, 64, p.b->o.qkey, 2);
	send_to(&p, ah, 16, p.b->o.qkey, 3);
	send_to(&p, ah, 64, p.b->o.qkey, 4);
	/* The first two have left no completion, and no byte behind the receive. */
	take(p.b, 0, 16, 9);
	check_filled(p.b->buf + GRH, 16, 3);
	check(is_all(p.b->buf + GRH + 16, 900, 0xee));
	take(p.b, 1024, 64, 10);
	check_filled(p.b->buf + 1024 + GRH, 64, 4);
	check_equal(end_state(p.b), IBV_QPS_RTS);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* It is still the queue's first when the queue is flushed. */
static void a_receive_that_was_too_short_is_flushed(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	post_recv(p.b, 9, 0, GRH + 16);
	post_recv(p.b, 10, 1024, GRH + 64);
	post_recv(p.b, 11, 2048, GRH + 64);
	send_to(&p, ah, 17, p.b->o.qkey, 1);
	send_to(&p, ah, 16, p.b->o.qkey, 2);
	take(p.b, 0, 16, 9);
	send_to(&p, ah, 65, p.b->o.qkey, 3);
	check_ok(ibv_modify_qp(p.b->qp, &attr, IBV_QP_STATE));
	expect_wc(p.b->rcq, 10, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p.b->rcq, 11, IBV_WC_WR_FLUSH_ERR);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* An entry of a shared queue is lost with it, and the queue pair goes on. */
static void a_datagram_too_long_for_a_shared_receive_is_an_error_of_that_receive(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct address b;
	struct ibv_ah *ah;
	struct pair p;

	o.srq = true;
	p = pair_open(&o);
	b = end_address(p.b);
	ah = ah_to(p.a, &b, false);
	post_recv(p.b, 9, 0, GRH + 16);
	post_recv(p.b, 10, 1024, GRH + 64);
	send_to(&p, ah, 17, p.b->o.qkey, 1);
	expect_wc(p.b->rcq, 9, IBV_WC_LOC_LEN_ERR);
	send_to(&p, ah, 17, p.b->o.qkey, 2);
	take(p.b, 1024, 17, 10);
	check_equal(end_state(p.b), IBV_QPS_RTS);
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* What libmlx4 and libmlx5 post for any type, and the adapter refuses. */
static void operations_of_connections_are_local_errors(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_CMP_AND_SWP,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (size_t i = 0; i < array_size(ops); i++) {
		struct pair p = open_pair();
		struct address b = end_address(p.b);
		struct ibv_ah *ah = ah_to(p.a, &b, false);

		struct ibv_sge sge = { (uintptr_t)p.a->buf, 8, p.a->mr->lkey };
		struct ibv_send_wr *bad, wr = {
			.wr_id = 1,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = ops[i],
			.wr.ud = { ah, b.qpn, p.b->o.qkey },
		};

		check_ok(ibv_post_send(p.a->qp, &wr, &bad));
		expect_wc(p.a->scq, 1, IBV_WC_LOC_QP_OP_ERR);
		check_ok(ibv_destroy_ah(ah));
		pair_close(&p);
	}
}

static void a_datagram_touches_its_own_bytes_only(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, false);
	struct ibv_mr *mr = must(ibv_reg_mr(p.b->pd, p.b->buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge[] = {
		{ (uintptr_t)p.b->buf + 4096 - GRH - 64, 8192, mr->lkey },
		{ (uintptr_t)p.b->buf, 64, mr->lkey ^ 0x100 },
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = 5, .sg_list = sge, .num_sge = 2 };

	check_ok(ibv_post_recv(p.b->qp, &wr, &bad));
	send_to(&p, ah, 64, p.b->o.qkey, 1);
	take(p.b, 0, 64, 5);
	check_filled(p.b->buf + 4096 - 64, 64, 1);
	check_ok(ibv_post_recv(p.b->qp, &wr, &bad));
	send_to(&p, ah, 65, p.b->o.qkey, 2);
	expect_wc(p.b->rcq, 5, IBV_WC_LOC_PROT_ERR);
	check_ok(ibv_destroy_ah(ah));
	end_drop_qp(p.b);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

/* Only sends go without a connection. */
static void one_sided_work_is_refused(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (unsigned int i = 0; i < array_size(ops); i++) {
		struct pair p = open_pair();
		struct address b = end_address(p.b);
		struct work w = { .id = 1, .op = ops[i], .len = 8, .raddr = b.va, .rkey = b.rkey };

		memset(p.a->buf, 1, 8);
		/* when it is posted, or by its completion */
		if (!try_post(p.a, &w))
			check(expect_wc(p.a->scq, 1, IBV_WC_LOC_QP_OP_ERR).vendor_err != 0);
		check(is_all(p.b->buf, 8, 0));
		pair_close(&p);
	}
}

/* ---- the GRH ---- */

static void the_grh_says_where_a_datagram_came_from(void)
{
	struct pair p = open_pair();
	struct address a = end_address(p.a), b = end_address(p.b);
	struct ibv_ah *ah = ah_to(p.a, &b, true);
	struct ibv_gid_entry entry;
	unsigned char *h = (unsigned char *)p.b->buf;
	struct ibv_wc wc;

	memset(p.b->buf, 0xee, 256);
	post_recv(p.b, 9, 0, 256);
	send_to(&p, ah, 16, p.b->o.qkey, 1);
	wc = take(p.b, 0, 16, 9);
	check(wc.wc_flags & IBV_WC_GRH);
	check_ok(ibv_query_gid_ex(p.a->ctx, 1, rig_gid_index(), &entry, 0));
	if (rig_is_ethernet() && a.gid.raw[10] == 0xff && a.gid.raw[11] == 0xff) {
		/* RoCEv2 over IPv4: the header lies in the last 20 bytes */
		uint32_t sum = 0;

		check_equal(h[20], 0x45);
		check_equal(h[29], 17); /* UDP */
		check(!memcmp(h + 32, a.gid.raw + 12, 4));
		check(!memcmp(h + 36, b.gid.raw + 12, 4));
		for (int i = 20; i < 40; i += 2)
			sum += h[i] << 8 | h[i + 1];
		check_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	} else {
		check_equal(h[0] >> 4, 6);
		check(!memcmp(h + 8, a.gid.raw, 16));
		check(!memcmp(h + 24, b.gid.raw, 16));
		check_equal(h[6], rig_is_ethernet() ? 17 : 0x1b);
		if (!rig_is_ethernet()) {
			check_equal(h[7], 5);
			check_equal((h[0] & 15) << 4 | h[1] >> 4, 0x10);
			check_equal((h[1] & 15) << 16 | h[2] << 8 | h[3], 0x12345);
		}
	}
	check_ok(ibv_destroy_ah(ah));
	pair_close(&p);
}

/* ---- replies ---- */

/* Answers the datagram that wc tells of, by one of the two calls. */
static void reply(struct end *e, struct ibv_wc *wc, bool in_one)
{
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	if (in_one) {
		ah = must(ibv_create_ah_from_wc(e->pd, wc, (struct ibv_grh *)e->buf, 1));
	} else {
		memset(&attr, 0, sizeof(attr));
		check_ok(ibv_init_ah_from_wc(e->ctx, 1, wc, (struct ibv_grh *)e->buf, &attr));
		check_equal(attr.port_num, 1);
		check_equal(attr.is_global, !!(wc->wc_flags & IBV_WC_GRH));
		ah = must(ibv_create_ah(e->pd, &attr));
	}
	post(e, &(struct work){ .id = 70,
				.op = IBV_WR_SEND,
				.flags = IBV_SEND_SIGNALED,
				.off = GRH,
				.len = wc->byte_len - GRH,
				.ah = ah,
				.qpn = wc->src_qp,
				.qkey = e->o.qkey });
	expect_ok(e->scq, 70);
	check_ok(ibv_destroy_ah(ah));
}

static void a_reply_by_the_completion_reaches_the_sender(void)
{
	struct pair p = open_pair();
	struct address b = end_address(p.b);

	for (int i = 0; i < 4; i++) {
		struct ibv_ah *ah = ah_to(p.a, &b, i & 1);
		struct ibv_wc wc;

		post_recv(p.a, 5, 4096, 256);
		post_recv(p.b, 6, 0, 256);
		send_to(&p, ah, 20 + i, p.b->o.qkey, 1);
		wc = take(p.b, 0, 20 + i, 6);
		reply(p.b, &wc, i & 2);
		wc = take(p.a, 4096, 20 + i, 5);
		check_equal(wc.src_qp, p.b->qp->qp_num);
		check_filled(p.a->buf + 4096 + GRH, 20 + i, 1);
		check_ok(ibv_destroy_ah(ah));
	}
	pair_close(&p);
}

static void responder(int fd)
{
	struct options o = options_of(IBV_QPT_UD);
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (int i = 0; i < 20; i++) {
		struct ibv_wc wc;

		post_recv(e, i, 0, 2048);
		tell_mark(fd, 'p');
		wc = take(e, 0, 10 + i * 30, i);
		reply(e, &wc, i & 1);
	}
	hear_mark(fd, 'E');
	end_close(e);
}

static void a_reply_by_the_completion_reaches_another_process(void)
{
	struct peer peer = peer_start(responder);
	struct options o = options_of(IBV_QPT_UD);
	struct end *e = end_open(&o);
	struct address mine = end_address(e), theirs;
	struct ibv_ah *ah;

	tell(peer.fd, &mine, sizeof(mine));
	hear(peer.fd, &theirs, sizeof(theirs));
	end_connect(e, &theirs);
	tell_mark(peer.fd, 'R');
	hear_mark(peer.fd, 'R');
	for (int i = 0; i < 20; i++) {
		uint32_t len = 10 + i * 30;

		ah = ah_to(e, &theirs, i % 3 == 0);
		post_recv(e, i, 4096, 2048);
		hear_mark(peer.fd, 'p');
		fill(e->buf, len, i);
		post(e, &(struct work){ .id = 1,
					.op = IBV_WR_SEND,
					.flags = IBV_SEND_SIGNALED,
					.len = len,
					.ah = ah,
					.qpn = theirs.qpn,
					.qkey = o.qkey });
		expect_ok(e->scq, 1);
		check_equal(take(e, 4096, len, i).src_qp, theirs.qpn);
		check_filled(e->buf + 4096 + GRH, len, i);
		check_ok(ibv_destroy_ah(ah));
	}
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

/* ---- address handles ---- */

static void a_domain_with_a_live_address_handle_is_busy(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct end *e = end_open(&o);
	struct address me = end_address(e);
	struct ibv_pd *pd = must(ibv_alloc_pd(e->ctx));
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;

	address_to_ah_attr(&me, &attr);
	ah = must(ibv_create_ah(pd, &attr));
	check(ah->pd == pd && ah->context == e->ctx);
	check_equal(ibv_dealloc_pd(pd), EBUSY);
	check_ok(ibv_destroy_ah(ah));
	check_ok(ibv_dealloc_pd(pd));
	end_close(e);
}

static void bad_addresses_are_refused(void)
{
	struct options o = options_of(IBV_QPT_UD);
	struct end *e = end_open(&o);
	struct address me = end_address(e);
	struct ibv_ah_attr good, attr;

	address_to_ah_attr(&me, &good);
	good.is_global = 1;
	good.grh.dgid = me.gid;
	good.grh.sgid_index = rig_gid_index();
	attr = good;
	attr.port_num = 0;
	check_refused(ibv_create_ah(e->pd, &attr), EINVAL);
	attr.port_num = 9;
	check_refused(ibv_create_ah(e->pd, &attr), EINVAL);
	attr = good;
	attr.grh.sgid_index = 255;
	check_refused(ibv_create_ah(e->pd, &attr), EINVAL);
	if (rig_is_ethernet()) {
		attr = good;
		attr.is_global = 0;
		check_refused(ibv_create_ah(e->pd, &attr), EINVAL);
		attr = good;
		memset(&attr.grh.dgid, 0, 16);
		check_refused(ibv_create_ah(e->pd, &attr), EINVAL);
	}
	check_ok(ibv_destroy_ah(must(ibv_create_ah(e->pd, &good))));
	end_close(e);
}

static void one_queue_pair_sends_to_many(void)
{
	enum { MANY = 20 };
	struct options o = options_of(IBV_QPT_UD);
	struct end *hub = end_open(&o), *leaf[MANY];
	struct address to;

	end_connect(hub, NULL);
	for (int i = 0; i < MANY; i++) {
		struct ibv_ah *ah;

		leaf[i] = i ? end_twin(leaf[0]) : end_open(&o);
		end_connect(leaf[i], NULL);
		post_recv(leaf[i], i, i * 256, 128);
		to = end_address(leaf[i]);
		ah = ah_to(hub, &to, false);
		fill(hub->buf, 50, i);
		post(hub, &(struct work){ .id = i,
					  .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 50,
					  .ah = ah,
					  .qpn = to.qpn,
					  .qkey = o.qkey });
		expect_ok(hub->scq, i);
		/* the request is done: its handle may go */
		check_ok(ibv_destroy_ah(ah));
	}
	for (int i = 0; i < MANY; i++) {
		struct ibv_wc wc = wait_wc(leaf[0]->rcq);

		check_equal(wc.status, IBV_WC_SUCCESS);
		check_equal(wc.qp_num, leaf[wc.wr_id]->qp->qp_num);
		check_equal(wc.src_qp, hub->qp->qp_num);
		check_filled(leaf[0]->buf + wc.wr_id * 256 + GRH, 50, wc.wr_id);
	}
	for (int i = 1; i < MANY; i++)
		twin_close(leaf[i]);
	end_close(leaf[0]);
	end_close(hub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_datagram_arrives_behind_the_grh_area),
		TEST(the_grh_says_how_many_hops_are_left),
		TEST(the_grh_counts_padding_and_immediate_data),
		TEST(the_service_level_is_what_the_driver_returns),
		TEST(a_datagram_to_a_lid_that_no_port_has_is_lost),
		TEST(datagrams_go_up_to_the_largest_mtu_and_no_further),
		TEST(immediate_data_and_inline_and_pieces_work_on_datagrams),
		TEST(a_datagram_without_an_address_is_refused),
		TEST(a_wrong_q_key_is_dropped),
		TEST(a_controlled_q_key_means_that_of_the_queue_pair),
		TEST(datagrams_without_a_receive_are_lost),
		TEST(datagrams_to_a_missing_queue_pair_complete),
		TEST(a_datagram_too_long_for_the_receive_is_dropped_and_leaves_it),
		TEST(a_receive_that_was_too_short_is_flushed),
		TEST(a_datagram_too_long_for_a_shared_receive_is_an_error_of_that_receive),
		TEST(operations_of_connections_are_local_errors),
		TEST(a_datagram_touches_its_own_bytes_only),
		TEST(one_sided_work_is_refused),
		TEST(the_grh_says_where_a_datagram_came_from),
		TEST(a_reply_by_the_completion_reaches_the_sender),
		TEST(a_reply_by_the_completion_reaches_another_process),
		TEST(a_domain_with_a_live_address_handle_is_busy),
		TEST(bad_addresses_are_refused),
		TEST(one_queue_pair_sends_to_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
