/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a driver library (libmlx5, libmlx4) gives to libibverbs: one constant struct under the name
 * verbena_driver in version node VERBENA_PRIVATE_0.
 */
#ifndef VERBS_DRIVER_H
#define VERBS_DRIVER_H

#include "verbs/context.h"
#include "verbs/objects.h"

/* Both come from one build; the number catches a mixed installation. */
#define VB_DRIVER_ABI 1

struct vb_driver {
	int abi;
	const char *name;
	/* Puts the driver's operations into ctx->verbs. 0 or -errno. */
	int (*context_init)(struct vb_context *ctx);
	void (*context_fini)(struct vb_context *ctx);
	/*
	 * Rings. The library has checked the public arguments (contexts match, known bits, limits
	 * that both models share) and fills the public struct (context, handles, mutexes, counts)
	 * after success; the driver allocates its struct, computes and allocates the rings, calls
	 * hca_*_create, and puts its functions where the public struct has some (ibv_cq_ex,
	 * ibv_qp_ex, ibv_wq). It writes the sizes that it granted into attr. 0 or -errno.
	 * Destroying: the hca call decides (-EBUSY), then the driver frees its own.
	 */
	int (*create_cq)(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
			 struct vb_cq **out);
	int (*resize_cq)(struct vb_cq *cq, int entries);
	int (*destroy_cq)(struct vb_cq *cq);
	int (*create_srq)(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr,
			  struct vb_srq **out);
	int (*destroy_srq)(struct vb_srq *srq);
	int (*create_qp)(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr,
			 struct vb_qp **out);
	int (*destroy_qp)(struct vb_qp *qp);
	/* The QP went to RESET: rings, indexes and its entries in CQs start anew. */
	void (*reset_qp)(struct vb_qp *qp);
	/* Fills ah->driver from ah->av. */
	void (*init_ah)(struct vb_ah *ah);

	/* Adds what the model can do beyond the limits. attr is whole and zeroed. */
	void (*query_device)(struct vb_context *ctx, struct ibv_device_attr_ex *attr);
};

/* The driver for an adapter, loaded at need; NULL after a failure, which is explained. */
const struct vb_driver *vb_driver_get(const struct hca_adapter *adapter);

#endif
