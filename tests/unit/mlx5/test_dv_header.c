/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs compile into themselves from mlx5dv.h: layouts, segment writers, CQE readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <infiniband/mlx5dv.h>

_Static_assert(sizeof(struct mlx5_cqe64) == 64, "CQE");
_Static_assert(sizeof(struct mlx5_err_cqe) == 64, "error CQE");
_Static_assert(offsetof(struct mlx5_cqe64, timestamp) == 48, "CQE time stamp");
_Static_assert(offsetof(struct mlx5_err_cqe, syndrome) == 55, "error CQE syndrome");
_Static_assert(sizeof(struct mlx5_wqe_ctrl_seg) == 16, "control segment");
_Static_assert(sizeof(struct mlx5_wqe_av) == 48, "address vector");
_Static_assert(sizeof(struct mlx5_wqe_eth_seg) == 32, "Ethernet segment");
_Static_assert(sizeof(struct mlx5_wqe_umr_ctrl_seg) == 48, "UMR control segment");
_Static_assert(sizeof(struct mlx5_wqe_mkey_context_seg) == 64, "memory key segment");
_Static_assert(sizeof(struct mlx5dv_qp_ex) == 13 * 8, "builder table");

static void ctrl_seg_is_written_in_network_order(void **state)
{
	struct mlx5_wqe_ctrl_seg seg;

	memset(&seg, 0xee, sizeof(seg));
	mlx5dv_set_ctrl_seg(&seg, 0x1234, MLX5_OPCODE_RDMA_WRITE, 0x56, 0x00abcdef,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0x99, htobe32(0x01020304));
	assert_memory_equal(&seg, "\x56\x12\x34\x08\xab\xcd\xef\x03\x99\xee\xee\x08\1\2\3\4", 16);
}

static void data_seg_is_written_in_network_order(void **state)
{
	struct mlx5_wqe_data_seg seg;

	mlx5dv_set_data_seg(&seg, 0x01020304, 0x05060708, (uintptr_t)0x090a0b0c0d0e0f10);
	assert_memory_equal(&seg, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10", 16);
}

static void dgram_seg_marks_an_extended_vector(void **state)
{
	uint8_t mac[6] = { 1, 2, 3, 4, 5, 6 }, gid[16] = { [15] = 9 };
	struct mlx5_wqe_datagram_seg seg = { 0 };

	mlx5dv_set_dgram_seg(&seg, UINT64_C(0x80010000) << 32, 0x17, 1, 5, 6, 0x1234, mac, 7, 64,
			     0x40000001, gid);
	assert_int_equal(be32toh(seg.av.key.qkey.qkey), 0x80010000);
	assert_int_equal(be32toh(seg.av.dqp_dct), MLX5_EXTENDED_UD_AV | 0x17);
	assert_memory_equal(seg.av.rmac, mac, 6);
	assert_memory_equal(seg.av.rgid, gid, 16);
	assert_int_equal(be16toh(seg.av.rlid), 0x1234);
	assert_int_equal(seg.av.hop_limit, 64);
}

static void eth_seg_header_may_run_past_the_segment(void **state)
{
	union {
		struct mlx5_wqe_eth_seg seg;
		uint8_t ring[64];
	} wqe = { .ring = { 0 } };
	uint8_t header[34];

	for (unsigned i = 0; i < sizeof(header); i++)
		header[i] = (uint8_t)(i + 1);
	mlx5dv_set_eth_seg(&wqe.seg, MLX5_ETH_WQE_L4_CSUM, 1460, sizeof(header), header);
	assert_memory_equal(wqe.ring + 14, header, sizeof(header));
	assert_int_equal(wqe.ring[14 + sizeof(header)], 0);
	assert_int_equal(be16toh(wqe.seg.mss), 1460);
	assert_int_equal(be16toh(wqe.seg.inline_hdr_sz), 34);
}

static void cqe_bits_are_read_from_op_own(void **state)
{
	struct mlx5_cqe64 cqe = { .op_own = MLX5_CQE_RESP_SEND_IMM << 4 | 2 << 2 | 1 << 1 | 1 };

	assert_int_equal(mlx5dv_get_cqe_owner(&cqe), 1);
	assert_int_equal(mlx5dv_get_cqe_se(&cqe), 1);
	assert_int_equal(mlx5dv_get_cqe_format(&cqe), 2);
	assert_int_equal(mlx5dv_get_cqe_opcode(&cqe), MLX5_CQE_RESP_SEND_IMM);

	mlx5dv_set_cqe_owner(&cqe, 0xfe);
	assert_int_equal(cqe.op_own, 0x3a);
	mlx5dv_set_cqe_owner(&cqe, 1);
	assert_int_equal(cqe.op_own, 0x3b);
}

static void time_stamps_on_both_sides_of_the_clock_are_translated(void **state)
{
	struct mlx5dv_clock_info clock = {
		.nsec = 1000000, .last_cycles = 10, .mult = 4 << 8, .shift = 8, .mask = 0xffff
	};

	assert_int_equal(mlx5dv_ts_to_ns(&clock, 15), 1000020);
	assert_int_equal(mlx5dv_ts_to_ns(&clock, 0xfffe), 1000000 - 4 * 12);
}

struct mlx5_ifc_sample_bits {
	uint8_t a[0x3];
	uint8_t b[0x1d];
	uint8_t c[0x20];
	uint8_t d[2][0x40];
};

static void devx_macros_address_bits_of_the_programs_layout(void **state)
{
	uint64_t box[3] = { 0 };

	DEVX_SET(sample, box, a, 0xfd);
	DEVX_SET(sample, box, c, 0xffffffff);
	DEVX_ARRAY_SET64(sample, box, d, 1, UINT64_C(0x0102030405060708));
	assert_memory_equal(box, "\xa0\0\0\0\xff\xff\xff\xff", 8);
	assert_memory_equal(&box[2], "\1\2\3\4\5\6\7\x8", 8);
	DEVX_SET(sample, box, b, 1);
	assert_int_equal(DEVX_GET(sample, box, a), 5);
	assert_int_equal(DEVX_GET(sample, box, b), 1);
	assert_int_equal(DEVX_GET64(sample, box, d[1]), UINT64_C(0x0102030405060708));
	assert_int_equal(DEVX_ST_SZ_BYTES(sample), 24);
	assert_int_equal(DEVX_BYTE_OFF(sample, d), 8);
	assert_ptr_equal(DEVX_ADDR_OF(sample, box, d), &box[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ctrl_seg_is_written_in_network_order),
		cmocka_unit_test(data_seg_is_written_in_network_order),
		cmocka_unit_test(dgram_seg_marks_an_extended_vector),
		cmocka_unit_test(eth_seg_header_may_run_past_the_segment),
		cmocka_unit_test(cqe_bits_are_read_from_op_own),
		cmocka_unit_test(time_stamps_on_both_sides_of_the_clock_are_translated),
		cmocka_unit_test(devx_macros_address_bits_of_the_programs_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
