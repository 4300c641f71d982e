/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/dgram_qp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "rsocket/state.h"
#include "util/explain.h"

#define GRH_LEN 40
/* Ids of work requests: the slot, and whether it is a receive. */
#define WR_RECV (1ull << 63)

static uint8_t *recv_slot(const struct rs_dgram_qp *qp, unsigned int i)
{
	return qp->memory + (size_t)(qp->send_slots + i) * RS_DGRAM_ROOM;
}

static int post_recv(struct rs_dgram_qp *qp, unsigned int i)
{
	struct ibv_sge sges[2] = {
		{ .addr = (uintptr_t)(qp->memory + qp->memory_len - GRH_LEN),
		  .length = GRH_LEN,
		  .lkey = qp->mr->lkey },
		{ .addr = (uintptr_t)recv_slot(qp, i),
		  .length = RS_DGRAM_ROOM,
		  .lkey = qp->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = WR_RECV | i, .sg_list = sges, .num_sge = 2 }, *bad;

	return -ibv_post_recv(qp->id->qp, &wr, &bad);
}

void rs_dgram_msg_drop(struct rs_dgram *d, struct rs_dgram_msg *msg)
{
	if (msg->qp) {
		post_recv(msg->qp, msg - msg->qp->msgs);
	} else {
		d->copies--;
		free(msg);
	}
}

/* As many slots as fit into the sizes that were set. */
static unsigned int slots(uint16_t queue, uint32_t buf, int most)
{
	unsigned int count = buf / RS_DGRAM_ROOM;

	if (count > queue)
		count = queue;
	if (count > (unsigned int)most)
		count = most;
	return count ? count : 1;
}

static int set_sizes(struct rs_dgram *d, struct rs_dgram_qp *qp)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	int err = ibv_query_device(qp->id->verbs, &attr);

	if (!err)
		err = ibv_query_port(qp->id->verbs, qp->id->port_num, &port);
	if (err)
		return -err;
	qp->send_slots = slots(d->base.sizes.send_queue, d->base.sizes.send_buf, attr.max_qp_wr);
	qp->recv_slots = slots(d->base.sizes.recv_queue, d->base.sizes.recv_buf, attr.max_qp_wr);
	qp->mtu = 128u << port.active_mtu;
	if (qp->mtu > RS_DGRAM_ROOM)
		qp->mtu = RS_DGRAM_ROOM;
	return 0;
}

static int create_memory(struct rs_dgram_qp *qp)
{
	void *at;

	qp->memory_len = (size_t)(qp->send_slots + qp->recv_slots) * RS_DGRAM_ROOM + GRH_LEN;
	at = mmap(NULL, qp->memory_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return explain(ENOMEM, "no memory for buffers of %zu bytes", qp->memory_len);
	qp->memory = at;
	qp->mr = ibv_reg_mr(qp->id->pd, at, qp->memory_len, IBV_ACCESS_LOCAL_WRITE);
	if (!qp->mr)
		return -errno;
	qp->free_slots = calloc(qp->send_slots, sizeof(*qp->free_slots));
	qp->msgs = calloc(qp->recv_slots, sizeof(*qp->msgs));
	if (!qp->free_slots || !qp->msgs)
		return explain(ENOMEM, "no memory for %u datagrams", qp->recv_slots);
	for (unsigned int i = 0; i < qp->send_slots; i++)
		qp->free_slots[qp->free_count++] = i;
	return 0;
}

/* Armed from the start: a thread may sleep on the socket already. */
static int create_cq(struct rs_dgram *d, struct rs_dgram_qp *qp)
{
	struct epoll_event event = { .events = EPOLLIN };
	int flags;

	qp->channel = ibv_create_comp_channel(qp->id->verbs);
	if (!qp->channel)
		return -errno;
	flags = fcntl(qp->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(qp->channel->fd, F_SETFL, flags | O_NONBLOCK) ||
	    epoll_ctl(d->epoll, EPOLL_CTL_ADD, qp->channel->fd, &event))
		return -errno;
	qp->cq = ibv_create_cq(qp->id->verbs, qp->send_slots + qp->recv_slots, qp, qp->channel, 0);
	if (!qp->cq)
		return -errno;
	rs_dgram_qp_arm(qp);
	return 0;
}

static int create_qp(struct rs_dgram *d, struct rs_dgram_qp *qp)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = qp,
		.send_cq = qp->cq,
		.recv_cq = qp->cq,
		.cap = { .max_send_wr = qp->send_slots,
			 .max_recv_wr = qp->recv_slots,
			 .max_send_sge = 1,
			 .max_recv_sge = 2,
			 .max_inline_data = d->base.sizes.inline_max },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};
	int err = 0;

	if (rdma_create_qp(qp->id, NULL, &attr))
		return -errno;
	qp->inline_max = attr.cap.max_inline_data;
	for (unsigned int i = 0; i < qp->recv_slots && !err; i++)
		err = post_recv(qp, i);
	return err;
}

/* Events of an id that does not connect. */
static void ignore_event(struct rs_cm_owner *owner, const struct rdma_cm_event *event,
			 struct rs_cm_cleanup *cleanup)
{
	(void)owner;
	(void)event;
	(void)cleanup;
}

/* Loopback does not bind an id to an adapter, but resolving it does, at once. */
static int bind_id(struct rs_dgram_qp *qp)
{
	union rs_addr local = qp->local;

	qp->owner.event = ignore_event;
	if (rdma_create_id(rs_state.channel, &qp->id, &qp->owner, RDMA_PS_UDP) ||
	    rdma_bind_addr(qp->id, &local.sa))
		return -errno;
	if (!qp->id->verbs && rdma_resolve_addr(qp->id, NULL, &local.sa, 0))
		return -errno;
	if (!qp->id->verbs)
		return explain(ENODEV, "no adapter of this host has an active port");
	return 0;
}

static int create(struct rs_dgram *d, const union rs_addr *local, struct rs_dgram_qp **out)
{
	struct rs_dgram_qp *qp = calloc(1, sizeof(*qp));
	int err;

	if (!qp)
		return explain(ENOMEM, "no memory for a queue pair");
	qp->local = *local;
	qp->header_len = rs_ud_header_encode(local, qp->header);
	LIST_INSERT_HEAD(&d->qps, qp, link);
	err = bind_id(qp);
	if (!err)
		err = set_sizes(d, qp);
	if (!err)
		err = create_memory(qp);
	if (!err)
		err = create_cq(d, qp);
	if (!err)
		err = create_qp(d, qp);
	if (err) {
		rs_dgram_qp_destroy(d, qp);
		return err;
	}
	*out = qp;
	return 0;
}

int rs_dgram_qp_get(struct rs_dgram *d, const union rs_addr *local, struct rs_dgram_qp **out)
{
	struct rs_dgram_qp *qp;

	LIST_FOREACH(qp, &d->qps, link) {
		if (rs_addr_equal(&qp->local, local)) {
			*out = qp;
			return 0;
		}
	}
	return create(d, local, out);
}

void rs_dgram_qp_destroy(struct rs_dgram *d, struct rs_dgram_qp *qp)
{
	LIST_REMOVE(qp, link);
	if (qp->id && qp->id->qp)
		rdma_destroy_qp(qp->id);
	if (qp->cq)
		ibv_destroy_cq(qp->cq);
	if (qp->channel) {
		epoll_ctl(d->epoll, EPOLL_CTL_DEL, qp->channel->fd, NULL);
		ibv_destroy_comp_channel(qp->channel);
	}
	if (qp->mr)
		ibv_dereg_mr(qp->mr);
	if (qp->memory)
		munmap(qp->memory, qp->memory_len);
	if (qp->id)
		rdma_destroy_id(qp->id);
	free(qp->free_slots);
	free(qp->msgs);
	free(qp);
}

uint8_t *rs_dgram_qp_slot(struct rs_dgram_qp *qp)
{
	return qp->memory + (size_t)qp->free_slots[--qp->free_count] * RS_DGRAM_ROOM;
}

static void release(struct rs_dgram_qp *qp, unsigned int slot)
{
	qp->free_slots[qp->free_count++] = slot;
}

int rs_dgram_qp_send(struct rs_dgram_qp *qp, uint8_t *slot, size_t len, struct ibv_ah *ah,
		     uint32_t qpn)
{
	const unsigned int index = (slot - qp->memory) / RS_DGRAM_ROOM;
	struct ibv_sge sge = { .addr = (uintptr_t)slot, .length = len, .lkey = qp->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = index,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = len <= qp->inline_max ? IBV_SEND_INLINE : 0,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = RDMA_UDP_QKEY },
	};
	struct ibv_send_wr *bad;
	int err = -ibv_post_send(qp->id->qp, &wr, &bad);

	if (err)
		release(qp, index);
	return err;
}

static void receive(struct rs_dgram *d, struct rs_dgram_qp *qp, const struct ibv_wc *wc)
{
	const unsigned int i = (uint32_t)wc->wr_id;
	struct rs_dgram_msg *msg = &qp->msgs[i];
	const uint8_t *slot = recv_slot(qp, i);
	int header = -EPROTO;

	if (wc->status == IBV_WC_SUCCESS && wc->byte_len > GRH_LEN)
		header = rs_ud_header_decode(slot, wc->byte_len - GRH_LEN, &msg->from);
	if (header < 0) {
		if (wc->status == IBV_WC_SUCCESS)
			post_recv(qp, i);
		return;
	}
	msg->qp = qp;
	msg->data = slot + header;
	msg->len = wc->byte_len - GRH_LEN - header;
	STAILQ_INSERT_TAIL(&d->received, msg, link);
}

void rs_dgram_qp_poll(struct rs_dgram *d, struct rs_dgram_qp *qp)
{
	struct ibv_wc wcs[16];
	int count;

	do {
		count = ibv_poll_cq(qp->cq, 16, wcs);
		for (int i = 0; i < count; i++) {
			if (wcs[i].wr_id & WR_RECV)
				receive(d, qp, &wcs[i]);
			else
				release(qp, wcs[i].wr_id);
		}
	} while (count == 16);
}

void rs_dgram_qp_arm(struct rs_dgram_qp *qp)
{
	if (!qp->armed && !ibv_req_notify_cq(qp->cq, 0))
		qp->armed = true;
}

void rs_dgram_qp_take(struct rs_dgram_qp *qp)
{
	struct ibv_cq *cq;
	void *context;

	if (!qp->armed || ibv_get_cq_event(qp->channel, &cq, &context))
		return;
	ibv_ack_cq_events(cq, 1);
	qp->armed = false;
}
