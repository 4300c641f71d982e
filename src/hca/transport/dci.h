/* SPDX-License-Identifier: BSD-2-Clause */
/* Initiators of the dynamically connected transport. Lock held. */
#ifndef HCA_DCI_H
#define HCA_DCI_H

#include "hca/transport/qp_types.h"

/* The additional state of an initiator; nothing for other types. 0 or -ENOMEM. */
int dci_init(struct qp *qp, const struct hca_qp_init *init);
void dci_fini(struct qp *qp);
void dci_reset(struct qp *qp);

bool dci_is_aimed(const struct qp *qp, const struct hca_send *s);
/* Starts a session with the request's target. The window must be empty. */
void dci_aim(struct qp *qp, const struct hca_send *s);
/* Tells a target of this host about the session; false when there is no room yet. */
bool dci_announce(struct qp *qp);
/* Fields of the session in a packet on the wire. */
void dci_fill(const struct qp *qp, struct roce_pkt *pkt);
/* Far from those that the QP has used lately, so that late answers do not match. */
uint32_t dci_first_psn(const struct qp *qp);

bool dci_stream_failed(const struct qp *qp, uint16_t stream);
/* Fails the current stream only. False: too many have failed, or there are no streams. */
bool dci_fail_stream(struct qp *qp);
/* A stream that failed may go on. */
void dci_revive_stream(struct qp *qp, uint16_t stream);

#endif
