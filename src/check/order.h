/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which a send queue executes requests: data of a read that a later request sends.
 */
#ifndef CHECK_ORDER_H
#define CHECK_ORDER_H

#include "check/queue.h"

/*
 * Looks at request `index`, which is `r`, once its pieces are known. `copied`: its bytes are copied as it is posted,
 * where a fence comes too late. Lock held.
 */
void check_order_send(const struct check_qp *q, const struct check_request *r, uint32_t index,
		      bool copied);
/* Notes the pieces of inline data. */
void check_order_inline(struct check_request *r, const struct ibv_sge *sge, int count);

#endif
