/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ConnectX-6's send ring, written by hand: tags that the adapter puts in, which verbs do not offer
 * but drivers of programs' own use.
 */
#include "ends.h"

#include <endian.h>
#include <infiniband/mlx5dv.h>

#define INSERT_VLAN 0x8000u
#define EMPW        0x29u /* enhanced multi-packet send */

struct ring {
	struct mlx5dv_qp qp;
	uint16_t next; /* free running, in blocks */
};

static void ring_open(struct ring *r, struct end *e)
{
	struct mlx5dv_obj obj = { .qp = { e->qp, &r->qp } };

	memset(r, 0, sizeof(*r));
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
}

/* A frame of the end's memory. `insert` is the word that says what stands in the segment's end. */
static void ring_post(struct ring *r, struct end *e, const void *at, uint32_t len, uint16_t insert,
		      uint16_t tag)
{
	uint8_t *block = (uint8_t *)r->qp.sq.buf + (r->next & (r->qp.sq.wqe_cnt - 1)) * 64;
	struct mlx5_wqe_eth_seg *eth = (void *)(block + 16);

	mlx5dv_set_ctrl_seg((void *)block, r->next, MLX5_OPCODE_SEND, 0, e->qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	memset(eth, 0, 16);
	eth->cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
	eth->inline_hdr_sz = htobe16(insert);
	eth->inline_hdr_start[0] = tag >> 8;
	eth->inline_hdr_start[1] = tag & 0xff;
	mlx5dv_set_data_seg((void *)(block + 32), len, e->mr->lkey, (uintptr_t)at);
	r->next++;
	__atomic_store_n(&r->qp.dbrec[MLX5_SND_DBR], htobe32(r->next), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)r->qp.bf.reg, *(uint64_t *)block, __ATOMIC_RELEASE);
}

/* Four frames in one entry, by address and inline in turn; sizes tell them apart. */
static void ring_post_four(struct ring *r, struct end *e, const uint8_t *at, uint32_t len)
{
	uint32_t mask = r->qp.sq.wqe_cnt - 1, bytes = 32, first = r->next & mask;
	uint8_t wqe[1024] = { 0 }, *ring = r->qp.sq.buf;
	struct mlx5_wqe_eth_seg *eth = (void *)(wqe + 16);

	eth->cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t header = htobe32((len - i) | MLX5_INLINE_SEG);

		if (i % 2 == 0) {
			mlx5dv_set_data_seg((void *)(wqe + bytes), len - i, e->mr->lkey,
					    (uintptr_t)at);
			bytes += 16;
			continue;
		}
		memcpy(wqe + bytes, &header, 4);
		memcpy(wqe + bytes + 4, at, len - i);
		bytes += (4 + len - i + 15) & ~15u;
	}
	mlx5dv_set_ctrl_seg((void *)wqe, r->next, EMPW, 0, e->qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE,
			    bytes / 16, 0, 0);
	for (uint32_t i = 0; i < bytes; i += 64)
		memcpy(ring + 64 * (size_t)((first + i / 64) & mask), wqe + i, 64);
	r->next += (bytes + 63) / 64;
	__atomic_store_n(&r->qp.dbrec[MLX5_SND_DBR], htobe32(r->next), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)r->qp.bf.reg, *(uint64_t *)wqe, __ATOMIC_RELEASE);
}

static void an_entry_may_hold_several_frames(void **state)
{
	struct mlx5dv_context out = { 0 };
	static struct frame f, got;
	struct end from, to;
	struct ring r;
	uint8_t *data;

	end_receiver(&to, "mlx5_1", 0);
	end_sender(&from, "mlx5_0", 0);
	assert_int_equal(mlx5dv_query_device(from.context, &out), 0);
	assert_true(out.flags & MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW);
	ring_open(&r, &from);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 150);
	memcpy(data, f.data, f.len);
	/* around the end of the ring, also in the middle of a frame */
	for (uint32_t i = 0; i < 3 * r.qp.sq.wqe_cnt; i++) {
		ring_post_four(&r, &from, data, f.len);
		assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
		for (uint32_t k = 0; k < 4; k++) {
			end_receive(&to, &got);
			assert_int_equal(got.len, f.len - k);
			assert_memory_equal(got.data + 42, f.data + 42, f.len - k - 42);
		}
	}
	end_close(&from);
	end_close(&to);
}

static void a_vlan_tag_is_inserted_behind_the_addresses(void **state)
{
	static struct frame f, got;
	struct end from, to;
	struct ring r;
	uint8_t *data;

	end_receiver(&to, "mlx5_1", 0);
	end_sender(&from, "mlx5_0", 0);
	ring_open(&r, &from);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 100);
	memcpy(data, f.data, f.len);
	for (uint32_t i = 0; i < 3 * r.qp.sq.wqe_cnt; i++) {
		uint16_t tag = i % 4096 | (i % 8) << 13;
		bool tagged = i & 1;
		uint32_t more = tagged ? 4 : 0;
		struct ibv_wc wc;

		ring_post(&r, &from, data, f.len, tagged ? INSERT_VLAN : 0, tag);
		assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
		wc = end_receive(&to, &got);
		assert_int_equal(got.len, f.len + more);
		assert_true(wc.wc_flags & IBV_WC_IP_CSUM_OK);
		assert_memory_equal(got.data, f.data, 12);
		if (tagged) {
			assert_int_equal(got.data[12] << 8 | got.data[13], 0x8100);
			assert_int_equal(got.data[14] << 8 | got.data[15], tag);
		}
		assert_memory_equal(got.data + 12 + more, f.data + 12, 2);
		/* Addresses and ports; sums were computed on the way. */
		assert_memory_equal(got.data + 26 + more, f.data + 26, 12);
		assert_memory_equal(got.data + 42 + more, f.data + 42, f.len - 42);
	}
	end_close(&from);
	end_close(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vlan_tag_is_inserted_behind_the_addresses),
		cmocka_unit_test(an_entry_may_hold_several_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
