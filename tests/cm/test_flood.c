/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forged messages at queue pair 1, as fast as another process can send them: a connection goes on, and
 * new ones come about afterwards. TRAFFIC_SCALE multiplies their number.
 */
#include "cm_rig.h"

#include <fcntl.h>
#include <unistd.h>

#include "cm/ip_header.h"
#include "cm/msg.h"
#include "hca/device/adapter_list.h"
#include "hca/device/port.h"
#include "hca/wire/gsi.h"
#include "hca/wire/gsi_send.h"

#define FORGED  20000u
#define BACKLOG 16

/* ---- the attacker ---- */

static unsigned int seed = 1;
static unsigned int most_timeout = 31; /* 2.3 hours */

static uint32_t any(void)
{
	return (uint32_t)rand_r(&seed) << 16 ^ (uint32_t)rand_r(&seed);
}

static const struct hca_adapter *adapter_under_test(void)
{
	const struct hca_adapter *const *list;
	int count;

	rig_context();
	check_ok(hca_adapters_get(&list, &count));
	for (int i = 0; i < count; i++)
		if (list[i]->ports[0].link == HCA_LINK_ETHERNET)
			return list[i];
	rig_skip("no RoCE adapter");
}

/* From the adapter's address to itself: that of every connection here. */
static struct hca_av way_to(const struct hca_adapter *adapter, const struct sockaddr_in *addr)
{
	struct hca_av av = { .port = 1, .has_grh = true, .hop_limit = 64 };
	struct hca_gid_entry e;

	for (unsigned int i = 0; i < adapter->limits.gid_table_len; i++)
		if (!hca_port_gid(adapter, 1, i, &e) && e.type == HCA_GID_ROCE_V2 &&
		    !memcmp(e.gid.raw + 12, &addr->sin_addr, 4)) {
			av.sgid_index = (uint8_t)i;
			av.dgid = e.gid;
			return av;
		}
	rig_fail(__FILE__, __LINE__, "the address has no GID");
}

static void forge_req(const struct sockaddr_in *to, uint8_t mad[MSG_BYTES])
{
	struct sockaddr_in from = *to;
	struct msg_req req = {
		.local_comm_id = any() | 1,
		.service_id = RDMA_PS_TCP << 16 | ntohs(to->sin_port),
		.local_ca_guid = any(),
		.local_qpn = any() & 0xffffff,
		.remote_cm_timeout = any() & 31,
		.local_cm_timeout = any() & 31,
		.max_cm_retries = any() & 15,
		.path_mtu = any() & 7,
		.primary.local_ack_timeout = any() % (most_timeout + 1),
		.primary.hop_limit = 64,
	};

	from.sin_port = (in_port_t)any();
	if (any() % 8 == 0)
		req.service_id = any();
	ip_header_put((struct sockaddr *)&from, (struct sockaddr *)to, req.private_data);
	msg_put_req(&req, any(), mad);
}

static void forge_other(uint8_t mad[MSG_BYTES])
{
	struct msg_rtu rtu = { .local_comm_id = any(), .remote_comm_id = any() };
	struct msg_rej rej = { .local_comm_id = any(),
			       .remote_comm_id = any(),
			       .reason = any() % 40,
			       .answered = any() & 3,
			       .info_len = any() & 127 };
	struct msg_dreq dreq = { .local_comm_id = any(), .remote_comm_id = any() };
	struct msg_rep rep = { .local_comm_id = any(), .remote_comm_id = any() };

	switch (any() % 5) {
	case 0:
		msg_put_rtu(&rtu, any() % 2 ? MSG_RTU : MSG_DREP, any(), mad);
		break;
	case 1:
		msg_put_rej(&rej, any(), mad);
		break;
	case 2:
		msg_put_dreq(&dreq, any(), mad);
		break;
	case 3:
		msg_put_rep(&rep, any(), mad);
		break;
	default: /* the head of a message, and anything after it */
		msg_put_rtu(&rtu, (enum msg_kind)(0x10 + any() % 12), any(), mad);
		for (size_t i = 24; i < MSG_BYTES; i++)
			mad[i] = (uint8_t)any();
		break;
	}
}

static void attacker(int fd)
{
	const struct hca_adapter *adapter = adapter_under_test();
	struct sockaddr_in to = own_address(0);
	struct hca_av av = way_to(adapter, &to);
	uint8_t mad[MSG_BYTES];

	hear(fd, &to.sin_port, sizeof(to.sin_port));
	/* Messages sent before the two processes are connected are lost: sending goes on until one was received. */
	for (unsigned int i = 0; i < FORGED * scale() || !is_readable(fd, 1); i++) {
		if (any() % 2)
			forge_req(&to, mad);
		else
			forge_other(mad);
		hca_gsi_send(adapter, &av, mad);
	}
	tell_mark(fd, 'd');
}

/* ---- the victim ---- */

static void send_one(struct cm_pair *p, char *buf, struct ibv_mr *from, struct ibv_mr *to)
{
	struct ibv_wc wc;

	check_ok(rdma_post_recv(p->passive, NULL, buf + 2048, 512, to));
	check_ok(rdma_post_send(p->active, NULL, buf, 512, from, IBV_SEND_SIGNALED));
	check_equal(rdma_get_send_comp(p->active, &wc), 1);
	check_equal(wc.status, IBV_WC_SUCCESS);
	check_equal(rdma_get_recv_comp(p->passive, &wc), 1);
	check_equal(wc.status, IBV_WC_SUCCESS);
}

/* Answers the attacker's requests: some are accepted, and are never established. Returns their number. */
static unsigned int answer_forged(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	unsigned int count = 0;

	check_ok(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	while (!rdma_get_cm_event(channel, &event)) {
		struct rdma_cm_id *id = event->id;
		bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
		struct rdma_conn_param param = { .qp_num = 5 };

		check_ok(rdma_ack_cm_event(event));
		if (!is_request)
			continue; /* of an id that was accepted, and is destroyed below */
		if (count++ % 2)
			rdma_accept(id, &param);
		check_ok(rdma_destroy_id(id));
	}
	check_equal(errno, EAGAIN);
	check_ok(fcntl(channel->fd, F_SETFL, 0));
	return count;
}

/* Until the attacker ends, which it does not before it has heard that a request has come. */
static void answer_until_end(struct peer *a, struct rdma_event_channel *flooded,
			     void (*meanwhile)(void *arg), void *arg)
{
	bool heard = false;

	while (!is_readable(a->fd, 0)) {
		unsigned int count = answer_forged(flooded);

		check(count <= 100 * BACKLOG);
		if (count && !heard)
			tell_mark(a->fd, 'c');
		heard = heard || count;
		if (meanwhile)
			meanwhile(arg);
	}
	hear_mark(a->fd, 'd');
	peer_join(a);
}

struct one_way {
	struct cm_pair *pair;
	char *buf;
	struct ibv_mr *from, *to;
};

static void send_another(void *arg)
{
	struct one_way *w = arg;

	send_one(w->pair, w->buf, w->from, w->to);
}

static void forged_messages_disturb_no_connection(void)
{
	struct peer a = peer_start(attacker);
	struct cm_pair p = pair_connected(), q;
	struct rdma_event_channel *flooded = must(rdma_create_event_channel());
	struct rdma_cm_id *target = listen_at(flooded, BACKLOG);
	char *buf = pages(4096);
	struct ibv_mr *from = must(rdma_reg_msgs(p.active, buf, 4096));
	struct ibv_mr *to = must(rdma_reg_msgs(p.passive, buf, 4096));
	in_port_t port = rdma_get_src_port(target);
	struct one_way way = { &p, buf, from, to };

	tell(a.fd, &port, sizeof(port));
	answer_until_end(&a, flooded, send_another, &way);
	send_one(&p, buf, from, to);
	check_quiet(p.channel);
	check_quiet(p.listen_channel);
	q = pair_connected();
	answer_forged(flooded);
	check_ok(rdma_destroy_id(target));
	rdma_destroy_event_channel(flooded);
	check_ok(rdma_dereg_mr(from));
	check_ok(rdma_dereg_mr(to));
	pair_end(&q);
	pair_end(&p);
}

/* TIMEWAIT lasts as long as a request says: here up to 256 ms. */
static void hasty_attacker(int fd)
{
	most_timeout = 16;
	attacker(fd);
}

static void be_flooded(struct peer *a)
{
	struct rdma_event_channel *flooded = must(rdma_create_event_channel());
	struct rdma_cm_id *target = listen_at(flooded, BACKLOG);
	in_port_t port = rdma_get_src_port(target);

	tell(a->fd, &port, sizeof(port));
	answer_until_end(a, flooded, NULL, NULL);
	check_ok(rdma_destroy_id(target));
	rdma_destroy_event_channel(flooded);
}

/* A connection comes and goes. Its TIMEWAIT lasts 2 s. */
static void outlast_timewait(void)
{
	struct cm_pair p = pair_connected();

	check_ok(rdma_disconnect(p.active));
	expect_ack(p.listen_channel, DISCONNECTED, 0);
	check_ok(rdma_disconnect(p.passive));
	expect_ack(p.channel, DISCONNECTED, 0);
	expect_ack(p.channel, TIMEWAIT_EXIT, 0);
	pair_end(&p);
}

/* The first flood makes tables grow that stay as long as they are. */
static void memory_of_forged_requests_is_given_back(void)
{
	struct peer first = peer_start(hasty_attacker), second = peer_start(hasty_attacker);
	struct holdings before;

	be_flooded(&first);
	outlast_timewait();
	before = holdings();
	be_flooded(&second);
	outlast_timewait();
	check_given_back(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(forged_messages_disturb_no_connection),
		TEST(memory_of_forged_requests_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
