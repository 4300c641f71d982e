/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw packet queue pairs: frames arrive as they were sent, from whom they may; what the adapter
 * computes; how queues strip, add, and cut into strides.
 */
#include "ends.h"

static const char *device = "mlx5_0", *other = "mlx5_1";

static void frames_of_any_length_arrive_byte_for_byte(void **state)
{
	static struct frame f, got;
	struct end from, to;

	end_receiver(&to, device, 0);
	end_sender(&from, other, 0);
	for (uint32_t payload = 0; payload < 9000; payload += 1 + payload / 3) {
		frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, payload);
		end_send(&from, &f);
		end_receive(&to, &got);
		assert_int_equal(got.len, f.len);
		assert_memory_equal(got.data, f.data, f.len);
	}
	end_close(&from);
	end_close(&to);
}

static void pieces_and_inline_data_make_one_frame(void **state)
{
	static struct frame f, got;
	struct end from, to;
	uint8_t *at;

	end_receiver(&to, device, 0);
	end_sender(&from, other, 0);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 60);
	at = from.memory;
	memcpy(at, f.data, f.len);
	for (int is_inline = 0; is_inline < 2; is_inline++) {
		struct ibv_sge sge[] = { { (uintptr_t)at, 5, from.mr->lkey },
					 { (uintptr_t)at + 5, 0, from.mr->lkey },
					 { (uintptr_t)at + 5, 20, from.mr->lkey },
					 { (uintptr_t)at + 25, f.len - 25, from.mr->lkey } };
		struct ibv_send_wr wr = { .sg_list = sge,
					  .num_sge = 4,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED |
							(is_inline ? IBV_SEND_INLINE : 0) },
				   *bad;

		assert_int_equal(ibv_post_send(from.qp, &wr, &bad), 0);
		assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
		end_receive(&to, &got);
		assert_int_equal(got.len, f.len);
		assert_memory_equal(got.data, f.data, f.len);
	}
	end_close(&from);
	end_close(&to);
}

static void checksums_are_filled_in_and_reported(void **state)
{
	static const char *const ends[][2] = { { "10.0.0.1", "10.0.0.2" },
					       { "fd00::1", "fd00::2" } };
	static struct frame f, got;
	struct end from, to;

	end_receiver(&to, device, 0);
	end_sender(&from, other, 0);
	for (int v6 = 0; v6 < 2; v6++)
		for (int tcp = 0; tcp < 2; tcp++) {
			frame_ip(&f, ends[v6][0], ends[v6][1], tcp ? FRAME_TCP : FRAME_UDP, 1, 2,
				 99);
			/* TCP without a sum is wrong, UDP over IPv4 is just not checked. */
			end_send(&from, &f);
			assert_false(end_receive(&to, &got).wc_flags & IBV_WC_IP_CSUM_OK);
			assert_memory_equal(got.data, f.data, f.len);
			assert_int_equal(end_send_flags(&from, &f, IBV_SEND_IP_CSUM).status,
					 IBV_WC_SUCCESS);
			/* The flag speaks of IPv4. */
			assert_int_equal(!!(end_receive(&to, &got).wc_flags & IBV_WC_IP_CSUM_OK),
					 !v6);
			assert_memory_not_equal(got.data, f.data, f.len);
			/* What came is right as it is; changed, it is not. */
			end_send(&from, &got);
			assert_int_equal(!!(end_receive(&to, &f).wc_flags & IBV_WC_IP_CSUM_OK),
					 !v6);
			got.data[got.len - 1] ^= 4;
			end_send(&from, &got);
			assert_false(end_receive(&to, &f).wc_flags & IBV_WC_IP_CSUM_OK);
		}
	end_close(&from);
	end_close(&to);
}

static void a_context_receives_frames_of_others_on_its_port_and_not_its_own(void **state)
{
	static struct frame mine, theirs, got;
	struct end one, two;

	end_receiver(&one, "mlx5_0", 0);
	end_receiver(&two, "mlx5_0", 0);
	frame_ip(&mine, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 1, 20);
	frame_ip(&theirs, "10.0.0.1", "10.0.0.2", FRAME_UDP, 2, 2, 20);
	for (int i = 0; i < 2; i++) {
		struct end *a = i ? &two : &one, *b = i ? &one : &two;

		end_send(a, &mine);
		end_receive(b, &got);
		assert_memory_equal(got.data, mine.data, mine.len);
		end_send(b, &theirs);
		end_receive(a, &got); /* not its own, which came earlier */
		assert_memory_equal(got.data, theirs.data, theirs.len);
	}
	end_close(&two);
	end_close(&one);
}

static void a_queue_pair_may_enable_loopback_of_its_own_context(void **state)
{
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC,
	};
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RAW_PACKET,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .cap = { 4, END_DEPTH, 1, 1, 0 } };
	static struct frame f, got;
	struct end e;

	end_open(&e, "mlx5_0");
	attr.pd = e.pd;
	attr.send_cq = attr.recv_cq = e.cq;
	e.qp = mlx5dv_create_qp(e.context, &attr, &extra);
	assert_non_null(e.qp);
	end_ready(e.qp);
	end_post_all(&e);
	e.flow = end_rule(e.qp, ends_mac);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 1, 20);
	{
		uint8_t *from = e.memory + END_DEPTH * END_BUFFER;
		struct ibv_sge sge = { (uintptr_t)from, f.len, e.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND },
				   *bad;

		memcpy(from, f.data, f.len);
		assert_int_equal(ibv_post_send(e.qp, &wr, &bad), 0);
		end_receive(&e, &got);
		assert_memory_equal(got.data, f.data, f.len);
	}
	end_close(&e);
}

static void frames_of_another_switch_are_not_received(void **state)
{
	static struct frame f, got;
	struct end near, far, to;

	end_receiver(&to, device, 0);
	end_sender(&near, other, 0);
	end_sender(&far, "mlx5_2", 0);
	frame_ip(&f, "10.0.0.9", "10.0.0.2", FRAME_UDP, 9, 9, 20);
	end_send(&far, &f);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 1, 20);
	end_send(&near, &f);
	end_receive(&to, &got);
	assert_memory_equal(got.data, f.data, f.len);
	end_close(&far);
	end_close(&near);
	end_close(&to);
}

static void a_multicast_frame_reaches_every_port_with_a_rule_for_it(void **state)
{
	static const uint8_t group[6] = { 0x01, 0x00, 0x5e, 1, 2, 3 };
	static struct frame f, got;
	struct end from, to[3];

	for (int i = 0; i < 3; i++) {
		end_open(&to[i], i ? other : device);
		end_create_qp(&to[i], 0, 0);
		end_post_all(&to[i]);
		to[i].flow = end_rule(to[i].qp, group);
	}
	end_sender(&from, other, 0);
	frame_ip(&f, "10.0.0.1", "225.1.2.3", FRAME_UDP, 1, 1, 20);
	memcpy(f.data, group, 6);
	for (int round = 0; round < 3; round++) {
		end_send(&from, &f);
		for (int i = 0; i < 3; i++) {
			end_receive(&to[i], &got);
			assert_memory_equal(got.data, f.data, f.len);
		}
	}
	end_close(&from);
	for (int i = 0; i < 3; i++)
		end_close(&to[i]);
}

/* ---- segmentation ---- */

static void expect_segments(struct end *to, const struct frame *whole, uint32_t header,
			    uint32_t mss)
{
	uint32_t total = whole->len - header;
	static struct frame got;

	for (uint32_t off = 0, piece = 0; off < total; off += mss, piece++) {
		uint32_t n = total - off < mss ? total - off : mss, seq;
		struct ibv_wc wc = end_receive(to, &got);

		assert_true(wc.wc_flags & IBV_WC_IP_CSUM_OK);
		assert_int_equal(got.len, header + n);
		assert_memory_equal(got.data + header, whole->data + header + off, n);
		memcpy(&seq, got.data + 14 + 20 + 4, sizeof(seq));
		assert_int_equal(ntohl(seq), off);
		assert_int_equal(got.data[16] << 8 | got.data[17], got.len - 14);
	}
}

static void a_long_segment_is_cut_by_post_send_and_by_wr_send_tso(void **state)
{
	const uint32_t header = 14 + 20 + 20;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RAW_PACKET,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .max_tso_header = 64,
					    .send_ops_flags =
						    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO,
					    .cap = { 16, 0, 2, 0, 0 } };
	static struct frame whole;
	struct ibv_qp_ex *ex;
	struct end from, to;

	end_receiver(&to, device, 0);
	end_open(&from, other);
	attr.pd = from.pd;
	attr.send_cq = attr.recv_cq = from.cq;
	from.qp = ibv_create_qp_ex(from.context, &attr);
	assert_non_null(from.qp);
	ex = ibv_qp_to_qp_ex(from.qp);
	end_ready(from.qp);
	frame_ip(&whole, "10.0.0.1", "10.0.0.2", FRAME_TCP, 1, 2, 5000);
	memcpy(from.memory, whole.data, whole.len);
	/* Often enough for entries to go around the ring's end. */
	for (int round = 0; round < 50; round++) {
		struct ibv_sge sge = { (uintptr_t)from.memory + header, whole.len - header,
				       from.mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_TSO,
					  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM,
					  .tso = { .hdr = whole.data,
						   .hdr_sz = header,
						   .mss = 900 } },
				   *bad;

		if (round % 2) {
			assert_int_equal(ibv_post_send(from.qp, &wr, &bad), 0);
		} else {
			ibv_wr_start(ex);
			ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM;
			ibv_wr_send_tso(ex, whole.data, header, 900);
			ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
			assert_int_equal(ibv_wr_complete(ex), 0);
		}
		{
			struct ibv_wc wc = end_poll(from.cq);

			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.opcode, IBV_WC_TSO);
		}
		expect_segments(&to, &whole, header, 900);
	}
	/* More of a header than was asked for. */
	ibv_wr_start(ex);
	ibv_wr_send_tso(ex, whole.data, 65, 900);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	end_close(&from);
	end_close(&to);
}

/* ---- tags, FCS, strides ---- */

static void tag(struct frame *f, uint16_t tci)
{
	memmove(f->data + 16, f->data + 12, f->len - 12);
	f->len += 4;
	f->data[12] = 0x81;
	f->data[13] = 0;
	f->data[14] = tci >> 8;
	f->data[15] = (uint8_t)tci;
}

static void a_vlan_tag_is_stripped_and_reported_on_request(void **state)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 64, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN
	};
	struct ibv_poll_cq_attr none = { 0 };
	static struct frame plain, tagged;
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq;
	time_t deadline = end_deadline();
	struct end from, to;

	end_open(&to, "mlx5_0");
	ex = ibv_create_cq_ex(to.context, &cq_attr);
	assert_non_null(ex);
	cq = to.cq;
	to.cq = ibv_cq_ex_to_cq(ex);
	end_create_qp(&to, IBV_QP_CREATE_CVLAN_STRIPPING, 0);
	end_post_all(&to);
	to.flow = end_rule(to.qp, ends_mac);
	end_sender(&from, "mlx5_1", 0);
	frame_ip(&plain, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 40);
	tagged = plain;
	tag(&tagged, 0x2abc);
	end_send(&from, &tagged);
	while (ibv_start_poll(ex, &none))
		assert_true(time(NULL) < deadline);
	assert_int_equal(ibv_wc_read_byte_len(ex), plain.len);
	assert_int_equal(ibv_wc_read_cvlan(ex), 0x2abc);
	assert_memory_equal(to.memory + ex->wr_id * END_BUFFER, plain.data, plain.len);
	ibv_end_poll(ex);
	assert_int_equal(ibv_destroy_flow(to.flow), 0);
	assert_int_equal(ibv_destroy_qp(to.qp), 0);
	to.flow = NULL;
	to.qp = NULL;
	assert_int_equal(ibv_destroy_cq(to.cq), 0);
	to.cq = cq;
	end_close(&from);
	end_close(&to);
}

static void the_fcs_is_added_on_request(void **state)
{
	static struct frame f, got;
	uint32_t crc = 0xffffffff;
	struct end from, to;

	end_receiver(&to, device, IBV_QP_CREATE_SCATTER_FCS);
	end_sender(&from, other, 0);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 77);
	end_send(&from, &f);
	end_receive(&to, &got);
	assert_int_equal(got.len, f.len + 4);
	assert_memory_equal(got.data, f.data, f.len);
	/* Over frame and FCS the CRC is the same for every frame. */
	for (uint32_t i = 0; i < got.len; i++) {
		crc ^= got.data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	assert_int_equal(crc, 0xdebb20e3);
	end_close(&from);
	end_close(&to);
}

static void a_frame_that_does_not_fit_fails_the_queue(void **state)
{
	static struct frame f;
	struct ibv_recv_wr wr = { .wr_id = 5 }, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct end from, to;

	end_open(&to, device);
	end_create_qp(&to, 0, 0);
	sge = (struct ibv_sge){ (uintptr_t)to.memory, 50, to.mr->lkey };
	wr.sg_list = &sge;
	wr.num_sge = 1;
	assert_int_equal(ibv_post_recv(to.qp, &wr, &bad), 0);
	wr.wr_id = 6;
	assert_int_equal(ibv_post_recv(to.qp, &wr, &bad), 0);
	to.flow = end_rule(to.qp, ends_mac);
	end_sender(&from, other, 0);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 77);
	end_send(&from, &f);
	wc = end_poll(to.cq);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(wc.wr_id, 5);
	wc = end_poll(to.cq);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.wr_id, 6);
	end_close(&from);
	end_close(&to);
}

static void frames_share_the_strides_of_a_receive(void **state)
{
	struct mlx5dv_wq_init_attr extra = {
		.comp_mask = MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ,
		.striding_rq_attrs = { .single_stride_log_num_of_bytes = 6,
				       .single_wqe_log_num_of_strides = 3 },
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1 };
	struct ibv_rwq_ind_table_init_attr table_attr = { 0 };
	struct ibv_qp_init_attr_ex qp_attr = { .qp_type = IBV_QPT_RAW_PACKET,
					       .comp_mask = IBV_QP_INIT_ATTR_PD |
							    IBV_QP_INIT_ATTR_IND_TABLE |
							    IBV_QP_INIT_ATTR_RX_HASH };
	struct ibv_rwq_ind_table *table;
	static struct frame f;
	uint8_t key[40] = { 0 };
	struct ibv_wq *wq;
	struct end from, to;
	/* With 42 bytes of headers: two strides, three, then more than the three that are left. */
	static const uint32_t payloads[] = { 50, 120, 200 };

	end_open(&to, "mlx5_0");
	attr.pd = qp_attr.pd = to.pd;
	attr.cq = to.cq;
	wq = mlx5dv_create_wq(to.context, &attr, &extra);
	assert_non_null(wq);
	assert_int_equal(ibv_modify_wq(wq, &ready), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct ibv_sge sge = { (uintptr_t)(to.memory + i * END_BUFFER), 512, to.mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		assert_int_equal(ibv_post_wq_recv(wq, &wr, &bad), 0);
	}
	table_attr.ind_tbl = &wq;
	table = ibv_create_rwq_ind_table(to.context, &table_attr);
	qp_attr.rwq_ind_tbl = table;
	qp_attr.rx_hash_conf =
		(struct ibv_rx_hash_conf){ IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key, 0 };
	to.qp = ibv_create_qp_ex(to.context, &qp_attr);
	assert_non_null(to.qp);
	to.flow = end_rule(to.qp, ends_mac);
	end_sender(&from, "mlx5_1", 0);
	for (int i = 0; i < 3; i++) {
		static const uint32_t strides[] = { 2, 3, 4 }, offsets[] = { 0, 128, 0 };
		struct ibv_wc wc;

		frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, payloads[i]);
		end_send(&from, &f);
		wc = end_poll(to.cq);
		if (i == 2) { /* the rest of the first receive is given up */
			assert_int_equal(wc.byte_len, 1u << 31 | 3u << 16);
			assert_int_equal(wc.wr_id, 0);
			wc = end_poll(to.cq);
		}
		assert_int_equal(wc.byte_len & 0xffff, f.len);
		assert_int_equal(wc.byte_len >> 16, strides[i]);
		assert_int_equal(wc.wr_id, i == 2);
		assert_memory_equal(to.memory + wc.wr_id * END_BUFFER + offsets[i], f.data, f.len);
	}
	end_close(&from);
	assert_int_equal(ibv_destroy_flow(to.flow), 0);
	assert_int_equal(ibv_destroy_qp(to.qp), 0);
	to.flow = NULL;
	to.qp = NULL;
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	end_close(&to);
}

static void bad_sends_complete_with_an_error(void **state)
{
	static struct frame f;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct end from;

	/* Shorter than its headers. */
	end_sender(&from, device, 0);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 0);
	f.len = 13;
	assert_int_equal(end_send_flags(&from, &f, 0).status, IBV_WC_LOC_LEN_ERR);
	end_close(&from);
	/* From memory that is not there. */
	end_sender(&from, device, 0);
	sge = (struct ibv_sge){ (uintptr_t)from.memory, 100, from.mr->lkey + 0x100 };
	assert_int_equal(ibv_post_send(from.qp, &wr, &bad), 0);
	assert_int_equal(end_poll(from.cq).status, IBV_WC_LOC_PROT_ERR);
	end_close(&from);
}

static void a_queue_pair_with_a_rule_is_not_destroyed(void **state)
{
	struct end to;

	end_receiver(&to, device, 0);
	assert_int_equal(ibv_destroy_qp(to.qp), EBUSY);
	end_close(&to);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 60 frames of 1000 bytes at 16 Mbit/s take 30 ms, 2 of which may be made up for. */
static void a_limited_rate_is_kept(void **state)
{
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 16000 };
	static struct frame f, got;
	struct end from, to;
	uint64_t began;

	end_receiver(&to, "mlx5_1", 0);
	end_sender(&from, "mlx5_0", 0);
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 1000 - 42);
	assert_int_equal(ibv_modify_qp_rate_limit(from.qp, &rate), 0);
	began = now_ns();
	for (int i = 0; i < 60; i++) {
		end_send(&from, &f);
		end_receive(&to, &got);
	}
	assert_true(now_ns() - began >= 27000000);
	rate.rate_limit = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(from.qp, &rate), 0);
	end_send(&from, &f);
	end_receive(&to, &got);
	end_close(&from);
	end_close(&to);
}

static void rates_are_within_the_reported_limits(void **state)
{
	struct ibv_qp_rate_limit_attr rate = { 0 };
	struct ibv_device_attr_ex attr;
	struct end e;

	end_sender(&e, "mlx5_0", 0);
	assert_int_equal(ibv_query_device_ex(e.context, NULL, &attr), 0);
	assert_true(attr.packet_pacing_caps.supported_qpts & 1 << IBV_QPT_RAW_PACKET);
	rate.rate_limit = attr.packet_pacing_caps.qp_rate_limit_max + 1;
	assert_int_equal(ibv_modify_qp_rate_limit(e.qp, &rate), EINVAL);
	rate.rate_limit = attr.packet_pacing_caps.qp_rate_limit_max;
	assert_int_equal(ibv_modify_qp_rate_limit(e.qp, &rate), 0);
	end_close(&e);
}

int main(void)
{
	const struct CMUnitTest both[] = {
		cmocka_unit_test(frames_of_any_length_arrive_byte_for_byte),
		cmocka_unit_test(pieces_and_inline_data_make_one_frame),
		cmocka_unit_test(checksums_are_filled_in_and_reported),
		cmocka_unit_test(frames_of_another_switch_are_not_received),
		cmocka_unit_test(a_multicast_frame_reaches_every_port_with_a_rule_for_it),
		cmocka_unit_test(the_fcs_is_added_on_request),
		cmocka_unit_test(a_frame_that_does_not_fit_fails_the_queue),
		cmocka_unit_test(bad_sends_complete_with_an_error),
		cmocka_unit_test(a_queue_pair_with_a_rule_is_not_destroyed),
	};
	const struct CMUnitTest mlx5[] = {
		cmocka_unit_test(a_context_receives_frames_of_others_on_its_port_and_not_its_own),
		cmocka_unit_test(a_queue_pair_may_enable_loopback_of_its_own_context),
		cmocka_unit_test(a_long_segment_is_cut_by_post_send_and_by_wr_send_tso),
		cmocka_unit_test(a_vlan_tag_is_stripped_and_reported_on_request),
		cmocka_unit_test(frames_share_the_strides_of_a_receive),
		cmocka_unit_test(a_limited_rate_is_kept),
		cmocka_unit_test(rates_are_within_the_reported_limits),
	};
	int failed = cmocka_run_group_tests_name("mlx5", both, NULL, NULL);

	failed += cmocka_run_group_tests_name("mlx5 alone", mlx5, NULL, NULL);
	other = "mlx5_3"; /* whose headers must be inline */
	failed += cmocka_run_group_tests_name("from a ConnectX-4", both, NULL, NULL);
	device = "mlx4_0";
	other = "mlx4_1";
	return failed + cmocka_run_group_tests_name("mlx4", both, NULL, NULL);
}
