/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: creation, what this end sends, timers and the end. conn_recv.h has what arrives.
 */
#ifndef CM_CONN_H
#define CM_CONN_H

#include "cm/conn_types.h"

/* A time as messages carry it, in 5 bits: 4.096 µs × 2^n, rounded as the kernel's CM does. */
static inline uint64_t conn_time_ns(unsigned int n)
{
	if (n > 31) /* a path of the program's making */
		n = 31;
	return (uint64_t)1000000 << (n > 8 ? n - 8 : 0);
}

/* A REP has the number of an XRC QP in the field for EE contexts (the kernel's CM). */
static inline uint32_t conn_rep_qpn(const struct conn *conn, const struct msg_rep *rep)
{
	return conn->params.transport == MSG_TRANSPORT_EXTENDED ? rep->local_eecn : rep->local_qpn;
}

/* An idle connection, or NULL without memory. conn_abandon() ends it. */
struct conn *conn_create(struct conn_table *table, void *owner, const struct conn_route *route);

/*
 * The owner lets go: the other end is told as the state requires, and the connection goes on by
 * itself until it may be forgotten. Frees it now or later.
 */
void conn_abandon(struct conn *conn, uint64_t now_ns);

/* IDLE to REQ_SENT. Sets local_comm_id in *req. */
int conn_send_req(struct conn *conn, struct msg_req *req, uint64_t now_ns);
/* REQ_RCVD to REP_SENT. Sets both communication ids in *rep. */
int conn_send_rep(struct conn *conn, struct msg_rep *rep, uint64_t now_ns);
/* REP_RCVD to ESTABLISHED. */
int conn_establish(struct conn *conn, const void *private_data, uint8_t len);
/* REP_SENT to ESTABLISHED, because the QP has received: -EISCONN when it was established before. */
int conn_notify_established(struct conn *conn);
/* REQ_RCVD, REP_SENT or REP_RCVD to closed or TIMEWAIT. -EINVAL in other states. */
int conn_reject(struct conn *conn, enum msg_reason reason, const void *private_data, uint8_t len,
		uint64_t now_ns);
/* ESTABLISHED to DREQ_SENT, or DREQ_RCVD to TIMEWAIT. -EINVAL in other states. */
int conn_disconnect(struct conn *conn, uint64_t now_ns);

/*
 * A process of this host is gone: its connections end. One that waits for a REP does not know its peer: the REQ, sent
 * again, finds out.
 */
void conn_process_gone(struct conn_table *table, uint32_t process, uint64_t now_ns);
/* The process at the other end has died: what it would have sent on leaving has arrived. */
void conn_peer_died(struct conn *conn, uint64_t now_ns);
/*
 * ESTABLISHED: sends a message that a CM answers and that changes nothing: the REP, whose answer is a RTU
 * (IBTA 1.4, 12.9.7), or a LAP for the path in use. A CM that has forgotten the connection answers with a
 * REJ, which ends the connection; without an answer, conn->unanswered grows.
 */
void conn_probe(struct conn *conn);
/* REQ_SENT: the REQ is sent once more, since the process that it waits at may have died. */
void conn_repeat_req(struct conn *conn);

/* Repeats and gives up what is due, and ends connections whose TIMEWAIT is over. */
void conn_run_timers(struct conn_table *table, uint64_t now_ns);
/* The process ends: every other end is told, once. */
void conn_leave_all(struct conn_table *table);

/* ---- for conn_recv.c ---- */

struct conn *conn_find_local(struct conn_table *table, uint32_t local_id);
struct conn *conn_find_remote(struct conn_table *table, uint32_t remote_id, uint64_t ca_guid);
/* The connection of that QP which has not been ended. */
struct conn *conn_find_qpn(struct conn_table *table, uint32_t qpn, uint64_t ca_guid);
/* The other end is known: later messages are found by its id. */
void conn_set_remote(struct conn *conn, uint32_t remote_id, uint64_t ca_guid, uint32_t qpn);
void conn_post_event(struct conn *conn, const struct conn_event *event);
void conn_stop_timer(struct conn *conn);
void conn_set_timer(struct conn *conn, uint64_t at_ns);
void conn_send_drep(struct conn *conn, uint64_t tid);
void conn_send_rej(struct conn_table *table, const struct conn_route *route,
		   const struct msg_rej *rej, uint64_t tid);
void conn_send_mra(struct conn *conn, enum msg_answered answered);
/* No message is expected any more; the owner may still look at it until it abandons it. */
void conn_close(struct conn *conn);
void conn_enter_timewait(struct conn *conn, uint64_t now_ns);
/* Removes and frees the connection. */
void conn_free(struct conn *conn);

#endif
