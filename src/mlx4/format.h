/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mlx4 ring format as the adapter uses it (hca/device/format.h), in three files: decode.c reads work
 * queues, cqe.c writes completions, format.c puts them into a table.
 *
 * Receive rings of shared queues have hca_rq_ring.signature set: their entries start with a link
 * segment, which has the size of a signature and is skipped like one.
 *
 * A completion ring whose hca_cq.timestamp_mask is not 0 has the time in the place of service level
 * and source LID.
 */
#ifndef MLX4_FORMAT_H
#define MLX4_FORMAT_H

#include "hca/device/format.h"
#include "mlx4/wqe.h"

extern const struct hca_format mlx4_format;

/* The syndrome that a ConnectX gives for entries that it cannot make sense of. */
#define MLX4_VENDOR_BAD_ENTRY 0x68

void mlx4_sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out);
void mlx4_rq_decode(const struct hca_rq_ring *rq, uint32_t index, struct hca_recv *out);
uint32_t mlx4_srq_next(const struct hca_rq_ring *rq, uint32_t index);
void mlx4_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe);

/* Both ways between statuses and what error entries carry. */
uint8_t mlx4_syndrome(enum hca_status status);
enum ibv_wc_status mlx4_syndrome_status(uint8_t syndrome);

#endif
