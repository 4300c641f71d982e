/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a driver library (libmlx5, libmlx4) to libibverbs: one constant struct under the name
 * verbena_driver in version node VERBENA_PRIVATE_0.
 */
#ifndef VERBS_DRIVER_H
#define VERBS_DRIVER_H

#include "verbs/context.h"
#include "verbs/objects.h"

/* Both come from one build; the number catches a mixed installation. */
#define VB_DRIVER_ABI 2

/* Bits of device_cap_flags_ex that libibverbs has no names for; the kernel has (IB_UVERBS_DEVICE_*). */
#define VB_DEVICE_FLUSH_GLOBAL     (1ULL << 38)
#define VB_DEVICE_FLUSH_PERSISTENT (1ULL << 39)
#define VB_DEVICE_ATOMIC_WRITE     (1ULL << 40)

struct vb_driver {
	int abi;
	const char *name;
	uint8_t log_ind_table; /* log2 of the longest indirection table */
	bool all_flows; /* every kind of flow spec and action; else Ethernet, IPv4, TCP, UDP */
	/* Puts the driver's operations into ctx->verbs. 0 or -errno. */
	int (*context_init)(struct vb_context *ctx);
	void (*context_fini)(struct vb_context *ctx);
	/*
	 * Rings. The library has checked the public arguments (contexts match, known bits, limits
	 * that both models share) and fills the public struct (context, handles, mutexes, counts)
	 * after success; the driver allocates its struct, computes and allocates the rings, calls
	 * hca_*_create, and puts its functions where the public struct has some (ibv_cq_ex,
	 * ibv_qp_ex, ibv_wq). It writes the sizes that it granted into attr. 0 or -errno.
	 *
	 * driver_attr is what the driver's own create call (mlx5dv_create_cq() and the like) gave to
	 * verbena_create_cq_ex(), verbena_create_qp_ex() or verbena_create_wq(); NULL for a plain
	 * verbs call.
	 *
	 * The struct comes from calloc() or aligned_alloc() and starts with the vb_ one. The `user`
	 * of the hca object is the address of the public struct (&cq->cq, &srq->srq, &qp->qp):
	 * events name objects by it.
	 *
	 * Destroying: the hca call decides (-EBUSY), then the driver frees everything except the
	 * struct: events that the program holds are still to be acknowledged in it. The library
	 * waits for that, and then frees the struct with free().
	 */
	int (*create_cq)(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
			 const void *driver_attr, struct vb_cq **out);
	/* Sets cq->cq.cqe. -EINVAL when the completions in the CQ do not fit. */
	int (*resize_cq)(struct vb_cq *cq, int entries);
	int (*destroy_cq)(struct vb_cq *cq);
	/* The program fetched an event of the CQ. May be NULL. */
	void (*cq_event)(struct vb_cq *cq);
	int (*create_srq)(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr,
			  struct vb_srq **out);
	int (*destroy_srq)(struct vb_srq *srq);
	int (*create_qp)(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr,
			 void *driver_attr, struct vb_qp **out);
	int (*destroy_qp)(struct vb_qp *qp);
	/* Checks driver_attr of a QP of IBV_QPT_DRIVER; NULL: the driver has no such QPs. */
	int (*check_driver_qp)(const void *driver_attr);
	/*
	 * Another handle on an XRC receive QP that exists: a struct without rings, and *out with
	 * its hca pointer set. The library counts handles; destroy_qp is called for the last one
	 * only.
	 */
	int (*open_qp)(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out);
	/* The QP went to RESET: rings, indexes and its entries in CQs start anew. */
	void (*reset_qp)(struct vb_qp *qp);
	/* Puts its own post_recv into the public struct. */
	int (*create_wq)(struct vb_context *ctx, struct ibv_wq_init_attr *attr,
			 const void *driver_attr, struct vb_wq **out);
	int (*destroy_wq)(struct vb_wq *wq);
	/* The WQ is about to leave RESET: rings, indexes and its entries in CQs start anew. */
	void (*reset_wq)(struct vb_wq *wq);
	/* Fills ah->driver from ah->av. */
	void (*init_ah)(struct vb_ah *ah);

	/* Adds the capabilities of the model. attr is complete and zeroed. */
	void (*query_device)(struct vb_context *ctx, struct ibv_device_attr_ex *attr);
};

/* Opens a library of the folder that libibverbs is in; dlopen() otherwise. NULL: dlerror() says why. */
void *vb_library_open(const char *library);
/* The driver of an adapter, loaded at first use; NULL after a failure, which is explained. */
const struct vb_driver *vb_driver_get(const struct hca_adapter *adapter);

#endif
