/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One raw packet QP that sends, and several that receive, for tests of which queue gets a frame. A frame that
 * is sent ends on exactly one receiver, or is caught by the last one, which takes what no rule
 * took: so nothing has to be waited for that does not come.
 */
#ifndef TESTS_ETHER_RAW_PAIR_H
#define TESTS_ETHER_RAW_PAIR_H

#include "verbs_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flow_packets.h"

enum { RAW_RECEIVERS = 3, RAW_BUFFER = 2048, RAW_POSTED = 8 };

struct raw_end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
	uint32_t len; /* of the last frame */
	uint8_t *frame;
};

static inline void raw_end_init(struct raw_end *e, const char *device)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	e->context = test_open(device);
	e->pd = ibv_alloc_pd(e->context);
	e->cq = ibv_create_cq(e->context, 64, NULL, NULL, 0);
	assert_non_null(e->pd);
	assert_non_null(e->cq);
	init.send_cq = init.recv_cq = e->cq;
	init.cap = (struct ibv_qp_cap){ 16, 16, 1, 1, 0 };
	e->qp = ibv_create_qp(e->pd, &init);
	assert_non_null(e->qp);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
	e->memory = calloc(RAW_POSTED, RAW_BUFFER);
	e->mr = ibv_reg_mr(e->pd, e->memory, RAW_POSTED * RAW_BUFFER, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(e->mr);
}

static inline void raw_end_fini(struct raw_end *e)
{
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
	test_close(e->context);
	free(e->memory);
}

static inline void raw_post(struct raw_end *e, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)(e->memory + slot * RAW_BUFFER), RAW_BUFFER,
			       e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
}

struct raw_pair {
	struct raw_end from, to[RAW_RECEIVERS];
	struct ibv_flow *rest; /* the last receiver's */
};

static inline struct ibv_flow *raw_catch_all(struct raw_end *e)
{
	struct ibv_flow_attr attr = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				      .size = sizeof(attr),
				      .port = 1 };
	struct ibv_flow *flow = ibv_create_flow(e->qp, &attr);

	assert_non_null(flow);
	return flow;
}

static inline void raw_pair_init(struct raw_pair *p, const char *from, const char *to)
{
	raw_end_init(&p->from, from);
	for (int i = 0; i < RAW_RECEIVERS; i++) {
		raw_end_init(&p->to[i], to);
		for (unsigned int s = 0; s < RAW_POSTED; s++)
			raw_post(&p->to[i], s);
	}
	p->rest = raw_catch_all(&p->to[RAW_RECEIVERS - 1]);
}

static inline void raw_pair_fini(struct raw_pair *p)
{
	assert_int_equal(ibv_destroy_flow(p->rest), 0);
	for (int i = 0; i < RAW_RECEIVERS; i++)
		raw_end_fini(&p->to[i]);
	raw_end_fini(&p->from);
}

static inline void raw_send(struct raw_pair *p, const struct pkt *packet)
{
	struct ibv_sge sge = { (uintptr_t)p->from.memory, packet->len, p->from.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	time_t end = time(NULL) + 20;
	struct ibv_wc wc;
	int n;

	memcpy(p->from.memory, packet->b, packet->len);
	assert_int_equal(ibv_post_send(p->from.qp, &wr, &bad), 0);
	while (!(n = ibv_poll_cq(p->from.cq, 1, &wc)))
		assert_true(time(NULL) < end);
	assert_int_equal(n, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

/* Takes a frame from a receiver if there is one. */
static inline bool raw_take(struct raw_end *e)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(e->cq, 1, &wc);

	assert_true(n >= 0);
	if (!n)
		return false;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	e->len = wc.byte_len;
	e->frame = e->memory + wc.wr_id * RAW_BUFFER;
	raw_post(e, wc.wr_id);
	return true;
}

/* The receiver that gets the next frame. */
static inline unsigned int raw_wait(struct raw_pair *p)
{
	time_t end = time(NULL) + 20;

	for (;;) {
		for (unsigned int i = 0; i < RAW_RECEIVERS; i++)
			if (raw_take(&p->to[i]))
				return i;
		assert_true(time(NULL) < end);
	}
}

/* Sends one; the one receiver that gets it. */
static inline unsigned int raw_who_gets(struct raw_pair *p, const struct pkt *packet)
{
	unsigned int who;

	raw_send(p, packet);
	who = raw_wait(p);
	for (unsigned int i = 0; i < RAW_RECEIVERS; i++)
		assert_false(raw_take(&p->to[i]));
	return who;
}

#define RAW_REST (RAW_RECEIVERS - 1u)

#endif
