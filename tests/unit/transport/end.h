/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends of connections for tests of the transport: a queue pair of a test's own ring format (requests and
 * receives are arrays of decoded work, completions an array), with a protection domain, a completion
 * queue and a registered buffer. Ends on two adapters are joined by the network in memory (net.h).
 */
#ifndef TESTS_TRANSPORT_END_H
#define TESTS_TRANSPORT_END_H

#include "transport/net.h"

#include "hca/memory/mr.h"
#include "hca/transport/hca_qp.h"

#define END_SLOTS 64u
#define END_CQES  1024u
#define END_BYTES (256u << 10)

struct end {
	struct hca_ctx *ctx;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *mr;
	struct hca_srq *srq; /* or NULL */
	struct hca_qp *qp;
	struct qp *in; /* the same, inside */
	uint8_t *mem;  /* END_BYTES, registered for everything */
	struct hca_send send[END_SLOTS];
	uint32_t posted;
	struct hca_recv recv[END_SLOTS];
	uint32_t recv_posted, recv_freed;
	struct hca_cqe done[END_CQES];
	struct hca_tm_info tm[END_CQES]; /* that `done` points to */
	uint32_t completed, taken;
};

/* What ends differ in. */
struct end_options {
	enum hca_qp_type type; /* RC unless said otherwise */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t path_mtu;  /* 1 = 256 ... 5 = 4096 */
	uint8_t rd_atomic; /* both ways */
	uint32_t psn, peer_psn;
	uint32_t access; /* of the peer through the queue pair; 0: everything */
	bool no_access;
	bool srq;      /* receives are those of a shared receive queue */
	uint32_t tags; /* ... which matches tags, with so many entries; the send queue is its own */
	bool dci_streams;
	uint8_t dci_log_errored;
	bool out_of_order;
};

#define END_XRCD   7u
#define END_DC_KEY 0xdcdcdcdcull
#define END_QKEY   0x11111111u

#define END_DEFAULTS                                                                               \
	(struct end_options)                                                                       \
	{                                                                                          \
		.type = HCA_QP_RC, .timeout = 14, .retry_cnt = 3, .rnr_retry = 3,                  \
		.min_rnr_timer = 12, .path_mtu = 3, .rd_atomic = 4, .psn = 100, .peer_psn = 500,   \
	}

/* cmocka group fixtures: two adapters, the network, virtual time. */
int end_group_begin(void **state);
int end_group_end(void **state);

/* On adapter 0 or 1, in RESET. */
struct end *end_create(unsigned int adapter, const struct end_options *options);
/* With its queue pair, unless that is NULL because the test has destroyed it. */
void end_destroy(struct end *end);
/* To RTS, with the given queue pair number as the other end. */
void end_connect(struct end *end, uint32_t dest_qpn, const struct end_options *options);
/* To the state, on the way to RTS. */
void end_advance(struct end *end, enum hca_qp_state to, uint32_t dest_qpn,
		 const struct end_options *options);
int end_set_state(struct end *end, enum hca_qp_state to);
/* Two connected ends with the same options. */
void end_pair(struct end *ends[2], const struct end_options *options);
/* One end in RTS whose peer is the test: its packets are recorded (net.held), QP number 0x1234. */
struct end *end_alone(const struct end_options *options);
#define END_PEER_QPN 0x1234u

/* A request of `len` bytes from the buffer's offset `at`; fields may be changed before end_ring(). */
struct hca_send *end_post(struct end *end, enum hca_op op, uint32_t at, uint32_t len);
/* A request as above, with a target in the peer's buffer. */
struct hca_send *end_post_to(struct end *end, enum hca_op op, uint32_t at, uint32_t len,
			     const struct end *peer, uint32_t peer_at);
/* Where a datagram or a DC request goes. */
void end_address(struct hca_send *s, const struct end *from, const struct end *to);
void end_ring(struct end *end);
void end_post_recv(struct end *end, uint32_t at, uint32_t len);

/*
 * A packet for net_inject() that is right for its opcode and the end: requests are for the buffer's first 8 bytes
 * if they read, and for those at 4096 if they write; messages of one packet have 8 bytes. A masked
 * atomic adds.
 */
struct roce_pkt end_request(const struct end *end, uint8_t op, uint32_t psn);

/* The next completion, or NULL. */
const struct hca_cqe *end_completion(struct end *end);
/* Runs the network until the end has a completion; fails the test when none comes in 100 s. */
const struct hca_cqe *end_await(struct end *end);

#endif
