/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket that listens to one peer alone: when it is used, and that nothing changes but the price. */
#include "cmocka_all.h"

#include "net.h"
#include "pair.h"
#include "roce/udp_priv.h"
#include "util/api.h"

#define PEER  "10.6.0.1"
#define HERE  "10.6.0.2"
#define OTHER "10.6.0.3"

enum { MANY = 300 };

/* What each sender has sent, and what of it has come; they number their packets. */
struct talk {
	struct pair p; /* from the peer to here, where the ear is */
	uint32_t sent, came;
	struct pair other; /* from another, to the same endpoint */
	uint32_t other_sent, other_came;
};

static void talk_init(struct talk *t)
{
	struct roce_addr from = addr(OTHER);
	struct roce_dest dest = { .addr = addr(HERE) };

	memset(t, 0, sizeof(*t));
	pair_init(&t->p, PEER, HERE, NULL);
	roce_endpoint_alone(t->p.b, true);
	assert_int_equal(roce_endpoint_open(&from, NULL, &t->other.a), 0);
	assert_int_equal(roce_tx_create(t->other.a, &t->other.tx), 0);
	assert_int_equal(roce_path_init(&t->other.path, t->other.a, &dest), 0);
}

static void talk_fini(struct talk *t)
{
	roce_tx_destroy(t->other.tx);
	roce_endpoint_close(t->other.a);
	pair_fini(&t->p);
}

static void say(struct pair *p, uint32_t *number, uint32_t dqpn)
{
	struct roce_pkt pkt = sample_packet(ROCE_PKT_SEND_ONLY, 8);

	pkt.psn = (*number)++;
	pkt.dqpn = dqpn;
	assert_int_equal(pair_add(p, &pkt, 0), 0);
	assert_int_equal(roce_tx_flush(p->tx), 0);
}

static void speak(struct talk *t)
{
	say(&t->p, &t->sent, 0x100);
}

static void speak_other(struct talk *t)
{
	say(&t->other, &t->other_sent, 0x100);
}

/* Everything that was said has come once, in the order of each sender. */
static void hear_all(struct talk *t)
{
	unsigned int empty = 0;

	inbox_clear(&t->p.in);
	while (empty < 64)
		empty = roce_rx_poll(t->p.rx, t->p.b, 4, inbox_put, &t->p.in) > 0 ? 0 : empty + 1;
	for (size_t i = 0; i < t->p.in.count; i++) {
		const struct arrival *a = &t->p.in.at[i];
		struct roce_addr peer = addr(PEER);

		if (!memcmp(a->meta.src.gid, peer.gid, 16))
			assert_int_equal(a->pkt.psn, t->came++);
		else
			assert_int_equal(a->pkt.psn, t->other_came++);
	}
	assert_int_equal(t->came, t->sent);
	assert_int_equal(t->other_came, t->other_sent);
}

static bool listens(const struct talk *t)
{
	return t->p.b->ear.state == ROCE_EAR_ON;
}

static void talk_until_it_listens(struct talk *t)
{
	for (unsigned int i = 0; i < MANY && !listens(t); i++) {
		speak(t);
		hear_all(t);
	}
	assert_true(listens(t));
}

/* Whether something lies in the ear. */
static bool is_in_ear(const struct talk *t)
{
	struct pollfd fd = { .fd = t->p.b->ear.fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void a_peer_that_speaks_alone_gets_the_ear(void **state)
{
	struct talk t;

	talk_init(&t);
	talk_until_it_listens(&t);
	speak(&t);
	assert_true(is_in_ear(&t));
	hear_all(&t);
	assert_false(is_in_ear(&t));
	talk_fini(&t);
}

static void others_are_heard_as_well(void **state)
{
	struct talk t;

	talk_init(&t);
	talk_until_it_listens(&t);
	for (unsigned int i = 0; i < MANY; i++) {
		speak(&t);
		if (i % 3)
			speak_other(&t);
		if (i % 7 == 0)
			hear_all(&t);
	}
	hear_all(&t);
	/* It is for who has one peer. */
	assert_false(listens(&t));
	talk_fini(&t);
}

static void nothing_is_overtaken_when_the_ear_turns(void **state)
{
	struct talk t;

	talk_init(&t);
	/* Always some lie in the socket that the endpoint had before. */
	for (unsigned int i = 0; i < MANY; i++) {
		for (unsigned int k = 0; k < 5; k++)
			speak(&t);
		roce_rx_poll(t.p.rx, t.p.b, 1, inbox_put, &t.p.in);
	}
	for (size_t i = 0; i < t.p.in.count; i++)
		assert_int_equal(t.p.in.at[i].pkt.psn, t.came++);
	hear_all(&t);
	assert_true(listens(&t));
	talk_fini(&t);
}

static void the_ear_goes_to_who_speaks_instead(void **state)
{
	struct talk t;
	bool left = false;

	talk_init(&t);
	talk_until_it_listens(&t);
	for (unsigned int i = 0; i < 16 * MANY && !is_in_ear(&t); i++) {
		hear_all(&t);
		left |= !listens(&t);
		speak_other(&t);
	}
	assert_true(left);
	assert_true(is_in_ear(&t));
	speak(&t);
	speak(&t);
	hear_all(&t);
	talk_fini(&t);
}

static void with_others_at_the_address_there_is_no_ear(void **state)
{
	struct talk t;

	talk_init(&t);
	roce_endpoint_alone(t.p.b, false);
	for (unsigned int i = 0; i < MANY; i++) {
		speak(&t);
		hear_all(&t);
		assert_false(listens(&t));
	}
	roce_endpoint_alone(t.p.b, true);
	talk_until_it_listens(&t);
	/* What lies in the ear when they come is not lost. */
	for (unsigned int i = 0; i < 20; i++)
		speak(&t);
	roce_endpoint_alone(t.p.b, false);
	hear_all(&t);
	assert_false(listens(&t));
	speak(&t);
	assert_false(is_in_ear(&t));
	hear_all(&t);
	talk_fini(&t);
}

/* A second process comes while the ear is on: it may have the port, and gets what is for it. */
static void packets_are_steered_past_an_ear(void **state)
{
	struct roce_endpoint *second;
	struct roce_addr here = addr(HERE);
	struct inbox theirs = { 0 };
	uint32_t index[2], number = 0;
	struct roce_rx *rx;
	struct talk t;

	talk_init(&t);
	talk_until_it_listens(&t);
	assert_int_equal(roce_endpoint_open(&here, NULL, &second), 0);
	roce_endpoint_alone(t.p.b, false);
	hear_all(&t);
	assert_int_equal(roce_rx_create(&rx), 0);
	assert_int_equal(roce_endpoint_steer(t.p.b, NULL, 0, 0), 0);
	assert_int_equal(roce_endpoint_probe(t.p.b, 8), 0);
	roce_endpoint_hear_probes(t.p.b);
	assert_int_equal(roce_endpoint_probe(second, 8), 0);
	roce_endpoint_hear_probes(second);
	roce_endpoint_hear_probes(t.p.b);
	assert_int_equal(roce_endpoint_index(t.p.b, &index[0]), 0);
	assert_int_equal(roce_endpoint_index(second, &index[1]), 0);
	assert_int_not_equal(index[0], index[1]);

	struct roce_steer rows[] = { { 0x100, 0x1ff, index[0] }, { 0x200, 0x2ff, index[1] } };

	assert_int_equal(roce_endpoint_steer(second, rows, array_size(rows), index[0]), 0);
	for (unsigned int i = 0; i < 50; i++) {
		speak(&t);
		say(&t.p, &number, 0x200);
		speak_other(&t);
		hear_all(&t);
		inbox_clear(&theirs);
		while (roce_rx_poll(rx, second, 4, inbox_put, &theirs) > 0)
			;
		assert_int_equal(theirs.count, 1);
		assert_int_equal(theirs.at[0].pkt.dqpn, 0x200);
	}
	inbox_fini(&theirs);
	roce_rx_destroy(rx);
	roce_endpoint_close(second);
	talk_fini(&t);
}

/* So many peers speak that the endpoint's own socket is never found empty. */
static void who_gets_the_ear_is_heard_among_many(void **state)
{
	struct talk t;

	talk_init(&t);
	for (unsigned int i = 0; i < 80; i++)
		speak(&t);
	for (unsigned int i = 0; i < 8; i++)
		speak_other(&t);
	for (unsigned int i = 0; i < 80 && t.p.b->ear.state == ROCE_EAR_AWAY; i++)
		roce_rx_poll(t.p.rx, t.p.b, 1, inbox_put, &t.p.in);
	assert_int_equal(t.p.b->ear.state, ROCE_EAR_TURNING);
	speak(&t);
	assert_true(is_in_ear(&t));
	for (unsigned int i = 0; i < 10 * MANY && is_in_ear(&t); i++) {
		speak_other(&t);
		roce_rx_poll(t.p.rx, t.p.b, 1, inbox_put, &t.p.in);
	}
	assert_false(is_in_ear(&t));
	for (size_t i = 0; i < t.p.in.count; i++)
		if (t.p.in.at[i].meta.src.gid[15] == 1)
			assert_int_equal(t.p.in.at[i].pkt.psn, t.came++);
		else
			assert_int_equal(t.p.in.at[i].pkt.psn, t.other_came++);
	hear_all(&t);
	talk_fini(&t);
}

/* Whatever comes to an ear that is turned to nobody: it would be readable for ever. */
static void what_lies_in_an_ear_that_is_away_is_read(void **state)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(9) }, to = from;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct talk t;

	talk_init(&t);
	inet_pton(AF_INET, HERE, &from.sin_addr);
	to = from;
	to.sin_port = htons(ROCE_UDP_PORT);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	assert_true(is_in_ear(&t));
	assert_true(roce_endpoint_has_packets(t.p.b));
	hear_all(&t);
	assert_false(is_in_ear(&t));
	assert_false(roce_endpoint_has_packets(t.p.b));
	talk_until_it_listens(&t);
	close(fd);
	talk_fini(&t);
}

/* A connected socket tells of what came back for packets, before it hands over others. */
static void an_ear_that_heard_of_an_error_is_read_to_the_end(void **state)
{
	struct roce_dest back = { .addr = addr(PEER) };
	struct pair reply = { 0 };
	uint32_t number = 0;
	struct talk t;
	int fd;

	talk_init(&t);
	talk_until_it_listens(&t);
	for (unsigned int i = 0; i < 20; i++)
		speak(&t);
	/* The peer's socket is no more. */
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup2(fd, t.p.a->source[0].fd), t.p.a->source[0].fd);
	close(fd);
	assert_int_equal(roce_tx_create(t.p.b, &reply.tx), 0);
	assert_int_equal(roce_path_init(&reply.path, t.p.b, &back), 0);
	say(&reply, &number, 0x100);
	roce_endpoint_alone(t.p.b, false);
	t.p.b->ear.looks = t.p.b->ear.every - 1; /* so that it leaves at the next look */
	hear_all(&t);
	assert_false(listens(&t));
	roce_tx_destroy(reply.tx);
	talk_fini(&t);
}

/* A second receiver of the endpoint has no part in it. */
static void another_receiver_leaves_the_ear_alone(void **state)
{
	struct roce_rx *rx;
	struct talk t;

	talk_init(&t);
	assert_int_equal(roce_rx_create(&rx), 0);
	talk_until_it_listens(&t);
	for (unsigned int i = 0; i < 20; i++)
		speak(&t);
	roce_endpoint_alone(t.p.b, false);
	t.p.b->ear.looks = t.p.b->ear.every - 1;
	/* One of them is read, and the others lie in the ear. */
	inbox_clear(&t.p.in);
	assert_int_equal(roce_rx_poll(t.p.rx, t.p.b, 1, inbox_put, &t.p.in), 1);
	assert_int_equal(t.p.in.at[0].pkt.psn, t.came++);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(roce_rx_poll(rx, t.p.b, 1, inbox_put, &t.p.in), 0);
	hear_all(&t);
	roce_rx_destroy(rx);
	talk_fini(&t);
}

/* Not even for a moment, in which a newcomer there would take it for one of its group. */
static void a_second_address_of_an_interface_has_no_ear(void **state)
{
	struct roce_endpoint opening = {
		.ipv4 = true,
		.local = addr("10.7.0.2"),
		.port = ROCE_UDP_PORT,
	};

	roce_ear_open(&opening);
	assert_true(opening.ear.fd < 0);
	opening.local = addr("10.7.0.1");
	roce_ear_open(&opening);
	assert_true(opening.ear.fd >= 0);
	roce_ear_close(&opening);
}

static void groups_are_joined_while_somebody_opens_an_ear(void **state)
{
	struct roce_addr group = addr("239.6.0.1");
	struct roce_endpoint opening = { .ipv4 = true, .local = addr(PEER), .port = ROCE_UDP_PORT };
	struct roce_addr here = addr(HERE);
	struct roce_endpoint *ep;

	assert_int_equal(roce_endpoint_open(&here, NULL, &ep), 0);
	roce_ear_open(&opening);
	assert_true(opening.ear.fd >= 0);
	assert_int_equal(roce_endpoint_join(ep, &group), 0);
	roce_ear_close(&opening);
	/* And the other way round. */
	roce_ear_open(&opening);
	assert_true(opening.ear.fd >= 0);
	roce_ear_close(&opening);
	roce_endpoint_close(ep);
}

static void hops_are_heard_by_the_ear(void **state)
{
	struct talk t;

	talk_init(&t);
	talk_until_it_listens(&t);
	pair_path(&t.p, 0, 17);
	speak(&t);
	assert_true(is_in_ear(&t));
	hear_all(&t);
	assert_int_equal(t.p.in.at[0].meta.ttl, 17);
	talk_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_speaks_alone_gets_the_ear),
		cmocka_unit_test(others_are_heard_as_well),
		cmocka_unit_test(nothing_is_overtaken_when_the_ear_turns),
		cmocka_unit_test(the_ear_goes_to_who_speaks_instead),
		cmocka_unit_test(with_others_at_the_address_there_is_no_ear),
		cmocka_unit_test(packets_are_steered_past_an_ear),
		cmocka_unit_test(hops_are_heard_by_the_ear),
		cmocka_unit_test(who_gets_the_ear_is_heard_among_many),
		cmocka_unit_test(what_lies_in_an_ear_that_is_away_is_read),
		cmocka_unit_test(an_ear_that_heard_of_an_error_is_read_to_the_end),
		cmocka_unit_test(another_receiver_leaves_the_ear_alone),
		cmocka_unit_test(a_second_address_of_an_interface_has_no_ear),
		cmocka_unit_test(groups_are_joined_while_somebody_opens_an_ear),
	};

	net_enter();
	if (net_shell("for i in 10.6.0.1/32 10.6.0.2/32 10.6.0.3/32 10.7.0.1/24 10.7.0.2/24; do "
		      "ip addr add $i dev lo || exit 1; done; ip route add 239.6.0.0/16 dev lo")) {
		printf("SKIPPED: the loopback interface gets no addresses (package iproute2?)\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
