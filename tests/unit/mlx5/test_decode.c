/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading mlx5 work queues. Entries are written as a program with direct verbs writes them. */
#include "cmocka_all.h"

#include <endian.h>
#include <string.h>

#include "hca/memory/mr.h"
#include "hca/transport/qp.h"
#include "mlx5/av.h"
#include "mlx5/decode.h"
#include "mlx5/format.h"
#include "mlx5/wqe.h"

#define BLOCKS 16
#define QPN    0x4711

static _Alignas(64) uint8_t ring[BLOCKS * 64];
static struct hca_adapter adapter = { .ports = { { .link = HCA_LINK_ETHERNET } } };
static struct hca_ctx ctx = { .adapter = &adapter };
static struct hca_qp qp;
static struct hca_send out;

static int setup(void **state)
{
	memset(ring, 0xee, sizeof(ring));
	memset(&out, 0xee, sizeof(out));
	qp = (struct hca_qp){ .type = HCA_QP_RC,
			      .qpn = QPN,
			      .ctx = &ctx,
			      .sq = { .buf = ring, .size = BLOCKS, .slot_shift = 6 } };
	adapter.ports[0].link = HCA_LINK_ETHERNET;
	return 0;
}

/* The ring's unit of 16 bytes at this distance from the entry, around the end. */
static void *unit(uint32_t index, uint32_t n)
{
	return ring + ((index % BLOCKS) * 64 + n * 16) % sizeof(ring);
}

static void put_ctrl(uint32_t index, uint8_t opcode, uint8_t flags, uint8_t ds, uint32_t imm)
{
	struct mlx5_wqe_ctrl_seg *ctrl = unit(index, 0);

	mlx5dv_set_ctrl_seg(ctrl, index, opcode, 0, QPN, flags, ds, 0, imm);
}

static void put_raddr(uint32_t index, uint32_t n, uint64_t addr, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *seg = unit(index, n);

	seg->raddr = htobe64(addr);
	seg->rkey = htobe32(rkey);
}

static void decode(uint32_t index)
{
	mlx5_sq_decode(&qp, index, &out);
}

static void assert_bad(void)
{
	assert_true(out.bad);
	assert_int_equal(out.bad_status, HCA_LOC_QP_OP_ERR);
	assert_int_equal(out.bad_vendor, 0x68);
}

static void a_send_has_its_elements_flags_and_length(void **state)
{
	put_ctrl(3, MLX5_OPCODE_SEND_IMM, MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_SOLICITED, 3,
		 htobe32(0xabcd));
	mlx5dv_set_data_seg(unit(3, 1), 100, 0x111, 0x1000);
	mlx5dv_set_data_seg(unit(3, 2), 28, 0x222, 0x2000);
	decode(3);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_SEND_IMM);
	assert_true(out.signaled);
	assert_true(out.solicited);
	assert_false(out.fence);
	assert_int_equal(out.imm, htobe32(0xabcd));
	assert_int_equal(out.blocks, 1);
	assert_int_equal(out.counter, 3);
	assert_int_equal(out.sge_count, 2);
	assert_int_equal(out.length, 128);
	assert_int_equal(out.sge[1].addr, 0x2000);
	assert_int_equal(out.sge[1].len, 28);
	assert_int_equal(out.sge[1].key, 0x222);
}

static void a_send_without_data_is_empty(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 1, 0);
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.sge_count, 0);
	assert_int_equal(out.length, 0);
	assert_false(out.signaled);
}

static void the_key_to_invalidate_comes_in_host_order(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND_INVAL, 0, 1, htobe32(0x1234));
	decode(0);
	assert_int_equal(out.op, HCA_OP_SEND_INV);
	assert_int_equal(out.imm, 0x1234);
}

static void fences_are_told_from_the_small_fence(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, MLX5_WQE_CTRL_FENCE, 1, 0);
	decode(0);
	assert_true(out.fence);
	put_ctrl(0, MLX5_OPCODE_SEND, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE, 1, 0);
	decode(0);
	assert_false(out.fence);
}

static void rdma_operations_name_remote_memory(void **state)
{
	const struct {
		uint8_t opcode;
		enum hca_op op;
	} ops[] = {
		{ MLX5_OPCODE_RDMA_WRITE, HCA_OP_WRITE },
		{ MLX5_OPCODE_RDMA_WRITE_IMM, HCA_OP_WRITE_IMM },
		{ MLX5_OPCODE_RDMA_READ, HCA_OP_READ },
	};

	for (size_t i = 0; i < array_size(ops); i++) {
		put_ctrl(i, ops[i].opcode, 0, 3, 7);
		put_raddr(i, 1, 0x123456789abcull, 0x77);
		mlx5dv_set_data_seg(unit(i, 2), 64, 5, 0x5000);
		decode(i);
		assert_false(out.bad);
		assert_int_equal(out.op, ops[i].op);
		assert_int_equal(out.raddr, 0x123456789abcull);
		assert_int_equal(out.rkey, 0x77);
		assert_int_equal(out.length, 64);
	}
}

static void put_atomic(uint32_t index, uint8_t opcode, uint64_t swap_add, uint64_t compare)
{
	struct mlx5_wqe_atomic_seg *seg = unit(index, 2);

	put_ctrl(index, opcode, 0, 4, 0);
	put_raddr(index, 1, 0x8000, 9);
	seg->swap_add = htobe64(swap_add);
	seg->compare = htobe64(compare);
	mlx5dv_set_data_seg(unit(index, 3), 8, 5, 0x5000);
}

static void atomics_have_their_operands(void **state)
{
	put_atomic(1, MLX5_OPCODE_ATOMIC_CS, 22, 11);
	decode(1);
	assert_int_equal(out.op, HCA_OP_CMP_SWAP);
	assert_int_equal(out.compare, 11);
	assert_int_equal(out.swap, 22);
	assert_int_equal(out.length, 8);
	put_atomic(2, MLX5_OPCODE_ATOMIC_FA, 33, 0);
	decode(2);
	assert_int_equal(out.op, HCA_OP_FETCH_ADD);
	assert_int_equal(out.compare, 33);
}

static void put_masked(uint32_t index, uint8_t opcode, uint8_t modifier, uint8_t ds)
{
	mlx5dv_set_ctrl_seg(unit(index, 0), index, opcode, modifier, QPN, 0, ds, 0, 0);
	put_raddr(index, ds == 8 ? 4 : 1, 0x8000, 9);
	mlx5dv_set_data_seg(unit(index, ds - 1), modifier == MLX5_ATOMIC_OPMOD_4 ? 4 : 8, 5,
			    0x5000);
}

static void masked_atomics_of_four_bytes(void **state)
{
	uint32_t *four = unit(1, 2);

	put_masked(1, MLX5_OPCODE_ATOMIC_MASKED_CS, MLX5_ATOMIC_OPMOD_4, 4);
	for (uint32_t i = 0; i < 4; i++)
		four[i] = htobe32(0xa0000000 + i);
	decode(1);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_MASKED_CMP_SWAP);
	assert_int_equal(out.masked.size, 4);
	assert_false(out.masked.add);
	assert_int_equal(out.masked.swap, 0xa0000000);
	assert_int_equal(out.masked.compare, 0xa0000001);
	assert_int_equal(out.masked.swap_mask, 0xa0000002);
	assert_int_equal(out.masked.compare_mask, 0xa0000003);
	assert_int_equal(out.raddr, 0x8000);
	assert_int_equal(out.length, 4);
}

/* Of RC at the end of the ring, and of a DC initiator, whose address precedes the operation. */
static void masked_atomics_of_eight_bytes(void **state)
{
	for (int dc = 0; dc < 2; dc++) {
		uint32_t index = BLOCKS - 1, first = dc ? 5 : 2;
		uint64_t *masks = unit(index, first + 1), *values = unit(index, first);
		struct mlx5_wqe_av *av = unit(index, 1);

		qp.type = dc ? HCA_QP_DCI : HCA_QP_RC;
		if (dc) {
			memset(av, 0, sizeof(*av));
			av->dqp_dct = htobe32(0x77 | MLX5_EXTENDED_UD_AV);
			av->key.dc_key = htobe64(0x1234);
		}
		put_masked(index, MLX5_OPCODE_ATOMIC_MASKED_CS, MLX5_ATOMIC_OPMOD_8, first + 3);
		values[0] = htobe64(0xa000000000000000);
		values[1] = htobe64(1);
		masks[0] = htobe64(2);
		masks[1] = htobe64(3);
		decode(index);
		assert_false(out.bad);
		assert_int_equal(out.masked.size, 8);
		assert_int_equal(out.masked.swap, 0xa000000000000000);
		assert_int_equal(out.masked.compare, 1);
		assert_int_equal(out.masked.swap_mask, 2);
		assert_int_equal(out.masked.compare_mask, 3);
		assert_int_equal(out.raddr, 0x8000);
		assert_int_equal(out.length, 8);
		if (dc)
			assert_int_equal(out.dc_key, 0x1234);
	}
}

static void a_masked_addition_has_boundaries(void **state)
{
	uint64_t *eight = unit(2, 2);

	put_masked(2, MLX5_OPCODE_ATOMIC_MASKED_FA, MLX5_ATOMIC_OPMOD_8, 4);
	eight[0] = htobe64(7);
	eight[1] = htobe64(1ull << 63);
	decode(2);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_MASKED_FETCH_ADD);
	assert_int_equal(out.masked.size, 8);
	assert_true(out.masked.add);
	assert_int_equal(out.masked.swap, 7);
	assert_int_equal(out.masked.compare, 1ull << 63);
	assert_int_equal(out.length, 8);
	put_masked(2, MLX5_OPCODE_ATOMIC_MASKED_FA, 0, 4); /* not one of the sizes */
	decode(2);
	assert_bad();
}

static void a_flush_has_a_range_and_no_data(void **state)
{
	struct mlx5_wqe_flush_seg *seg = unit(1, 2);

	put_ctrl(1, MLX5_OPCODE_FLUSH, 0, 3, 0);
	put_raddr(1, 1, 0x7000, 0x77);
	*seg = (struct mlx5_wqe_flush_seg){ .feth = htobe32(0x12), .length = htobe32(4096) };
	decode(1);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_FLUSH);
	assert_int_equal(out.raddr, 0x7000);
	assert_int_equal(out.rkey, 0x77);
	assert_int_equal(out.feth, 0x12);
	assert_int_equal(out.length, 4096);
	assert_int_equal(out.sge_count, 0);
	put_ctrl(1, MLX5_OPCODE_FLUSH, 0, 2, 0); /* without the range */
	decode(1);
	assert_bad();
	put_ctrl(1, MLX5_OPCODE_FLUSH, 0, 4, 0); /* with data behind it */
	decode(1);
	assert_bad();
}

static void an_atomic_write_has_its_data_inline(void **state)
{
	struct mlx5_wqe_inl_data_seg *seg = unit(1, 2);

	put_ctrl(1, MLX5_OPCODE_ATOMIC_WRITE, 0, 3, 0);
	put_raddr(1, 1, 0x7000, 0x77);
	seg->byte_count = htobe32(8 | MLX5_INLINE_SEG);
	decode(1);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_ATOMIC_WRITE);
	assert_int_equal(out.length, 8);
	assert_int_equal(out.sge[0].key, HCA_KEY_INLINE);
	assert_ptr_equal((void *)(uintptr_t)out.sge[0].addr, seg + 1);
}

static void put_tag(uint8_t opcode, uint8_t ds)
{
	struct mlx5_wqe_tm_seg *seg = unit(1, 1);

	put_ctrl(1, MLX5_OPCODE_TAG_MATCHING, 0, ds, 0);
	*seg = (struct mlx5_wqe_tm_seg){ .opcode = opcode,
					 .flags = 0xc0,
					 .index = htobe16(7),
					 .sw_cnt = htobe16(9),
					 .append_tag = htobe64(0x1122),
					 .append_mask = htobe64(0xffff) };
	mlx5dv_set_data_seg(unit(1, 3), 100, 5, 0x5000);
}

static void changes_of_tag_lists(void **state)
{
	put_tag(0x10, 4);
	decode(1);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_TAG);
	assert_int_equal(out.tag.change, HCA_TAG_APPEND);
	assert_true(out.tag.signaled);
	assert_true(out.tag.sync);
	assert_int_equal(out.tag.index, 7);
	assert_int_equal(out.tag.handled, 9);
	assert_int_equal(out.tag.tag, 0x1122);
	assert_int_equal(out.tag.mask, 0xffff);
	assert_int_equal(out.sge_count, 1);
	assert_int_equal(out.sge[0].len, 100);
	mlx5dv_set_data_seg(unit(1, 3), 0, 0x100, 0); /* without a buffer */
	decode(1);
	assert_false(out.bad);
	assert_int_equal(out.sge_count, 0);
	put_tag(0x20, 3);
	decode(1);
	assert_int_equal(out.tag.change, HCA_TAG_REMOVE);
	put_tag(0, 3);
	decode(1);
	assert_int_equal(out.tag.change, HCA_TAG_SYNC);
	put_tag(0x30, 4);
	decode(1);
	assert_bad();
	put_tag(0x10, 3); /* an append without its data segment */
	decode(1);
	assert_bad();
	put_tag(0, 2);
	decode(1);
	assert_bad();
}

static void masked_atomics_are_refused(void **state)
{
	put_atomic(1, MLX5_OPCODE_ATOMIC_MASKED_CS, 1, 1);
	decode(1);
	assert_bad();
	put_atomic(1, MLX5_OPCODE_ATOMIC_MASKED_FA, 1, 1);
	decode(1);
	assert_bad();
}

static void an_xrc_entry_names_its_target_queue(void **state)
{
	struct mlx5_wqe_xrc_seg *xrc = unit(0, 1);

	qp.type = HCA_QP_XRC_SEND;
	put_ctrl(0, MLX5_OPCODE_RDMA_WRITE, 0, 3, 0);
	xrc->srqn = htobe32(0x99);
	put_raddr(0, 2, 0x8000, 9);
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.xrc_srqn, 0x99);
	assert_int_equal(out.raddr, 0x8000);
}

static struct hca_av sample_av(bool ethernet)
{
	return (struct hca_av){
		.dgid = { { 0xfe, 0x80, [15] = 1 } },
		.has_grh = true,
		.sgid_index = 3,
		.hop_limit = 64,
		.traffic_class = 0x20,
		.flow_label = 0x12345,
		.dlid = ethernet ? 0 : 17,
		.sl = 5,
		.static_rate = 3,
		.src_path_bits = ethernet ? 0 : 2,
		.dmac = { 2, 3, 4, 5, 6, ethernet ? 7 : 7 },
	};
}

static void a_datagram_finds_its_way(void **state)
{
	struct mlx5_wqe_datagram_seg *seg = unit(4, 1);
	struct hca_av av = sample_av(true);

	qp.type = HCA_QP_UD;
	put_ctrl(4, MLX5_OPCODE_SEND, 0, 5, 0);
	mlx5_av_encode(&av, true, &seg->av);
	seg->av.dqp_dct = htobe32(0x801 | MLX5_EXTENDED_UD_AV);
	seg->av.key.qkey.qkey = htobe32(0x11111111);
	mlx5dv_set_data_seg(unit(4, 4), 10, 5, 0x5000);
	decode(4);
	assert_false(out.bad);
	assert_int_equal(out.blocks, 2);
	assert_int_equal(out.dqpn, 0x801);
	assert_int_equal(out.qkey, 0x11111111);
	assert_int_equal(out.length, 10);
	assert_memory_equal(&out.av, &av, offsetof(struct hca_av, udp_sport));
	assert_int_equal(out.av.udp_sport, 0);
}

static void address_vectors_survive_both_link_layers(void **state)
{
	for (int ethernet = 0; ethernet < 2; ethernet++) {
		struct hca_av av = sample_av(ethernet), back = { 0 };
		struct mlx5_wqe_av seg;

		if (!ethernet)
			memset(av.dmac, 0, sizeof(av.dmac));
		mlx5_av_encode(&av, ethernet, &seg);
		mlx5_av_decode(&seg, ethernet, &back);
		assert_memory_equal(&av, &back, sizeof(av));
	}
}

static void an_infiniband_vector_may_lack_a_global_header(void **state)
{
	struct hca_av av = { .dlid = 9, .sl = 15 }, back;
	struct mlx5_wqe_av seg;

	mlx5_av_encode(&av, false, &seg);
	mlx5_av_decode(&seg, false, &back);
	assert_false(back.has_grh);
	assert_int_equal(back.dlid, 9);
	assert_int_equal(back.sl, 15);
}

static void put_inline(uint32_t index, uint32_t n, uint32_t length)
{
	struct mlx5_wqe_inl_data_seg *seg = unit(index, n);

	seg->byte_count = htobe32(length | MLX5_INLINE_SEG);
}

static void inline_data_lies_in_the_ring(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 3, 0);
	put_inline(0, 1, 28);
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.sge_count, 1);
	assert_int_equal(out.sge[0].key, HCA_KEY_INLINE);
	assert_int_equal(out.sge[0].addr, (uintptr_t)unit(0, 1) + 4);
	assert_int_equal(out.sge[0].len, 28);
}

static void inline_data_goes_on_at_the_rings_start(void **state)
{
	put_ctrl(15, MLX5_OPCODE_SEND, 0, 8, 0);
	put_inline(15, 1, 100);
	decode(15);
	assert_false(out.bad);
	assert_int_equal(out.sge_count, 2);
	assert_int_equal(out.sge[0].len, 44);
	assert_int_equal(out.sge[0].addr, (uintptr_t)ring + sizeof(ring) - 44);
	assert_int_equal(out.sge[1].len, 56);
	assert_int_equal(out.sge[1].addr, (uintptr_t)ring);
	assert_int_equal(out.length, 100);
	assert_int_equal(out.blocks, 2);
}

static void inline_and_other_pieces_mix(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 4, 0);
	put_inline(0, 1, 20);
	mlx5dv_set_data_seg(unit(0, 3), 64, 5, 0x5000);
	decode(0);
	assert_int_equal(out.sge_count, 2);
	assert_int_equal(out.length, 84);
	assert_int_equal(out.sge[1].key, 5);
}

static void elements_go_on_at_the_rings_start(void **state)
{
	put_ctrl(15, MLX5_OPCODE_SEND, 0, 6, 0);
	for (uint32_t i = 1; i < 6; i++)
		mlx5dv_set_data_seg(unit(15, i), i, i, i * 0x1000);
	decode(15);
	assert_int_equal(out.sge_count, 5);
	for (uint32_t i = 1; i < 6; i++)
		assert_int_equal(out.sge[i - 1].addr, i * 0x1000);
}

static void length_zero_of_an_element_means_two_gigabytes(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 2, 0);
	mlx5dv_set_data_seg(unit(0, 1), 0, 5, 0x5000);
	decode(0);
	assert_int_equal(out.sge[0].len, 1u << 31);
	assert_int_equal(out.length, 1ull << 31);
}

static void no_element_passes_for_inline_data(void **state)
{
	struct hca_rq_ring rq = { .buf = ring, .size = 8, .slot_shift = 6, .max_sge = 1 };
	struct hca_recv recv;

	put_ctrl(0, MLX5_OPCODE_SEND, 0, 2, 0);
	mlx5dv_set_data_seg(unit(0, 1), 8, HCA_KEY_INLINE, 0x5000);
	decode(0);
	assert_int_equal(out.sge[0].key, 0);
	mlx5dv_set_data_seg(unit(1, 0), 8, HCA_KEY_INLINE, 0x5000);
	drv_rq_decode(&rq, 1, &recv);
	assert_int_equal(recv.sge[0].key, 0);
}

static void the_index_counts_on_after_a_lap(void **state)
{
	put_ctrl(BLOCKS * 5 + 2, MLX5_OPCODE_NOP, 0, 1, 0);
	decode(BLOCKS * 5 + 2);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_NOP);
	put_ctrl(0x10000 + 2, MLX5_OPCODE_NOP, 0, 1, 0);
	decode(0x10000 + 2);
	assert_false(out.bad);
	assert_int_equal(out.counter, 2);
}

static void an_entry_of_an_earlier_lap_is_bad(void **state)
{
	put_ctrl(2, MLX5_OPCODE_SEND, 0, 1, 0);
	decode(BLOCKS + 2);
	assert_bad();
	assert_int_equal(out.blocks, 1);
}

static void entries_of_another_qp_are_bad(void **state)
{
	put_ctrl(2, MLX5_OPCODE_SEND, 0, 1, 0);
	qp.qpn = QPN + 1;
	decode(2);
	assert_bad();
}

static void an_entry_without_length_is_bad(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 0, 0);
	decode(0);
	assert_bad();
	assert_int_equal(out.blocks, 1);
}

static void an_entry_longer_than_the_ring_is_bad(void **state)
{
	qp.sq.size = 4;
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 17, 0);
	decode(0);
	assert_bad();
}

static void opcodes_that_a_transport_lacks_are_bad(void **state)
{
	const struct {
		enum hca_qp_type type;
		uint8_t opcode;
	} wrong[] = {
		{ HCA_QP_UC, MLX5_OPCODE_RDMA_READ },
		{ HCA_QP_UC, MLX5_OPCODE_ATOMIC_CS },
		{ HCA_QP_UD, MLX5_OPCODE_RDMA_WRITE },
		{ HCA_QP_UD, MLX5_OPCODE_SEND_INVAL },
		{ HCA_QP_UD, MLX5_OPCODE_UMR },
		{ HCA_QP_RC, MLX5_OPCODE_TSO },
		{ HCA_QP_RC, 0x7f },
		{ HCA_QP_RC, 0xff },
		{ HCA_QP_UD, MLX5_OPCODE_SET_PSV },
		{ HCA_QP_UC, MLX5_OPCODE_FLUSH },
		{ HCA_QP_UD, MLX5_OPCODE_ATOMIC_WRITE },
		{ HCA_QP_UC, MLX5_OPCODE_TAG_MATCHING },
	};

	for (size_t i = 0; i < array_size(wrong); i++) {
		qp.type = wrong[i].type;
		put_ctrl(0, wrong[i].opcode, 0, 8, 0);
		decode(0);
		assert_bad();
	}
}

static void an_entry_too_short_for_its_segments_is_bad(void **state)
{
	put_ctrl(0, MLX5_OPCODE_RDMA_WRITE, 0, 1, 0);
	decode(0);
	assert_bad();
	put_ctrl(0, MLX5_OPCODE_ATOMIC_FA, 0, 2, 0);
	decode(0);
	assert_bad();
	qp.type = HCA_QP_UD;
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 3, 0);
	decode(0);
	assert_bad();
	qp.type = HCA_QP_XRC_SEND;
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 1, 0);
	decode(0);
	assert_bad();
}

static void inline_data_longer_than_its_entry_is_bad(void **state)
{
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 2, 0);
	put_inline(0, 1, 13);
	decode(0);
	assert_bad();
	put_inline(0, 1, 12);
	decode(0);
	assert_false(out.bad);
	put_inline(0, 1, 0x7fffffff);
	decode(0);
	assert_bad();
}

/* The whole of a bind at the given index; what a test wants otherwise it changes. */
static struct mlx5_bind_wqe *put_bind(uint32_t index)
{
	struct mlx5_bind_wqe *wqe = unit(index, 0);

	memset(wqe, 0, sizeof(*wqe));
	put_ctrl(index, MLX5_OPCODE_UMR, MLX5_WQE_CTRL_CQ_UPDATE, sizeof(*wqe) / 16,
		 htobe32(0x00123401));
	wqe->umr.flags = MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET | MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	wqe->umr.mkey_mask =
		htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN);
	wqe->mkey.access_flags = MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE;
	wqe->mkey.qpn_mkey = htobe32(QPN << 8 | 0x02);
	wqe->mkey.start_addr = htobe64(0x7000);
	wqe->mkey.len = htobe64(0x100);
	wqe->klm.byte_count = htobe32(0x100);
	wqe->klm.mkey = htobe32(0x555);
	wqe->klm.address = htobe64(0x7000);
	return wqe;
}

static void a_window_of_type_2_is_bound(void **state)
{
	put_bind(0);
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_BIND_MW);
	assert_int_equal(out.blocks, 3);
	assert_true(out.bind.type2);
	assert_int_equal(out.bind.mw_key, 0x00123401);
	assert_int_equal(out.bind.new_key, 0x00123402);
	assert_int_equal(out.bind.mr_key, 0x555);
	assert_int_equal(out.bind.access, HCA_ACCESS_REMOTE_WRITE);
	assert_int_equal(out.bind.addr, 0x7000);
	assert_int_equal(out.bind.len, 0x100);
}

static void a_window_may_start_at_zero(void **state)
{
	put_bind(0)->mkey.start_addr = 0;
	decode(0);
	assert_int_equal(out.bind.access, HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_ZERO_BASED);
	assert_int_equal(out.bind.addr, 0x7000);
}

static void a_window_of_type_1_is_unbound(void **state)
{
	struct mlx5_bind_wqe *wqe = put_bind(0);

	wqe->umr.mkey_mask =
		htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY);
	wqe->mkey.free = MLX5_WQE_MKEY_CONTEXT_FREE;
	put_ctrl(0, MLX5_OPCODE_UMR, 0, 8, htobe32(0x00123401));
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_BIND_MW);
	assert_false(out.bind.type2);
	assert_int_equal(out.bind.len, 0);
	assert_int_equal(out.bind.new_key, 0x00123402);
}

static void freeing_a_window_of_type_2_invalidates_it(void **state)
{
	put_bind(0)->mkey.free = MLX5_WQE_MKEY_CONTEXT_FREE;
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_LOCAL_INV);
	assert_int_equal(out.imm, 0x00123401);
}

static void malformed_key_changes_are_bad(void **state)
{
	put_bind(0);
	put_ctrl(0, MLX5_OPCODE_UMR, 0, 7, 0);
	decode(0);
	assert_bad();
	put_bind(0);
	put_ctrl(0, MLX5_OPCODE_UMR, 0, 8, 0);
	decode(0);
	assert_bad();
	put_bind(0)->umr.mkey_mask = 0;
	decode(0);
	assert_bad();
	put_bind(0)->mkey.len = 0;
	decode(0);
	assert_bad();
	put_bind(0)->umr.flags = MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET; /* where is it? */
	decode(0);
	assert_bad();
}

/* A bind entry without an offset is about an indirect key: its element is a piece of the key. */
static void an_indirect_key_has_its_pieces_in_the_entry(void **state)
{
	struct mlx5_bind_wqe *wqe = put_bind(0);
	struct mlx5_wqe_umr_repeat_block_seg *block = (void *)&wqe->klm;
	struct mlx5_wqe_umr_repeat_ent_seg *lane = (void *)wqe->pad;

	wqe->umr.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	wqe->umr.klm_octowords = htobe16(4);
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.op, HCA_OP_UMR);
	assert_int_equal(out.sge_count, 1);
	assert_int_equal(out.umr.rounds, 0);
	assert_int_equal(out.umr.mask, HCA_UMR_LAYOUT | HCA_UMR_TAG);

	block->op = htobe32(MLX5_REPEAT_BLOCK);
	block->repeat_count = htobe32(7);
	block->reserved = 0;
	block->num_ent = htobe16(2);
	for (int i = 0; i < 2; i++)
		lane[i] = (struct mlx5_wqe_umr_repeat_ent_seg){ .stride = htobe16(32),
								.byte_count = htobe16(8),
								.memkey = htobe32(0x700) };
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.umr.rounds, 7);
	assert_int_equal(out.sge_count, 2);
	assert_int_equal(out.sge[1].len, 32 << 16 | 8);

	block->num_ent = htobe16(4); /* more lanes than there are */
	decode(0);
	assert_bad();
	block->num_ent = htobe16(2);
	block->repeat_count = 0;
	decode(0);
	assert_bad();
	wqe->umr.klm_octowords = htobe16(40);
	decode(0);
	assert_bad();
}

static void a_bind_goes_on_at_the_rings_start(void **state)
{
	struct mlx5_bind_wqe wqe;

	memcpy(&wqe, put_bind(0), sizeof(wqe));
	memset(ring, 0xee, sizeof(ring));
	for (uint32_t i = 0; i < sizeof(wqe) / 16; i++)
		memcpy(unit(15, i), (uint8_t *)&wqe + i * 16, 16);
	put_ctrl(15, MLX5_OPCODE_UMR, 0, sizeof(wqe) / 16, htobe32(0x00123401));
	decode(15);
	assert_false(out.bad);
	assert_int_equal(out.bind.mr_key, 0x555);
	assert_int_equal(out.bind.len, 0x100);
}

static void the_frames_first_bytes_are_a_piece_of_their_own(void **state)
{
	struct mlx5_wqe_eth_seg *eth = unit(0, 1);

	qp.type = HCA_QP_RAW;
	put_ctrl(0, MLX5_OPCODE_SEND, 0, 4, 0);
	memset(eth, 0, sizeof(*eth));
	eth->inline_hdr_sz = htobe16(18);
	mlx5dv_set_data_seg(unit(0, 3), 46, 5, 0x5000);
	decode(0);
	assert_false(out.bad);
	assert_int_equal(out.sge_count, 2);
	assert_int_equal(out.sge[0].key, HCA_KEY_INLINE);
	assert_int_equal(out.sge[0].len, 18);
	assert_int_equal(out.sge[0].addr, (uintptr_t)eth->inline_hdr_start);
	assert_int_equal(out.length, 64);
	eth->inline_hdr_sz = htobe16(200);
	decode(0);
	assert_bad();
}

static void any_bytes_decode_to_something_inside_the_ring(void **state)
{
	const enum hca_qp_type types[] = { HCA_QP_RC, HCA_QP_UC, HCA_QP_UD, HCA_QP_XRC_SEND,
					   HCA_QP_RAW };
	uint64_t seed = 88172645463325252ull;

	for (int round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(ring); i += 8) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			memcpy(ring + i, &seed, 8);
		}
		qp.type = types[round % array_size(types)];
		/* Let most of them pass the first checks. */
		put_ctrl(round, seed >> 8 & 0x1f, seed, seed >> 40 & 0x3f, seed);
		decode(round);
		assert_true(out.blocks >= 1 && out.blocks <= BLOCKS);
		if (out.bad)
			continue;
		assert_in_range(out.sge_count, 0, HCA_MAX_SGE);
		for (int i = 0; i < out.sge_count; i++) {
			if (out.sge[i].key != HCA_KEY_INLINE)
				continue;
			assert_in_range(out.sge[i].addr, ring, ring + sizeof(ring));
			assert_in_range(out.sge[i].addr + out.sge[i].len, ring,
					ring + sizeof(ring));
		}
	}
}

static void a_receive_ends_at_the_invalid_key(void **state)
{
	struct hca_rq_ring rq = { .buf = ring, .size = 8, .slot_shift = 6, .max_sge = 4 };
	struct mlx5_wqe_data_seg *seg = (void *)(ring + 3 * 64);
	struct hca_recv recv;

	mlx5dv_set_data_seg(&seg[0], 10, 1, 0x1000);
	mlx5dv_set_data_seg(&seg[1], 20, 2, 0x2000);
	mlx5dv_set_data_seg(&seg[2], 0, MLX5_INVALID_LKEY, 0);
	drv_rq_decode(&rq, 8 + 3, &recv);
	assert_int_equal(recv.counter, 11);
	assert_int_equal(recv.sge_count, 2);
	assert_int_equal(recv.sge[1].addr, 0x2000);
	assert_int_equal(recv.sge[1].len, 20);
	assert_int_equal(recv.sge[1].key, 2);
}

static void a_receive_ends_at_its_entrys_end(void **state)
{
	struct hca_rq_ring rq = { .buf = ring, .size = 8, .slot_shift = 5, .max_sge = 2 };
	struct mlx5_wqe_data_seg *seg = (void *)ring;
	struct hca_recv recv;

	for (int i = 0; i < 4; i++)
		mlx5dv_set_data_seg(&seg[i], 10, 1, 0x1000);
	drv_rq_decode(&rq, 0, &recv);
	assert_int_equal(recv.sge_count, 2);
}

static void shared_entries_have_a_link_first(void **state)
{
	struct hca_rq_ring rq = {
		.buf = ring, .size = 16, .slot_shift = 5, .max_sge = 1, .signature = true
	};
	struct mlx5_wqe_srq_next_seg *link = (void *)(ring + 2 * 32);
	struct hca_recv recv;

	link->next_wqe_index = htobe16(9);
	mlx5dv_set_data_seg((void *)(link + 1), 10, 1, 0x1000);
	drv_rq_decode(&rq, 2, &recv);
	assert_int_equal(recv.sge_count, 1);
	assert_int_equal(recv.sge[0].addr, 0x1000);
	assert_int_equal(drv_srq_next(&rq, 2), 9);
	link->next_wqe_index = htobe16(0xffff);
	assert_int_equal(drv_srq_next(&rq, 2), 15);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_send_has_its_elements_flags_and_length),
		T(a_send_without_data_is_empty),
		T(the_key_to_invalidate_comes_in_host_order),
		T(fences_are_told_from_the_small_fence),
		T(rdma_operations_name_remote_memory),
		T(atomics_have_their_operands),
		T(masked_atomics_are_refused),
		T(an_xrc_entry_names_its_target_queue),
		T(a_datagram_finds_its_way),
		T(address_vectors_survive_both_link_layers),
		T(an_infiniband_vector_may_lack_a_global_header),
		T(inline_data_lies_in_the_ring),
		T(inline_data_goes_on_at_the_rings_start),
		T(inline_and_other_pieces_mix),
		T(elements_go_on_at_the_rings_start),
		T(length_zero_of_an_element_means_two_gigabytes),
		T(no_element_passes_for_inline_data),
		T(the_index_counts_on_after_a_lap),
		T(an_entry_of_an_earlier_lap_is_bad),
		T(entries_of_another_qp_are_bad),
		T(an_entry_without_length_is_bad),
		T(an_entry_longer_than_the_ring_is_bad),
		T(masked_atomics_of_four_bytes),
		T(masked_atomics_of_eight_bytes),
		T(a_masked_addition_has_boundaries),
		T(a_flush_has_a_range_and_no_data),
		T(an_atomic_write_has_its_data_inline),
		T(changes_of_tag_lists),
		T(opcodes_that_a_transport_lacks_are_bad),
		T(an_entry_too_short_for_its_segments_is_bad),
		T(inline_data_longer_than_its_entry_is_bad),
		T(a_window_of_type_2_is_bound),
		T(a_window_may_start_at_zero),
		T(a_window_of_type_1_is_unbound),
		T(freeing_a_window_of_type_2_invalidates_it),
		T(malformed_key_changes_are_bad),
		T(an_indirect_key_has_its_pieces_in_the_entry),
		T(a_bind_goes_on_at_the_rings_start),
		T(the_frames_first_bytes_are_a_piece_of_their_own),
		T(any_bytes_decode_to_something_inside_the_ring),
		T(a_receive_ends_at_the_invalid_key),
		T(a_receive_ends_at_its_entrys_end),
		T(shared_entries_have_a_link_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
