/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resolution of services to datagram queue pairs (SIDR, IBTA 1.4, 12.11): one request and one reply.
 * As with connections, time and sending are handed in.
 */
#ifndef CM_SIDR_TYPES_H
#define CM_SIDR_TYPES_H

#include "cm/conn_types.h"

struct sidr_table;

/* A request of this end, or one that arrived. */
struct sidr {
	struct sidr_table *table;
	void *owner; /* never NULL */
	bool is_passive;
	bool is_answered; /* passive: mad has the reply; active: the reply has come, or none did */
	uint32_t request_id; /* active: of this process; passive: of the sender */
	uint64_t tid;
	uint64_t service_id;
	struct conn_route route;
	struct hash_link link; /* in table->active or table->passive, by request_id */
	struct heap_node timer;
	uint8_t tries_left;
	uint8_t mad[MSG_BYTES]; /* the last message of this end */
};

struct sidr_ops {
	/*
	 * A SIDR_REQ has arrived. 0: its owner is set, and it will be answered; otherwise the status to
	 * answer with.
	 */
	enum msg_sidr_status (*request)(struct sidr *sidr, const struct msg_sidr_req *req);
	/* The reply, or NULL: none came. */
	void (*reply)(struct sidr *sidr, const struct msg_sidr_rep *rep);
};

/* All zero but for ops and net, it is empty. The owner locks. */
struct sidr_table {
	const struct sidr_ops *ops;
	const struct conn_ops *net; /* for sending, ids and deadlines */
	struct hash active, passive;
	struct heap timers;
};

#endif
