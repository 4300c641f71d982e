/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ConnectX-3's send ring, written by hand: what its verbs library does not offer, but programs
 * with drivers of their own use. Segmentation, tags, and entries that take up several slots and wrap
 * around the end of the ring.
 */
#include "ends.h"

#include <endian.h>
#include <infiniband/mlx4dv.h>

#define MSS  1200u
#define DATA 3000u
#define HEAD 54u

struct ring {
	struct mlx4dv_qp qp;
	uint32_t next; /* free running, in slots */
	_Alignas(64) uint8_t entry[1024];
	uint32_t len;
};

static void ring_open(struct ring *r, struct end *e)
{
	struct mlx4dv_obj obj = { .qp = { e->qp, &r->qp } };

	memset(r, 0, sizeof(*r));
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP), 0);
}

/* Hands the entry over: all of it but the first word, slot by slot, and then that word. */
static void ring_post(struct ring *r, uint8_t opcode, uint32_t flags, uint32_t vlan)
{
	uint32_t count = r->qp.sq.wqe_cnt, bytes = count << r->qp.sq.wqe_shift;
	uint32_t at = (r->next & (count - 1)) << r->qp.sq.wqe_shift, first = at;
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)r->entry;
	uint8_t *ring = (uint8_t *)r->qp.buf.buf + r->qp.sq.offset;

	ctrl->imm = 0;
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE | flags);
	ctrl->bf_qpn = htobe32(vlan | (r->len + 15) / 16);
	for (uint32_t i = 4; i < r->len; i++)
		ring[(first + i) % bytes] = r->entry[i];
	__atomic_store_n((uint32_t *)(ring + first),
			 htobe32(opcode | (r->next & count ? 1u << 31 : 0)), __ATOMIC_RELEASE);
	r->next += (r->len + (1u << r->qp.sq.wqe_shift) - 1) >> r->qp.sq.wqe_shift;
}

static void put_data(struct ring *r, struct end *e, const uint8_t *from, uint32_t len)
{
	mlx4dv_set_data_seg((void *)(r->entry + r->len), len, e->mr->lkey, (uintptr_t)from);
	r->len += 16;
}

static void put_headers(struct ring *r, const struct frame *f)
{
	*(uint32_t *)(r->entry + 16) = htobe32(MSS << 16 | HEAD);
	memcpy(r->entry + 20, f->data, HEAD);
	r->len = 16 + ((4 + HEAD + 15) & ~15u);
}

static uint32_t sequence(const uint8_t *tcp)
{
	return (uint32_t)tcp[4] << 24 | tcp[5] << 16 | tcp[6] << 8 | tcp[7];
}

static void expect_pieces(struct end *to, const struct frame *f, uint32_t tag)
{
	static struct frame got;

	for (uint32_t off = 0; off < DATA; off += MSS) {
		uint32_t len = DATA - off < MSS ? DATA - off : MSS;
		struct ibv_wc wc = end_receive(to, &got);

		assert_int_equal(got.len, HEAD + tag + len);
		assert_true(wc.wc_flags & IBV_WC_IP_CSUM_OK);
		assert_int_equal(sequence(got.data + tag + 34), off);
		assert_memory_equal(got.data + HEAD + tag, f->data + HEAD + off, len);
		if (tag)
			assert_memory_equal(got.data + 12, "\x81\x00\x20\x07", 4);
	}
}

static void segments_are_cut_wherever_the_entry_lies_in_the_ring(void **state)
{
	static struct frame f, got;
	struct end from, to;
	struct ring r;
	uint8_t *data;
	bool wrapped = false;

	end_receiver(&to, "mlx4_1", 0);
	end_sender(&from, "mlx4_0", 0);
	ring_open(&r, &from);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_TCP, 1, 2, DATA);
	memcpy(data, f.data, f.len);
	/* One short entry, so that those of two slots do not fit the ring's end. */
	r.len = 16;
	put_data(&r, &from, data, 200);
	ring_post(&r, MLX4_OPCODE_SEND, 0, 0);
	assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
	end_receive(&to, &got);
	assert_int_equal(got.len, 200);
	for (uint32_t i = 0; i < 2 * r.qp.sq.wqe_cnt; i++) {
		uint32_t slot = r.next & (r.qp.sq.wqe_cnt - 1);

		put_headers(&r, &f);
		/* In pieces, for an entry that is long. */
		for (uint32_t off = 0; off < DATA; off += DATA / 20)
			put_data(&r, &from, data + HEAD + off, DATA / 20);
		ring_post(&r, MLX4_OPCODE_LSO,
			  MLX4_WQE_CTRL_IP_HDR_CSUM | MLX4_WQE_CTRL_TCP_UDP_CSUM, 0);
		wrapped = wrapped || (r.next & (r.qp.sq.wqe_cnt - 1)) < slot;
		assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
		expect_pieces(&to, &f, 0);
	}
	assert_true(wrapped);
	end_close(&from);
	end_close(&to);
}

static void a_vlan_tag_is_inserted_into_every_segment(void **state)
{
	static struct frame f;
	struct end from, to;
	struct ring r;
	uint8_t *data;

	end_receiver(&to, "mlx4_1", 0);
	end_sender(&from, "mlx4_0", HEAD);
	ring_open(&r, &from);
	/* Room for the headers was asked for: one slot will do. */
	assert_true(1u << r.qp.sq.wqe_shift >= 16 + 64 + 16);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_TCP, 1, 2, DATA);
	memcpy(data, f.data, f.len);
	put_headers(&r, &f);
	put_data(&r, &from, data + HEAD, DATA);
	ring_post(&r, MLX4_OPCODE_LSO, MLX4_WQE_CTRL_IP_HDR_CSUM | MLX4_WQE_CTRL_TCP_UDP_CSUM,
		  0x2007u << 16 | 1u << 14);
	assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
	expect_pieces(&to, &f, 4);
	end_close(&from);
	end_close(&to);
}

static void headers_longer_than_the_entry_fail_it(void **state)
{
	struct end from;
	struct ring r;

	end_sender(&from, "mlx4_0", HEAD);
	ring_open(&r, &from);
	*(uint32_t *)(r.entry + 16) = htobe32(MSS << 16 | 200);
	r.len = 64;
	ring_post(&r, MLX4_OPCODE_LSO, 0, 0);
	assert_int_equal(end_poll(from.cq).status, IBV_WC_LOC_QP_OP_ERR);
	end_close(&from);
}

static void segmentation_is_reported_but_no_work_request_of_the_library(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_TSO }, *bad;
	struct ibv_device_attr_ex attr;
	struct end e;

	end_sender(&e, "mlx4_0", HEAD);
	assert_int_equal(ibv_query_device_ex(e.context, NULL, &attr), 0);
	assert_int_equal(attr.tso_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
	assert_true(attr.tso_caps.max_tso >= DATA);
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	end_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_cut_wherever_the_entry_lies_in_the_ring),
		cmocka_unit_test(a_vlan_tag_is_inserted_into_every_segment),
		cmocka_unit_test(headers_longer_than_the_entry_fail_it),
		cmocka_unit_test(segmentation_is_reported_but_no_work_request_of_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
