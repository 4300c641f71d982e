/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/format.h"

#include "driver/cq.h"
#include "driver/recv_wqe.h"
#include "driver/record.h"
#include "mlx4/cqe.h"
#include "mlx4/decode.h"
#include "mlx4/wqe.h"

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	const uint8_t *slot;

	if (unlikely(!sq->size))
		return false;
	slot = (const uint8_t *)sq->buf + ((size_t)(index & (sq->size - 1)) << sq->slot_shift);
	/* [X1] pairs with post_one() of post.c, and with programs' own stores */
	return !(drv_record_load((const void *)slot) & MLX4_OWNER) == !(index & sq->size);
}

/* The format has no such record: slots have owner bits. */
static uint32_t sq_producer(const struct hca_sq_ring *sq)
{
	return 0;
}

static uint32_t cq_consumer(const struct hca_cq *cq)
{
	return drv_record_load(&cq->db[0]) & DRV_CI_MASK;
}

const struct hca_format mlx4_format = {
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = mlx4_sq_decode,
	.rq_producer = drv_rq_producer,
	.rq_decode = drv_rq_decode,
	.srq_next = drv_srq_next,
	.cqe_write = mlx4_cqe_write,
	.cq_consumer = cq_consumer,
};
