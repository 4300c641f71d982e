/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One function per message (IBTA 1.4, 12.6 and the state tables of 12.9.7). The owner of the table
 * locks.
 */
#include "cm/conn_recv.h"

#include <errno.h>
#include <string.h>

#include "cm/conn.h"

/* APR status (table 112): the other end may not load an alternate path here. */
#define APR_UNSUPPORTED 2

/* A message that has arrived. */
struct arrival {
	struct conn_table *table;
	const struct conn_route *from;
	const uint8_t *mad;
	uint64_t tid;
	uint64_t now_ns;
};

static bool is_from_peer(const struct conn *conn, const struct conn_route *from)
{
	const struct hca_av *a = &conn->route.av, *b = &from->av;

	if (a->has_grh && b->has_grh)
		return !memcmp(&a->dgid, &b->dgid, sizeof(a->dgid));
	return a->dlid == b->dlid;
}

/* The connection with these ids; remote_id 0: the peer's id is not known yet. */
static struct conn *find(const struct arrival *a, uint32_t local_id, uint32_t remote_id)
{
	struct conn *conn = conn_find_local(a->table, local_id);

	if (!conn || !is_from_peer(conn, a->from))
		return NULL;
	if (remote_id && conn->remote_id != remote_id)
		return NULL;
	return conn;
}

/* A peer whose death was reported by mistake still takes such a connection for established. */
static bool is_over(const struct conn *conn)
{
	return conn->state == CONN_TIMEWAIT || conn->state == CONN_CLOSED;
}

static void reject(const struct arrival *a, uint32_t local_id, uint32_t remote_id,
		   enum msg_answered answered, enum msg_reason reason)
{
	const struct msg_rej rej = {
		.local_comm_id = local_id,
		.remote_comm_id = remote_id,
		.answered = answered,
		.reason = reason,
	};

	conn_send_rej(a->table, a->from, &rej, a->tid);
}

/* ---- REQ ---- */

/* The request is known: repeat the answer to it. */
static void duplicate_req(const struct arrival *a, struct conn *conn)
{
	switch (conn->state) {
	case CONN_REQ_RCVD:
		conn_send_mra(conn, MSG_ANSWERED_REQ);
		break;
	case CONN_CLOSED:
	case CONN_TIMEWAIT:
		if (conn->state == CONN_CLOSED && conn->is_rejected) /* the REJ was lost */
			a->table->ops->send(&conn->route, conn->mad);
		else
			reject(a, 0, conn->remote_id, MSG_ANSWERED_REQ, MSG_REJ_STALE_CONN);
		break;
	default: /* a REP is repeated until it is answered */
		break;
	}
}

static void take_params(struct conn *conn, const struct arrival *a, const struct msg_req *req)
{
	struct conn_params *p = &conn->params;

	conn->tid = a->tid;
	conn->max_retries = req->max_cm_retries;
	conn->resend_ns = conn_time_ns(req->local_cm_timeout);
	p->remote_psn = req->starting_psn;
	/* Requests that one end initiates are those that the other end responds to. */
	p->responder_resources = req->initiator_depth;
	p->initiator_depth = req->responder_resources;
	p->retry_count = req->retry_count;
	p->rnr_retry_count = req->rnr_retry_count;
	p->ack_timeout = req->primary.local_ack_timeout;
	p->path_mtu = req->path_mtu;
	p->transport = req->transport;
	p->remote_srq = req->srq;
	/* The kernel's CM answers with the traffic class of the request's path. */
	conn->route.av.traffic_class = req->primary.traffic_class;
	/* Packets take the path that the request names, which need not be the MAD's. */
	p->av = a->from->av;
	p->av.sl = req->primary.sl;
	p->av.traffic_class = req->primary.traffic_class;
	p->av.flow_label = req->primary.flow_label;
	if (req->primary.hop_limit)
		p->av.hop_limit = req->primary.hop_limit;
	if (p->av.has_grh)
		memcpy(p->av.dgid.raw, req->primary.local_gid, sizeof(p->av.dgid.raw));
}

static void receive_req(const struct arrival *a)
{
	struct msg_req req;
	struct conn *conn;
	int reason;

	msg_get_req(a->mad, &req);
	if (!req.local_comm_id)
		return;
	conn = conn_find_remote(a->table, req.local_comm_id, req.local_ca_guid);
	if (conn) {
		duplicate_req(a, conn);
		return;
	}
	conn = conn_find_qpn(a->table, req.local_qpn, req.local_ca_guid);
	if (conn) {
		/*
		 * The peer has forgotten the connection that its QP was in. A REQ from another address
		 * proves nothing about it: the connection stays.
		 */
		reject(a, 0, req.local_comm_id, MSG_ANSWERED_REQ, MSG_REJ_STALE_CONN);
		if (is_from_peer(conn, a->from))
			conn_disconnect(conn, a->now_ns);
		return;
	}
	conn = conn_create(a->table, NULL, a->from);
	if (!conn) {
		reject(a, 0, req.local_comm_id, MSG_ANSWERED_REQ, MSG_REJ_NO_RESOURCES);
		return;
	}
	take_params(conn, a, &req);
	conn->state = CONN_REQ_RCVD;
	conn_set_remote(conn, req.local_comm_id, req.local_ca_guid, req.local_qpn);
	reason = a->table->ops->request(conn, &req);
	if (!reason)
		return;
	if (reason > 0)
		reject(a, 0, req.local_comm_id, MSG_ANSWERED_REQ, (enum msg_reason)reason);
	conn_free(conn);
}

/* ---- REP, RTU, MRA ---- */

/* The peer's id or QP is in another connection, so that one of the two connections is a mistake. */
static bool is_stale_rep(const struct arrival *a, const struct msg_rep *rep)
{
	struct conn *old;

	if (conn_find_remote(a->table, rep->local_comm_id, rep->local_ca_guid))
		return true;
	old = conn_find_qpn(a->table, rep->local_qpn, rep->local_ca_guid);
	if (old && is_from_peer(old, a->from))
		conn_disconnect(old, a->now_ns);
	return old;
}

static void accept_rep(const struct arrival *a, struct conn *conn, const struct msg_rep *rep)
{
	struct conn_params *p = &conn->params;
	const struct conn_event event = {
		.kind = CONN_EVENT_REP,
		.rep = rep,
		.private_data = rep->private_data,
		.private_len = MSG_REP_PRIVATE,
	};

	if (is_stale_rep(a, rep)) {
		reject(a, conn->local_id, rep->local_comm_id, MSG_ANSWERED_REP, MSG_REJ_STALE_CONN);
		return;
	}
	conn_stop_timer(conn);
	conn_set_remote(conn, rep->local_comm_id, rep->local_ca_guid, conn_rep_qpn(conn, rep));
	p->remote_psn = rep->starting_psn;
	p->responder_resources = rep->initiator_depth;
	p->initiator_depth = rep->responder_resources;
	p->rnr_retry_count = rep->rnr_retry_count;
	p->remote_srq = rep->srq;
	conn->state = CONN_REP_RCVD;
	conn_post_event(conn, &event);
}

static void receive_rep(const struct arrival *a)
{
	struct msg_rep rep;
	struct conn *conn;

	msg_get_rep(a->mad, &rep);
	if (!rep.local_comm_id)
		return;
	conn = find(a, rep.remote_comm_id, 0);
	if (!conn || (conn->state == CONN_CLOSED && !conn->remote_id)) {
		/* The active end has given up; the passive one need not wait for its last try. */
		reject(a, rep.remote_comm_id, rep.local_comm_id, MSG_ANSWERED_REP,
		       MSG_REJ_INVALID_COMM_ID);
		return;
	}
	if (conn->state == CONN_REQ_SENT) {
		accept_rep(a, conn, &rep);
		return;
	}
	if (conn->remote_id != rep.local_comm_id)
		return;
	if (conn->state == CONN_REP_RCVD)
		conn_send_mra(conn, MSG_ANSWERED_REP);
	else if (conn->state == CONN_ESTABLISHED || conn->is_rejected)
		a->table->ops->send(&conn->route, conn->mad); /* the RTU or REJ was lost */
	else if (is_over(conn))
		reject(a, rep.remote_comm_id, rep.local_comm_id, MSG_ANSWERED_REP,
		       MSG_REJ_INVALID_COMM_ID);
}

static void receive_rtu(const struct arrival *a)
{
	const struct conn_event event = { .kind = CONN_EVENT_ESTABLISHED };
	struct msg_rtu rtu;
	struct conn *conn;

	msg_get_rtu(a->mad, &rtu);
	conn = find(a, rtu.remote_comm_id, rtu.local_comm_id);
	if (!conn)
		return;
	conn->unanswered = 0;
	if (conn->state != CONN_REP_SENT)
		return;
	conn_stop_timer(conn);
	conn->state = CONN_ESTABLISHED;
	conn_post_event(conn, &event);
}

/* The peer needs more time: the present try lasts as long as it says (12.6.6). */
static void receive_mra(const struct arrival *a)
{
	struct msg_mra mra;
	struct conn *conn;

	msg_get_mra(a->mad, &mra);
	conn = find(a, mra.remote_comm_id, 0);
	if (!conn)
		return;
	if ((conn->state == CONN_REQ_SENT && mra.answered == MSG_ANSWERED_REQ) ||
	    (conn->state == CONN_REP_SENT && mra.answered == MSG_ANSWERED_REP)) {
		conn->timeout_ns =
			conn_time_ns(mra.service_timeout) + conn_time_ns(conn->params.ack_timeout);
		conn_set_timer(conn, a->now_ns + conn->timeout_ns);
	}
}

/* ---- REJ ---- */

static uint64_t guid_of(const struct msg_rej *rej)
{
	uint64_t guid = 0;

	for (int i = 0; i < 8; i++)
		guid = guid << 8 | rej->info[i];
	return guid;
}

static struct conn *find_rejected(const struct arrival *a, const struct msg_rej *rej)
{
	struct conn *conn;

	/* A peer that got no answer may not know this end's id (12.6.7.2). */
	if (rej->reason == MSG_REJ_TIMEOUT && rej->info_len >= 8) {
		conn = conn_find_remote(a->table, rej->local_comm_id, guid_of(rej));
		if (conn)
			return is_from_peer(conn, a->from) ? conn : NULL;
	}
	/* A REJ of a REQ that has been accepted since is late: it answers an older try. */
	conn = find(a, rej->remote_comm_id, 0);
	if (conn && !conn->remote_id && rej->answered == MSG_ANSWERED_REQ)
		return conn;
	return find(a, rej->remote_comm_id, rej->local_comm_id);
}

static void receive_rej(const struct arrival *a)
{
	struct conn_event event = { .kind = CONN_EVENT_REJECTED };
	struct msg_rej rej;
	struct conn *conn;

	msg_get_rej(a->mad, &rej);
	conn = find_rejected(a, &rej);
	if (!conn)
		return;
	event.status = rej.reason;
	event.private_data = rej.private_data;
	event.private_len = MSG_REJ_PRIVATE;
	switch (conn->state) {
	case CONN_REQ_RCVD: /* the kernel's RDMA CM reports nothing to an id that was not accepted */
		conn_close(conn);
		return;
	case CONN_REQ_SENT:
	case CONN_REP_SENT:
		conn_close(conn);
		break;
	case CONN_ESTABLISHED:
		if (rej.reason == MSG_REJ_INVALID_COMM_ID) { /* the answer to conn_probe() */
			conn_peer_died(conn, a->now_ns);
			return;
		}
		/* fallthrough */
	case CONN_REP_RCVD:
		conn_enter_timewait(conn, a->now_ns);
		break;
	case CONN_DREQ_SENT: /* what the owner waits for has happened */
		conn_enter_timewait(conn, a->now_ns);
		event = (struct conn_event){ .kind = CONN_EVENT_DISCONNECTED };
		break;
	default:
		return;
	}
	conn_post_event(conn, &event);
}

/* ---- DREQ, DREP ---- */

static void answer_unknown_dreq(const struct arrival *a, const struct msg_dreq *dreq)
{
	const struct msg_rtu drep = {
		.local_comm_id = dreq->remote_comm_id,
		.remote_comm_id = dreq->local_comm_id,
	};
	uint8_t mad[MSG_BYTES];

	msg_put_rtu(&drep, MSG_DREP, a->tid, mad);
	a->table->ops->send(a->from, mad);
}

/* A DREQ ends the connection, and the owner is told. */
static bool is_open(const struct conn *conn)
{
	return conn->state == CONN_REP_SENT || conn->state == CONN_REP_RCVD ||
	       conn->state == CONN_ESTABLISHED || conn->state == CONN_DREQ_SENT;
}

bool conn_is_ended_by(struct conn_table *table, const struct conn_route *from,
		      const uint8_t mad[MSG_BYTES])
{
	const struct arrival a = { .table = table, .from = from, .mad = mad };
	struct msg_dreq dreq;
	struct msg_head head;
	struct conn *conn;

	if (!msg_get_head(mad, &head) || head.kind != MSG_DREQ)
		return false;
	msg_get_dreq(mad, &dreq);
	conn = find(&a, dreq.remote_comm_id, dreq.local_comm_id);
	return conn && dreq.remote_qpn == conn->params.local_qpn && is_open(conn);
}

static void receive_dreq(const struct arrival *a)
{
	const struct conn_event event = { .kind = CONN_EVENT_DISCONNECTED };
	struct msg_dreq dreq;
	struct conn *conn;

	msg_get_dreq(a->mad, &dreq);
	conn = find(a, dreq.remote_comm_id, dreq.local_comm_id);
	if (!conn) {
		answer_unknown_dreq(a, &dreq);
		return;
	}
	if (dreq.remote_qpn != conn->params.local_qpn)
		return;
	switch (conn->state) {
	case CONN_REP_SENT: /* the RTU was lost */
	case CONN_REP_RCVD: /* the peer's QP has received: it takes the connection for established */
	case CONN_ESTABLISHED:
		conn_stop_timer(conn);
		conn->tid = a->tid;
		conn->state = CONN_DREQ_RCVD;
		conn_post_event(conn, &event);
		break;
	case CONN_DREQ_SENT: /* both ends disconnect at once */
		conn_send_drep(conn, a->tid);
		conn_enter_timewait(conn, a->now_ns);
		conn_post_event(conn, &event);
		break;
	case CONN_TIMEWAIT: /* the DREP was lost */
	case CONN_CLOSED:
		conn_send_drep(conn, a->tid);
		break;
	default:
		break;
	}
}

static void receive_drep(const struct arrival *a)
{
	const struct conn_event event = { .kind = CONN_EVENT_DISCONNECTED };
	struct msg_rtu drep;
	struct conn *conn;

	msg_get_rtu(a->mad, &drep);
	conn = find(a, drep.remote_comm_id, drep.local_comm_id);
	if (!conn || conn->state != CONN_DREQ_SENT)
		return;
	conn_enter_timewait(conn, a->now_ns);
	conn_post_event(conn, &event);
}

/* ---- alternate paths ---- */

static void receive_lap(const struct arrival *a)
{
	struct msg_apr apr = { .status = APR_UNSUPPORTED };
	uint8_t mad[MSG_BYTES];
	struct msg_lap lap;
	struct conn *conn;

	msg_get_lap(a->mad, &lap);
	if (!lap.local_comm_id)
		return;
	conn = find(a, lap.remote_comm_id, lap.local_comm_id);
	if (!conn || is_over(conn)) {
		reject(a, lap.remote_comm_id, lap.local_comm_id, MSG_ANSWERED_OTHER,
		       MSG_REJ_INVALID_COMM_ID);
		return;
	}
	if (conn->state != CONN_ESTABLISHED)
		return;
	apr.local_comm_id = conn->local_id;
	apr.remote_comm_id = conn->remote_id;
	msg_put_apr(&apr, a->tid, mad);
	a->table->ops->send(&conn->route, mad);
}

/* The answer to conn_probe(); this end asks for no alternate path. */
static void receive_apr(const struct arrival *a)
{
	struct msg_apr apr;
	struct conn *conn;

	msg_get_apr(a->mad, &apr);
	conn = find(a, apr.remote_comm_id, apr.local_comm_id);
	if (conn)
		conn->unanswered = 0;
}

bool conn_receive(struct conn_table *table, const struct conn_route *from,
		  const uint8_t mad[MSG_BYTES], uint64_t now_ns)
{
	static void (*const receive[])(const struct arrival *a) = {
		[MSG_REQ] = receive_req,   [MSG_MRA] = receive_mra, [MSG_REJ] = receive_rej,
		[MSG_REP] = receive_rep,   [MSG_RTU] = receive_rtu, [MSG_DREQ] = receive_dreq,
		[MSG_DREP] = receive_drep, [MSG_LAP] = receive_lap, [MSG_APR] = receive_apr,
	};
	struct arrival a = { .table = table, .from = from, .mad = mad, .now_ns = now_ns };
	struct msg_head head;

	if (!msg_get_head(mad, &head) || head.kind >= array_size(receive) || !receive[head.kind])
		return false;
	a.tid = head.tid;
	receive[head.kind](&a);
	return true;
}
