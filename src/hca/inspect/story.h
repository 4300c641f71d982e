/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a queue pair: while it lives, or at the moment when a request of it failed, or when it refused a
 * request of its peer. Passed between processes and kept in a file (failure.h), so a plain struct of fixed size.
 */
#ifndef HCA_STORY_H
#define HCA_STORY_H

#include <stdbool.h>
#include <stdint.h>

#define STORY_MAGIC   0x31797274736562ull /* "bestry1" */
#define STORY_UNKNOWN UINT64_MAX

enum story_kind {
	STORY_LIVE,
	STORY_REQUEST, /* a request failed */
	STORY_REFUSED, /* the queue pair refused a request of its peer, and failed */
};

/* The peer's last answer to the oldest request. */
enum story_answer {
	STORY_ANSWER_NEVER, /* none has ever come on this connection */
	STORY_ANSWER_NONE,  /* none to this request */
	STORY_ANSWER_RNR,
	STORY_ANSWER_SEQUENCE, /* packets are missing */
};

/* The reason for a refusal. */
enum story_refusal {
	STORY_REFUSAL_OTHER,
	STORY_REFUSAL_NO_KEY,     /* no region or window has the key */
	STORY_REFUSAL_DOMAIN,     /* it is of another protection domain */
	STORY_REFUSAL_RANGE,      /* the access does not lie in it */
	STORY_REFUSAL_RIGHT,      /* it was registered without the right */
	STORY_REFUSAL_QP_RIGHT,   /* the queue pair has not the right */
	STORY_REFUSAL_TOO_LONG,   /* the message is longer than the receive */
	STORY_REFUSAL_RESOURCES,  /* max_dest_rd_atomic is 0 */
	STORY_REFUSAL_RECEIVE,    /* the elements of the receive are wrong */
	STORY_REFUSAL_INVALIDATE, /* the key of a SEND with invalidate */
};

/* A request: that failed, that was refused, or the oldest one without an answer. */
struct story_request {
	bool known, has_wr_id, remote; /* remote: it names memory of the peer */
	uint8_t op;                    /* enum hca_op */
	uint64_t wr_id, length, raddr;
	uint32_t rkey;
};

struct story_queue {
	uint32_t number; /* of a CQ or SRQ; 0: there is none */
	uint32_t size, filled;
};

struct hca_story {
	uint64_t magic;
	uint32_t size; /* of this struct */
	uint32_t kind; /* enum story_kind */
	uint64_t wall_ns;
	uint32_t pid;
	char program[16];
	char adapter[64];
	/* the queue pair */
	uint32_t qpn, peer_qpn;
	uint8_t type, state, port; /* enum hca_qp_type, enum hca_qp_state (at the moment) */
	bool connected, elsewhere; /* elsewhere: the peer is on another host */
	uint8_t gid[16];           /* of the peer */
	uint16_t lid;
	uint8_t path_mtu, timeout, retry_cnt, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint32_t access;
	uint32_t peer_pid; /* 0: no process of this host has the peer's number */
	char peer_program[16];
	/* its queues */
	uint32_t posted;      /* requests that are not wholly sent; slots */
	uint32_t outstanding; /* sent, without an answer */
	uint32_t slots;       /* of the send queue */
	uint32_t receives;    /* posted, and not taken */
	struct story_queue send_cq, recv_cq, srq;
	uint32_t srq_limit;
	/* the connection */
	uint8_t answer; /* enum story_answer */
	uint8_t retries, rnr_retries;
	bool waits_rnr, waits_path, waits_room;
	uint64_t age_ns; /* of the oldest request without an answer, at least; STORY_UNKNOWN */
	struct story_request request;
	/* a failure */
	uint8_t status, vendor;         /* of the completion */
	uint8_t refusal;                /* enum story_refusal */
	uint8_t needs;                  /* STORY_REFUSAL_RIGHT: enum hca_access */
	uint64_t region, region_length; /* STORY_REFUSAL_RANGE; TOO_LONG: of the receive */
	uint64_t end;                   /* STORY_MAGIC again: the record is whole */
};

#endif
