/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs objects: the public struct, the adapter's object, and the library's own fields. Objects with
 * rings (CQ, QP, SRQ, WQ) are allocated by the driver, whose own struct starts with the one here; all
 * others are allocated by the library.
 */
#ifndef VERBS_OBJECTS_H
#define VERBS_OBJECTS_H

#include "hca/queue/cq.h"
#include "hca/memory/mr.h"
#include "hca/transport/qp.h"
#include "hca/raw/rss.h"
#include "hca/queue/srq.h"
#include "hca/transport/xrcd.h"
#include "verbs/handle.h"

/* A protection domain, or a parent domain of one, with which it shares hca. */
struct vb_pd {
	struct ibv_pd pd;
	struct vb_handle own;
	struct hca_pd *hca;
	/* parent domains only */
	struct vb_pd *of; /* the protection domain; NULL: this is one itself */
	struct vb_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
	atomic_uint users; /* objects made through it: dealloc is refused while > 0 */
};

struct vb_td {
	struct ibv_td td;
	struct vb_context *ctx;
	atomic_uint users;
	atomic_int watch; /* the observer's */
};

/* The origin of a region's memory. */
enum vb_mr_kind {
	VB_MR_MEMORY, /* the program's own */
	VB_MR_NULL,
	VB_MR_DM,
	VB_MR_DMABUF,
};

/* A DMA handle: hints for the bus. */
struct vb_dmah {
	struct ibv_dmah dmah;
	struct vb_handle own;
	atomic_uint users; /* regions */
};

/* One handle; the adapter's region may have several, and knows its vb_mr_kind. */
struct vb_mr {
	struct ibv_mr mr;
	struct vb_handle own;
	struct hca_mr *hca;
	struct vb_pd *pd;     /* NULL of a null region */
	struct vb_dmah *dmah; /* registered with it, or NULL */
};

struct vb_mw {
	struct ibv_mw mw;
	struct vb_handle own;
	struct hca_mw *hca;
	struct vb_pd *pd;
};

struct vb_dm {
	struct ibv_dm dm;
	struct vb_handle own;
	struct hca_dm *hca;
};

struct vb_ah {
	struct ibv_ah ah;
	struct vb_handle own;
	struct vb_pd *pd;
	struct hca_av av;
	/* The driver's form of the address vector, ready to be copied into a request. */
	_Alignas(16) uint8_t driver[64];
};

struct vb_channel {
	struct ibv_comp_channel channel;
	struct hca_channel *hca;
};

struct vb_xrcd {
	struct ibv_xrcd xrcd;
	struct vb_handle own;
	struct hca_xrcd *hca;
	uint32_t number; /* the same in every process that opened the same file */
	atomic_uint users;
};

struct vb_cq {
	struct hca_cq *hca;
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	};
	struct vb_handle own;
	bool extended;        /* of ibv_create_cq_ex(), or a driver's call like it */
	struct vb_pd *parent; /* parent domain given at creation, or NULL */
	/* events handed out by ibv_get_cq_event / ibv_get_async_event, against cq.*_completed */
	atomic_uint comp_events, async_events;
	void *watch; /* the observer's */
};

struct vb_srq {
	struct hca_srq *hca;
	struct ibv_srq srq;
	struct vb_handle own;
	struct vb_pd *pd;
	struct vb_xrcd *xrcd;
	uint32_t max_wr, max_sge;
	atomic_uint async_events;
	void *watch; /* the observer's */
};

struct vb_wq {
	struct hca_wq *hca;
	struct ibv_wq wq;
	struct vb_handle own;
	struct vb_pd *pd;
	struct hash_link link; /* in verbs_state.wqs */
	atomic_uint async_events;
};

struct vb_ind_table {
	struct ibv_rwq_ind_table table;
	struct vb_handle own;
	struct hca_ind_table *hca;
	struct hash_link link; /* in verbs_state.ind_tables */
};

struct vb_qp {
	struct hca_qp *hca;
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
	};
	struct vb_handle own;
	bool has_ex; /* made with send_ops_flags: ibv_qp_to_qp_ex works */
	bool sig_all;
	struct ibv_qp_cap cap; /* granted at creation */
	struct vb_pd *pd;
	struct vb_xrcd *xrcd;
	uint32_t ece_set, ece_got; /* ECE options requested, and agreed on */
	struct hash_link xrc_link; /* XRC receive: in verbs_state.xrc_handles */
	struct hca_listener listener;
	atomic_uint async_events;
	void *watch; /* the observer's */
};

static inline struct vb_dmah *to_dmah(struct ibv_dmah *dmah)
{
	return container_of(dmah, struct vb_dmah, dmah);
}

static inline struct vb_pd *to_pd(struct ibv_pd *pd)
{
	return container_of(pd, struct vb_pd, pd);
}

static inline struct vb_mr *to_mr(struct ibv_mr *mr)
{
	return container_of(mr, struct vb_mr, mr);
}

static inline struct vb_mw *to_mw(struct ibv_mw *mw)
{
	return container_of(mw, struct vb_mw, mw);
}

static inline struct vb_dm *to_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct vb_dm, dm);
}

static inline struct vb_ah *to_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct vb_ah, ah);
}

static inline struct vb_channel *to_channel(struct ibv_comp_channel *channel)
{
	return container_of(channel, struct vb_channel, channel);
}

static inline struct vb_xrcd *to_xrcd(struct ibv_xrcd *xrcd)
{
	return container_of(xrcd, struct vb_xrcd, xrcd);
}

static inline struct vb_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct vb_cq, cq);
}

static inline struct vb_srq *to_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct vb_srq, srq);
}

static inline struct vb_wq *to_wq(struct ibv_wq *wq)
{
	return container_of(wq, struct vb_wq, wq);
}

static inline struct vb_ind_table *to_ind_table(struct ibv_rwq_ind_table *table)
{
	return container_of(table, struct vb_ind_table, table);
}

static inline struct vb_qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct vb_qp, qp);
}

/*
 * An object of a protection domain is counted in the adapter; one of a parent domain, which the
 * adapter does not know, here.
 */
static inline void vb_parent_get(struct vb_pd *pd)
{
	if (pd->of)
		atomic_fetch_add_explicit(&pd->users, 1, memory_order_relaxed);
}

static inline void vb_parent_put(struct vb_pd *pd)
{
	if (pd->of)
		atomic_fetch_sub_explicit(&pd->users, 1, memory_order_release);
}

#endif
