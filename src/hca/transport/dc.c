/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dynamically connected transport. An initiator (DCI) is a reliable requester that names its target
 * in every request; a target (DCT) answers any number of initiators that know its key.
 *
 * Requests in a row to one target are a session, numbered by the initiator. To turn to another
 * target it waits until everything is answered, so its window is always of one session, and the
 * requester and the completer work as for RC. At the target each initiator has a responder of its
 * own, a queue pair of type DCR that shares the target's number, receive queue and rights, and that
 * begins anew with each session.
 *
 * On the fabric, which loses nothing, a session is announced once. On the wire every request says
 * which one it is of and with which number it began (roce/codec.c, DCETH), so any of them may get
 * lost. One-sided work on mapped memory needs no session at all: the grant has the key (direct.c).
 *
 * Locks: a target's `lock` guards its table of sessions and is taken outside of any QP's lock.
 */
#include "hca/transport/dc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hca/device/port.h"
#include "hca/transport/send.h"
#include "hca/transport/tx_wait.h"
#include "hca/wire/wire.h"
#include "util/explain.h"

#define BUCKETS       64u
#define SESSIONS_MOST 65536u
#define REUSE_FROM    256u
#define ERRORED_MOST  256u
/* No packet is on its way for longer. */
#define PACKET_LIFE_NS 10000000000ull

struct dci {
	bool aimed;
	bool announced;
	uint64_t key;
	uint32_t session;
	uint32_t first_psn;
	uint16_t stream;
	bool streams;
	uint32_t errored_most; /* with so many failed streams the QP fails */
	uint32_t errored_count;
	uint16_t errored[ERRORED_MOST];
};

struct session {
	struct qp qp; /* first */
	struct session *next;
	fabric_id_t from; /* FABRIC_ID_NONE: from the wire, that is, from gid */
	uint8_t gid[16];
	uint32_t number;
	uint64_t began_ns;
	bool begun;
};

struct dct {
	uint64_t key;
	struct fabric_lock lock; /* bucket, and writing count */
	struct session *bucket[BUCKETS];
	_Atomic uint32_t count;
};

int dc_init(struct qp *qp, const struct hca_qp_init *init)
{
	struct timespec now;

	if (init->type == HCA_QP_DCT) {
		qp->dct = calloc(1, sizeof(*qp->dct));
		if (!qp->dct)
			return -ENOMEM;
		qp->dct->key = init->dc_key;
	} else if (init->type == HCA_QP_DCI) {
		qp->dci = calloc(1, sizeof(*qp->dci));
		if (!qp->dci)
			return -ENOMEM;
		/* Higher than those of whoever had the QP number before. */
		clock_gettime(CLOCK_REALTIME, &now);
		qp->dci->session = now.tv_sec * 1000u + now.tv_nsec / 1000000u;
		qp->dci->streams = init->dci_streams;
		qp->dci->errored_most = 1u << init->dci_log_errored;
		if (qp->dci->errored_most > ERRORED_MOST)
			qp->dci->errored_most = ERRORED_MOST;
	}
	return 0;
}

void dc_fini(struct qp *qp)
{
	free(qp->dci);
	free(qp->dct);
}

/* ---- initiators ---- */

/* Not where the last use of the QP began: an answer that is late must not fit. */
uint32_t dci_first_psn(void)
{
	return (timer_now() >> 10) & PSN_MASK;
}

void dci_reset(struct qp *qp)
{
	if (!qp->dci)
		return;
	qp->dci->aimed = false;
	qp->dci->errored_count = 0;
}

uint64_t dci_key(const struct qp *qp)
{
	return qp->dci->key;
}

static bool same_way(const struct hca_av *a, const struct hca_av *b)
{
	return !memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) && a->sgid_index == b->sgid_index &&
	       a->dlid == b->dlid && a->traffic_class == b->traffic_class;
}

bool dci_is_aimed(const struct qp *qp, const struct hca_send *s)
{
	const struct dci *d = qp->dci;

	return likely(d->aimed && qp->attr.dest_qpn == s->dqpn && d->key == s->dc_key &&
		      d->stream == s->dc_stream && same_way(&qp->attr.av, &s->av));
}

void dci_aim(struct qp *qp, const struct hca_send *s)
{
	struct dci *d = qp->dci;

	qp->attr.av = s->av;
	qp->attr.av.port = qp->attr.port;
	qp->attr.dest_qpn = s->dqpn;
	qp->peer = NULL;
	qp->wired = false;
	qp->req.una = qp->req.high = qp->req.psn;
	d->key = s->dc_key;
	d->stream = s->dc_stream;
	d->session++;
	d->first_psn = qp->req.psn;
	d->aimed = true;
	d->announced = false;
}

bool dci_announce(struct qp *qp)
{
	struct roce_pkt pkt = {
		.op = ROCE_PKT_DC_BEGIN,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.psn = qp->dci->first_psn,
		.rdma = { .va = qp->dci->key, .rkey = qp->dci->session },
	};

	if (qp->dci->announced || !qp->peer)
		return true;
	if (send_packet(qp, qp->peer, &pkt, NULL, 0, NULL) == -EAGAIN)
		return false;
	qp->dci->announced = true;
	return true;
}

void dci_unannounce(struct qp *qp)
{
	if (qp->dci)
		qp->dci->announced = false;
}

void dci_fill(const struct qp *qp, struct roce_pkt *pkt)
{
	pkt->dc.key = qp->dci->key;
	pkt->dc.session = qp->dci->session;
	pkt->dc.first_psn = qp->dci->first_psn;
}

bool dci_stream_failed(const struct qp *qp, uint16_t stream)
{
	const struct dci *d = qp->dci;

	for (uint32_t i = 0; i < d->errored_count; i++)
		if (d->errored[i] == stream)
			return true;
	return false;
}

bool dci_fail_stream(struct qp *qp)
{
	struct dci *d = qp->dci;

	if (!d->streams || !d->aimed || qp->pub.state != HCA_QPS_RTS ||
	    d->errored_count + 1 >= d->errored_most)
		return false;
	d->errored[d->errored_count++] = d->stream;
	d->aimed = false;
	requester_flush_window(qp);
	return true;
}

int hca_dci_reset_stream(struct hca_qp *pub, uint16_t stream)
{
	struct qp *qp = to_priv(pub);
	struct dci *d = qp->dci;
	int err = 0;

	if (!d)
		return explain(EINVAL, "QP 0x%x is no DC initiator: it has no streams", pub->qpn);
	fabric_lock(&pub->lock);
	if (pub->state != HCA_QPS_RTS || !dci_stream_failed(qp, stream))
		err = explain(EINVAL, "stream %u of QP 0x%x has not failed", stream, pub->qpn);
	for (uint32_t i = 0; !err && i < d->errored_count; i++)
		if (d->errored[i] == stream) {
			d->errored[i] = d->errored[--d->errored_count];
			break;
		}
	fabric_unlock(&pub->lock);
	return err;
}

/* ---- targets ---- */

uint64_t dct_key(const struct qp *qp)
{
	return qp->dct->key;
}

static struct session *find(struct dct *t, fabric_id_t from, const uint8_t *gid, uint32_t sqpn)
{
	for (struct session *c = t->bucket[sqpn % BUCKETS]; c; c = c->next)
		if (c->qp.attr.dest_qpn == sqpn && c->from == from &&
		    (!gid || !memcmp(c->gid, gid, sizeof(c->gid))))
			return c;
	return NULL;
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

static void drop_session(struct session *c)
{
	qp_unlink(&c->qp);
	free(c);
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
		.user_index = dct->pub.user_index,
		.user = dct->pub.user,
	};
	c->qp.attr = dct->attr;
	c->qp.attr.dest_qpn = sqpn;
	c->qp.mtu = QP_FABRIC_MTU;
	responder_reset(&c->qp);
	/* The list first: a peer that goes must find it. */
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

/* Programs come and go; the session of one whose process has died serves the next. */
static struct session *reuse_session(struct qp *dct, fabric_id_t from, const uint8_t *gid,
				     uint32_t sqpn)
{
	struct dct *t = dct->dct;
	struct session **at, *c = NULL;

	if (from == FABRIC_ID_NONE || t->count < REUSE_FROM)
		return NULL;
	fabric_lock(&t->lock);
	for (uint32_t b = 0; !c && b < BUCKETS; b++)
		for (at = &t->bucket[b]; *at; at = &(*at)->next) {
			if ((*at)->from == FABRIC_ID_NONE || has_peer(*at))
				continue;
			c = *at;
			*at = c->next;
			break;
		}
	if (c) {
		fabric_lock(&c->qp.pub.lock);
		c->from = from;
		c->qp.attr.dest_qpn = sqpn;
		c->begun = false;
		fabric_unlock(&c->qp.pub.lock);
		c->next = t->bucket[sqpn % BUCKETS];
		t->bucket[sqpn % BUCKETS] = c;
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
		return NULL; /* unheard; the initiator gives up in time */
	c = new_session(dct, from, gid, sqpn);
	if (!c)
		return NULL;
	fabric_lock(&t->lock);
	other = find(t, from, gid, sqpn);
	if (!other) {
		c->next = t->bucket[b];
		t->bucket[b] = c;
		t->count++;
	}
	fabric_unlock(&t->lock);
	if (!other)
		return c;
	drop_session(c);
	return other;
}

/* Where answers over the wire leave from: the address that the request came to. */
static bool open_wire(struct session *c, const uint8_t *dst)
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
	if (wire_connect(&c->qp, av))
		return false;
	c->qp.wired = true;
	c->qp.mtu = 128u << c->qp.attr.path_mtu;
	return true;
}

/* An earlier session's packet comes late, or the numbers come from another life of the QP. */
static bool is_stale(const struct session *c, uint32_t number)
{
	return c->begun && (int32_t)(number - c->number) < 0 &&
	       timer_now() - c->began_ns < PACKET_LIFE_NS;
}

/* False: the packet is of a session that is over. */
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
	responder_flush(&c->qp); /* a receive that a message which never ended had taken */
	responder_reset(&c->qp);
	c->qp.resp.epsn = first_psn;
	c->qp.pub.state = c->qp.attr.state = HCA_QPS_RTR;
	if (from)
		qp_set_peer(&c->qp, from);
	else
		good = open_wire(c, dst);
	c->number = number;
	c->began_ns = timer_now();
	c->begun = good;
unlock:
	fabric_unlock(&c->qp.pub.lock);
	return good;
}

static bool is_welcome(const struct qp *dct, uint64_t key)
{
	return !dct->dying && __atomic_load_n(&dct->pub.state, __ATOMIC_RELAXED) == HCA_QPS_RTR &&
	       dct->dct->key == key;
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

struct qp *dct_wire_session(struct qp *dct, const uint8_t *src, const uint8_t *dst,
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
	struct session *c, *all = NULL, *next;

	if (!qp->dct)
		return;
	for (uint32_t b = 0; b < BUCKETS; b++)
		for (c = qp->dct->bucket[b]; c; c = next) {
			next = c->next;
			fabric_lock(&c->qp.pub.lock);
			responder_flush(&c->qp);
			c->qp.dying = true;
			fabric_unlock(&c->qp.pub.lock);
			qp_unlink(&c->qp);
			tx_wait_forget_qp(&c->qp);
			c->next = all;
			all = c;
		}
	epoch_wait();
	for (c = all; c; c = next) {
		next = c->next;
		wire_forget(&c->qp);
		free(c->qp.resp.recv);
		free(c->qp.resp.resource);
		free(c);
	}
}
