/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table by which the adapter knows mlx5 rings, and its small entries: doorbell records, which
 * are big-endian and may be written by programs at any time.
 */
#include "mlx5/format.h"

#include <endian.h>

#include "hca/cq.h"

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

const struct hca_format mlx5_format = {
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = mlx5_sq_decode,
	.rq_producer = rq_producer,
	.rq_decode = mlx5_rq_decode,
	.srq_next = mlx5_srq_next,
	.cqe_write = mlx5_cqe_write,
	.cq_consumer = cq_consumer,
};
