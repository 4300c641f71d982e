/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of the communication manager: the protocol's own view of one, apart from ids, queue
 * pairs and sockets. Time and sending are handed in, so that tests drive it in memory.
 */
#ifndef CM_CONN_TYPES_H
#define CM_CONN_TYPES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cm/msg.h"
#include "hca/device/adapter.h"
#include "hca/device/work.h"
#include "util/hash.h"
#include "util/heap.h"

/* Where the messages of a connection go, and from which port. */
struct conn_route {
	const struct hca_adapter *adapter;
	struct hca_av av;
};

/*
 * IBTA 1.4, 12.9.7. The states of the specification in which a MRA was sent or received are those
 * without it here: a MRA only changes the deadline.
 *
 *	active:  IDLE ─REQ→ REQ_SENT ─REP→ REP_RCVD ─RTU→ ESTABLISHED
 *	passive:       REQ→ REQ_RCVD ─REP→ REP_SENT ─RTU→ ESTABLISHED
 *	then:    ESTABLISHED ─DREQ→ DREQ_SENT ─DREP→ TIMEWAIT → CLOSED
 *	         ESTABLISHED →DREQ─ DREQ_RCVD →DREP─ TIMEWAIT → CLOSED
 */
enum conn_state {
	CONN_IDLE,
	CONN_REQ_SENT,
	CONN_REQ_RCVD,
	CONN_REP_SENT,
	CONN_REP_RCVD,
	CONN_ESTABLISHED,
	CONN_DREQ_SENT,
	CONN_DREQ_RCVD,
	CONN_TIMEWAIT,
	CONN_CLOSED,
};

/* Parameters that the two ends agree on, seen from this end. */
struct conn_params {
	uint32_t local_qpn, remote_qpn;
	uint32_t local_psn, remote_psn; /* that each end expects first */
	uint8_t responder_resources; /* of this end: reads and atomics that it serves at a time */
	uint8_t initiator_depth;     /* of this end: those that it has in flight */
	uint8_t retry_count, rnr_retry_count;
	uint8_t ack_timeout; /* of the QP, 4.096 µs × 2^n */
	uint8_t path_mtu;
	uint8_t transport; /* enum msg_transport */
	bool remote_srq;
	struct hca_av av; /* of the QP's packets */
};

struct conn_table;

struct conn {
	struct conn_table *table;
	void *owner; /* gets events; NULL: the id is gone, and the connection ends by itself */
	enum conn_state state;
	bool is_active;     /* this end sent the REQ */
	bool is_remote;     /* the other end is known, and at another host */
	uint8_t unanswered; /* probes since the last answer */
	uint32_t local_id, remote_id;
	uint32_t process; /* of this host that the other end is; 0: of another host, or not known */
	uint64_t tid;
	uint64_t local_ca_guid, remote_ca_guid;
	struct conn_route route;
	struct conn_params params;

	LIST_ENTRY(conn) entry;
	struct hash_link by_local;
	struct hash_link by_remote; /* while remote_id is set */
	struct hash_link by_qpn;    /* likewise: by the remote QP */

	uint8_t mad[MSG_BYTES]; /* the message that waits for an answer, or was the last answer */
	bool is_rejected;       /* by this end: mad has the REJ */
	struct heap_node timer;
	uint64_t resend_ns;  /* between two tries, unless the other end asks for more */
	uint64_t timeout_ns; /* of the present try */
	uint8_t tries_left;
	uint8_t max_retries;
	uint8_t packet_life_time; /* of the active end's path */
};

enum conn_event_kind {
	CONN_EVENT_REP,         /* conn_establish() or conn_reject() answers it */
	CONN_EVENT_ESTABLISHED, /* at the passive end */
	CONN_EVENT_REJECTED,
	CONN_EVENT_UNREACHABLE,  /* REQ or REP was not answered */
	CONN_EVENT_DISCONNECTED, /* by the other end, or by conn_disconnect() of this one */
	CONN_EVENT_TIMEWAIT_EXIT,
};

struct conn_event {
	enum conn_event_kind kind;
	int status;                  /* -errno, or the reason of a REJ */
	const struct msg_rep *rep;   /* CONN_EVENT_REP */
	const uint8_t *private_data; /* NULL: none */
	uint8_t private_len;
};

/* Functions that the owner of the table provides to the connections. */
struct conn_ops {
	/* Sends a MAD; it may be lost. */
	void (*send)(const struct conn_route *route, const uint8_t mad[MSG_BYTES]);
	/* Ids that messages for this process carry. Never 0. */
	uint32_t (*new_comm_id)(void);
	uint64_t (*new_tid)(void);
	/* Whether messages of the route stay on this host. */
	bool (*is_local)(const struct conn_route *route);
	/* The process of this host that sends messages with the communication id; 0: none. */
	uint32_t (*process_of)(uint32_t comm_id);
	/* conn_run_timers() is called at this time or a little later. */
	void (*set_deadline)(uint64_t ns);
	/*
	 * A REQ has arrived. 0: the owner of the new connection is set, and it will be accepted or
	 * rejected; positive: the reason to reject it for (enum msg_reason); negative: no answer, the
	 * other end tries again.
	 */
	int (*request)(struct conn *conn, const struct msg_req *req);
	void (*event)(struct conn *conn, const struct conn_event *event);
};

/* All connections of a process. All zero but for ops, it is empty. The owner locks. */
struct conn_table {
	const struct conn_ops *ops;
	LIST_HEAD(, conn) all;
	struct hash by_local, by_remote, by_qpn;
	struct heap timers;
};

#endif
