/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing mlx5 completions, and the doorbell records of all rings. */
#include "cmocka_all.h"

#include <endian.h>
#include <string.h>

#include "hca/queue/cq.h"
#include "driver/syndrome.h"
#include "mlx5/cqe.h"
#include "mlx5/format.h"
#include "mlx5/wqe.h"

#define ENTRIES 4

static _Alignas(128) uint8_t ring[ENTRIES * 128];
static uint32_t record[2];
static struct hca_cq cq;

static void make_ring(uint32_t entry_size)
{
	memset(ring, 0xff, sizeof(ring));
	memset(record, 0, sizeof(record));
	cq = (struct hca_cq){
		.buf = ring, .size = ENTRIES, .entry_size = entry_size, .db = record
	};
}

static int setup(void **state)
{
	make_ring(64);
	return 0;
}

static struct mlx5_cqe64 *at(uint32_t pi)
{
	return (void *)(ring + (pi % ENTRIES + 1) * cq.entry_size - 64);
}

static void a_send_completion_repeats_the_request(void **state)
{
	const struct hca_cqe c = { .op = HCA_OP_READ,
				   .qpn = 0x123,
				   .user_index = 7,
				   .counter = 0xbeef,
				   .byte_len = 4096,
				   .timestamp = 0x1122334455 };
	struct mlx5_cqe64 *cqe = at(0);

	mlx5_cqe_write(&cq, 0, &c);
	assert_int_equal(mlx5dv_get_cqe_opcode(cqe), MLX5_CQE_REQ);
	assert_int_equal(mlx5dv_get_cqe_owner(cqe), 0);
	assert_int_equal(be32toh(cqe->sop_drop_qpn), MLX5_OPCODE_RDMA_READ << 24 | 0x123);
	assert_int_equal(be16toh(cqe->wqe_counter), 0xbeef);
	assert_int_equal(be32toh(cqe->byte_cnt), 4096);
	assert_int_equal(be32toh(cqe->srqn_uidx), 7);
	assert_int_equal(be64toh(cqe->timestamp), 0x1122334455);
	assert_int_equal(cqe->app, 0);
}

static void each_operation_has_its_opcode(void **state)
{
	const struct {
		enum hca_op op;
		uint8_t opcode;
	} ops[] = {
		{ HCA_OP_SEND, 0x0a },
		{ HCA_OP_SEND_IMM, 0x0b },
		{ HCA_OP_SEND_INV, 0x01 },
		{ HCA_OP_WRITE, 0x08 },
		{ HCA_OP_WRITE_IMM, 0x09 },
		{ HCA_OP_READ, 0x10 },
		{ HCA_OP_CMP_SWAP, 0x11 },
		{ HCA_OP_FETCH_ADD, 0x12 },
		{ HCA_OP_LOCAL_INV, 0x25 },
		{ HCA_OP_BIND_MW, 0x25 },
		{ HCA_OP_NOP, 0x00 },
		{ HCA_OP_MASKED_CMP_SWAP, 0x14 },
		{ HCA_OP_MASKED_FETCH_ADD, 0x15 },
	};

	for (size_t i = 0; i < array_size(ops); i++) {
		const struct hca_cqe c = { .op = ops[i].op };

		mlx5_cqe_write(&cq, 0, &c);
		assert_int_equal(be32toh(at(0)->sop_drop_qpn) >> 24, ops[i].opcode);
	}
}

static void the_owner_bit_turns_with_every_lap(void **state)
{
	const struct hca_cqe c = { .op = HCA_OP_SEND };

	for (uint32_t pi = 0; pi < 5 * ENTRIES; pi++) {
		mlx5_cqe_write(&cq, pi, &c);
		assert_int_equal(mlx5dv_get_cqe_owner(at(pi)), (pi / ENTRIES) & 1);
	}
}

static void wide_entries_use_their_second_half(void **state)
{
	const struct hca_cqe c = { .op = HCA_OP_SEND, .counter = 5 };

	make_ring(128);
	mlx5_cqe_write(&cq, 1, &c);
	assert_int_equal(ring[128 + 127] >> 4, MLX5_CQE_REQ);
	assert_int_equal(be16toh(at(1)->wqe_counter), 5);
	for (int i = 0; i < 64; i++)
		assert_int_equal(ring[128 + i], 0xff);
}

static void receive_completions_tell_what_came(void **state)
{
	const struct {
		enum hca_recv_kind kind;
		uint8_t opcode;
		uint32_t imm, in_memory;
	} kinds[] = {
		{ HCA_RECV_SEND, MLX5_CQE_RESP_SEND, 0x55, htobe32(3) },
		{ HCA_RECV_SEND_IMM, MLX5_CQE_RESP_SEND_IMM, 0x55, 0x55 },
		{ HCA_RECV_SEND_INV, MLX5_CQE_RESP_SEND_INV, 0x55, htobe32(0x55) },
		{ HCA_RECV_WRITE_IMM, MLX5_CQE_RESP_WR_IMM, 0x55, 0x55 },
	};

	for (size_t i = 0; i < array_size(kinds); i++) {
		const struct hca_cqe c = { .is_recv = true,
					   .recv_kind = kinds[i].kind,
					   .imm = kinds[i].imm,
					   .pkey_index = 3,
					   .qpn = 9,
					   .op = HCA_OP_READ,
					   .solicited = true };

		mlx5_cqe_write(&cq, 0, &c);
		assert_int_equal(mlx5dv_get_cqe_opcode(at(0)), kinds[i].opcode);
		assert_int_equal(mlx5dv_get_cqe_se(at(0)), 1);
		assert_int_equal(at(0)->imm_inval_pkey, kinds[i].in_memory);
		assert_int_equal(be32toh(at(0)->sop_drop_qpn), 9);
	}
}

static void datagrams_tell_where_they_came_from(void **state)
{
	const struct hca_cqe c = {
		.is_recv = true, .src_qpn = 0x801, .slid = 17, .sl = 5, .path_bits = 3, .grh = true
	};

	mlx5_cqe_write(&cq, 0, &c);
	assert_int_equal(be32toh(at(0)->flags_rqpn), 0x15000801);
	assert_int_equal(be16toh(at(0)->slid), 17);
	assert_int_equal(at(0)->ml_path, 3);
}

static void roce_datagrams_tell_their_network_header(void **state)
{
	const struct hca_cqe c = { .is_recv = true,
				   .src_qpn = 0x801,
				   .grh = true,
				   .roce = true,
				   .roce_kind = 2,
				   .sl = 3,
				   .slid = 99 };

	mlx5_cqe_write(&cq, 0, &c);
	assert_int_equal(be32toh(at(0)->flags_rqpn), 0x12000801);
	assert_int_equal(be16toh(at(0)->vlan_info), 3 << 13);
	assert_int_equal(at(0)->slid, 0);
}

static void errors_have_status_and_syndrome(void **state)
{
	struct hca_cqe c = { .status = HCA_REM_ACCESS_ERR,
			     .vendor = 0x88,
			     .op = HCA_OP_WRITE,
			     .qpn = 5,
			     .counter = 2 };
	struct mlx5_err_cqe *err = (void *)at(0);

	mlx5_cqe_write(&cq, 0, &c);
	assert_int_equal(mlx5dv_get_cqe_opcode(at(0)), MLX5_CQE_REQ_ERR);
	assert_int_equal(err->syndrome, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	assert_int_equal(err->vendor_err_synd, 0x88);
	assert_int_equal(be32toh(err->s_wqe_opcode_qpn), MLX5_OPCODE_RDMA_WRITE << 24 | 5);
	assert_int_equal(be16toh(err->wqe_counter), 2);
	c.is_recv = true;
	mlx5_cqe_write(&cq, 0, &c);
	assert_int_equal(mlx5dv_get_cqe_opcode(at(0)), MLX5_CQE_RESP_ERR);
}

static void every_status_survives_the_ring(void **state)
{
	const enum hca_status all[] = {
		HCA_LOC_LEN_ERR,    HCA_LOC_QP_OP_ERR, HCA_LOC_PROT_ERR,   HCA_WR_FLUSH_ERR,
		HCA_MW_BIND_ERR,    HCA_BAD_RESP_ERR,  HCA_LOC_ACCESS_ERR, HCA_REM_INV_REQ_ERR,
		HCA_REM_ACCESS_ERR, HCA_REM_OP_ERR,    HCA_RETRY_EXC_ERR,  HCA_RNR_RETRY_EXC_ERR,
		HCA_REM_ABORT_ERR,  HCA_GENERAL_ERR,
	};

	for (size_t i = 0; i < array_size(all); i++) {
		const struct hca_cqe c = { .status = all[i] };

		mlx5_cqe_write(&cq, i, &c);
		assert_int_equal(drv_syndrome_status(((struct mlx5_err_cqe *)at(i))->syndrome),
				 all[i]);
	}
}

static void the_consumer_index_has_24_bits(void **state)
{
	record[0] = htobe32(0xff123456);
	assert_int_equal(mlx5_format.cq_consumer(&cq), 0x123456);
}

static void producer_indexes_have_16_bits(void **state)
{
	struct hca_sq_ring sq = { .db = &record[MLX5_SND_DBR] };
	struct hca_rq_ring rq = { .db = &record[MLX5_RCV_DBR] };

	record[MLX5_SND_DBR] = htobe32(0x00051234);
	record[MLX5_RCV_DBR] = htobe32(0x0006abcd);
	assert_int_equal(mlx5_format.sq_producer(&sq), 0x1234);
	assert_int_equal(mlx5_format.rq_producer(&rq), 0xabcd);
}

static void blocks_are_ready_up_to_the_doorbell(void **state)
{
	const struct hca_sq_ring sq = { .size = 16 };

	assert_false(mlx5_format.sq_ready(&sq, 5, 5));
	assert_true(mlx5_format.sq_ready(&sq, 5, 6));
	assert_true(mlx5_format.sq_ready(&sq, 5, 21));
	assert_false(mlx5_format.sq_ready(&sq, 5, 22));
	assert_false(mlx5_format.sq_ready(&sq, 6, 5));
	assert_true(mlx5_format.sq_ready(&sq, 0xffff, 0x2));
	assert_true(mlx5_format.sq_ready(&sq, 0x1ffff, 0x20001));
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_send_completion_repeats_the_request),
		T(each_operation_has_its_opcode),
		T(the_owner_bit_turns_with_every_lap),
		T(wide_entries_use_their_second_half),
		T(receive_completions_tell_what_came),
		T(datagrams_tell_where_they_came_from),
		T(roce_datagrams_tell_their_network_header),
		T(errors_have_status_and_syndrome),
		T(every_status_survives_the_ring),
		T(the_consumer_index_has_24_bits),
		T(producer_indexes_have_16_bits),
		T(blocks_are_ready_up_to_the_doorbell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
