/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport, for the adapter's other files; dc.c says how it works.
 */
#ifndef HCA_DC_H
#define HCA_DC_H

#include "hca/transport/qp_priv.h"

/* What a QP of these types has besides; nothing for others. 0 or -ENOMEM. */
int dc_init(struct qp *qp, const struct hca_qp_init *init);
void dc_fini(struct qp *qp);

/* ---- initiators; lock held ---- */

bool dci_is_aimed(const struct qp *qp, const struct hca_send *s);
/* Turns to the request's target. Nothing may be under way. */
void dci_aim(struct qp *qp, const struct hca_send *s);
/* Tells a target of this host about the session; false when there is no room yet. */
bool dci_announce(struct qp *qp);
/* Has the next packet announce it again, should the target have missed it. */
void dci_unannounce(struct qp *qp);
/* What a packet on the wire says of the session. */
void dci_fill(const struct qp *qp, struct roce_pkt *pkt);
uint64_t dci_key(const struct qp *qp);
uint32_t dci_first_psn(void);
void dci_reset(struct qp *qp);

bool dci_stream_failed(const struct qp *qp, uint16_t stream);
/* The present stream has failed. False: that was one too many, or there are none. */
bool dci_fail_stream(struct qp *qp);

/* ---- targets ---- */

uint64_t dct_key(const struct qp *qp);
/*
 * The session that a packet belongs to, begun if that is what the packet is about; NULL: there is
 * none, or nothing else is to be done. Inside an epoch section, no QP's lock held.
 */
struct qp *dct_session(struct qp *dct, struct hca_peer *from, const struct roce_pkt *pkt);
struct qp *dct_wire_session(struct qp *dct, const uint8_t *src, const uint8_t *dst,
			    const struct roce_pkt *pkt);
/* Ends all sessions. Nobody finds the target any more; not inside an epoch section. */
void dct_retire(struct qp *qp);

#endif
