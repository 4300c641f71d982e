/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rsocket/post.h"
#include "util/explain.h"

#define HOST_IS_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
/*
 * More receives than the peer has credits for data: control messages need them too, and the delay
 * after an RNR NAK is long.
 */
#define SPARE_RECEIVES 16
/* Events of the channel are acknowledged in batches. */
#define ACK_BATCH 256

static uint16_t clamp_queue(uint16_t size, int most)
{
	if (size > most)
		size = most;
	return size < RS_QUEUE_MIN ? RS_QUEUE_MIN : size;
}

static int set_sizes(struct rs_stream *s)
{
	struct rs_sizes *sizes = &s->base.sizes;
	struct ibv_device_attr attr;
	int err = ibv_query_device(s->id->verbs, &attr);

	if (err)
		return -err;
	sizes->send_queue = clamp_queue(sizes->send_queue, attr.max_qp_wr);
	sizes->recv_queue = clamp_queue(sizes->recv_queue, attr.max_qp_wr - SPARE_RECEIVES);
	sizes->recv_buf &= ~1u;
	if (sizes->recv_buf < 2)
		sizes->recv_buf = 2;
	return 0;
}

static int create_cq(struct rs_stream *s)
{
	struct rs_endpoint *ep = &s->ep;
	int flags;

	ep->channel = ibv_create_comp_channel(s->id->verbs);
	if (!ep->channel)
		return -errno;
	/* Several threads may sleep on it, and one takes the event. */
	flags = fcntl(ep->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(ep->channel->fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	ep->cq = ibv_create_cq(s->id->verbs,
			       s->base.sizes.send_queue + s->base.sizes.recv_queue + SPARE_RECEIVES,
			       s, ep->channel, 0);
	return ep->cq ? 0 : -errno;
}

static int create_qp(struct rs_stream *s)
{
	struct rs_sizes *sizes = &s->base.sizes;
	struct ibv_qp_init_attr attr = {
		.qp_context = s,
		.send_cq = s->ep.cq,
		.recv_cq = s->ep.cq,
		.cap = { .max_send_wr = sizes->send_queue,
			 .max_recv_wr = sizes->recv_queue + SPARE_RECEIVES,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = sizes->inline_max },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (rdma_create_qp(s->id, NULL, &attr))
		return -errno;
	sizes->inline_max =
		attr.cap.max_inline_data < UINT16_MAX ? attr.cap.max_inline_data : UINT16_MAX;
	return 0;
}

/* Whole pages, so that what is registered shares none with other data. */
static int map_memory(size_t len, void **memory)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return explain(ENOMEM, "no memory for an rsocket's buffer of %zu bytes", len);
	*memory = at;
	return 0;
}

static int create_send_buffer(struct rs_stream *s)
{
	struct rs_endpoint *ep = &s->ep;
	int err;

	ep->send_memory_len = s->base.sizes.send_buf + RS_CTRL_SLOTS * sizeof(struct rs_sge);
	err = map_memory(ep->send_memory_len, &ep->send_memory);
	if (err)
		return err;
	ep->send_mr = ibv_reg_mr(s->id->pd, ep->send_memory, ep->send_memory_len, 0);
	if (!ep->send_mr)
		return -errno;
	/* Control slots first: they are aligned, and the ring may have any size. */
	rs_send_ring_init(&s->ring, (struct rs_sge *)ep->send_memory + RS_CTRL_SLOTS,
			  s->base.sizes.send_buf, ep->send_mr->lkey);
	s->send_slots = s->base.sizes.send_queue - RS_CTRL_SLOTS;
	s->ctrl_slots = RS_CTRL_SLOTS;
	return 0;
}

static int create_recv_buffer(struct rs_stream *s)
{
	struct rs_endpoint *ep = &s->ep;
	const size_t tables = RS_SGL_SIZE * sizeof(struct rs_sge) +
			      s->base.sizes.iomap * sizeof(struct rs_iomap_entry);
	const size_t offset = (tables + 63) & ~63ul;
	int err;

	ep->recv_memory_len = offset + s->base.sizes.recv_buf;
	err = map_memory(ep->recv_memory_len, &ep->recv_memory);
	if (err)
		return err;
	ep->recv_mr = ibv_reg_mr(s->id->pd, ep->recv_memory, ep->recv_memory_len,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!ep->recv_mr)
		return -errno;
	ep->sgl = ep->recv_memory;
	ep->iomap = (struct rs_iomap_entry *)(ep->sgl + RS_SGL_SIZE);
	if (s->base.sizes.iomap) {
		ep->iomap_copy = calloc(s->base.sizes.iomap, sizeof(*ep->iomap_copy));
		if (!ep->iomap_copy)
			return explain(ENOMEM, "no memory for an iomap of %d entries",
				       s->base.sizes.iomap);
	}
	s->seq_notify = s->base.sizes.recv_queue / 2;
	return rs_recv_queue_init(&s->rq, (uint8_t *)ep->recv_memory + offset,
				  s->base.sizes.recv_buf, s->base.sizes.recv_queue);
}

int rs_endpoint_create(struct rs_stream *s)
{
	int err = set_sizes(s);

	if (!err)
		err = create_cq(s);
	if (!err)
		err = create_qp(s);
	if (!err)
		err = create_send_buffer(s);
	if (!err)
		err = create_recv_buffer(s);
	if (!err)
		err = rs_post_receives(s, s->base.sizes.recv_queue + SPARE_RECEIVES);
	return err;
}

static void unmap(struct ibv_mr *mr, void *memory, size_t len)
{
	if (mr)
		ibv_dereg_mr(mr);
	if (memory)
		munmap(memory, len);
}

void rs_endpoint_destroy(struct rs_stream *s)
{
	struct rs_endpoint *ep = &s->ep;

	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	if (ep->cq) {
		ibv_ack_cq_events(ep->cq, ep->events_seen);
		ibv_destroy_cq(ep->cq);
	}
	if (ep->channel)
		ibv_destroy_comp_channel(ep->channel);
	unmap(ep->send_mr, ep->send_memory, ep->send_memory_len);
	unmap(ep->recv_mr, ep->recv_memory, ep->recv_memory_len);
	rs_recv_queue_fini(&s->rq);
	free(ep->iomap_copy);
	*ep = (struct rs_endpoint){ 0 };
}

void rs_endpoint_describe(const struct rs_stream *s, struct rs_conn_data *data)
{
	const uint32_t key = s->ep.recv_mr->rkey;

	*data = (struct rs_conn_data){
		.big_endian = HOST_IS_BIG_ENDIAN,
		.credits = s->base.sizes.recv_queue,
		.iomap_size = s->base.sizes.iomap,
		.target = { .addr = (uintptr_t)s->ep.sgl, .key = key, .length = RS_SGL_SIZE },
		.buffer = { .addr = (uintptr_t)s->rq.buf, .key = key, .length = s->rq.half },
	};
}

int rs_endpoint_set_peer(struct rs_stream *s, const struct rs_conn_data *data)
{
	struct rs_peer *peer = &s->peer;

	if (!data->target.length)
		return explain(EPROTO, "the peer's table of receive buffers has no entry");
	*peer = (struct rs_peer){
		.swap = data->big_endian != HOST_IS_BIG_ENDIAN,
		.sgl = data->target,
		.sgl_at = 1 % data->target.length,
		.iomap_addr = data->target.addr + data->target.length * sizeof(struct rs_sge),
		.iomap_size = data->iomap_size,
		.target[0] = data->buffer,
		.target_fill = 1,
		.seq_limit = data->credits,
	};
	return 0;
}

int rs_endpoint_arm(struct rs_stream *s)
{
	int err;

	if (s->ep.armed)
		return 0;
	err = ibv_req_notify_cq(s->ep.cq, 0);
	if (err)
		return -err;
	s->ep.armed = true;
	return 0;
}

void rs_endpoint_take_event(struct rs_stream *s)
{
	struct rs_endpoint *ep = &s->ep;
	struct ibv_cq *cq;
	void *context;

	if (!ep->armed || ibv_get_cq_event(ep->channel, &cq, &context))
		return;
	ep->armed = false;
	if (++ep->events_seen == ACK_BATCH) {
		ibv_ack_cq_events(ep->cq, ep->events_seen);
		ep->events_seen = 0;
	}
}
