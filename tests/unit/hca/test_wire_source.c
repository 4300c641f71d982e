/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which source ports a connected queue pair takes packets from, and how many wrong packet numbers.
 */
#include "cmocka_all.h"

#include <string.h>

#include "hca/hca.h"
#include "hca/transport/drops.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/wire_source.h"

#define PSN       1000u
#define MANY      100000u
#define WRONG_MAX 64u /* in PERIOD_NS; see wire_source.c */
#define PERIOD_NS 100000000u

static uint64_t clock_ns = PERIOD_NS;

static uint64_t now(void)
{
	return clock_ns;
}

static const struct hca_clock stopped_clock = { .now_ns = now };

/* Connected with 198.51.100.1 (RFC 5737), which is no address of any host. */
static struct qp *make(enum hca_qp_type type)
{
	static struct qp qp;

	memset(&qp, 0, sizeof(qp));
	qp.pub.type = type;
	memcpy(qp.attr.av.dgid.raw + 10, "\xff\xff\xc6\x33\x64\x01", 6);
	qp.resp.epsn = PSN;
	return &qp;
}

static bool accept_request(struct qp *qp, uint16_t port, uint32_t psn)
{
	const struct roce_pkt pkt = { .op = ROCE_PKT_SEND_ONLY, .psn = psn };

	return port == qp->peer_sport || wire_source_accept(qp, port, &pkt);
}

static void the_port_of_an_expected_packet_is_the_peers(void **state)
{
	struct qp *qp = make(HCA_QP_RC);

	assert_true(accept_request(qp, 50000, PSN + 5));
	assert_int_equal(qp->peer_sport, 0);
	assert_true(accept_request(qp, 50000, PSN));
	assert_int_equal(qp->peer_sport, 50000);
}

static void a_peer_may_change_its_port(void **state)
{
	struct qp *qp = make(HCA_QP_RC);

	assert_true(accept_request(qp, 50000, PSN));
	assert_true(accept_request(qp, 50001, PSN));
	assert_int_equal(qp->peer_sport, 50001);
	/* And use both in turn, whatever the numbers are. */
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(accept_request(qp, 50000 + i % 2, i));
}

static unsigned int sweep(struct qp *qp, uint32_t first, unsigned int count)
{
	unsigned int let_in = 0;

	for (uint32_t i = 0; i < count; i++)
		let_in += accept_request(qp, (uint16_t)(51000 + i % 1000), first + i);
	return let_in;
}

static void numbers_cannot_be_tried_at_any_rate(void **state)
{
	struct qp *qp = make(HCA_QP_RC);
	uint64_t before = drop_counted(DROP_GUESS);
	unsigned int let_in;

	assert_true(accept_request(qp, 50000, PSN));
	clock_ns += PERIOD_NS + 1;
	let_in = sweep(qp, PSN + 1, MANY);
	assert_int_equal(let_in, WRONG_MAX);
	assert_int_equal(drop_counted(DROP_GUESS) - before, MANY - let_in);
	/* The peer's own port is not affected, and the next period begins anew. */
	assert_int_equal(qp->peer_sport, 50000);
	assert_true(accept_request(qp, 50000, PSN + 3));
	clock_ns += PERIOD_NS + 1;
	assert_int_equal(sweep(qp, PSN + 1, MANY), WRONG_MAX);
}

/* While numbers are tried, the right one is not taken either. */
static void the_right_number_at_the_end_of_a_sweep_is_dropped(void **state)
{
	struct qp *qp = make(HCA_QP_UC);

	clock_ns += PERIOD_NS + 1;
	assert_int_equal(sweep(qp, PSN - 1000, 1001), WRONG_MAX);
	assert_int_equal(qp->peer_sport, 0);
	clock_ns += PERIOD_NS + 1;
	assert_true(accept_request(qp, 50000, PSN));
	assert_int_equal(qp->peer_sport, 50000);
}

static void answers_are_expected_while_requests_are_open(void **state)
{
	struct qp *qp = make(HCA_QP_RC);
	struct req_slot slots[1] = { { .first_psn = 20 } };
	struct roce_pkt pkt = { .op = ROCE_PKT_ACK, .psn = 25 };

	assert_true(wire_source_accept(qp, 50000, &pkt));
	assert_int_equal(qp->peer_sport, 0);
	qp->window.slots = slots;
	qp->window.tail = 1;
	qp->req.high = 26;
	pkt.psn = 26;
	assert_true(wire_source_accept(qp, 50000, &pkt));
	assert_int_equal(qp->peer_sport, 0);
	pkt.psn = 25;
	assert_true(wire_source_accept(qp, 50000, &pkt));
	assert_int_equal(qp->peer_sport, 50000);
}

static void queue_pairs_of_many_peers_take_any_port(void **state)
{
	struct qp *qp = make(HCA_QP_DCI);

	assert_int_equal(sweep(qp, 0, MANY), MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_port_of_an_expected_packet_is_the_peers),
		cmocka_unit_test(a_peer_may_change_its_port),
		cmocka_unit_test(numbers_cannot_be_tried_at_any_rate),
		cmocka_unit_test(the_right_number_at_the_end_of_a_sweep_is_dropped),
		cmocka_unit_test(answers_are_expected_while_requests_are_open),
		cmocka_unit_test(queue_pairs_of_many_peers_take_any_port),
	};

	hca.clock = &stopped_clock;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
