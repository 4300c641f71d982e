/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends of raw traffic for tests: something that sends frames, and rules that lead frames somewhere.
 * A helper that fails ends the test.
 */
#ifndef TESTS_ETHER_ENDS_H
#define TESTS_ETHER_ENDS_H

#include "verbs_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/mlx5dv.h>

#include "frames.h"

/* What frame_ip() writes as destination. */
static const uint8_t ends_mac[6] = { 0x02, 0, 0, 0, 0, 0x02 };

#define END_BUFFER 10240u
#define END_DEPTH  64u

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* END_DEPTH receive buffers, and one to send from */
	struct ibv_flow *flow;
};

static inline time_t end_deadline(void)
{
	return time(NULL) + 20;
}

static inline void end_ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

static inline void end_open(struct end *e, const char *device)
{
	memset(e, 0, sizeof(*e));
	e->context = test_open(device);
	e->pd = ibv_alloc_pd(e->context);
	e->cq = ibv_create_cq(e->context, 4096, NULL, NULL, 0);
	e->memory = calloc(END_DEPTH + 1, END_BUFFER);
	assert_non_null(e->pd);
	assert_non_null(e->cq);
	assert_non_null(e->memory);
	e->mr = ibv_reg_mr(e->pd, e->memory, (END_DEPTH + 1) * END_BUFFER, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(e->mr);
}

/* A raw packet QP of its own; flags and TSO headers as creation takes them. */
static inline void end_create_qp(struct end *e, uint32_t flags, uint16_t tso_header)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RAW_PACKET,
					    .send_cq = e->cq,
					    .recv_cq = e->cq,
					    .pd = e->pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .cap = { .max_send_wr = 64,
						     .max_recv_wr = END_DEPTH,
						     .max_send_sge = 4,
						     .max_recv_sge = 1,
						     .max_inline_data = 128 } };

	if (flags) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = flags;
	}
	if (tso_header) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		attr.max_tso_header = tso_header;
	}
	e->qp = ibv_create_qp_ex(e->context, &attr);
	assert_non_null(e->qp);
	end_ready(e->qp);
}

static inline void end_post(struct end *e, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)(e->memory + slot * END_BUFFER), END_BUFFER,
			       e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
}

static inline void end_post_all(struct end *e)
{
	for (uint32_t i = 0; i < END_DEPTH; i++)
		end_post(e, i);
}

/* Frames to `mac` go to the QP. */
static inline struct ibv_flow *end_rule(struct ibv_qp *qp, const uint8_t mac[6])
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = { .attr = { .type = IBV_FLOW_ATTR_NORMAL,
			     .size = sizeof(rule),
			     .num_of_specs = 1,
			     .port = 1 },
		   .eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) } };
	struct ibv_flow *flow;

	memcpy(rule.eth.val.dst_mac, mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	flow = ibv_create_flow(qp, &rule.attr);
	assert_non_null(flow);
	return flow;
}

/* A receiver of frames to ends_mac. */
static inline void end_receiver(struct end *e, const char *device, uint32_t flags)
{
	end_open(e, device);
	end_create_qp(e, flags, 0);
	end_post_all(e);
	e->flow = end_rule(e->qp, ends_mac);
}

static inline void end_sender(struct end *e, const char *device, uint16_t tso_header)
{
	end_open(e, device);
	end_create_qp(e, 0, tso_header);
}

static inline void end_close(struct end *e)
{
	if (e->flow)
		assert_int_equal(ibv_destroy_flow(e->flow), 0);
	if (e->qp)
		assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
	test_close(e->context);
	free(e->memory);
}

static inline struct ibv_wc end_poll(struct ibv_cq *cq)
{
	time_t deadline = end_deadline();
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		assert_true(time(NULL) < deadline);
	assert_int_equal(n, 1);
	return wc;
}

/* Sends and waits for the completion, but leaves the judgement of it to the caller. */
static inline struct ibv_wc end_send_flags(struct end *e, const struct frame *f, unsigned int flags)
{
	uint8_t *from = e->memory + END_DEPTH * END_BUFFER;
	struct ibv_sge sge = { (uintptr_t)from, f->len, e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | flags },
			   *bad;

	assert_true(f->len <= END_BUFFER);
	memcpy(from, f->data, f->len);
	assert_int_equal(ibv_post_send(e->qp, &wr, &bad), 0);
	return end_poll(e->cq);
}

static inline void end_send(struct end *e, const struct frame *f)
{
	assert_int_equal(end_send_flags(e, f, 0).status, IBV_WC_SUCCESS);
}

/* Takes the next frame and posts its buffer again. */
static inline struct ibv_wc end_receive(struct end *e, struct frame *f)
{
	struct ibv_wc wc = end_poll(e->cq);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	f->len = wc.byte_len;
	memcpy(f->data, e->memory + wc.wr_id * END_BUFFER, wc.byte_len);
	end_post(e, wc.wr_id);
	return wc;
}

#endif
