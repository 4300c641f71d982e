/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send WQEs as the adapter reads them.
 */
#ifndef MLX5_DECODE_H
#define MLX5_DECODE_H

#include "hca/device/format.h"

/* Syndromes that a ConnectX reports for malformed WQEs. */
enum mlx5_vendor {
	MLX5_VENDOR_BAD_ENTRY = 0x68,
};

void mlx5_sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out);

#endif
