/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections: what this end sends, repetition, and TIMEWAIT. The owner of the table locks.
 */
#include "cm/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/explain.h"

/* The longest time a MRA asks for: 4.096 µs × 2^24, about 68 s, as the kernel's RDMA CM has it. */
#define MRA_SERVICE_TIMEOUT 24
/* The timeout of RDMA CM's own requests, 4.3 s. */
#define USUAL_TIMEOUT 20

static uint64_t remote_key(uint32_t number, uint64_t ca_guid)
{
	return ca_guid * 0x9e3779b97f4a7c15ull ^ number;
}

struct conn *conn_create(struct conn_table *table, void *owner, const struct conn_route *route)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	/* Later a timer is set where no failure can be reported. */
	if (heap_reserve(&table->timers, table->by_local.count + 1)) {
		free(conn);
		return NULL;
	}
	conn->table = table;
	conn->owner = owner;
	conn->route = *route;
	conn->local_ca_guid = route->adapter ? route->adapter->node_guid : 0;
	do /* ids come again after some millions, when an old connection may still be there */
		conn->local_id = table->ops->new_comm_id();
	while (conn_find_local(table, conn->local_id));
	LIST_INSERT_HEAD(&table->all, conn, entry);
	hash_add(&table->by_local, &conn->by_local, conn->local_id);
	return conn;
}

void conn_free(struct conn *conn)
{
	struct conn_table *table = conn->table;

	conn_stop_timer(conn);
	LIST_REMOVE(conn, entry);
	hash_remove(&table->by_local, &conn->by_local);
	if (conn->remote_id) {
		hash_remove(&table->by_remote, &conn->by_remote);
		hash_remove(&table->by_qpn, &conn->by_qpn);
	}
	free(conn);
}

struct conn *conn_find_local(struct conn_table *table, uint32_t local_id)
{
	struct hash_link *link = hash_find(&table->by_local, local_id);

	return link ? container_of(link, struct conn, by_local) : NULL;
}

struct conn *conn_find_remote(struct conn_table *table, uint32_t remote_id, uint64_t ca_guid)
{
	struct hash_link *link = hash_find(&table->by_remote, remote_key(remote_id, ca_guid));

	for (; link; link = hash_next(link)) {
		struct conn *conn = container_of(link, struct conn, by_remote);

		if (conn->remote_id == remote_id && conn->remote_ca_guid == ca_guid)
			return conn;
	}
	return NULL;
}

struct conn *conn_find_qpn(struct conn_table *table, uint32_t qpn, uint64_t ca_guid)
{
	struct hash_link *link = hash_find(&table->by_qpn, remote_key(qpn, ca_guid));

	for (; link; link = hash_next(link)) {
		struct conn *conn = container_of(link, struct conn, by_qpn);

		if (conn->params.remote_qpn == qpn && conn->remote_ca_guid == ca_guid &&
		    conn->state <= CONN_ESTABLISHED)
			return conn;
	}
	return NULL;
}

void conn_set_remote(struct conn *conn, uint32_t remote_id, uint64_t ca_guid, uint32_t qpn)
{
	conn->remote_id = remote_id;
	conn->is_remote = !conn->table->ops->is_local(&conn->route);
	conn->process = conn->is_remote ? 0 : conn->table->ops->process_of(remote_id);
	conn->remote_ca_guid = ca_guid;
	conn->params.remote_qpn = qpn;
	hash_add(&conn->table->by_remote, &conn->by_remote, remote_key(remote_id, ca_guid));
	hash_add(&conn->table->by_qpn, &conn->by_qpn, remote_key(qpn, ca_guid));
}

void conn_post_event(struct conn *conn, const struct conn_event *event)
{
	if (conn->owner)
		conn->table->ops->event(conn, event);
}

/* ---- timers ---- */

void conn_set_timer(struct conn *conn, uint64_t at_ns)
{
	heap_set(&conn->table->timers, &conn->timer, at_ns);
	conn->table->ops->set_deadline(at_ns);
}

void conn_stop_timer(struct conn *conn)
{
	heap_remove(&conn->table->timers, &conn->timer);
}

/* Sends conn->mad now, and again until it is answered. */
static void send_repeatedly(struct conn *conn, uint64_t now_ns)
{
	conn->tries_left = conn->max_retries;
	conn->timeout_ns = conn->resend_ns;
	conn->table->ops->send(&conn->route, conn->mad);
	conn_set_timer(conn, now_ns + conn->timeout_ns);
}

void conn_close(struct conn *conn)
{
	conn_stop_timer(conn);
	conn->state = CONN_CLOSED;
}

/* As long as the REQ said, up to 2.3 hours; the kernel's CM has no limit either. */
void conn_enter_timewait(struct conn *conn, uint64_t now_ns)
{
	conn->state = CONN_TIMEWAIT;
	conn_set_timer(conn, now_ns + conn_time_ns(conn->params.ack_timeout));
}

/* ---- messages ---- */

int conn_send_req(struct conn *conn, struct msg_req *req, uint64_t now_ns)
{
	if (conn->state != CONN_IDLE)
		return explain(EINVAL, "a request has been sent on this connection before");
	req->local_comm_id = conn->local_id;
	conn->is_active = true;
	conn->tid = conn->table->ops->new_tid();
	conn->max_retries = req->max_cm_retries;
	conn->resend_ns =
		2 * conn_time_ns(conn->packet_life_time) + conn_time_ns(req->remote_cm_timeout);
	conn->params.local_qpn = req->local_qpn;
	conn->params.local_psn = req->starting_psn;
	conn->params.responder_resources = req->responder_resources;
	conn->params.initiator_depth = req->initiator_depth;
	conn->params.retry_count = req->retry_count;
	conn->params.rnr_retry_count = req->rnr_retry_count;
	conn->params.path_mtu = req->path_mtu;
	conn->params.transport = req->transport;
	conn->params.ack_timeout = req->primary.local_ack_timeout;
	msg_put_req(req, conn->tid, conn->mad);
	conn->state = CONN_REQ_SENT;
	send_repeatedly(conn, now_ns);
	return 0;
}

int conn_send_rep(struct conn *conn, struct msg_rep *rep, uint64_t now_ns)
{
	if (conn->state != CONN_REQ_RCVD)
		return explain(EINVAL, "the connection has no request to accept (any more)");
	rep->local_comm_id = conn->local_id;
	rep->remote_comm_id = conn->remote_id;
	conn->params.local_qpn = conn_rep_qpn(conn, rep);
	conn->params.local_psn = rep->starting_psn;
	conn->params.responder_resources = rep->responder_resources;
	conn->params.initiator_depth = rep->initiator_depth;
	msg_put_rep(rep, conn->tid, conn->mad);
	conn->state = CONN_REP_SENT;
	send_repeatedly(conn, now_ns);
	return 0;
}

int conn_establish(struct conn *conn, const void *private_data, uint8_t len)
{
	struct msg_rtu rtu = {
		.local_comm_id = conn->local_id,
		.remote_comm_id = conn->remote_id,
	};

	if (conn->state != CONN_REP_RCVD)
		return explain(EINVAL, "the connection has no reply to answer (any more)");
	if (len)
		memcpy(rtu.private_data, private_data, len);
	msg_put_rtu(&rtu, MSG_RTU, conn->tid, conn->mad);
	conn->state = CONN_ESTABLISHED;
	conn->table->ops->send(&conn->route, conn->mad);
	return 0;
}

int conn_notify_established(struct conn *conn)
{
	const struct conn_event event = { .kind = CONN_EVENT_ESTABLISHED };

	if (conn->state == CONN_ESTABLISHED)
		return -EISCONN;
	if (conn->state != CONN_REP_SENT)
		return explain(EINVAL, "the connection has not been accepted by this end");
	conn_stop_timer(conn);
	conn->state = CONN_ESTABLISHED;
	conn_post_event(conn, &event);
	return 0;
}

void conn_send_rej(struct conn_table *table, const struct conn_route *route,
		   const struct msg_rej *rej, uint64_t tid)
{
	uint8_t mad[MSG_BYTES];

	msg_put_rej(rej, tid, mad);
	table->ops->send(route, mad);
}

/* The REJ of a connection in its present state, which stays in conn->mad. */
static void send_rej(struct conn *conn, enum msg_reason reason, const void *data, uint8_t len)
{
	struct msg_rej rej = {
		.local_comm_id = conn->local_id,
		.remote_comm_id = conn->remote_id,
		.answered = conn->state == CONN_REQ_RCVD   ? MSG_ANSWERED_REQ
			    : conn->state == CONN_REP_RCVD ? MSG_ANSWERED_REP
							   : MSG_ANSWERED_OTHER,
		.reason = reason,
	};

	if (len)
		memcpy(rej.private_data, data, len);
	if (reason == MSG_REJ_TIMEOUT) {
		for (int i = 0; i < 8; i++)
			rej.info[i] = (uint8_t)(conn->local_ca_guid >> (56 - 8 * i));
		rej.info_len = 8;
	}
	conn->is_rejected = true;
	msg_put_rej(&rej, conn->tid, conn->mad);
	conn->table->ops->send(&conn->route, conn->mad);
}

int conn_reject(struct conn *conn, enum msg_reason reason, const void *private_data, uint8_t len,
		uint64_t now_ns)
{
	switch (conn->state) {
	case CONN_REQ_RCVD:
		send_rej(conn, reason, private_data, len);
		conn_close(conn);
		return 0;
	case CONN_REP_SENT:
	case CONN_REP_RCVD:
		send_rej(conn, reason, private_data, len);
		conn_enter_timewait(conn, now_ns);
		return 0;
	default:
		return explain(EINVAL, "the connection has no request to reject (any more)");
	}
}

void conn_send_mra(struct conn *conn, enum msg_answered answered)
{
	const struct msg_mra mra = {
		.local_comm_id = conn->local_id,
		.remote_comm_id = conn->remote_id,
		.answered = answered,
		.service_timeout = MRA_SERVICE_TIMEOUT,
	};
	uint8_t mad[MSG_BYTES];

	msg_put_mra(&mra, conn->tid, mad);
	conn->table->ops->send(&conn->route, mad);
}

/* Builds the DREQ in conn->mad. */
static void put_dreq(struct conn *conn)
{
	const struct msg_dreq dreq = {
		.local_comm_id = conn->local_id,
		.remote_comm_id = conn->remote_id,
		.remote_qpn = conn->params.remote_qpn,
	};

	conn->tid = conn->table->ops->new_tid();
	msg_put_dreq(&dreq, conn->tid, conn->mad);
}

void conn_send_drep(struct conn *conn, uint64_t tid)
{
	const struct msg_rtu drep = {
		.local_comm_id = conn->local_id,
		.remote_comm_id = conn->remote_id,
	};
	uint8_t mad[MSG_BYTES];

	msg_put_rtu(&drep, MSG_DREP, tid, mad);
	conn->table->ops->send(&conn->route, mad);
}

int conn_disconnect(struct conn *conn, uint64_t now_ns)
{
	switch (conn->state) {
	case CONN_ESTABLISHED:
		put_dreq(conn);
		conn->state = CONN_DREQ_SENT;
		send_repeatedly(conn, now_ns);
		return 0;
	case CONN_DREQ_RCVD:
		conn_send_drep(conn, conn->tid);
		conn_enter_timewait(conn, now_ns);
		return 0;
	default:
		return -EINVAL;
	}
}

/* ---- the end ---- */

/*
 * The peer chooses how long it is waited for, up to 2.3 hours for each of 16 tries. With no owner that waits, the
 * kernel's CM does not repeat a DREQ at all; here it is repeated for a minute.
 */
static void limit_tries(struct conn *conn, uint64_t now_ns)
{
	const uint64_t limit_ns = conn_time_ns(USUAL_TIMEOUT);

	if (conn->state != CONN_DREQ_SENT || conn->timeout_ns <= limit_ns)
		return;
	conn->timeout_ns = limit_ns;
	if (conn->timer.key > now_ns + limit_ns)
		conn_set_timer(conn, now_ns + limit_ns);
}

void conn_abandon(struct conn *conn, uint64_t now_ns)
{
	conn->owner = NULL;
	switch (conn->state) {
	case CONN_REQ_SENT:
		send_rej(conn, MSG_REJ_TIMEOUT, NULL, 0);
		break;
	case CONN_REQ_RCVD:
	case CONN_REP_SENT:
	case CONN_REP_RCVD:
		conn_reject(conn, MSG_REJ_CONSUMER_DEFINED, NULL, 0, now_ns);
		break;
	case CONN_ESTABLISHED:
	case CONN_DREQ_RCVD:
		conn_disconnect(conn, now_ns);
		break;
	default:
		break;
	}
	limit_tries(conn, now_ns);
	if (conn->state != CONN_TIMEWAIT && conn->state != CONN_DREQ_SENT)
		conn_free(conn);
}

void conn_peer_died(struct conn *conn, uint64_t now_ns)
{
	const struct conn_event rejected = {
		.kind = CONN_EVENT_REJECTED,
		.status = MSG_REJ_CONSUMER_DEFINED,
	};
	const struct conn_event disconnected = { .kind = CONN_EVENT_DISCONNECTED };

	switch (conn->state) {
	case CONN_REQ_SENT:
		conn_close(conn);
		conn_post_event(conn, &rejected);
		break;
	case CONN_REQ_RCVD: /* as with a REJ: accepting it fails */
		conn_close(conn);
		break;
	case CONN_REP_SENT:
	case CONN_REP_RCVD:
		conn_enter_timewait(conn, now_ns);
		conn_post_event(conn, &rejected);
		break;
	case CONN_ESTABLISHED:
		/* The owner answers as it would a DREQ. */
		conn->state = CONN_DREQ_RCVD;
		conn_post_event(conn, &disconnected);
		break;
	case CONN_DREQ_SENT:
		conn_enter_timewait(conn, now_ns);
		conn_post_event(conn, &disconnected);
		break;
	default:
		break;
	}
}

void conn_probe(struct conn *conn)
{
	struct msg_lap lap = {
		.local_comm_id = conn->local_id,
		.remote_comm_id = conn->remote_id,
		.remote_qpn = conn->params.remote_qpn,
		.alternate.hop_limit = conn->params.av.hop_limit,
	};
	uint8_t mad[MSG_BYTES];

	if (conn->state != CONN_ESTABLISHED)
		return;
	if (conn->unanswered < UINT8_MAX)
		conn->unanswered++;
	if (!conn->is_active) {
		conn->table->ops->send(&conn->route, conn->mad); /* the REP */
		return;
	}
	memcpy(lap.alternate.remote_gid, conn->params.av.dgid.raw,
	       sizeof(lap.alternate.remote_gid));
	msg_put_lap(&lap, conn->table->ops->new_tid(), mad);
	conn->table->ops->send(&conn->route, mad);
}

void conn_repeat_req(struct conn *conn)
{
	if (conn->state == CONN_REQ_SENT)
		conn->table->ops->send(&conn->route, conn->mad);
}

void conn_process_gone(struct conn_table *table, uint32_t process, uint64_t now_ns)
{
	struct conn *conn;

	LIST_FOREACH(conn, &table->all, entry) {
		if (!conn->remote_id && table->ops->is_local(&conn->route))
			conn_repeat_req(conn);
		else if (conn->process == process)
			conn_peer_died(conn, now_ns);
	}
}

/* No answer came in time. */
static void give_up(struct conn *conn, uint64_t now_ns)
{
	struct conn_event event = { .kind = CONN_EVENT_UNREACHABLE, .status = -ETIMEDOUT };

	switch (conn->state) {
	case CONN_REQ_SENT:
		send_rej(conn, MSG_REJ_TIMEOUT, NULL, 0);
		conn_close(conn);
		break;
	case CONN_REP_SENT:
		send_rej(conn, MSG_REJ_TIMEOUT, NULL, 0);
		conn_enter_timewait(conn, now_ns);
		break;
	default: /* CONN_DREQ_SENT */
		event.kind = CONN_EVENT_DISCONNECTED;
		conn_enter_timewait(conn, now_ns);
		break;
	}
	conn_post_event(conn, &event);
}

static void timer_expired(struct conn *conn, uint64_t now_ns)
{
	const struct conn_event exit = { .kind = CONN_EVENT_TIMEWAIT_EXIT };

	if (conn->state == CONN_TIMEWAIT) {
		conn_close(conn);
		conn_post_event(conn, &exit);
		if (!conn->owner)
			conn_free(conn);
	} else if (conn->tries_left) {
		conn->tries_left--;
		conn->table->ops->send(&conn->route, conn->mad);
		conn_set_timer(conn, now_ns + conn->timeout_ns);
	} else {
		give_up(conn, now_ns);
	}
}

void conn_run_timers(struct conn_table *table, uint64_t now_ns)
{
	struct heap_node *first;

	while ((first = heap_first(&table->timers)) && first->key <= now_ns) {
		struct conn *conn = container_of(first, struct conn, timer);

		conn_stop_timer(conn);
		timer_expired(conn, now_ns);
	}
	first = heap_first(&table->timers);
	if (first)
		table->ops->set_deadline(first->key);
}

static void leave(struct conn *conn)
{
	switch (conn->state) {
	case CONN_REQ_SENT:
		send_rej(conn, MSG_REJ_TIMEOUT, NULL, 0);
		break;
	case CONN_REQ_RCVD:
	case CONN_REP_SENT:
	case CONN_REP_RCVD:
		send_rej(conn, MSG_REJ_CONSUMER_DEFINED, NULL, 0);
		break;
	case CONN_ESTABLISHED:
		put_dreq(conn);
		conn->table->ops->send(&conn->route, conn->mad);
		break;
	case CONN_DREQ_RCVD:
		conn_send_drep(conn, conn->tid);
		break;
	default:
		break;
	}
}

void conn_leave_all(struct conn_table *table)
{
	struct conn *conn;

	LIST_FOREACH(conn, &table->all, entry)
		leave(conn);
}
