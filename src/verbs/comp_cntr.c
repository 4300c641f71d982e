/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion counters. The adapter counts (hca/transport/comp_cntr.c); values are read and written here.
 */
#include <stdlib.h>
#include <string.h>

#include "hca/transport/comp_cntr.h"
#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/public.h"
#include "verbs/result.h"

struct vb_comp_cntr {
	struct ibv_comp_cntr cntr;
	struct vb_handle own;
	struct hca_comp_cntr *hca;
};

static struct hca_comp_cntr *hca_of(struct ibv_comp_cntr *cntr)
{
	return container_of(cntr, struct vb_comp_cntr, cntr)->hca;
}

static int check_handle(struct ibv_comp_cntr *cntr, const char *call)
{
	return verbena_handle_check(cntr->context, VB_KIND_COMP_CNTR, cntr->handle,
				    &container_of(cntr, struct vb_comp_cntr, cntr)->own, ENOENT,
				    call);
}

int _ibv_query_comp_cntr_caps(struct ibv_context *context, struct ibv_comp_cntr_caps *caps,
			      size_t caps_size)
{
	const struct ibv_comp_cntr_caps ours = {
		.max_value = UINT64_MAX,
		.max_counters = HCA_CNTR_MOST,
		.supported_qp_attach_ops = HCA_CNTR_ALL,
	};

	memset(caps, 0, caps_size);
	memcpy(caps, &ours, caps_size < sizeof(ours) ? caps_size : sizeof(ours));
	return 0;
}

struct ibv_comp_cntr *ibv_create_comp_cntr(struct ibv_context *context,
					   struct ibv_comp_cntr_init_attr *attr)
{
	struct vb_comp_cntr *cntr;
	int err;

	if (attr->comp_mask || attr->flags)
		return explain_null(EINVAL,
				    "ibv_create_comp_cntr: comp_mask 0x%x and flags 0x%x; both "
				    "have to be 0",
				    attr->comp_mask, attr->flags);
	if (attr->type != IBV_COMP_CNTR_TYPE_WRS && attr->type != IBV_COMP_CNTR_TYPE_BYTES)
		return explain_null(EINVAL,
				    "ibv_create_comp_cntr: type %d; requests (%d) or bytes (%d) "
				    "can be counted",
				    (int)attr->type, IBV_COMP_CNTR_TYPE_WRS,
				    IBV_COMP_CNTR_TYPE_BYTES);
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return vb_null(-ENOMEM);
	err = hca_comp_cntr_create(attr->type == IBV_COMP_CNTR_TYPE_BYTES, &cntr->hca);
	if (err) {
		free(cntr);
		return vb_null(err);
	}
	cntr->cntr.context = context;
	cntr->cntr.handle = verbena_handle_number();
	verbena_handle_add(&cntr->own, to_context(context), VB_KIND_COMP_CNTR, cntr->cntr.handle);
	vb_context_get(to_context(context));
	return &cntr->cntr;
}

int ibv_destroy_comp_cntr(struct ibv_comp_cntr *public)
{
	struct vb_comp_cntr *cntr = container_of(public, struct vb_comp_cntr, cntr);
	int err = check_handle(public, "ibv_destroy_comp_cntr");

	if (!err)
		err = hca_comp_cntr_destroy(cntr->hca);
	if (err)
		return vb_result(err);
	vb_handle_remove(&cntr->own);
	vb_context_put(cntr->own.ctx);
	free(cntr);
	return 0;
}

int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	atomic_store(&hca_of(cntr)->done, value);
	return 0;
}

int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	atomic_store(&hca_of(cntr)->failed, value);
	return 0;
}

int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	atomic_fetch_add(&hca_of(cntr)->done, amount);
	return 0;
}

int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	atomic_fetch_add(&hca_of(cntr)->failed, amount);
	return 0;
}

int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	/* Does not poll: the service thread takes in packets while the program only reads counters. */
	*value = atomic_load_explicit(&hca_of(cntr)->done, memory_order_acquire);
	return 0;
}

int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	*value = atomic_load_explicit(&hca_of(cntr)->failed, memory_order_acquire);
	return 0;
}

int ibv_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *cntr,
			    struct ibv_qp_attach_comp_cntr_attr *attr)
{
	int err = vb_check_qp(qp, ENOENT, "ibv_qp_attach_comp_cntr");

	if (!err)
		err = check_handle(cntr, "ibv_qp_attach_comp_cntr");
	if (err)
		return vb_result(err);
	if (attr->comp_mask || !attr->op_mask)
		return vb_result(explain(EINVAL,
					 "ibv_qp_attach_comp_cntr: comp_mask 0x%x, op_mask 0x%x; "
					 "comp_mask must be 0, op_mask must not",
					 attr->comp_mask, attr->op_mask));
	if (attr->op_mask & ~HCA_CNTR_ALL)
		return vb_result(explain(EOPNOTSUPP,
					 "ibv_qp_attach_comp_cntr: op_mask 0x%x; 0x%x can be "
					 "counted",
					 attr->op_mask, HCA_CNTR_ALL));
	if (qp->context != cntr->context)
		return vb_result(explain(EINVAL, "ibv_qp_attach_comp_cntr: the counter belongs to "
						 "another context"));
	return vb_result(hca_comp_cntr_attach(hca_of(cntr), to_qp(qp)->hca, attr->op_mask));
}
