/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a queue pair. Requester (requests and the answers to them) and responder (requests
 * of the peer) each have a struct, written by the files named at it only, under the QP's lock.
 */
#ifndef HCA_QP_TYPES_H
#define HCA_QP_TYPES_H

#include <sys/queue.h>

#include "hca/device/async.h"
#include "hca/peers/peer.h"
#include "hca/memory/mem.h"
#include "hca/queue/doorbell_source.h"
#include "hca/transport/hca_qp.h"
#include "hca/transport/carrier.h"
#include "roce/packet.h"
#include "util/heap.h"

/* Packets on the fabric: a compromise between headers and the length of a record. */
#define QP_FABRIC_MTU 8192u
/* Packets on their way over a wire: what an untuned socket buffer holds, then as many as go well. */
#define QP_CWND_FIRST 32u
#define QP_CWND_LEAST 8u
#define QP_CWND_MOST  256u
/* A read over a wire is asked for in pieces, which begin and end at multiples of this. */
#define QP_READ_PIECE (64u << 10)
#define QP_WINDOW     128u /* requests that may wait for an answer; a power of two */

struct qp;

/* A request that was sent and not answered yet. */
struct req_slot {
	uint32_t index; /* ring slot */
	uint32_t first_psn, last_psn;
	uint32_t length;
	uint32_t got; /* bytes of a read that have come back */
	uint16_t counter;
	uint16_t blocks;
	uint8_t op;
	bool signaled;
	bool local; /* nothing to wait for but its predecessors */
};

/* Of a requester on the wire; owned by probe.c. */
struct probe {
	bool lossy;         /* the connection has lost something lately */
	bool out;           /* one packet is on its way, and no more until it is answered */
	uint8_t silent;     /* probes since the last answer */
	bool gone;          /* a timeout, and never an answer */
	uint32_t moves;     /* answers that led on */
	uint32_t seen;      /* ... when the timer was set, with those that did not */
	uint32_t timed_psn; /* whose round trip is measured */
	uint64_t timed_at;  /* 0: none */
	uint64_t rtt_ns;
	uint64_t lost_at;
	uint64_t at; /* 0: no timer */
};

struct requester {
	uint32_t producer;  /* as the last doorbell said */
	uint32_t next;      /* slot of the first request that is not wholly sent */
	uint32_t begun;     /* while `again`: behind the last request that was sent before */
	uint32_t psn;       /* of the next packet */
	uint32_t first_psn; /* when the QP went to RTS */
	uint32_t una;       /* oldest packet that is not acknowledged */
	uint32_t high;      /* behind the last packet that was ever sent */
	uint32_t cwnd;      /* wire: packets that may be on their way */
	uint32_t ssthresh;  /* ... from how many on it opens slowly: half of what was too much */
	uint32_t answered;  /* ... packets since it last did so */
	struct req_slot *window;
	uint32_t head, tail; /* free running */
	uint32_t reads;      /* reads and atomics in the window */
	uint32_t asked;      /* read requests and atomics that are out; a read may take several */
	uint32_t sent;       /* bytes of the request at `next` that went out, or were asked for */
	bool partial;        /* `sent` and the window's last slot belong to the request at `next` */
	bool greeted;        /* the other end knows that we have begun */
	bool ack_delayable;  /* the last request's answer may wait over there */
	bool again;          /* requests from `next` to `begun` are sent once more */
	bool announced;      /* DCI: the target of this host knows of the session */
	bool blocked;        /* waits for room on the link */
	uint8_t retries;     /* used up since the last progress */
	uint8_t rnr_retries;
	bool asked_again;    /* for a read whose data came with a gap */
	uint32_t gap_psn;    /* ... and the last packet that came behind the gap */
	bool progress;       /* an answer came since the timer was set */
	bool looked;         /* the timer has expired once, and packets lay unread */
	uint32_t stale;      /* packets with data that an earlier attempt had asked for */
	uint32_t stale_then; /* ... when the timer was set */
	uint8_t forgiven;    /* timeouts that did not count, because of those */
	bool no_path;        /* the request at `next` waits for a link that is being made */
	uint64_t late_since; /* the peer's lateness is forgiven since then; 0: it is not late */
	uint64_t timeout_at; /* 0: no timer */
	uint64_t rnr_until;  /* 0: not waiting */
	struct probe probe;
	/* The request at `next` has ended a window, and waits for those who are using it. */
	struct grace_period *fence;
};

#define RESP_RESOURCES 16u

/*
 * Reads and atomics of the peer, the last ones that came, answered or not: reads may be asked for
 * again and are executed again, atomics are replayed.
 */
struct resp_resource {
	uint32_t psn, last_psn;
	uint8_t op;    /* packet opcode; 0xff: free */
	bool due;      /* an answer is to be sent */
	bool again;    /* ... not for the first time */
	bool whole;    /* no piece of a read, or its last */
	uint64_t orig; /* of an atomic */
	uint64_t va;
	uint32_t rkey, length, srqn;
	/* the answer to a read that is under way: what was asked for, and how far it has come */
	uint32_t from, upto, sent;
};

struct responder {
	uint32_t epsn; /* expected */
	uint32_t msn;
	bool nak_sent;      /* a sequence NAK is out for this gap, or the packet was refused */
	bool nak_behind;    /* ... refused, and what comes is on its way behind it */
	uint8_t naks_again; /* ... so many times more */
	uint32_t nak_ahead; /* the packet that showed the gap */
	bool established;
	bool ack_urgent; /* an acknowledgement is due, and somebody waits for it */
	bool unanswered; /* wire: no request of ours has followed the last one of the peer */
	uint8_t nak_due; /* syndrome of a refusal that found no room; 0: none */
	uint32_t nak_psn;
	uint8_t last_op; /* of the message in progress: a FIRST or MIDDLE opcode; 0xff: none */
	/* message in progress */
	bool has_recv;
	struct hca_recv *recv; /* allocated with the first receive */
	uint64_t offset;
	uint64_t va;
	uint32_t rkey, left;
	struct hca_srq *recv_srq;
	uint32_t rq_taken; /* receive entries consumed, free running */
	uint16_t rq_left;  /* ... posted when the ring was last asked, and not consumed since */
	/* XRC requests for queues of another process (xrc.c) */
	fabric_id_t away;  /* that process; FABRIC_ID_NONE: requests stay here */
	uint32_t away_una; /* the oldest that is not known to be done */
	bool away_turn;    /* the next one is the first of a row */
	bool away_behind;  /* some came out of turn, and have to come again */
	struct resp_resource *resource;
	uint32_t resource_next;  /* free running: the place of the next one */
	uint32_t resource_first; /* of the oldest one that may have an answer due */
};

/* Calls on a queue pair that another process has made. */
struct stand_in_ops {
	int (*modify)(struct qp *qp, const struct hca_qp_attr *attr, uint32_t mask);
	void (*query)(struct qp *qp, struct hca_qp_attr *out);
	int (*destroy)(struct qp *qp);
};

struct qp {
	struct hca_qp pub; /* first */
	struct hca_qp_attr attr;
	uint32_t xrcd;
	struct requester req;
	struct responder resp;
	/* Also the responder's: written under the lock, and relaxed, since they are looked at without it. */
	_Atomic bool ack_due;
	_Atomic uint8_t replies; /* wire: times in a row that a request of ours followed, in time */
	struct hca_peer *peer;   /* connected: where the other end was found */
	uint32_t mtu;            /* payload of a packet on the way there */
	/* beyond this host: how packets leave, and what the carrier knows of the QP; or NULL */
	const struct carrier *carrier;
	struct qp_wire *wire;
	uint32_t read_bytes_most; /* bytes of read responses that the carrier takes at a time */
	struct qp_local_capture
		*capture;            /* what a capture has counted (local_capture.c), or NULL */
	uint64_t dc_key;             /* DCT: its key; DCI: that of the target */
	struct dci *dci;             /* of an initiator, or NULL (dci.c) */
	struct dct *dct;             /* of a target, or NULL (dct.c) */
	bool remote;                 /* connected to another host, by the carrier */
	struct hca_comp_cntr **cntr; /* by enum hca_cntr_op; NULL: none is attached */
	LIST_ENTRY(qp) all;          /* of qp_table.c, or the stand-ins of xrc_open.c */
	struct qp *blocked_next;
	uint32_t mcast;            /* groups attached */
	struct raw_qp *raw_qp;     /* raw packets (raw/raw.c) */
	struct hca_shaper *shaper; /* held, or NULL */
	bool guest;                /* stands for a queue pair of another process (xrc.c) */
	fabric_id_t
		owner; /* a stand-in for a queue pair of that process (xrc_open.c); 0: it is ours */
	const struct stand_in_ops *stand_in; /* ... and what calls on it do; or NULL */
	bool orphan; /* only other processes have it open; with the next, under their lock */
	bool closed; /* cannot be opened any more */
	struct hca_listener *listeners;
	/* tells other processes that have the QP open of an event; NULL: none has */
	void (*event_hook)(const struct qp *qp, enum hca_event_type type);
	bool dying;
	struct heap_node timer;          /* of timer.c */
	struct doorbell_source doorbell; /* watched: the program posts by hand (qp_watch.c) */
	bool drained_told;
	bool last_wqe_told;
	struct hca_gid local_gid_seen; /* the last destination that was found to be on this host */
	uint32_t local_gid_changes;    /* hca_gid_changes then */
	bool local_gid_valid;
};

#define OP_BIT(name) (1u << HCA_OP_##name)
#define OPS_READ     (OP_BIT(READ) | OP_BIT(CMP_SWAP) | OP_BIT(FETCH_ADD))

static inline bool op_is_read(unsigned int op)
{
	return OPS_READ >> op & 1;
}

static inline bool op_is_atomic(unsigned int op)
{
	return (OP_BIT(CMP_SWAP) | OP_BIT(FETCH_ADD)) >> op & 1;
}

static inline bool op_is_one_sided(unsigned int op)
{
	return (OP_BIT(WRITE) | OPS_READ) >> op & 1;
}

static inline struct qp *to_priv(struct hca_qp *qp)
{
	return (struct qp *)qp;
}

/*
 * What the peer may do through the queue pair. Without responder resources there are no reads and no
 * atomics, whatever else was granted.
 */
static inline uint32_t qp_access(const struct qp *qp)
{
	bool dynamic = qp->pub.type == HCA_QP_DCT || qp->pub.type == HCA_QP_DCR;

	if (likely(qp->attr.max_dest_rd_atomic) || dynamic)
		return qp->attr.access;
	return qp->attr.access & ~(uint32_t)(HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC);
}

static inline void qp_set_peer(struct qp *qp, struct hca_peer *peer)
{
	qp->peer = peer;
	qp->remote = false;
	if (likely(!qp->guest)) /* whose requests have come another way before */
		qp->mtu = QP_FABRIC_MTU;
}

#define NO_MESSAGE 0xff /* responder.last_op: no message is in progress */

/* Whether there is a request at `next`. */
static inline bool qp_send_is_posted(const struct qp *qp)
{
	return hca_sq_ready(qp->pub.format, &qp->pub.sq, qp->req.next, qp->req.producer);
}

/* Some answer to a read or atomic is due: acknowledgements of later requests must wait. */
static inline bool qp_answer_is_due(const struct qp *qp)
{
	return qp->resp.resource_first != qp->resp.resource_next;
}

static inline bool qp_is_reliable(const struct qp *qp)
{
	const uint32_t types = 1u << HCA_QP_RC | 1u << HCA_QP_XRC_RECV | 1u << HCA_QP_DCR;

	return types >> qp->pub.type & 1;
}

/* XRC: requests were forwarded to another process, which has not answered all of them. */
static inline bool qp_has_forwarded(const struct responder *r)
{
	return unlikely(r->away) && r->away_una != r->epsn;
}

/* The transport bits of the opcodes of answers. */
static inline uint8_t qp_answer_transport(const struct qp *qp)
{
	switch (qp->pub.type) {
	case HCA_QP_XRC_RECV:
		return ROCE_TR_XRC;
	case HCA_QP_DCR:
		return ROCE_TR_DC;
	default:
		return ROCE_TR_RC;
	}
}

#endif
