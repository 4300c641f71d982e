/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets of the dynamically connected transport, and their sessions. */
#ifndef HCA_DCT_H
#define HCA_DCT_H

#include "hca/transport/qp_types.h"

/* The additional state of a target; nothing for other types. 0 or -ENOMEM. */
int dct_init(struct qp *qp, const struct hca_qp_init *init);
void dct_fini(struct qp *qp);
/*
 * The session that a packet belongs to, begun if that is what the packet is about; NULL: there is
 * none, or nothing else is to be done. Inside an epoch section, no QP's lock held.
 */
struct qp *dct_session(struct qp *dct, struct hca_peer *from, const struct roce_pkt *pkt);
/* The session of a packet from another host: `src` and `dst` are its GIDs. */
struct qp *dct_remote_session(struct qp *dct, const uint8_t *src, const uint8_t *dst,
			      const struct roce_pkt *pkt);
/* Ends all sessions. The target cannot be found any more; not inside an epoch section. */
void dct_retire(struct qp *qp);

#endif
