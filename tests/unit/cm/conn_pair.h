/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two ids that are connected to each other, in each state that a connection can be in. Host 0 connects,
 * host 1 listens.
 */
#ifndef TESTS_CM_CONN_PAIR_H
#define TESTS_CM_CONN_PAIR_H

#include "cmocka_all.h"

#include "cm/net.h"
#include "util/array.h"

#define QPN_A 0x11
#define QPN_B 0x22

#define REQ_NS  (6144 * MS) /* 4096 ms for the answer and twice 1024 ms on the way */
#define REP_NS  (4096 * MS)
#define MRA_NS  (67584 * MS) /* 65536 ms and the ACK timeout of 2048 ms */
#define WAIT_NS (2048 * MS)  /* TIMEWAIT */
#define TRIES   16

static inline int begin(void **state)
{
	(void)state;
	net_begin(NULL);
	return 0;
}

/* Every test ends with all ids destroyed: then all connections end by themselves. */
static inline int end(void **state)
{
	struct net_id *id;

	(void)state;
	while ((id = LIST_FIRST(&net.ids)))
		net_destroy(id);
	net_settle(3600000 * MS);
	if (net.broken)
		print_error("%s\n", net.broken);
	return net_end() && !net.broken ? 0 : -1;
}

static inline void expect_event(struct net_id *id, enum conn_event_kind kind, int status)
{
	const struct net_event *e = net_take(id);

	assert_non_null(e);
	assert_int_equal(e->event.kind, kind);
	assert_int_equal(e->event.status, status);
}

static inline void expect_none(struct net_id *id)
{
	assert_null(net_take(id));
}

static inline void lose_everything(void)
{
	net.faults.loss = 1000000;
}

static inline void lose_nothing(void)
{
	net.faults.loss = 0;
}

/* ---- a pair of ids in a state ---- */

struct pair {
	struct net_id *a, *b; /* active, passive */
};

static inline struct pair requested(void)
{
	struct pair p = { .a = net_connect(0, QPN_A) };

	net_pass(10 * MS);
	p.b = net_request();
	assert_non_null(p.b);
	return p;
}

static inline struct pair replied(void)
{
	struct pair p = requested();

	assert_int_equal(net_accept(p.b, QPN_B), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_REP, 0);
	return p;
}

static inline struct pair established(void)
{
	struct pair p = replied();

	assert_int_equal(conn_establish(p.a->conn, NULL, 0), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_ESTABLISHED, 0);
	return p;
}

static inline struct pair disconnecting(void)
{
	struct pair p = established();

	assert_int_equal(conn_disconnect(p.a->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.b, CONN_EVENT_DISCONNECTED, 0);
	return p;
}

static inline struct pair in_timewait(void)
{
	struct pair p = disconnecting();

	assert_int_equal(conn_disconnect(p.b->conn, net.now_ns), 0);
	net_pass(10 * MS);
	expect_event(p.a, CONN_EVENT_DISCONNECTED, 0);
	return p;
}

/* Each with the states of its two ends. */
static const struct {
	struct pair (*make)(void);
	enum conn_state a, b;
} stages[] = {
	{ requested, CONN_REQ_SENT, CONN_REQ_RCVD },
	{ replied, CONN_REP_RCVD, CONN_REP_SENT },
	{ established, CONN_ESTABLISHED, CONN_ESTABLISHED },
	{ disconnecting, CONN_DREQ_SENT, CONN_DREQ_RCVD },
	{ in_timewait, CONN_TIMEWAIT, CONN_TIMEWAIT },
};

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

#endif
