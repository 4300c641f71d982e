/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion entries as the adapter writes them, read with the public header's own means. */
#include "cmocka_all.h"

#include <endian.h>
#include <string.h>

#include "hca/queue/cq.h"
#include "driver/syndrome.h"
#include "mlx4/format.h"
#include "mlx4/wqe.h"

#define ENTRIES 4u

static _Alignas(64) uint8_t ring[ENTRIES * 64];
static uint32_t db[2];

static struct hca_cq make(uint32_t entry_size)
{
	memset(ring, 0xcc, sizeof(ring));
	return (struct hca_cq){ .buf = ring, .size = ENTRIES, .entry_size = entry_size, .db = db };
}

static struct mlx4_cqe *at(const struct hca_cq *cq, uint32_t index)
{
	return (void *)(ring + (index % ENTRIES + 1) * cq->entry_size - 32);
}

/* As mlx4dv programs ask: is the entry of this index mine to read? */
static bool mine(const struct hca_cq *cq, uint32_t index)
{
	return !!mlx4dv_get_cqe_owner(at(cq, index)) == !!(index & ENTRIES);
}

static void entries_change_owner_with_every_lap(void **state)
{
	static const uint32_t sizes[] = { 32, 64 };

	for (size_t s = 0; s < array_size(sizes); s++) {
		struct hca_cq cq = make(sizes[s]);

		for (uint32_t i = 0; i < 5 * ENTRIES; i++) {
			struct hca_cqe cqe = { .counter = i, .op = HCA_OP_SEND };

			assert_false(mine(&cq, i));
			mlx4_format.cqe_write(&cq, i, &cqe);
			assert_true(mine(&cq, i));
			assert_int_equal(be16toh(at(&cq, i)->wqe_index), i);
		}
	}
}

static void the_first_half_of_a_long_entry_is_left_alone(void **state)
{
	struct hca_cq cq = make(64);
	struct hca_cqe cqe = { .op = HCA_OP_SEND };

	mlx4_format.cqe_write(&cq, 0, &cqe);
	for (int i = 0; i < 32; i++)
		assert_int_equal(ring[i], 0xcc);
}

static void send_completions_name_request_and_operation(void **state)
{
	static const struct {
		enum hca_op op;
		uint8_t opcode;
	} all[] = {
		{ HCA_OP_SEND, MLX4_OPCODE_SEND },
		{ HCA_OP_SEND_IMM, MLX4_OPCODE_SEND_IMM },
		{ HCA_OP_SEND_INV, MLX4_OPCODE_SEND_INVAL },
		{ HCA_OP_WRITE, MLX4_OPCODE_RDMA_WRITE },
		{ HCA_OP_WRITE_IMM, MLX4_OPCODE_RDMA_WRITE_IMM },
		{ HCA_OP_READ, MLX4_OPCODE_RDMA_READ },
		{ HCA_OP_CMP_SWAP, MLX4_OPCODE_ATOMIC_CS },
		{ HCA_OP_FETCH_ADD, MLX4_OPCODE_ATOMIC_FA },
		{ HCA_OP_MASKED_CMP_SWAP, MLX4_OPCODE_MASKED_ATOMIC_CS },
		{ HCA_OP_MASKED_FETCH_ADD, MLX4_OPCODE_MASKED_ATOMIC_FA },
		{ HCA_OP_LOCAL_INV, MLX4_OPCODE_LOCAL_INVAL },
		{ HCA_OP_BIND_MW, MLX4_OPCODE_BIND_MW },
	};
	struct hca_cq cq = make(32);

	for (size_t i = 0; i < array_size(all); i++) {
		struct hca_cqe cqe = {
			.op = all[i].op, .qpn = 0xabcdef, .counter = 0xfedc, .byte_len = 4096
		};

		mlx4_format.cqe_write(&cq, i, &cqe);
		assert_int_equal(mlx4dv_get_cqe_opcode(at(&cq, i)), all[i].opcode);
		assert_true(at(&cq, i)->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK);
		assert_int_equal(be32toh(at(&cq, i)->vlan_my_qpn), 0xabcdef);
		assert_int_equal(be16toh(at(&cq, i)->wqe_index), 0xfedc);
		assert_int_equal(be32toh(at(&cq, i)->byte_cnt), 4096);
	}
}

static void receive_completions_name_the_sender(void **state)
{
	struct hca_cq cq = make(32);
	struct hca_cqe cqe = { .is_recv = true,
			       .recv_kind = HCA_RECV_SEND_IMM,
			       .qpn = 5,
			       .src_qpn = 0x123456,
			       .grh = true,
			       .path_bits = 0x41,
			       .sl = 9,
			       .slid = 0xbeef,
			       .byte_len = 123,
			       .imm = htobe32(0x0a0b0c0d),
			       .srqn = 0x77,
			       .counter = 6 };

	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_memory_equal(at(&cq, 0),
			    "\0\0\0\x05"
			    "\x0a\x0b\x0c\x0d"
			    "\xc1\x12\x34\x56"
			    "\x90\0\xbe\xef"
			    "\0\0\0\0"
			    "\0\0\0\x7b"
			    "\0\x06\0\0"
			    "\0\0\0\x02",
			    32);
}

static void the_word_for_immediates_has_what_the_kind_calls_for(void **state)
{
	struct hca_cq cq = make(32);
	struct hca_cqe cqe = { .is_recv = true, .pkey_index = 3, .imm = 0x11223344 };

	cqe.recv_kind = HCA_RECV_SEND;
	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_int_equal(be32toh(at(&cq, 0)->immed_rss_invalid), 3);
	assert_int_equal(mlx4dv_get_cqe_opcode(at(&cq, 0)), MLX4_RECV_OPCODE_SEND);
	cqe.recv_kind = HCA_RECV_SEND_INV;
	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_int_equal(be32toh(at(&cq, 0)->immed_rss_invalid), 0x11223344);
	assert_int_equal(mlx4dv_get_cqe_opcode(at(&cq, 0)), MLX4_RECV_OPCODE_SEND_INVAL);
	cqe.recv_kind = HCA_RECV_WRITE_IMM;
	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_int_equal(at(&cq, 0)->immed_rss_invalid, 0x11223344);
	assert_int_equal(mlx4dv_get_cqe_opcode(at(&cq, 0)), MLX4_RECV_OPCODE_RDMA_WRITE_IMM);
}

static void an_xrc_completion_names_the_receive_queue(void **state)
{
	struct hca_cq cq = make(32);
	struct hca_cqe cqe = { .is_recv = true, .xrc = true, .srqn = 0x77, .src_qpn = 0x99 };

	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_int_equal(be32toh(at(&cq, 0)->g_mlpath_rqpn), 0x77);
	cqe.status = HCA_WR_FLUSH_ERR;
	mlx4_format.cqe_write(&cq, 1, &cqe);
	assert_int_equal(be32toh(at(&cq, 1)->g_mlpath_rqpn), 0x77);
}

static void priorities_of_ethernet_take_three_bits(void **state)
{
	struct hca_cq cq = make(32);
	struct hca_cqe cqe = { .is_recv = true, .roce = true, .sl = 5 };

	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_int_equal(be16toh(at(&cq, 0)->sl_vid), 5 << 13);
}

static void time_takes_the_place_of_level_and_lid(void **state)
{
	struct hca_cq cq = make(64);
	struct hca_cqe cqe = {
		.is_recv = true, .sl = 5, .slid = 7, .timestamp = 0xabcd123456789abc
	};
	const struct mlx4_cqe *c = at(&cq, 0);

	cq.timestamp_mask = 0xffffffffffff;
	mlx4_format.cqe_write(&cq, 0, &cqe);
	assert_int_equal((uint64_t)be32toh(c->ts_47_16) << 16 | c->ts_15_8 << 8 | c->ts_7_0,
			 0x123456789abc);
	assert_true(mine(&cq, 0));
}

static void errors_carry_syndromes_both_ways(void **state)
{
	static const enum hca_status all[] = {
		HCA_LOC_LEN_ERR,    HCA_LOC_QP_OP_ERR, HCA_LOC_PROT_ERR,   HCA_WR_FLUSH_ERR,
		HCA_MW_BIND_ERR,    HCA_BAD_RESP_ERR,  HCA_LOC_ACCESS_ERR, HCA_REM_INV_REQ_ERR,
		HCA_REM_ACCESS_ERR, HCA_REM_OP_ERR,    HCA_RETRY_EXC_ERR,  HCA_RNR_RETRY_EXC_ERR,
		HCA_REM_ABORT_ERR,  HCA_GENERAL_ERR,
	};
	struct hca_cq cq = make(32);

	for (size_t i = 0; i < array_size(all); i++) {
		struct hca_cqe cqe = { .is_recv = i & 1,
				       .status = all[i],
				       .vendor = 0xf9,
				       .qpn = 0x33,
				       .counter = 0x1122 };
		const struct mlx4_err_cqe *e = (void *)at(&cq, i);

		mlx4_format.cqe_write(&cq, i, &cqe);
		assert_true(mine(&cq, i));
		assert_int_equal(e->owner_sr_opcode & MLX4_CQE_OPCODE_MASK, MLX4_CQE_OPCODE_ERROR);
		assert_int_equal(!(e->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK), i & 1);
		assert_int_equal(e->vendor_err, 0xf9);
		assert_int_equal(be16toh(e->wqe_index), 0x1122);
		assert_int_equal(be32toh(e->vlan_my_qpn), 0x33);
		assert_int_equal(drv_syndrome_status(e->syndrome), all[i]);
	}
	assert_int_equal(drv_syndrome(HCA_RETRY_EXC_ERR), 0x15);
	assert_int_equal(drv_syndrome(HCA_WR_FLUSH_ERR), 0x05);
}

static void the_consumer_index_is_read_from_its_record(void **state)
{
	struct hca_cq cq = make(32);

	db[0] = htobe32(0xff123456);
	assert_int_equal(mlx4_format.cq_consumer(&cq), 0x123456);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_change_owner_with_every_lap),
		cmocka_unit_test(the_first_half_of_a_long_entry_is_left_alone),
		cmocka_unit_test(send_completions_name_request_and_operation),
		cmocka_unit_test(receive_completions_name_the_sender),
		cmocka_unit_test(the_word_for_immediates_has_what_the_kind_calls_for),
		cmocka_unit_test(an_xrc_completion_names_the_receive_queue),
		cmocka_unit_test(priorities_of_ethernet_take_three_bits),
		cmocka_unit_test(time_takes_the_place_of_level_and_lid),
		cmocka_unit_test(errors_carry_syndromes_both_ways),
		cmocka_unit_test(the_consumer_index_is_read_from_its_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
