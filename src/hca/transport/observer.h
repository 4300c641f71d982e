/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture and fault injection, as the transport sees them: struct hca points to one of these while
 * something is captured or injected, and to none otherwise (inspect/inspect.c). Hooks may be NULL.
 * The QP's lock is held, inside an epoch section.
 */
#ifndef HCA_OBSERVER_H
#define HCA_OBSERVER_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca/hca.h"
#include "roce/fault.h"

struct hca_list;
struct qp;
struct roce_pkt;

struct observer {
	/* A packet left by the link to a process of this host, or arrived by it. Captures. */
	void (*sent)(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
		     uint64_t off);
	void (*received)(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			 const uint8_t *grh);
	/* The action of a fault script on a request that the responder would accept. */
	struct roce_verdict (*judge)(const struct qp *qp, const struct roce_pkt *pkt);
	/* The QP starts anew, or its number was another's. */
	void (*forget)(const struct qp *qp);
};

static inline const struct observer *observer_get(void)
{
	/* [O1] pairs with publish() of inspect.c: the hooks before their pointer */
	return atomic_load_explicit(&hca.observer, memory_order_acquire);
}

#endif
