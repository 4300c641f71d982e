/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a queue pair. Requester (sends), completer (answers to them) and responder
 * (requests of the peer) each own their struct; the QP's lock guards all three.
 */
#ifndef HCA_QP_PRIV_H
#define HCA_QP_PRIV_H

#include "hca/transport/comp_cntr.h"
#include "hca/peers/peer.h"
#include "hca/memory/mem.h"
#include "hca/transport/qp.h"
#include "hca/device/table.h"
#include "roce/packet.h"

/* Packets on the fabric: a compromise between headers and the length of a record. */
#define QP_FABRIC_MTU 8192u
/* Packets on their way over a wire: what an untuned socket buffer holds, then as many as go well. */
#define QP_CWND_FIRST 32u
#define QP_CWND_LEAST 8u
#define QP_CWND_MOST  256u
/* A read over a wire is asked for in pieces, which begin and end at multiples of this. */
#define QP_READ_PIECE (64u << 10)
#define QP_WINDOW     128u /* requests that may wait for an answer; a power of two */

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
	struct qp_wire *wire;    /* ... or over the wire (wire.h), when wired */
	struct qp_local_capture *shadow; /* what a capture has counted (local_capture.c), or NULL */
	struct dci *dci;                 /* of an initiator, or NULL (dc.c) */
	struct dct *dct;                 /* of a target, or NULL */
	bool wired;
	struct hca_comp_cntr **cntr; /* by enum hca_cntr_op; NULL: none is attached */
	struct qp *all_next, *all_prev;
	struct qp *blocked_next;
	uint32_t mcast;            /* groups attached */
	struct ether_port *port;   /* raw packets */
	struct hca_shaper *shaper; /* held, or NULL */
	uint64_t pace_at;  /* raw packets: when the next one may go out, at a limited rate */
	uint8_t *frame;    /* raw packets: where a frame is put together, at need */
	bool guest;        /* stands for a queue pair of another process (xrc.c) */
	fabric_id_t owner; /* not ours, but that process's (xrc_open.c) */
	bool orphan;       /* only other processes have it open; with the next, under their lock */
	bool closed;       /* cannot be opened any more */
	struct hca_listener *listeners;
	bool dying;
	bool timer_on;
	bool raw; /* its ring is watched (doorbell_watch.c) */
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
	qp->wired = false;
	if (likely(!qp->guest)) /* whose requests have come another way before */
		qp->mtu = QP_FABRIC_MTU;
}

/* ---- qp.c ---- */
/* The one that changes it. Lock held. */
void qp_set_state(struct qp *qp, enum hca_qp_state state);
/* Moves to ERR (or SQE) and flushes. Lock held. */
void qp_fail(struct qp *qp);
void qp_fail_send(struct qp *qp);
/* The grant's word after a change of state. Lock held. */
void qp_grant_update(struct qp *qp);
void qp_event(struct qp *qp, enum hca_event_type type);
/* To the handles of this process. Lock held. */
void qp_tell_listeners(struct qp *qp, enum hca_event_type type);

/* ---- qp_table.c ---- */
extern struct hca_table qp_table;

/* Inside an epoch section. */
static inline struct qp *qp_find(uint32_t qpn)
{
	return hca_table_find(&qp_table, qpn);
}

void qp_for_each(void (*fn)(struct qp *qp));
/* Gives it a number, by which it is found from then on; the other way around without giving it back. */
int qp_enlist(struct qp *qp);
void qp_unlist(struct qp *qp);
/* In and out of the list of all, for those that have no number of their own. No QP lock held. */
void qp_link(struct qp *qp);
void qp_unlink(struct qp *qp);
/* In a forked child: the parent's queue pairs are not ours. */
void hca_qp_forked(void);

/* ---- requester.c ---- */
void requester_run(struct qp *qp);
/* Whether there is a request at `next`. */
static inline bool requester_is_posted(const struct qp *qp)
{
	return hca_sq_ready(qp->pub.format, &qp->pub.sq, qp->req.next, qp->req.producer);
}
void requester_start(struct qp *qp, uint32_t psn);
void requester_reset(struct qp *qp);
/* Completes the oldest request of the window, or one that never entered it. */
void requester_complete(struct qp *qp, const struct req_slot *slot, enum hca_status status,
			uint8_t vendor);
void requester_flush(struct qp *qp);
/* The same for what has been sent only. */
void requester_flush_window(struct qp *qp);
/* Sends again from the oldest unanswered request on. */
void requester_rewind(struct qp *qp);
bool requester_has_work(const struct qp *qp);
/* SQD: told once the window is empty. */
void requester_check_drained(struct qp *qp);
/* The link that the request at `next` waits for does not come about. */
void requester_give_up(struct qp *qp);

/* ---- completer.c ---- */
void completer_packet(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload);
void completer_timeout(struct qp *qp, uint64_t now_ns);
void completer_done_up_to(struct qp *qp, uint32_t psn);
/* Fewer packets at a time. */
void completer_slow_down(struct qp *qp);

/* ---- comp_cntr.c; add and sent only with counters ---- */
void comp_cntr_add(struct qp *qp, enum hca_cntr_op op, bool good, uint64_t bytes);
/* The peer has read that much; `whole`: to the end of what it wants. */
void comp_cntr_read(struct qp *qp, bool whole, uint64_t bytes);
void comp_cntr_sent(struct qp *qp, enum hca_op op, bool good, uint64_t bytes);
/* Whether the peer's one-sided work has to pass through here. */
bool comp_cntr_sees_peer(const struct qp *qp);
void comp_cntr_detach(struct qp *qp);

/* ---- responder.c ---- */
/* `from` is NULL for what came over the wire. */
void responder_packet(struct qp *qp, struct hca_peer *from, struct hca_acks *acks,
		      const struct roce_pkt *pkt, const struct hca_list *payload,
		      const uint8_t *grh);
void responder_reset(struct qp *qp);
void responder_flush(struct qp *qp);
/* An XRC queue goes amid a message. */
void responder_forget_srq(struct qp *qp, const struct hca_srq *srq);
/* Sends the acknowledgement that is due. False when there was no room. */
bool responder_send_ack(struct qp *qp);
/* Sends what is due, as far as there is room: answers to reads and atomics, then the rest. */
void responder_continue(struct qp *qp);

/* ---- direct.c ---- */
enum direct_result {
	DIRECT_DONE,
	DIRECT_NO, /* not possible: use packets, which also find out what is wrong */
	DIRECT_LOCAL_ERROR,
};
enum direct_result direct_execute(struct qp *qp, struct hca_send *s);
/* Asks for acknowledgements that nobody hurried so far. False when there was no room. */
bool direct_hurry(struct qp *qp);

/* ---- path.c ---- */
enum path_state {
	PATH_READY,
	PATH_WAIT, /* link being made */
	PATH_NONE, /* nobody there: what is sent is lost */
};
/* Where the other end is to be looked for first. */
enum path_state path_find(struct qp *qp);
/* Of a connected queue pair. */
static inline enum path_state path_connected(struct qp *qp)
{
	if (qp->wired || (qp->peer && likely(hca_peer_is_up(qp->peer))))
		return PATH_READY;
	return path_find(qp);
}

enum path_state path_datagram(struct qp *qp, const struct hca_av *av, uint32_t dqpn,
			      struct hca_peer **out);
bool path_gid_is_local(struct qp *qp, const struct hca_gid *gid);

/* ---- timer.c ---- */
void timer_start(struct qp *qp, uint64_t at_ns);
/* The same for a time that is noted elsewhere in the QP already. */
void timer_wake(struct qp *qp, uint64_t at_ns);
uint64_t timer_run(uint64_t now_ns);
void timer_forget(struct qp *qp);
void timer_forked(void);
uint64_t timer_now(void);
/* 4.096 us * 2^timeout; 0 for 0. */
uint64_t timer_ack_ns(uint8_t timeout);
uint64_t timer_rnr_ns(uint8_t code);

#endif
