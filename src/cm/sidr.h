/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests for the datagram queue pair of a service, and replies.
 */
#ifndef CM_SIDR_H
#define CM_SIDR_H

#include "cm/sidr_types.h"

/* Sends the request, again until it is answered. Sets request_id in *req. NULL without memory. */
struct sidr *sidr_send_req(struct sidr_table *table, void *owner, const struct conn_route *route,
			   struct msg_sidr_req *req, uint64_t now_ns);
/* Answers a request that arrived. Sets request_id and service_id in *rep. -EINVAL: it was. */
int sidr_send_rep(struct sidr *sidr, struct msg_sidr_rep *rep);
/* The owner lets go: a request that arrived and was not answered is rejected. Frees it. */
void sidr_abandon(struct sidr *sidr);
/* Frees it without a word. */
void sidr_free(struct sidr *sidr);

/* False: no message of SIDR. */
bool sidr_receive(struct sidr_table *table, const struct conn_route *from,
		  const uint8_t mad[MSG_BYTES]);
/* Repeats and gives up what is due. */
void sidr_run_timers(struct sidr_table *table, uint64_t now_ns);

#endif
