/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagram ids: connecting asks the service for its queue pair (SIDR). With cm.lock held.
 */
#ifndef CM_DATAGRAM_H
#define CM_DATAGRAM_H

#include "cm/id_types.h"
#include "cm/sidr_types.h"

int cm_datagram_connect(struct cm_id *id, const struct rdma_conn_param *param,
			const struct conn_route *route);
/* The id's QP or the one in the parameters is the answer. */
int cm_datagram_accept(struct cm_id *id, const struct rdma_conn_param *param);
int cm_datagram_reject(struct cm_id *id, const void *private_data, uint8_t len);

/* For struct sidr_ops. */
enum msg_sidr_status cm_datagram_request(struct sidr *sidr, const struct msg_sidr_req *req);
void cm_datagram_reply(struct sidr *sidr, const struct msg_sidr_rep *rep);

#endif
