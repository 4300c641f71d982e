/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table by which the adapter knows mlx4 rings, and its small entries: owner bits and doorbell
 * records, which are big-endian and may be written by programs at any time.
 */
#include "mlx4/format.h"

#include <endian.h>

#include "hca/queue/cq.h"

/* [X1] pairs with whoever writes a doorbell record or an owner bit: entries before them */
static uint32_t load_acquire(const volatile uint32_t *word)
{
	return be32toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	const uint8_t *slot;

	if (unlikely(!sq->size))
		return false;
	slot = (const uint8_t *)sq->buf + ((size_t)(index & (sq->size - 1)) << sq->slot_shift);
	return !(load_acquire((const void *)slot) & MLX4_OWNER) == !(index & sq->size);
}

/* There is no such record: owner bits say it all. */
static uint32_t sq_producer(const struct hca_sq_ring *sq)
{
	return 0;
}

static uint32_t rq_producer(const struct hca_rq_ring *rq)
{
	return load_acquire(rq->db) & MLX4_INDEX_MASK;
}

static uint32_t cq_consumer(const struct hca_cq *cq)
{
	return load_acquire(&cq->db[0]) & 0xffffff;
}

const struct hca_format mlx4_format = {
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = mlx4_sq_decode,
	.rq_producer = rq_producer,
	.rq_decode = mlx4_rq_decode,
	.srq_next = mlx4_srq_next,
	.cqe_write = mlx4_cqe_write,
	.cq_consumer = cq_consumer,
};
