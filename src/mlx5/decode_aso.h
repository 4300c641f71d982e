/* SPDX-License-Identifier: BSD-2-Clause */
/* Send WQEs that access ASO objects. */
#ifndef MLX5_DECODE_ASO_H
#define MLX5_DECODE_ASO_H

#include "hca/device/work.h"
#include "hca/transport/hca_qp.h"

/*
 * The segments behind the control segment of a WQE of `ds` units; false if they are not those of an
 * access. out->imm is the number of the context, in network order.
 */
bool mlx5_decode_aso(const struct hca_qp *qp, uint32_t index, uint32_t ds, uint8_t opmod,
		     struct hca_send *out);

#endif
