/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connection requests that arrive: each becomes a new id and an event at the id that listens.
 */
#ifndef CM_REQUEST_H
#define CM_REQUEST_H

#include "cm/conn_types.h"
#include "cm/id_types.h"

struct cm_event;

/* The two ends of a request, seen from here. */
struct request_ends {
	struct sockaddr_storage own, peer;
	uint16_t header_len; /* of the private data that is not the program's */
};

/* ---- for requests of all kinds; with cm.lock held ---- */

/*
 * The id that listens to a service, and the ends of the request: from the addressing header, or for
 * AF_IB listeners from the path (NULL: not known). NULL when none listens.
 */
struct cm_id *cm_request_listener(const struct conn_route *from, uint64_t service_id,
				  const uint8_t *private_data, const struct msg_path *path,
				  struct request_ends *ends);
/* A new id at the port that the request came by. NULL without memory or adapter. */
struct cm_id *cm_request_id(struct cm_id *listener, const struct conn_route *from,
			    struct request_ends *ends);
/* The CONNECT_REQUEST of a new id, for cm_request_post(); NULL without memory. */
struct cm_event *cm_request_event(struct cm_id *listener, struct cm_id *id);
void cm_request_post(struct cm_event *event);
bool cm_request_is_full(const struct cm_id *listener);

/* ---- connections ---- */

/* With cm.lock held. As struct conn_ops has it. */
int cm_request_receive(struct conn *conn, const struct msg_req *req);

#endif
