/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request names a context by the number that its object got when it was created; a context of the
 * program has a table of them (hca_ctx.asos), which the driver fills.
 */
#include "hca/raw/aso_access.h"

#include "ether/aso.h"
#include "hca/device/ctx.h"
#include "hca/device/table.h"
#include "hca/memory/mem.h"
#include "hca/transport/qp_types.h"

enum hca_status aso_access_run(struct qp *qp, const struct hca_send *s)
{
	/* [AS1] pairs with devx_aso_create(): the empty table before its pointer */
	struct hca_table *table = atomic_load_explicit(&qp->pub.ctx->asos, memory_order_acquire);
	struct aso *aso = table ? hca_table_find(table, s->aso.number) : NULL;
	uint8_t before[ASO_BYTES];
	struct hca_list list;

	if (!aso || aso->kind != s->aso.kind)
		return HCA_LOC_QP_OP_ERR;
	if (aso->pdn != qp->pub.pd->pdn ||
	    (s->sge_count && !hca_mem_resolve(s->sge, s->sge_count, qp->pub.pd->pdn,
					      HCA_ACCESS_LOCAL_WRITE, &list)))
		return HCA_LOC_PROT_ERR;
	aso_access(aso, s->aso.number - aso->number, &s->aso.change, before);
	if (s->sge_count && !hca_mem_copy_in(&list, 0, before, sizeof(before)))
		return HCA_LOC_PROT_ERR;
	return HCA_SUCCESS;
}
