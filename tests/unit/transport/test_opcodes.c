/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every opcode in every state of queue pairs of UC, UD, XRC and DC (of RC: test_responder.c): what is carried
 * out, delivered, answered, refused or dropped.
 */
#include "cmocka_all.h"

#include <string.h>

#include "transport/end.h"

#include "hca/transport/qp_state.h"
#include "roce/opcode.h"

#define FIRST_PSN 500u /* that END_DEFAULTS expects of the peer */

#define BIT(state) (1u << HCA_QPS_##state)

/* The types, the transport of packets that each receives, and the states that it can be in. */
static const struct kind {
	enum hca_qp_type type;
	uint8_t transport;
	bool responds;
	uint32_t receiving, other;
} kinds[] = {
	{ HCA_QP_UC, ROCE_TR_UC, true, BIT(RTR) | BIT(RTS) | BIT(SQD) | BIT(SQE),
	  BIT(RESET) | BIT(INIT) | BIT(ERR) },
	{ HCA_QP_UD, ROCE_TR_UD, true, BIT(RTR) | BIT(RTS) | BIT(SQD) | BIT(SQE),
	  BIT(RESET) | BIT(INIT) | BIT(ERR) },
	{ HCA_QP_XRC_RECV, ROCE_TR_XRC, true, BIT(RTR) | BIT(RTS) | BIT(SQD),
	  BIT(RESET) | BIT(INIT) | BIT(ERR) },
	{ HCA_QP_XRC_SEND, ROCE_TR_XRC, false, 0,
	  BIT(RESET) | BIT(INIT) | BIT(RTR) | BIT(RTS) | BIT(SQD) | BIT(ERR) },
	{ HCA_QP_DCT, ROCE_TR_DC, true, BIT(RTR), BIT(RESET) | BIT(INIT) },
	{ HCA_QP_DCI, ROCE_TR_DC, false, 0,
	  BIT(RESET) | BIT(INIT) | BIT(RTR) | BIT(RTS) | BIT(ERR) },
};

static const uint8_t data[4096] = "data that a packet brings";

/* One opcode that arrives in one state. */
struct arrival {
	struct end *end;
	enum hca_qp_type type;
	enum hca_qp_state state;
	uint8_t op;
};

static void expect(const struct arrival *a, bool met, const char *what)
{
	if (!met)
		fail_msg("type %d, %s in %s: not %s", a->type, roce_opcode_find(a->op)->name,
			 qp_state_name(a->state), what);
}

#define EXPECT(a, condition) expect(a, condition, #condition)

/* A request with a bad key fails, and takes the send queue to SQE. */
static void enter_sqe(struct end *e)
{
	end_post(e, HCA_OP_SEND, 0, 8)->sge[0].key ^= 1;
	if (e->qp->type == HCA_QP_UD)
		end_address(&e->send[0], e, e);
	end_ring(e);
	assert_int_equal(end_completion(e)->status, HCA_LOC_PROT_ERR);
	assert_int_equal(e->qp->state, HCA_QPS_SQE);
}

static struct end *end_in(enum hca_qp_type type, enum hca_qp_state to)
{
	struct end_options o = END_DEFAULTS;
	struct end *e;

	o.type = type;
	o.srq = type == HCA_QP_XRC_RECV || type == HCA_QP_DCT;
	net_reset();
	net.held = true;
	e = end_create(0, &o);
	for (int i = 0; i < 4; i++)
		end_post_recv(e, 8192 + i * 1024, 1024);
	if (to == HCA_QPS_SQE) {
		end_connect(e, END_PEER_QPN, &o);
		enter_sqe(e);
	} else if (to != HCA_QPS_RESET) {
		end_advance(e, to, END_PEER_QPN, &o);
	}
	e->taken = e->completed; /* receives that ERR has flushed */
	return e;
}

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

static bool is_zero(const struct end *e)
{
	static const uint8_t zero[END_BYTES];

	return !memcmp(e->mem, zero, END_BYTES);
}

/* Nothing of the packet is left. */
static void expect_dropped(const struct arrival *a)
{
	struct end *end = a->end;

	EXPECT(a, !net_take());
	EXPECT(a, !end_completion(end));
	EXPECT(a, end->qp->state == a->state);
	EXPECT(a, end->in->resp.last_op == NO_MESSAGE);
	EXPECT(a, is_zero(end));
}

/* Calls `check` after each opcode of the transports has arrived in each of the states. */
static void walk(enum hca_qp_type type, uint32_t states, bool (*arrives)(uint8_t op, uint8_t arg),
		 uint8_t arg, void (*check)(const struct arrival *a))
{
	for (unsigned int s = HCA_QPS_RESET; s <= HCA_QPS_ERR; s++)
		for (unsigned int op = 0; op < 256; op++) {
			struct arrival a = { .type = type, .state = s, .op = (uint8_t)op };
			struct roce_pkt p;

			if (!(states >> s & 1) || !roce_opcode_find(a.op) || op == ROCE_OP_CNP ||
			    !arrives(a.op, arg))
				continue;
			a.end = end_in(type, a.state);
			p = end_request(a.end, a.op, FIRST_PSN);
			net_inject(a.end->qp, &p, data);
			check(&a);
			end_destroy(a.end);
		}
}

static bool every_opcode(uint8_t op, uint8_t arg)
{
	return true;
}

static bool of_transport(uint8_t op, uint8_t transport)
{
	return (op & ROCE_PKT_TRANSPORT_MASK) == transport;
}

static bool request_of_another(uint8_t op, uint8_t transport)
{
	return !of_transport(op, transport) && !is_answer(op);
}

static void states_that_do_not_receive_drop_every_kind(void **state)
{
	for (unsigned int i = 0; i < array_size(kinds); i++)
		walk(kinds[i].type, kinds[i].other, every_opcode, 0, expect_dropped);
}

static void packets_of_another_transport_are_dropped(void **state)
{
	for (unsigned int i = 0; i < array_size(kinds); i++)
		walk(kinds[i].type, kinds[i].receiving, request_of_another, kinds[i].transport,
		     expect_dropped);
}

/* ---- what each transport does with its own packets ---- */

static bool needs_receive(uint8_t op)
{
	switch (op & ROCE_PKT_OPCODE_MASK) {
	case ROCE_PKT_SEND_ONLY:
	case ROCE_PKT_SEND_ONLY_IMM:
	case ROCE_PKT_WRITE_ONLY_IMM:
		return true;
	default:
		return false;
	}
}

/* A packet that begins a message was carried out, and a message that ends with it delivered. */
static void expect_done(const struct arrival *a)
{
	const struct hca_cqe *cqe = end_completion(a->end);
	uint8_t op = a->op & ROCE_PKT_OPCODE_MASK;
	bool write = (op >= ROCE_PKT_WRITE_FIRST && op <= ROCE_PKT_WRITE_ONLY_IMM) ||
		     op == ROCE_PKT_ATOMIC_WRITE;
	bool send = op <= ROCE_PKT_SEND_ONLY_IMM;
	uint32_t grh = a->type == HCA_QP_UD ? 40 : 0;

	EXPECT(a, a->end->qp->state == a->state);
	EXPECT(a, needs_receive(a->op) == (cqe != NULL));
	if (cqe) {
		EXPECT(a, cqe->status == HCA_SUCCESS);
		EXPECT(a, cqe->byte_len == 8 + grh);
	}
	if (write)
		EXPECT(a, !memcmp(a->end->mem + 4096, data, 8));
	else if (send)
		EXPECT(a, !memcmp(a->end->mem + 8192 + grh, data, 8));
	if (op == ROCE_PKT_FETCH_ADD)
		EXPECT(a, a->end->mem[0] == 1);
	if (op == ROCE_PKT_MASKED_ATOMIC)
		EXPECT(a, a->end->mem[4096 + 7] == data[0]);
}

/* IBTA volume 1, 9.8.2.2: a packet that continues nothing is dropped, and there are no answers. */
static void check_uc(const struct arrival *a)
{
	if (!(roce_opcode_find(a->op)->part & ROCE_FIRST)) {
		expect_dropped(a);
		return;
	}
	EXPECT(a, !net_take());
	EXPECT(a, a->end->in->resp.epsn == FIRST_PSN + 1);
	expect_done(a);
}

static void uc_carries_out_what_begins_a_message_and_drops_the_rest(void **state)
{
	walk(HCA_QP_UC, kinds[0].receiving, of_transport, ROCE_TR_UC, check_uc);
}

static void check_ud(const struct arrival *a)
{
	EXPECT(a, !net_take());
	expect_done(a);
}

static void ud_delivers_datagrams(void **state)
{
	walk(HCA_QP_UD, kinds[1].receiving, of_transport, ROCE_TR_UD, check_ud);
}

static void ud_drops_datagrams_with_another_q_key(void **state)
{
	for (unsigned int s = HCA_QPS_RTR; s <= HCA_QPS_SQE; s++) {
		struct arrival a = { .type = HCA_QP_UD,
				     .state = s,
				     .op = ROCE_TR_UD | ROCE_PKT_SEND_ONLY };
		struct roce_pkt p;

		a.end = end_in(HCA_QP_UD, a.state);
		p = end_request(a.end, a.op, FIRST_PSN);
		p.ud.qkey ^= 1;
		net_inject(a.end->qp, &p, data);
		expect_dropped(&a);
		end_destroy(a.end);
	}
}

/* XRC and DC answer as RC does (IBTA volume 1, 9.7.4.1). */
static void check_reliable(const struct arrival *a)
{
	const struct roce_opcode_info *info = roce_opcode_find(a->op);
	const struct net_sent *answer = net_take();
	uint8_t op = a->op & ROCE_PKT_OPCODE_MASK, returned = ROCE_PKT_ACK;

	if (!info->request) {
		EXPECT(a, !answer);
		expect_dropped(a);
		return;
	}
	/* There is no key 0 to be invalidated, and no NAK for that (IBTA volume 1, 9.9.6.3, class J). */
	if (op == ROCE_PKT_SEND_ONLY_INV) {
		EXPECT(a, !answer);
		EXPECT(a, end_completion(a->end)->status == HCA_LOC_ACCESS_ERR);
		EXPECT(a, a->end->qp->state == (a->end->in->dct ? a->state : HCA_QPS_ERR));
		return;
	}
	EXPECT(a, answer != NULL);
	EXPECT(a, !net_take());
	EXPECT(a, of_transport(answer->pkt.op, a->op & ROCE_PKT_TRANSPORT_MASK));
	EXPECT(a, answer->pkt.psn == FIRST_PSN);
	if (op == ROCE_PKT_READ_REQUEST || op == ROCE_PKT_FLUSH || op == ROCE_PKT_ATOMIC_WRITE)
		returned = ROCE_PKT_READ_RESP_ONLY;
	else if (op == ROCE_PKT_CMP_SWAP || op == ROCE_PKT_FETCH_ADD ||
		 op == ROCE_PKT_MASKED_ATOMIC)
		returned = ROCE_PKT_ATOMIC_ACK;
	EXPECT(a, (answer->pkt.op & ROCE_PKT_OPCODE_MASK) == returned);
	if (info->part & ROCE_FIRST) {
		EXPECT(a, answer->pkt.ack.syndrome == ROCE_SYN_ACK);
		expect_done(a);
	} else {
		EXPECT(a, answer->pkt.ack.syndrome == ROCE_SYN_NAK_INVALID);
		EXPECT(a, is_zero(a->end));
		/* The responder fails; of a DC target that is the session's. */
		EXPECT(a, a->end->qp->state == (a->end->in->dct ? a->state : HCA_QPS_ERR));
	}
}

static void xrc_answers_what_begins_a_message_and_refuses_the_rest(void **state)
{
	walk(HCA_QP_XRC_RECV, kinds[2].receiving, of_transport, ROCE_TR_XRC, check_reliable);
}

static void dc_answers_what_begins_a_message_and_refuses_the_rest(void **state)
{
	walk(HCA_QP_DCT, BIT(RTR), of_transport, ROCE_TR_DC, check_reliable);
}

/* ---- answers to requests of XRC and DC ---- */

/* A SEND with PSN `*psn` waits for its answer. */
static struct end *end_with_request(enum hca_qp_type type, enum hca_qp_state to, uint32_t *psn)
{
	struct end *e = end_in(type, HCA_QPS_RTS);
	struct hca_send *s = end_post(e, HCA_OP_SEND, 0, 8);
	const struct net_sent *sent;

	if (type == HCA_QP_DCI) {
		end_address(s, e, e);
		s->dqpn = END_PEER_QPN;
	}
	end_ring(e);
	sent = net_take();
	assert_non_null(sent);
	*psn = sent->pkt.psn;
	if (to != HCA_QPS_RTS)
		assert_int_equal(end_set_state(e, to), 0);
	e->taken = e->completed; /* what ERR has flushed */
	return e;
}

static void walk_answers(const struct kind *kind, enum hca_qp_state in)
{
	for (unsigned int op = ROCE_PKT_READ_RESP_FIRST; op <= ROCE_PKT_ATOMIC_ACK; op++) {
		struct arrival a = { .type = kind->type,
				     .state = in,
				     .op = (uint8_t)(kind->transport | op) };
		const struct hca_cqe *cqe;
		struct roce_pkt p;
		uint32_t psn;

		a.end = end_with_request(a.type, in, &psn);
		p = end_request(a.end, a.op, psn);
		net_inject(a.end->qp, &p, data);
		cqe = end_completion(a.end);
		EXPECT(&a, (cqe != NULL) == (in != HCA_QPS_ERR && op == ROCE_PKT_ACK));
		EXPECT(&a, !cqe || cqe->status == HCA_SUCCESS);
		EXPECT(&a, a.end->qp->state == in);
		EXPECT(&a, is_zero(a.end));
		end_destroy(a.end);
	}
}

static void a_request_is_completed_by_its_acknowledgement_only(void **state)
{
	for (unsigned int i = 0; i < array_size(kinds); i++) {
		if (kinds[i].responds)
			continue;
		for (unsigned int s = HCA_QPS_RTS; s <= HCA_QPS_ERR; s++)
			if (kinds[i].other >> s & 1)
				walk_answers(&kinds[i], s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_that_do_not_receive_drop_every_kind),
		cmocka_unit_test(packets_of_another_transport_are_dropped),
		cmocka_unit_test(uc_carries_out_what_begins_a_message_and_drops_the_rest),
		cmocka_unit_test(ud_delivers_datagrams),
		cmocka_unit_test(ud_drops_datagrams_with_another_q_key),
		cmocka_unit_test(xrc_answers_what_begins_a_message_and_refuses_the_rest),
		cmocka_unit_test(dc_answers_what_begins_a_message_and_refuses_the_rest),
		cmocka_unit_test(a_request_is_completed_by_its_acknowledgement_only),
	};

	return cmocka_run_group_tests(tests, end_group_begin, end_group_end);
}
