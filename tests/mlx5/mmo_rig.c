/* SPDX-License-Identifier: BSD-2-Clause */
#include "mmo_rig.h"

#include <stdlib.h>
#include <zlib.h>

struct mmo mmo;

void mmo_adapters(void)
{
	setenv("VERBENA_ADAPTERS",
	       "mlx5_0,model=BlueField-2;mlx5_1,model=BlueField-3;mlx5_2,model=ConnectX-5", 1);
}

int mmo_open(const char *name)
{
	rig_open_device(&mmo.rig, name);
	rig_cq(&mmo.rig, 5, mmo.rig.eqn, &mmo.cq);
	rig_qp(&mmo.rig, 4, 3, 0, &mmo.cq, &mmo.qp);
	rig_connect(&mmo.qp, &mmo.qp);
	return 0;
}

int mmo_open_2(void **state)
{
	return mmo_open("mlx5_0");
}

int mmo_open_3(void **state)
{
	return mmo_open("mlx5_1");
}

int mmo_drop(void **state)
{
	rig_qp_drop(&mmo.qp);
	rig_cq_drop(&mmo.cq);
	rig_close(&mmo.rig);
	return 0;
}

struct mmo_piece mmo_by(uint32_t key, uint32_t off, uint32_t len)
{
	return (struct mmo_piece){ key, off, len };
}

struct mmo_piece mmo_mem(uint32_t off, uint32_t len)
{
	return mmo_by(mmo.rig.mr->lkey, off, len);
}

static void put_piece(void *seg, struct mmo_piece p)
{
	mlx5dv_set_data_seg(seg, p.len, p.key, (uintptr_t)mmo.rig.memory + p.off);
}

void mmo_fill(uint8_t *at, uint32_t number, uint16_t index, uint8_t modifier, uint32_t control,
	      struct mmo_piece from, struct mmo_piece to)
{
	__be32 *word = (void *)at;

	memset(at, 0, 64);
	mlx5dv_set_ctrl_seg((void *)at, index, MLX5_OPCODE_MMO, modifier, number,
			    MLX5_WQE_CTRL_CQ_UPDATE, 4, 0, htobe32(control));
	word[5] = htobe32(mmo.rig.mr->lkey);
	*(__be64 *)(at + 24) = htobe64((uintptr_t)mmo.rig.memory + RESULTS);
	put_piece(at + 32, from);
	put_piece(at + 48, to);
}

uint8_t *mmo_next_entry(void)
{
	return mmo.qp.sq + 64 * (size_t)(mmo.qp.post & (mmo.qp.sq_size - 1));
}

const struct mlx5_cqe64 *mmo_post(uint8_t modifier, uint32_t control, struct mmo_piece from,
				  struct mmo_piece to)
{
	memset(mmo.rig.memory + RESULTS, 0xee, 64);
	mmo_fill(mmo_next_entry(), mmo.qp.qpn, (uint16_t)mmo.qp.post, modifier, control, from, to);
	mmo.qp.post++;
	rig_ring(&mmo.qp);
	return rig_cq_wait(&mmo.cq);
}

uint32_t mmo_result(int word)
{
	return be32toh(((const __be32 *)(mmo.rig.memory + RESULTS))[word]);
}

uint32_t mmo_run(uint8_t modifier, uint32_t control, struct mmo_piece from, struct mmo_piece to)
{
	const struct mlx5_cqe64 *cqe = mmo_post(modifier, control, from, to);
	uint32_t made = be32toh(cqe->byte_cnt);

	assert_int_equal(cqe->op_own >> 4, MLX5_CQE_REQ);
	assert_int_equal(be32toh(cqe->sop_drop_qpn), MLX5_OPCODE_MMO << 24 | mmo.qp.qpn);
	rig_cq_take(&mmo.cq);
	assert_int_equal(mmo_result(0), 0);
	assert_int_equal(mmo_result(2), made);
	return made;
}

static void expect_error(uint8_t syndrome, uint8_t vendor, uint8_t engine)
{
	const struct mlx5_err_cqe *err = (const void *)rig_cq_wait(&mmo.cq);

	assert_int_equal(err->op_own >> 4, MLX5_CQE_REQ_ERR);
	assert_int_equal(err->syndrome, syndrome);
	assert_int_equal(err->vendor_err_synd, vendor);
	if (engine)
		assert_int_equal(((const uint8_t *)err)[52], engine);
	rig_cq_take(&mmo.cq);
}

void mmo_run_badly(uint8_t modifier, uint32_t control, struct mmo_piece from, struct mmo_piece to,
		   uint8_t engine)
{
	mmo_post(modifier, control, from, to);
	expect_error(MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, 0x9d, engine);
	assert_int_not_equal(mmo_result(0), 0);
	assert_int_equal(rig_qp_state(&mmo.qp), IFC_QP_RTS);
	assert_int_equal(mmo_run(DMA, 0, mmo_mem(IN, 8), mmo_mem(BACK, 8)), 8);
}

void mmo_make_text(uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++) {
		if (i % 7 == 0)
			seed = seed * 1103515245 + 12345;
		mmo.rig.memory[IN + i] = (uint8_t)(' ' + (seed >> 16) % 13 * 5 + i % 7);
	}
}

void mmo_assert_sums(const uint8_t *data, uint32_t len)
{
	assert_int_equal(mmo_result(8), crc32(0, data, len));
	assert_int_equal(mmo_result(9), adler32(1, data, len));
}

void mmo_expect_dead(uint8_t syndrome)
{
	const struct mlx5_err_cqe *err = (const void *)rig_cq_wait(&mmo.cq);

	assert_int_equal(err->op_own >> 4, MLX5_CQE_REQ_ERR);
	assert_int_equal(err->syndrome, syndrome);
	assert_int_equal(rig_qp_state(&mmo.qp), IFC_QP_ERR);
}
