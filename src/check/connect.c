/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/connect.h"

#include <endian.h>
#include <stdio.h>

#include "check/report.h"
#include "check/state.h"

static void tell(struct check_report *r, const char *title)
{
	r->stacks[0].title = title;
	r->stacks[0].place = check_place_here();
	check_report(r);
}

void check_connect_path(struct ibv_context *context, const struct ibv_ah_attr *path)
{
	struct check_report r = { .kind = CHECK_GID_INDEX_0 };
	struct ibv_gid_entry gid;
	struct ibv_port_attr port;

	if (!path->is_global || path->grh.sgid_index ||
	    ibv_query_port(context, path->port_num, &port) ||
	    port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	if (ibv_query_gid_ex(context, path->port_num, 0, &gid, 0) ||
	    gid.gid_type != IBV_GID_TYPE_ROCE_V1)
		return;
	snprintf(r.text, sizeof(r.text),
		 "A path takes GID index 0 of port %u of %s, which is a RoCE v1 address.",
		 path->port_num, context->device->name);
	tell(&r, "given at");
}

static void check_timeout(const struct vb_qp *qp)
{
	struct check_report r = { .kind = CHECK_TIMEOUT_ZERO };

	snprintf(r.text, sizeof(r.text), "QP 0x%06x is given the timeout 0.", qp->qp.qp_num);
	tell(&r, "given at");
}

/* The time until a request fails, if its packets are lost: less than any pause of a network. */
#define GIVES_UP_US 10000.0

static void check_timeout_short(const struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct check_report r = { .kind = CHECK_TIMEOUT_SHORT };
	double each = 4.096 * (double)(1u << (attr->timeout & 31));
	unsigned int tries = 1 + (mask & IBV_QP_RETRY_CNT ? attr->retry_cnt : 7u);

	if (each * tries >= GIVES_UP_US)
		return;
	snprintf(r.text, sizeof(r.text),
		 "QP 0x%06x is given the timeout %u (%.0f us), and gives up after %u of them: in "
		 "%.1f ms.",
		 qp->qp.qp_num, attr->timeout, each, tries, each * tries / 1000);
	tell(&r, "given at");
}

static void check_mtu(const struct vb_qp *qp, const struct ibv_qp_attr *attr, uint8_t port_num)
{
	struct check_report r = { .kind = CHECK_MTU_ABOVE_PORT };
	struct ibv_port_attr port;

	if (ibv_query_port(qp->qp.context, port_num, &port) || attr->path_mtu <= port.active_mtu)
		return;
	snprintf(r.text, sizeof(r.text),
		 "QP 0x%06x is given a path MTU of %d bytes; that of port %u is %d.", qp->qp.qp_num,
		 128 << attr->path_mtu, port_num, 128 << port.active_mtu);
	tell(&r, "given at");
}

static void check_pkey(const struct vb_qp *qp, const struct ibv_qp_attr *attr)
{
	struct check_report r = { .kind = CHECK_PKEY_INDEX };
	__be16 pkey;

	if (ibv_query_pkey(qp->qp.context, attr->port_num, attr->pkey_index, &pkey) ||
	    be16toh(pkey) & 0x7fff)
		return;
	snprintf(r.text, sizeof(r.text),
		 "QP 0x%06x is given P_Key index %u, and that entry of port %u of %s is empty.",
		 qp->qp.qp_num, attr->pkey_index, attr->port_num, qp->qp.context->device->name);
	tell(&r, "given at");
}

/* Both ends are known when the other one is a QP of this process. */
static void check_reads(const struct check_qp *q)
{
	struct check_report r = { .kind = CHECK_RD_ATOMIC_MISMATCH };
	const struct check_qp *peer;

	if (!q->ends.known)
		return;
	peer = check_qp_find(q->adapter, q->ends.dest_qpn);
	if (!peer || !peer->ends.known || peer->ends.dest_qpn != q->number)
		return;
	if (q->ends.max_rd_atomic > peer->ends.max_dest_rd_atomic)
		snprintf(r.text, sizeof(r.text),
			 "QP 0x%06x may have %u RDMA reads and atomics outstanding "
			 "(max_rd_atomic), and its "
			 "peer 0x%06x takes %u (max_dest_rd_atomic).",
			 q->number, q->ends.max_rd_atomic, peer->number,
			 peer->ends.max_dest_rd_atomic);
	else if (peer->ends.max_rd_atomic > q->ends.max_dest_rd_atomic)
		snprintf(r.text, sizeof(r.text),
			 "QP 0x%06x takes %u RDMA reads and atomics (max_dest_rd_atomic), and its "
			 "peer "
			 "0x%06x may have %u outstanding (max_rd_atomic).",
			 q->number, q->ends.max_dest_rd_atomic, peer->number,
			 peer->ends.max_rd_atomic);
	else
		return;
	tell(&r, "given at");
}

static void note_state(struct check_qp *q, enum ibv_qp_state state)
{
	pthread_mutex_lock(&q->lock);
	q->alive = state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;
	if (state == IBV_QPS_RESET) {
		check_qp_forget(q);
		q->ends = (struct check_ends){ 0 };
	}
	pthread_mutex_unlock(&q->lock);
}

static void note_ends(struct check_qp *q, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_DEST_QPN) {
		q->ends.dest_qpn = attr->dest_qp_num;
		q->ends.known = true;
	}
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		q->ends.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		q->ends.max_rd_atomic = attr->max_rd_atomic;
}

void check_qp_modified(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask, int err)
{
	struct check_qp *q = qp->watch;
	bool connected = qp->qp.qp_type == IBV_QPT_RC || qp->qp.qp_type == IBV_QPT_UC;

	if (err || !q)
		return;
	if (connected && mask & IBV_QP_PATH_MTU && mask & IBV_QP_AV)
		check_mtu(qp, attr, attr->ah_attr.port_num);
	if (connected && mask & IBV_QP_AV)
		check_connect_path(qp->qp.context, &attr->ah_attr);
	if (mask & IBV_QP_PKEY_INDEX && mask & IBV_QP_PORT && attr->pkey_index)
		check_pkey(qp, attr);
	if (mask & IBV_QP_TIMEOUT && !attr->timeout)
		check_timeout(qp);
	else if (mask & IBV_QP_TIMEOUT)
		check_timeout_short(qp, attr, mask);
	note_ends(q, attr, mask);
	if (mask & IBV_QP_STATE)
		note_state(q, attr->qp_state);
	if (connected && mask & (IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC))
		check_reads(q);
}
