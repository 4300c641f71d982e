/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UD queue pairs of a datagram rsocket, one for each local address. All with base.lock held.
 */
#ifndef RSOCKET_DGRAM_QP_H
#define RSOCKET_DGRAM_QP_H

#include "rsocket/dgram.h"

struct rs_dgram_qp {
	LIST_ENTRY(rs_dgram_qp) link;
	struct rdma_cm_id *id;
	struct rs_cm_owner owner; /* of the id; nothing happens on it */
	union rs_addr local;
	uint8_t header[RS_UD_HEADER_MAX]; /* of what is sent */
	size_t header_len;
	uint32_t mtu; /* of a message, header included */

	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	bool armed;
	unsigned int inline_max;

	uint8_t *memory; /* send slots, receive slots, and a place for the GRH of all of them */
	size_t memory_len;
	struct ibv_mr *mr;
	unsigned int send_slots, recv_slots;
	uint16_t *free_slots; /* a stack of send slots */
	unsigned int free_count;
	struct rs_dgram_msg *msgs; /* one for each receive slot */
};

/* The queue pair of this local address, made if there is none. */
int rs_dgram_qp_get(struct rs_dgram *d, const union rs_addr *local, struct rs_dgram_qp **out);
void rs_dgram_qp_destroy(struct rs_dgram *d, struct rs_dgram_qp *qp);

/* Sends the bytes of a slot that rs_dgram_qp_slot() has given; a slot must be free for that. */
uint8_t *rs_dgram_qp_slot(struct rs_dgram_qp *qp);
int rs_dgram_qp_send(struct rs_dgram_qp *qp, uint8_t *slot, size_t len, struct ibv_ah *ah,
		     uint32_t qpn);

/* Handles completions: datagrams go to d->received. */
void rs_dgram_qp_poll(struct rs_dgram *d, struct rs_dgram_qp *qp);
/* A datagram has been read, or is not wanted. */
void rs_dgram_msg_drop(struct rs_dgram *d, struct rs_dgram_msg *msg);
void rs_dgram_qp_arm(struct rs_dgram_qp *qp);
void rs_dgram_qp_take(struct rs_dgram_qp *qp);

#endif
