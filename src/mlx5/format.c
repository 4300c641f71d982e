/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/format.h"

#include <endian.h>

#include "driver/cq.h"
#include "driver/recv_wqe.h"
#include "driver/record.h"
#include "hca/queue/eq.h"
#include "mlx5/cqe.h"
#include "mlx5/cqe_comp.h"
#include "mlx5/decode.h"
#include "mlx5/eqe.h"
#include "mlx5/ifc_val.h"
#include "mlx5/wqe.h"

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	return hca_sq_posted(sq, index, producer, MLX5_INDEX_MASK);
}

static uint32_t sq_producer(const struct hca_sq_ring *sq)
{
	return drv_record_load(sq->db) & MLX5_INDEX_MASK;
}

static uint32_t cq_consumer(const struct hca_cq *cq)
{
	return drv_record_load(&cq->db[0]) & DRV_CI_MASK;
}

/* A program may store into a register at any time: every access is atomic. */
static uint64_t *cq_register(const uint8_t *page)
{
	return (uint64_t *)(page + MLX5_CQ_DOORBELL);
}

static uint32_t *eq_register(const uint8_t *page, uint32_t offset)
{
	return (uint32_t *)(page + offset);
}

static uint64_t *sq_register(const uint8_t *page)
{
	return (uint64_t *)(page + IFC_UAR_SQ);
}

/* Takes the register's word when it names the queue; a store meanwhile is seen the next time. */
static bool take_eq(uint8_t *page, uint32_t offset, uint32_t eqn, uint32_t *consumer)
{
	uint32_t *reg = eq_register(page, offset), word = __atomic_load_n(reg, __ATOMIC_RELAXED);

	if (likely(!word) || be32toh(word) >> 24 != eqn)
		return false;
	/* [M5] pairs with the program's store: it has read its entries before */
	if (!__atomic_compare_exchange_n(reg, &word, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	*consumer = be32toh(word) & HCA_EQ_INDEX_MASK;
	return true;
}

static bool uar_take_eq(uint8_t *page, uint32_t eqn, uint32_t *consumer, bool *arm)
{
	*arm = false;
	if (take_eq(page, IFC_UAR_EQ_UPDATE, eqn, consumer))
		return true;
	*arm = true;
	return take_eq(page, IFC_UAR_EQ_ARM, eqn, consumer);
}

static bool uar_take_cq(uint8_t *page, uint32_t *cqn, uint32_t *word)
{
	uint64_t both;

	if (!__atomic_load_n(cq_register(page), __ATOMIC_RELAXED))
		return false;
	/* [M5] */
	both = be64toh(__atomic_exchange_n(cq_register(page), 0, __ATOMIC_ACQUIRE));
	*cqn = both & 0xffffff;
	*word = both >> 32;
	return true;
}

/*
 * The word is the start of the last entry's control segment: its index, and its length in units of 16
 * bytes. Programs may also give the index of the next entry, and no length.
 */
static void uar_take_sq(uint8_t *page, uint32_t qpn, volatile uint32_t *record)
{
	uint32_t index, qpn_ds;
	uint64_t word;

	if (likely(!__atomic_load_n(sq_register(page), __ATOMIC_RELAXED)))
		return;
	/* [M5] */
	word = be64toh(__atomic_exchange_n(sq_register(page), 0, __ATOMIC_ACQUIRE));
	index = word >> 40 & MLX5_INDEX_MASK;
	qpn_ds = (uint32_t)word;
	if (qpn_ds >> 8 != qpn)
		return;
	index += ((qpn_ds & MLX5_DS_MASK) * MLX5_DS + MLX5_BLOCK_SIZE - 1) / MLX5_BLOCK_SIZE;
	drv_record_store(record, index & MLX5_INDEX_MASK);
}

/* Buffers of 256 bytes begin with the word; the rest of an entry may be copied behind it (BlueFlame). */
static enum hca_store uar_store(uint32_t offset, uint32_t size, uint64_t first, uint32_t *qpn)
{
	uint32_t in_buffer = offset % IFC_UAR_BF_SIZE;

	if (offset < IFC_UAR_SQ)
		return HCA_STORE_OTHER;
	if (in_buffer >= sizeof(uint64_t) || in_buffer + size < sizeof(uint64_t))
		return HCA_STORE_PART;
	/* The number is in the second half, which may be stored alone. */
	if (in_buffer % sizeof(uint32_t))
		return HCA_STORE_OTHER;
	*qpn = be32toh((uint32_t)(in_buffer ? first : first >> 32)) >> 8;
	return HCA_STORE_SQ;
}

const struct hca_format mlx5_format = {
	.sq_index_mask = MLX5_INDEX_MASK,
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = mlx5_sq_decode,
	.rq_producer = drv_rq_producer,
	.rq_decode = drv_rq_decode,
	.srq_next = drv_srq_next,
	.cqe_write = mlx5_cqe_write,
	.cqe_compress = mlx5_cqe_compress,
	.cq_consumer = cq_consumer,
	.eqe_write = mlx5_eqe_write,
	.uar_take_cq = uar_take_cq,
	.uar_take_eq = uar_take_eq,
	.uar_take_sq = uar_take_sq,
	.uar_store = uar_store,
};
