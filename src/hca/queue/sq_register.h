/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The register of a doorbell page (uar.h) for a send queue without a doorbell record: the word that
 * the program stores says how far it has posted. Looks take words out of the register and keep the
 * producer index in a record of the adapter's own, which the send queue has in place of the program's.
 *
 * A page serves one such queue: the word for one would overwrite that for another before a thread
 * reads it, and unlike other doorbells it could not be found elsewhere. A later word of the same queue
 * includes an earlier one.
 */
#ifndef HCA_SQ_REGISTER_H
#define HCA_SQ_REGISTER_H

#include "hca/queue/uar.h"

struct hca_sq_register {
	volatile uint32_t record; /* hca_sq_ring.db; looks write it */
	uint32_t qpn;             /* 0: not known yet */
	/* guarded by hca.queue.watch_lock */
	struct hca_uar *uar; /* NULL: the program has freed the page */
	struct uar_user user;
};

/* -EBUSY: the page has such a queue. */
VB_API int hca_sq_register_create(struct hca_uar *uar, struct hca_sq_register **out);
/* Names the queue pair, once it has its number: only words for it count. */
VB_API void hca_sq_register_own(struct hca_sq_register *reg, uint32_t qpn);
/* The queue starts again from 0; a word that no look has taken yet is dropped. */
VB_API void hca_sq_register_reset(struct hca_sq_register *reg);
/* After the queue pair is gone. */
VB_API void hca_sq_register_destroy(struct hca_sq_register *reg);

#endif
