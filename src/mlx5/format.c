/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table by which the adapter knows mlx5 rings, and its small entries: doorbell records, which
 * are big-endian and may be written by programs at any time.
 */
#include "mlx5/format.h"

#include <endian.h>

#include "hca/cq.h"
#include "hca/eq.h"
#include "mlx5/ifc_val.h"

/* [M1] pairs with whoever writes a doorbell record: entries before the index */
static uint32_t load_record(volatile uint32_t *db)
{
	return be32toh(__atomic_load_n(db, __ATOMIC_ACQUIRE));
}

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	uint32_t posted = (producer - index) & MLX5_INDEX_MASK;

	return posted && posted <= sq->size;
}

static uint32_t sq_producer(const struct hca_sq_ring *sq)
{
	return load_record(sq->db) & MLX5_INDEX_MASK;
}

static uint32_t rq_producer(const struct hca_rq_ring *rq)
{
	return load_record(rq->db) & MLX5_INDEX_MASK;
}

static uint32_t cq_consumer(const struct hca_cq *cq)
{
	return load_record(&cq->db[0]) & 0xffffff;
}

/* A program may store into a register while we look, or empty it: every access is atomic. */
static uint64_t *cq_register(const uint8_t *page)
{
	return (uint64_t *)(page + MLX5_CQ_DOORBELL);
}

static uint32_t *eq_register(const uint8_t *page, uint32_t offset)
{
	return (uint32_t *)(page + offset);
}

static bool uar_rung(const uint8_t *page)
{
	return __atomic_load_n(cq_register(page), __ATOMIC_RELAXED) ||
	       __atomic_load_n(eq_register(page, IFC_UAR_EQ_ARM), __ATOMIC_RELAXED) ||
	       __atomic_load_n(eq_register(page, IFC_UAR_EQ_UPDATE), __ATOMIC_RELAXED);
}

static int take_eq(uint8_t *page, uint32_t offset, struct hca_rung *out)
{
	/* [M5] pairs with the program's store: it has read its entries before */
	uint32_t word =
		be32toh(__atomic_exchange_n(eq_register(page, offset), 0, __ATOMIC_ACQUIRE));

	if (!word)
		return 0;
	*out = (struct hca_rung){ .what = HCA_RUNG_EQ,
				  .number = word >> 24,
				  .word = word & HCA_EQ_INDEX_MASK,
				  .arm = offset == IFC_UAR_EQ_ARM };
	return 1;
}

static int uar_take(uint8_t *page, struct hca_rung *out)
{
	/* [M5] */
	uint64_t cq = be64toh(__atomic_exchange_n(cq_register(page), 0, __ATOMIC_ACQUIRE));
	int n = 0;

	if (cq)
		out[n++] = (struct hca_rung){
			.what = HCA_RUNG_CQ, .number = cq & 0xffffff, .word = cq >> 32, .arm = true
		};
	n += take_eq(page, IFC_UAR_EQ_UPDATE, &out[n]);
	return n + take_eq(page, IFC_UAR_EQ_ARM, &out[n]);
}

const struct hca_format mlx5_format = {
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = mlx5_sq_decode,
	.rq_producer = rq_producer,
	.rq_decode = mlx5_rq_decode,
	.srq_next = mlx5_srq_next,
	.cqe_write = mlx5_cqe_write,
	.cq_consumer = cq_consumer,
	.eqe_write = mlx5_eqe_write,
	.uar_rung = uar_rung,
	.uar_take = uar_take,
};
