/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mlx5 ring format as the adapter uses it (hca/device/format.h), in four files: decode.c reads work
 * queues, cqe.c and eqe.c write completions and events, format.c puts them into a table.
 *
 * Receive rings of shared queues have hca_rq_ring.signature set: their entries start with a link
 * segment, which has the size of a signature and is skipped like one.
 */
#ifndef MLX5_FORMAT_H
#define MLX5_FORMAT_H

#include "hca/device/format.h"
#include "mlx5/wqe.h"

extern const struct hca_format mlx5_format;

/* Where a completion of a frame has its hash; the public struct has no names for them. */
#define MLX5_CQE_RSS_HASH 12
#define MLX5_CQE_RSS_TYPE 16

/* Syndromes that a ConnectX gives for entries that it cannot make sense of. */
enum mlx5_vendor {
	MLX5_VENDOR_BAD_ENTRY = 0x68,
};

void mlx5_sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out);
void mlx5_rq_decode(const struct hca_rq_ring *rq, uint32_t index, struct hca_recv *out);
uint32_t mlx5_srq_next(const struct hca_rq_ring *rq, uint32_t index);
/* The entry's 64 bytes as they lie in memory. */
void mlx5_eqe_image(const struct hca_eqe *eqe, uint8_t owner, uint32_t out[16]);
void mlx5_eqe_write(struct hca_eq *eq, uint32_t pi, const struct hca_eqe *eqe);
void mlx5_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe);

/* Both ways between statuses and what error entries carry. */
uint8_t mlx5_syndrome(enum hca_status status);
enum ibv_wc_status mlx5_syndrome_status(uint8_t syndrome);

#endif
