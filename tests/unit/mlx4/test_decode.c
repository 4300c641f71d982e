/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queue entries, written by hand as a program with direct access would write them, and read
 * as the adapter reads them.
 */
#include "cmocka_all.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/mr.h"
#include "hca/transport/qp.h"
#include "mlx4/av.h"
#include "mlx4/decode.h"
#include "mlx4/format.h"
#include "mlx4/wqe.h"
#include "util/explain.h"

#define SLOTS 8u

struct fixture {
	_Alignas(4096) uint8_t ring[SLOTS * 1024];
	struct hca_adapter adapter;
	struct hca_ctx ctx;
	struct hca_qp qp;
	struct hca_send send;
};

static int setup(void **state)
{
	struct fixture *f = aligned_alloc(4096, (sizeof(*f) + 4095) & ~4095ul);

	memset(f, 0, sizeof(*f));
	f->adapter.port_count = 1;
	f->ctx.adapter = &f->adapter;
	f->qp.ctx = &f->ctx;
	f->qp.qpn = 0x123456;
	f->qp.type = HCA_QP_RC;
	f->qp.sq = (struct hca_sq_ring){ .buf = f->ring, .size = SLOTS, .slot_shift = 8 };
	/* what is not written must not be read: nothing of the last request may shine through */
	memset(&f->send, 0xa5, sizeof(f->send));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void *slot(struct fixture *f, uint32_t index)
{
	return f->ring + ((index % SLOTS) << f->qp.sq.slot_shift);
}

static uint8_t *ctrl(struct fixture *f, uint32_t index, uint32_t opcode, uint8_t fence_size,
		     uint32_t flags, uint32_t imm)
{
	struct mlx4_wqe_ctrl_seg *seg = slot(f, index);

	mlx4dv_set_ctrl_seg(seg, opcode | (index & SLOTS ? MLX4_OWNER : 0), fence_size, flags, imm);
	return (uint8_t *)(seg + 1);
}

static uint8_t *raddr(uint8_t *at, uint64_t addr, uint32_t key)
{
	struct mlx4_wqe_raddr_seg *seg = (void *)at;

	seg->raddr = htobe64(addr);
	seg->rkey = htobe32(key);
	return at + sizeof(*seg);
}

static uint8_t *data(uint8_t *at, uint32_t len, uint32_t key, uint64_t addr)
{
	mlx4dv_set_data_seg((void *)at, len, key, addr);
	return at + sizeof(struct mlx4_wqe_data_seg);
}

static void decode(struct fixture *f, uint32_t index)
{
	mlx4_format.sq_decode(&f->qp, index, &f->send);
}

static void assert_sge(const struct hca_sge *sge, uint64_t addr, uint32_t len, uint32_t key)
{
	assert_int_equal(sge->addr, addr);
	assert_int_equal(sge->len, len);
	assert_int_equal(sge->key, key);
}

static void owner_bits_tell_posted_slots_over_many_laps(void **state)
{
	struct fixture *f = *state;
	const struct hca_sq_ring *sq = &f->qp.sq;

	for (uint32_t i = 0; i < SLOTS; i++)
		((struct mlx4_wqe_ctrl_seg *)slot(f, i))->owner_opcode = htobe32(MLX4_OWNER);
	for (uint32_t i = 0; i < 50 * SLOTS; i++) {
		/* whatever a doorbell may have said */
		assert_false(mlx4_format.sq_ready(sq, i, i + SLOTS));
		ctrl(f, i, MLX4_OPCODE_SEND, 1, 0, 0);
		assert_true(mlx4_format.sq_ready(sq, i, 0));
	}
}

static void a_queue_without_slots_has_nothing_posted(void **state)
{
	const struct hca_sq_ring none = { 0 };

	assert_false(mlx4_format.sq_ready(&none, 0, 5));
}

static void send_has_flags_immediate_and_elements(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = ctrl(f, 3, MLX4_OPCODE_SEND_IMM, MLX4_WQE_CTRL_FENCE | 3,
			   MLX4_WQE_CTRL_SOLICIT | MLX4_WQE_CTRL_CQ_UPDATE, htobe32(0x01020304));

	at = data(at, 100, 7, 0x1000);
	data(at, 200, 8, 0x2000);
	decode(f, 3);
	assert_false(f->send.bad);
	assert_int_equal(f->send.op, HCA_OP_SEND_IMM);
	assert_true(f->send.signaled);
	assert_true(f->send.solicited);
	assert_true(f->send.fence);
	assert_int_equal(f->send.counter, 3);
	assert_int_equal(f->send.blocks, 1);
	assert_int_equal(f->send.imm, htobe32(0x01020304));
	assert_int_equal(f->send.length, 300);
	assert_int_equal(f->send.sge_count, 2);
	assert_sge(&f->send.sge[0], 0x1000, 100, 7);
	assert_sge(&f->send.sge[1], 0x2000, 200, 8);
}

static void flags_that_are_clear_are_clear(void **state)
{
	struct fixture *f = *state;

	ctrl(f, 0x1fffe, MLX4_OPCODE_SEND, 1, 0, 0);
	decode(f, 0x1fffe);
	assert_false(f->send.bad);
	assert_false(f->send.signaled);
	assert_false(f->send.solicited);
	assert_false(f->send.fence);
	assert_int_equal(f->send.counter, 0xfffe);
	assert_int_equal(f->send.length, 0);
	assert_int_equal(f->send.sge_count, 0);
}

static void blueflame_fields_are_not_looked_at(void **state)
{
	struct fixture *f = *state;
	struct mlx4_wqe_ctrl_seg *seg = slot(f, 0);

	ctrl(f, 0, MLX4_OPCODE_SEND, 1, 0, 0);
	seg->owner_opcode |= htobe32(0xffff << 8);
	seg->bf_qpn |= htobe32(0x123456 << 8);
	decode(f, 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.op, HCA_OP_SEND);
}

static void rdma_has_a_remote_address(void **state)
{
	static const struct {
		uint8_t opcode, op;
	} all[] = {
		{ MLX4_OPCODE_RDMA_WRITE, HCA_OP_WRITE },
		{ MLX4_OPCODE_RDMA_WRITE_IMM, HCA_OP_WRITE_IMM },
		{ MLX4_OPCODE_RDMA_READ, HCA_OP_READ },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < array_size(all); i++) {
		data(raddr(ctrl(f, i, all[i].opcode, 3, 0, 0), 0x123456789abcdef0, 0x55), 64, 9,
		     0x4000);
		decode(f, i);
		assert_false(f->send.bad);
		assert_int_equal(f->send.op, all[i].op);
		assert_int_equal(f->send.raddr, 0x123456789abcdef0);
		assert_int_equal(f->send.rkey, 0x55);
		assert_int_equal(f->send.sge_count, 1);
		assert_sge(&f->send.sge[0], 0x4000, 64, 9);
	}
}

static void atomics_have_operands(void **state)
{
	struct fixture *f = *state;
	struct mlx4_wqe_atomic_seg *atomic;

	atomic = (void *)raddr(ctrl(f, 0, MLX4_OPCODE_ATOMIC_CS, 4, 0, 0), 0x80, 5);
	atomic->swap_add = htobe64(77);
	atomic->compare = htobe64(88);
	data((uint8_t *)(atomic + 1), 8, 1, 0x10);
	decode(f, 0);
	assert_int_equal(f->send.op, HCA_OP_CMP_SWAP);
	assert_int_equal(f->send.compare, 88);
	assert_int_equal(f->send.swap, 77);
	assert_sge(&f->send.sge[0], 0x10, 8, 1);

	atomic = (void *)raddr(ctrl(f, 1, MLX4_OPCODE_ATOMIC_FA, 4, 0, 0), 0x80, 5);
	atomic->swap_add = htobe64(99);
	data((uint8_t *)(atomic + 1), 8, 1, 0x10);
	decode(f, 1);
	assert_int_equal(f->send.op, HCA_OP_FETCH_ADD);
	assert_int_equal(f->send.compare, 99);
}

static void masked_atomics_have_operands_and_masks(void **state)
{
	struct fixture *f = *state;
	struct mlx4_wqe_atomic_seg *seg;

	seg = (void *)raddr(ctrl(f, 0, MLX4_OPCODE_MASKED_ATOMIC_CS, 5, 0, 0), 0x80, 5);
	seg[0] = (struct mlx4_wqe_atomic_seg){ htobe64(77), htobe64(88) };
	seg[1] = (struct mlx4_wqe_atomic_seg){ htobe64(0xff), htobe64(0xf0) };
	data((uint8_t *)(seg + 2), 8, 1, 0x10);
	decode(f, 0);
	assert_int_equal(f->send.op, HCA_OP_MASKED_CMP_SWAP);
	assert_false(f->send.masked.add);
	assert_int_equal(f->send.masked.size, 8);
	assert_int_equal(f->send.masked.swap, 77);
	assert_int_equal(f->send.masked.compare, 88);
	assert_int_equal(f->send.masked.swap_mask, 0xff);
	assert_int_equal(f->send.masked.compare_mask, 0xf0);
	assert_sge(&f->send.sge[0], 0x10, 8, 1);

	seg = (void *)raddr(ctrl(f, 1, MLX4_OPCODE_MASKED_ATOMIC_FA, 4, 0, 0), 0x80, 5);
	seg[0] = (struct mlx4_wqe_atomic_seg){ htobe64(99), htobe64(0x8000) };
	data((uint8_t *)(seg + 1), 8, 1, 0x10);
	decode(f, 1);
	assert_int_equal(f->send.op, HCA_OP_MASKED_FETCH_ADD);
	assert_true(f->send.masked.add);
	assert_int_equal(f->send.masked.swap, 99);
	assert_int_equal(f->send.masked.compare, 0x8000);
	assert_sge(&f->send.sge[0], 0x10, 8, 1);
}

static void keys_to_invalidate_are_in_host_order(void **state)
{
	struct fixture *f = *state;
	struct mlx4_wqe_local_inval_seg *inval;

	ctrl(f, 0, MLX4_OPCODE_SEND_INVAL, 1, 0, htobe32(0x00abcd01));
	decode(f, 0);
	assert_int_equal(f->send.op, HCA_OP_SEND_INV);
	assert_int_equal(f->send.imm, 0x00abcd01);

	inval = (void *)ctrl(f, 1, MLX4_OPCODE_LOCAL_INVAL, 3, 0, 0);
	inval->mem_key = htobe32(0x00abcd02);
	decode(f, 1);
	assert_false(f->send.bad);
	assert_int_equal(f->send.op, HCA_OP_LOCAL_INV);
	assert_int_equal(f->send.imm, 0x00abcd02);
}

static void bind_has_a_window_and_its_reach(void **state)
{
	struct fixture *f = *state;
	struct mlx4_wqe_bind_seg *seg = (void *)ctrl(f, 0, MLX4_OPCODE_BIND_MW, 3, 0, 0);

	seg->flags1 = htobe32(MLX4_WQE_MW_ATOMIC | MLX4_WQE_MW_REMOTE_READ);
	seg->flags2 = htobe32(MLX4_WQE_BIND_TYPE_2 | MLX4_WQE_BIND_ZERO_BASED);
	seg->new_rkey = htobe32(0x1203);
	seg->lkey = htobe32(0x3401);
	seg->addr = htobe64(0x10000);
	seg->length = htobe64(0x200000000);
	decode(f, 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.op, HCA_OP_BIND_MW);
	assert_int_equal(f->send.bind.new_key, 0x1203);
	assert_int_equal(f->send.bind.mw_key >> 8, 0x12);
	assert_int_equal(f->send.bind.mr_key, 0x3401);
	assert_int_equal(f->send.bind.access,
			 HCA_ACCESS_REMOTE_ATOMIC | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_ZERO_BASED);
	assert_int_equal(f->send.bind.addr, 0x10000);
	assert_int_equal(f->send.bind.len, 0x200000000);
	assert_true(f->send.bind.type2);

	seg->flags1 = htobe32(MLX4_WQE_MW_REMOTE_WRITE);
	seg->flags2 = 0;
	decode(f, 0);
	assert_int_equal(f->send.bind.access, HCA_ACCESS_REMOTE_WRITE);
	assert_false(f->send.bind.type2);
}

static void datagram_names_target_and_path(void **state)
{
	const struct hca_av ib = { .dgid = { { 0xfe, 0x80, [15] = 4 } },
				   .has_grh = true,
				   .sgid_index = 3,
				   .hop_limit = 7,
				   .traffic_class = 0xfe,
				   .flow_label = 0xabcde,
				   .dlid = 0x1234,
				   .src_path_bits = 0x55,
				   .sl = 13,
				   .static_rate = 2,
				   .port = 1 };
	const struct hca_av eth = { .dgid = { { 0xfe, 0x80, [15] = 9 } },
				    .has_grh = true,
				    .sgid_index = 5,
				    .hop_limit = 64,
				    .traffic_class = 0xff,
				    .flow_label = 0xfffff,
				    .sl = 7,
				    .port = 1,
				    .dmac = { 1, 2, 3, 4, 5, 6 } };
	const struct hca_av lid = { .dlid = 0xbeef, .sl = 1, .port = 1 };
	const struct hca_av *all[] = { &ib, &eth, &lid };
	struct fixture *f = *state;
	struct mlx4_wqe_datagram_seg *seg;

	f->qp.type = HCA_QP_UD;
	for (size_t i = 0; i < array_size(all); i++) {
		bool ethernet = all[i] == &eth;

		f->adapter.ports[0].link = ethernet ? HCA_LINK_ETHERNET : HCA_LINK_INFINIBAND;
		seg = (void *)ctrl(f, i, MLX4_OPCODE_SEND, 5, 0, 0);
		mlx4_av_encode(all[i], 0x77, ethernet, seg);
		seg->dqpn = htobe32(0xfedcba);
		seg->qkey = htobe32(0x11111111);
		data((uint8_t *)(seg + 1), 16, 1, 0x10);
		memset(&f->send, 0, sizeof(f->send));
		decode(f, i);
		assert_false(f->send.bad);
		assert_int_equal(f->send.dqpn, 0xfedcba);
		assert_int_equal(f->send.qkey, 0x11111111);
		assert_memory_equal(&f->send.av, all[i], sizeof(*all[i]));
		assert_int_equal(f->send.sge_count, 1);
	}
}

static void address_vector_is_laid_out_as_the_adapter_has_it(void **state)
{
	const struct hca_av av = { .dgid = { { 0xfe, 0x80, [15] = 4 } },
				   .has_grh = true,
				   .sgid_index = 3,
				   .hop_limit = 7,
				   .traffic_class = 0xfe,
				   .flow_label = 0xabcde,
				   .dlid = 0x1234,
				   .src_path_bits = 0x55,
				   .sl = 13,
				   .static_rate = 2,
				   .port = 1 };
	struct mlx4_wqe_datagram_seg seg;

	mlx4_av_encode(&av, 0x77, false, &seg);
	assert_memory_equal(&seg,
			    "\x01\0\0\x77"
			    "\0\xd5\x12\x34"
			    "\0\x03\x07\x07"
			    "\xdf\xea\xbc\xde"
			    "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x04"
			    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
			    48);
}

static void xrc_send_names_the_receive_queue(void **state)
{
	struct fixture *f = *state;

	f->qp.type = HCA_QP_XRC_SEND;
	ctrl(f, 0, MLX4_OPCODE_SEND, 1, 0x00beef << 8 | MLX4_WQE_CTRL_CQ_UPDATE, 0);
	decode(f, 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.xrc_srqn, 0xbeef);
	assert_true(f->send.signaled);
}

static void inline_chunks_are_pieces_of_the_message(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = raddr(ctrl(f, 0, MLX4_OPCODE_RDMA_WRITE, 7, 0, 0), 0, 0);

	/* 28 bytes up to the first multiple of 64, then 41 of the next 60 */
	*(uint32_t *)at = htobe32(MLX4_INLINE_SEG | 28);
	*(uint32_t *)(at + 32) = htobe32(MLX4_INLINE_SEG | 41);
	/* 45 bytes round up to 48: a data segment may follow there */
	data(at + 80, 5, 6, 0x70);
	((struct mlx4_wqe_ctrl_seg *)slot(f, 0))->fence_size = 2 + 2 + 3 + 1;
	decode(f, 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.sge_count, 3);
	assert_sge(&f->send.sge[0], (uintptr_t)at + 4, 28, HCA_KEY_INLINE);
	assert_sge(&f->send.sge[1], (uintptr_t)at + 36, 41, HCA_KEY_INLINE);
	assert_sge(&f->send.sge[2], 0x70, 5, 6);
	assert_int_equal(f->send.length, 74);
}

static void elements_of_length_zero_are_left_out(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = raddr(ctrl(f, 0, MLX4_OPCODE_RDMA_READ, 4, 0, 0), 0, 0);

	at = data(at, MLX4_INLINE_SEG, 1, 0x10);
	data(at, 3, 2, 0x20);
	decode(f, 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.sge_count, 1);
	assert_sge(&f->send.sge[0], 0x20, 3, 2);
}

static void a_count_of_zero_is_the_longest_element(void **state)
{
	struct fixture *f = *state;

	data(ctrl(f, 0, MLX4_OPCODE_SEND, 2, 0, 0), 0, 1, 0x10);
	decode(f, 0);
	assert_int_equal(f->send.length, 1ull << 31);
}

static void the_longest_entry_is_read_whole(void **state)
{
	struct fixture *f = *state;
	uint8_t *at;

	f->qp.sq.slot_shift = 10;
	at = ctrl(f, 2, MLX4_OPCODE_SEND, 63, 0, 0);
	for (int i = 0; i < 62; i++)
		at = data(at, i + 1, i, 0x1000 + i);
	decode(f, 2);
	assert_false(f->send.bad);
	assert_int_equal(f->send.sge_count, 62);
	assert_sge(&f->send.sge[61], 0x1000 + 61, 62, 61);
}

static void assert_bad(struct fixture *f, uint32_t index, const char *word)
{
	decode(f, index);
	assert_true(f->send.bad);
	assert_int_equal(f->send.bad_status, HCA_LOC_QP_OP_ERR);
	assert_int_equal(f->send.bad_vendor, MLX4_VENDOR_BAD_ENTRY);
	assert_int_equal(f->send.counter, index & 0xffff);
	assert_int_equal(f->send.blocks, 1);
	assert_non_null(strstr(explain_last(), word));
}

static void entries_of_impossible_length_are_bad(void **state)
{
	struct fixture *f = *state;

	ctrl(f, 9, MLX4_OPCODE_SEND, 0, 0, 0);
	assert_bad(f, 9, "length");
	ctrl(f, 9, MLX4_OPCODE_SEND, 17, 0, 0);
	assert_bad(f, 9, "length");
	ctrl(f, 9, MLX4_OPCODE_RDMA_WRITE, 1, 0, 0);
	assert_bad(f, 9, "too short");
	ctrl(f, 9, MLX4_OPCODE_ATOMIC_CS, 2, 0, 0);
	assert_bad(f, 9, "too short");
	ctrl(f, 9, MLX4_OPCODE_MASKED_ATOMIC_CS, 3, 0, 0);
	assert_bad(f, 9, "too short");
	ctrl(f, 9, MLX4_OPCODE_BIND_MW, 2, 0, 0);
	assert_bad(f, 9, "too short");
	ctrl(f, 9, MLX4_OPCODE_LOCAL_INVAL, 2, 0, 0);
	assert_bad(f, 9, "too short");
	f->qp.type = HCA_QP_UD;
	ctrl(f, 9, MLX4_OPCODE_SEND, 3, 0, 0);
	assert_bad(f, 9, "too short");
}

static void opcodes_are_those_of_the_transport(void **state)
{
	static const struct {
		enum hca_qp_type type;
		uint32_t good; /* bits of opcodes */
	} all[] = {
#define BIT(name) (1u << MLX4_OPCODE_##name)
		{ HCA_QP_RC, BIT(NOP) | BIT(SEND_INVAL) | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_IMM) |
				     BIT(SEND) | BIT(SEND_IMM) | BIT(RDMA_READ) | BIT(ATOMIC_CS) |
				     BIT(ATOMIC_FA) | BIT(MASKED_ATOMIC_CS) |
				     BIT(MASKED_ATOMIC_FA) | BIT(BIND_MW) | BIT(LOCAL_INVAL) },
		{ HCA_QP_UC, BIT(NOP) | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_IMM) | BIT(SEND) |
				     BIT(SEND_IMM) | BIT(BIND_MW) | BIT(LOCAL_INVAL) },
		{ HCA_QP_UD, BIT(NOP) | BIT(SEND) | BIT(SEND_IMM) },
#undef BIT
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < array_size(all); i++) {
		f->qp.type = all[i].type;
		for (uint32_t opcode = 0; opcode < 32; opcode++) {
			memset(slot(f, 0), 0, 256);
			ctrl(f, 0, opcode, 4, 0, 0);
			decode(f, 0);
			assert_int_equal(f->send.bad, !(all[i].good >> opcode & 1));
			if (f->send.bad)
				assert_non_null(strstr(explain_last(), "opcode"));
		}
	}
}

static void inline_chunks_across_a_boundary_are_bad(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = ctrl(f, 0, MLX4_OPCODE_SEND, 16, 0, 0);

	*(uint32_t *)at = htobe32(MLX4_INLINE_SEG | 45);
	assert_bad(f, 0, "across");
	*(uint32_t *)at = htobe32(MLX4_STAMP);
	assert_bad(f, 0, "across");
	*(uint32_t *)at = htobe32(MLX4_INLINE_SEG | 44);
	*(uint32_t *)(at + 48) = htobe32(MLX4_INLINE_SEG | 61);
	assert_bad(f, 0, "across");
}

static void inline_data_longer_than_the_entry_is_bad(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = ctrl(f, 0, MLX4_OPCODE_SEND, 3, 0, 0);

	*(uint32_t *)at = htobe32(MLX4_INLINE_SEG | 29);
	assert_bad(f, 0, "ends before");
}

static void reads_do_not_land_inside_the_entry(void **state)
{
	struct fixture *f = *state;
	uint8_t *at = raddr(ctrl(f, 0, MLX4_OPCODE_RDMA_READ, 3, 0, 0), 0, 0);

	*(uint32_t *)at = htobe32(MLX4_INLINE_SEG | 8);
	assert_bad(f, 0, "answer");
}

static void receive_lists_end_at_the_invalid_key_or_when_full(void **state)
{
	struct fixture *f = *state;
	_Alignas(4) uint32_t db = htobe32(0x12345);
	struct hca_rq_ring rq = {
		.buf = f->ring, .size = 4, .slot_shift = 6, .max_sge = 4, .db = &db
	};
	struct hca_recv recv;
	uint8_t *at = f->ring + 64;

	at = data(at, 10, 1, 0x100);
	at = data(at, 20, 2, 0x200);
	at = data(at, 0, MLX4_INVALID_LKEY, 0);
	data(at, 30, 3, 0x300);
	mlx4_format.rq_decode(&rq, 0x10005, &recv);
	assert_int_equal(recv.counter, 5);
	assert_int_equal(recv.sge_count, 2);
	assert_sge(&recv.sge[0], 0x100, 10, 1);
	assert_sge(&recv.sge[1], 0x200, 20, 2);

	at = f->ring;
	for (int i = 0; i < 4; i++)
		at = data(at, 1, i + 1, 0);
	mlx4_format.rq_decode(&rq, 8, &recv);
	assert_int_equal(recv.sge_count, 4);
	assert_int_equal(mlx4_format.rq_producer(&rq), 0x2345);
}

static void shared_entries_are_chained_inside_the_ring(void **state)
{
	struct fixture *f = *state;
	struct hca_rq_ring rq = {
		.buf = f->ring, .size = 8, .slot_shift = 5, .max_sge = 1, .signature = true
	};
	struct mlx4_wqe_srq_next_seg *next = (void *)(f->ring + 3 * 32);
	struct hca_recv recv;

	next->next_wqe_index = htobe16(6);
	data((uint8_t *)(next + 1), 77, 5, 0x500);
	assert_int_equal(mlx4_format.srq_next(&rq, 3), 6);
	mlx4_format.rq_decode(&rq, 3, &recv);
	assert_int_equal(recv.sge_count, 1);
	assert_sge(&recv.sge[0], 0x500, 77, 5);
	/* a forged link leads nowhere else */
	next->next_wqe_index = htobe16(0xfffd);
	assert_int_equal(mlx4_format.srq_next(&rq, 3), 5);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(owner_bits_tell_posted_slots_over_many_laps),
		T(a_queue_without_slots_has_nothing_posted),
		T(send_has_flags_immediate_and_elements),
		T(flags_that_are_clear_are_clear),
		T(blueflame_fields_are_not_looked_at),
		T(rdma_has_a_remote_address),
		T(atomics_have_operands),
		T(masked_atomics_have_operands_and_masks),
		T(keys_to_invalidate_are_in_host_order),
		T(bind_has_a_window_and_its_reach),
		T(datagram_names_target_and_path),
		T(address_vector_is_laid_out_as_the_adapter_has_it),
		T(xrc_send_names_the_receive_queue),
		T(inline_chunks_are_pieces_of_the_message),
		T(elements_of_length_zero_are_left_out),
		T(a_count_of_zero_is_the_longest_element),
		T(the_longest_entry_is_read_whole),
		T(entries_of_impossible_length_are_bad),
		T(opcodes_are_those_of_the_transport),
		T(inline_chunks_across_a_boundary_are_bad),
		T(inline_data_longer_than_the_entry_is_bad),
		T(reads_do_not_land_inside_the_entry),
		T(receive_lists_end_at_the_invalid_key_or_when_full),
		T(shared_entries_are_chained_inside_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
