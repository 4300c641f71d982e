/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/cqe_comp.h"

#include <endian.h>
#include <string.h>

#include "driver/cq.h"
#include "hca/queue/cq.h"
#include "mlx5/cqe.h"
#include "mlx5/wqe.h"

#define ARRAY 8u

struct mini {
	union {
		uint32_t hash;
		struct {
			uint16_t checksum;
			uint16_t stride;
		};
	};
	uint32_t byte_cnt;
};

_Static_assert(sizeof(struct mini[ARRAY]) == sizeof(struct mlx5_cqe64), "an array is an entry");

/* The entry of the array with mini CQE i, from the title on. */
static uint32_t array_of(unsigned int i)
{
	return i < ARRAY ? 1 : i / ARRAY * ARRAY;
}

/* ---- writing ---- */

/* The counter's increment: strides that the frame takes, or one entry. */
static uint16_t advance(const struct hca_cqe *c)
{
	return c->frame.strides ? c->frame.strides : 1;
}

/*
 * DPDK's vector path goes through a title's completions and their receive entries without looking for the
 * end of either ring: none is in between. Receive rings have a multiple of this number of entries.
 */
#define ALIGN 16u

static bool ends_ring(const struct hca_cq *cq, uint32_t pi, const struct hca_cqe *c)
{
	return !(pi & (cq->size - 1)) || (!c->frame.strides && !(c->counter % ALIGN));
}

/* Whether title and mini CQE say all of a completion that the one before `c` follows. */
static bool fits(const struct hca_cqe *title, const struct hca_cqe *before, const struct hca_cqe *c,
		 enum hca_mini_cqe mini)
{
	struct hca_cqe same = *c;

	if (!c->raw || !c->is_recv || c->status != HCA_SUCCESS || c->frame.filler || c->timestamp)
		return false;
	if (!(mini == HCA_MINI_CSUM_STRIDE && c->frame.strides) &&
	    c->counter != (uint16_t)(before->counter + advance(before)))
		return false;
	same.counter = title->counter;
	same.byte_len = title->byte_len;
	same.frame.strides = title->frame.strides;
	if (mini == HCA_MINI_HASH)
		same.frame.rss_hash = title->frame.rss_hash;
	return !c->frame.strides == !title->frame.strides && !memcmp(&same, title, sizeof(same));
}

static void write_mini(struct mini *to, const struct hca_cqe *c, enum hca_mini_cqe mini)
{
	to->hash = mini == HCA_MINI_HASH ? htobe32(c->frame.rss_hash) : 0;
	if (mini == HCA_MINI_CSUM_STRIDE)
		to->stride = htobe16(c->counter);
	to->byte_cnt = htobe32(c->byte_len | (uint32_t)c->frame.strides << MLX5_STRIDES_SHIFT);
}

/* In entries of 128 bytes the array is where a CQE would be, in the second half. */
static struct mini *array_at(const struct hca_cq *cq, uint32_t index)
{
	uint32_t at = index & (cq->size - 1);

	return (void *)((uint8_t *)cq->buf + ((size_t)at + 1) * cq->entry_size -
			sizeof(struct mini[ARRAY]));
}

unsigned int mlx5_cqe_compress(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe,
			       unsigned int count)
{
	unsigned int n = 1;

	if (!cqe->raw || cqe->frame.filler || cqe->status != HCA_SUCCESS)
		return 0;
	while (n < count && n < MLX5_COMP_MOST && !ends_ring(cq, pi + n, &cqe[n]) &&
	       fits(cqe, &cqe[n - 1], &cqe[n], cq->mini))
		n++;
	if (n < 2)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		write_mini(&array_at(cq, pi + array_of(i))[i % ARRAY], &cqe[i], cq->mini);
	mlx5_cqe_write_title(cq, pi, cqe, n);
	return n;
}

/* ---- reading ---- */

static void expand_one(const struct drv_cq *cq, uint32_t index, struct mlx5_cqe64 *cqe,
		       const struct mini *m, enum hca_mini_cqe mini)
{
	uint8_t *to = drv_cqe_at(cq, index);

	if (mini == HCA_MINI_HASH)
		memcpy((uint8_t *)cqe + MLX5_CQE_RSS_HASH, &m->hash, sizeof(m->hash));
	cqe->byte_cnt = m->byte_cnt;
	cqe->op_own = (cqe->op_own & ~(MLX5_CQE_FORMAT_MASK | MLX5_CQE_OWNER_MASK)) |
		      !!(index & (cq->mask + 1));
	memcpy(to, cqe, sizeof(*cqe));
}

void mlx5_cqe_expand(const struct drv_cq *cq, uint32_t index)
{
	struct mlx5_cqe64 cqe = *(struct mlx5_cqe64 *)drv_cqe_at(cq, index);
	enum hca_mini_cqe mini = cq->vb.hca->mini;
	uint32_t n = be32toh(cqe.byte_cnt);
	uint16_t counter = be16toh(cqe.wqe_counter);
	struct mini all[MLX5_COMP_MOST];

	/* Only a program that writes into the ring makes another number. */
	if (n > MLX5_COMP_MOST || n > cq->mask + 1)
		n = 1;
	for (uint32_t i = 0; i < n; i++) {
		const struct mini *array = drv_cqe_at(cq, index + array_of(i));

		all[i] = array[i % ARRAY];
	}
	for (uint32_t i = 0; i < n; i++) {
		uint16_t strides =
			be32toh(all[i].byte_cnt) >> MLX5_STRIDES_SHIFT & MLX5_STRIDES_MASK;

		if (mini == HCA_MINI_CSUM_STRIDE && strides)
			counter = be16toh(all[i].stride);
		cqe.wqe_counter = htobe16(counter);
		counter += strides ? strides : 1;
		expand_one(cq, index + i, &cqe, &all[i], mini);
	}
}
