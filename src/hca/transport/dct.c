/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport. An initiator (DCI) is a reliable requester that names its target
 * in every request; a target (DCT) answers any number of initiators that know its key.
 *
 * Consecutive requests to one target are a session, numbered by the initiator. Before it changes targets
 * the initiator waits until all requests are answered, so its window belongs to one session, and
 * requester and completer work as for RC. At the target each initiator has a responder of its own, a
 * queue pair of type DCR that shares the target's number, receive queue and rights, and is reset by each
 * session.
 *
 * On a link, which loses nothing, a session is announced by one packet. To another host every request
 * carries the session's number and first PSN (roce/header.h, DCETH), so any of them may get lost.
 * One-sided work on mapped memory needs no session: the grant has the key (direct.c).
 *
 * Locks: a target's `lock` guards its table of sessions and is taken outside of any QP's lock.
 */
#include "hca/transport/dct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/transport/network.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/recv.h"
#include "hca/transport/reorder.h"
#include "hca/transport/responder.h"
#include "hca/transport/tx_wait.h"

#define BUCKETS       64u
#define SESSIONS_MOST 65536u
#define REUSE_FROM    256u
/* Longest life of a packet in the network. */
#define PACKET_LIFE_NS 10000000000ull

struct session {
	struct qp qp; /* first */
	LIST_ENTRY(session) entry;
	struct epoch_node epoch;
	fabric_id_t from; /* FABRIC_ID_NONE: an initiator on another host, `gid` */
	uint8_t gid[16];
	uint32_t number;
	uint64_t began_ns;
	bool begun;
};

struct dct {
	struct fabric_lock lock; /* bucket, and writing count */
	LIST_HEAD(session_list, session) bucket[BUCKETS];
	_Atomic uint32_t count;
};

int dct_init(struct qp *qp, const struct hca_qp_init *init)
{
	if (init->type != HCA_QP_DCT)
		return 0;
	qp->dct = calloc(1, sizeof(*qp->dct));
	qp->dc_key = init->dc_key;
	return qp->dct ? 0 : -ENOMEM;
}

void dct_fini(struct qp *qp)
{
	free(qp->dct);
}

static struct session *find(struct dct *t, fabric_id_t from, const uint8_t *gid, uint32_t sqpn)
{
	struct session *c;

	LIST_FOREACH(c, &t->bucket[sqpn % BUCKETS], entry)
		if (c->qp.attr.dest_qpn == sqpn && c->from == from &&
		    (!gid || !memcmp(c->gid, gid, sizeof(c->gid))))
			break;
	return c;
}

static struct session *find_locked(struct qp *dct, fabric_id_t from, const uint8_t *gid,
				   uint32_t sqpn)
{
	struct session *c;

	fabric_lock(&dct->dct->lock);
	c = find(dct->dct, from, gid, sqpn);
	fabric_unlock(&dct->dct->lock);
	return c;
}

static void free_session(struct epoch_node *node)
{
	free(container_of(node, struct session, epoch));
}

/* A session that was not used. */
static void drop_session(struct session *c)
{
	qp_unlink(&c->qp);
	epoch_retire(&c->epoch, free_session);
}

/* The target's attributes are those that it went to RTR with; nothing changes them. */
static struct session *new_session(const struct qp *dct, fabric_id_t from, const uint8_t *gid,
				   uint32_t sqpn)
{
	struct session *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->from = from;
	if (gid)
		memcpy(c->gid, gid, sizeof(c->gid));
	c->qp.pub = (struct hca_qp){
		.type = HCA_QP_DCR,
		.state = HCA_QPS_RTR,
		.qpn = dct->pub.qpn,
		.format = dct->pub.format,
		.ctx = dct->pub.ctx,
		.pd = dct->pub.pd,
		.recv_cq = dct->pub.recv_cq,
		.srq = dct->pub.srq,
		.out_of_order = dct->pub.out_of_order,
		.user_index = dct->pub.user_index,
		.user = dct->pub.user,
	};
	c->qp.attr = dct->attr;
	c->qp.attr.dest_qpn = sqpn;
	c->qp.port_counts = dct->port_counts;
	qp_traffic_set_path(&c->qp);
	c->qp.mtu = QP_LINK_MTU;
	responder_reset(&c->qp);
	/* On the list before it is used: a peer that leaves is dropped from every QP on it. */
	qp_link(&c->qp);
	return c;
}

static bool has_peer(struct session *c)
{
	bool has;

	fabric_lock(&c->qp.pub.lock);
	has = c->qp.peer;
	fabric_unlock(&c->qp.pub.lock);
	return has;
}

/* A session whose initiator's process has died, or NULL. Locked. */
static struct session *find_dead(struct dct *t)
{
	struct session *c;

	for (uint32_t b = 0; b < BUCKETS; b++)
		LIST_FOREACH(c, &t->bucket[b], entry)
			if (c->from != FABRIC_ID_NONE && !has_peer(c))
				return c;
	return NULL;
}

static struct session *reuse_session(struct qp *dct, fabric_id_t from, const uint8_t *gid,
				     uint32_t sqpn)
{
	struct dct *t = dct->dct;
	struct session *c;

	if (from == FABRIC_ID_NONE || t->count < REUSE_FROM)
		return NULL;
	fabric_lock(&t->lock);
	c = find_dead(t);
	if (c) {
		LIST_REMOVE(c, entry);
		fabric_lock(&c->qp.pub.lock);
		c->from = from;
		c->qp.attr.dest_qpn = sqpn;
		c->begun = false;
		fabric_unlock(&c->qp.pub.lock);
		LIST_INSERT_HEAD(&t->bucket[sqpn % BUCKETS], c, entry);
	}
	fabric_unlock(&t->lock);
	return c;
}

static struct session *make_session(struct qp *dct, fabric_id_t from, const uint8_t *gid,
				    uint32_t sqpn)
{
	struct dct *t = dct->dct;
	struct session *c, *other;
	uint32_t b = sqpn % BUCKETS;

	c = reuse_session(dct, from, gid, sqpn);
	if (c)
		return c;
	if (t->count >= SESSIONS_MOST)
		return NULL; /* dropped; the initiator's retries run out */
	c = new_session(dct, from, gid, sqpn);
	if (!c)
		return NULL;
	fabric_lock(&t->lock);
	other = find(t, from, gid, sqpn);
	if (!other) {
		LIST_INSERT_HEAD(&t->bucket[b], c, entry);
		t->count++;
	}
	fabric_unlock(&t->lock);
	if (!other)
		return c;
	drop_session(c);
	return other;
}

/* Answers leave from the address that the request came to. */
static bool open_remote(struct session *c, const uint8_t *dst)
{
	const struct hca_adapter *a = c->qp.pub.ctx->adapter;
	struct hca_av *av = &c->qp.attr.av;
	struct hca_gid_entry e;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, c->qp.attr.port, i, &e) && e.type == HCA_GID_ROCE_V2 &&
		    !memcmp(e.gid.raw, dst, sizeof(e.gid.raw))) {
			av->sgid_index = i;
			break;
		}
	av->has_grh = true;
	memcpy(av->dgid.raw, c->gid, sizeof(av->dgid.raw));
	qp_traffic_set_path(&c->qp);
	return !path_connect_remote(&c->qp, av);
}

/* A late packet of an earlier session; after PACKET_LIFE_NS the numbers are of a new QP. */
static bool is_stale(const struct session *c, uint32_t number)
{
	return c->begun && (int32_t)(number - c->number) < 0 &&
	       hca_now_ns() - c->began_ns < PACKET_LIFE_NS;
}

/* False: the packet belongs to a session that has ended. */
static bool enter_session(struct session *c, struct hca_peer *from, const uint8_t *dst,
			  uint32_t number, uint32_t first_psn)
{
	bool good = true;

	fabric_lock(&c->qp.pub.lock);
	if (c->begun && c->number == number)
		goto unlock;
	good = !is_stale(c, number);
	if (!good)
		goto unlock;
	recv_flush(&c->qp); /* a receive taken by a message that never ended */
	responder_reset(&c->qp);
	responder_start(&c->qp, first_psn);
	c->qp.pub.state = c->qp.attr.state = HCA_QPS_RTR;
	if (from)
		qp_set_peer(&c->qp, from);
	else
		good = open_remote(c, dst);
	c->number = number;
	c->began_ns = hca_now_ns();
	c->begun = good;
unlock:
	fabric_unlock(&c->qp.pub.lock);
	return good;
}

static bool is_welcome(const struct qp *dct, uint64_t key)
{
	return !dct->dying && __atomic_load_n(&dct->pub.state, __ATOMIC_RELAXED) == HCA_QPS_RTR &&
	       dct->dc_key == key;
}

struct qp *dct_session(struct qp *dct, struct hca_peer *from, const struct roce_pkt *pkt)
{
	struct session *c = find_locked(dct, from->id, NULL, pkt->sqpn);

	if (likely(pkt->op != ROCE_PKT_DC_BEGIN))
		return c && c->begun ? &c->qp : NULL;
	if (!is_welcome(dct, pkt->rdma.va))
		return NULL;
	if (!c)
		c = make_session(dct, from->id, NULL, pkt->sqpn);
	if (c)
		enter_session(c, from, NULL, pkt->rdma.rkey, pkt->psn);
	return NULL;
}

struct qp *dct_remote_session(struct qp *dct, const uint8_t *src, const uint8_t *dst,
			      const struct roce_pkt *pkt)
{
	struct session *c;

	if ((pkt->op & ROCE_PKT_TRANSPORT_MASK) != ROCE_TR_DC || !is_welcome(dct, pkt->dc.key))
		return NULL;
	c = find_locked(dct, FABRIC_ID_NONE, src, pkt->sqpn);
	if (!c)
		c = make_session(dct, FABRIC_ID_NONE, src, pkt->sqpn);
	if (!c || !enter_session(c, NULL, dst, pkt->dc.session, pkt->dc.first_psn))
		return NULL;
	return &c->qp;
}

void dct_retire(struct qp *qp)
{
	struct session *c;

	if (!qp->dct)
		return;
	for (uint32_t b = 0; b < BUCKETS; b++)
		LIST_FOREACH(c, &qp->dct->bucket[b], entry) {
			fabric_lock(&c->qp.pub.lock);
			recv_flush(&c->qp);
			c->qp.dying = true;
			fabric_unlock(&c->qp.pub.lock);
			qp_unlink(&c->qp);
			tx_wait_forget_qp(&c->qp);
		}
	epoch_wait();
	for (uint32_t b = 0; b < BUCKETS; b++)
		while ((c = LIST_FIRST(&qp->dct->bucket[b]))) {
			LIST_REMOVE(c, entry);
			hca.network->forget(&c->qp);
			free(c->qp.resp.recv);
			free(c->qp.resp.resource);
			reorder_clear(&c->qp.resp);
			free(c);
		}
}
